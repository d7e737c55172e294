"""Where the peers that only run models find their ONNX file; made when it is first asked for."""
import subprocess
import sys
from pathlib import Path

import peer

FOLDER = Path.home() / ".cache" / "shiftvit-bench"
MAKER = Path(__file__).with_name("onnx_model.py")


def model_file(options: peer.Options) -> Path:
    """The file's path. Where the file had to be made, the program is started once more and this
    process ends with it, so that neither its time nor its memory is part of what is measured."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{options.model}-{options.batch}.onnx"
    if not path.exists() or path.stat().st_mtime < MAKER.stat().st_mtime:
        try:
            import onnx_model
        except ImportError as error:
            peer.not_installed(error)
        onnx_model.write(options.model, options.batch, path)
        sys.exit(subprocess.run([sys.executable, *sys.argv], check=False).returncode)
    return path
