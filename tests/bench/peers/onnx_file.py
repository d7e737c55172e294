"""Shared by the peers that are measured in inference only: their ONNX file, which is written at the
first use, and their images."""
import subprocess
import sys
from pathlib import Path

import numpy

import peer

FOLDER = Path.home() / ".cache" / "shiftvit-bench"
MAKER = Path(__file__).with_name("onnx_graph.py")


def is_new(path: Path) -> bool:
    return path.exists() and path.stat().st_mtime >= MAKER.stat().st_mtime


def write_float(options: peer.Options, path: Path) -> None:
    try:
        import onnx_graph
    except ImportError as error:
        peer.not_installed(error)
    onnx_graph.write(options.model, options.batch, path)


def write_int8(source: Path, path: Path) -> None:
    """Weights of 8 bits; the scale of the activations is computed at each call."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    part = path.with_suffix(".part")
    quantize_dynamic(source, part, weight_type=QuantType.QInt8)
    part.replace(path)


def model_file(options: peer.Options) -> Path:
    """The file's path. If the file does not exist, this process writes it, starts the program again and
    ends with it, so that neither the time nor the memory of writing is measured."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    plain = FOLDER / f"{options.model}-{options.batch}.onnx"
    path = plain.with_suffix(".int8.onnx") if options.form == "int8" else plain
    if is_new(path):
        return path
    if not is_new(plain):
        write_float(options, plain)
    if path != plain:
        write_int8(plain, path)
    sys.exit(subprocess.run([sys.executable, *sys.argv], check=False).returncode)


def images(options: peer.Options) -> numpy.ndarray:
    shape = (options.batch, *peer.SHAPES[options.model])
    if options.image:
        return (numpy.fromfile(options.image, numpy.uint8) / numpy.float32(255)).reshape(shape)
    return numpy.random.default_rng(0).random(shape, dtype=numpy.float32)
