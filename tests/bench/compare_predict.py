"""Measures a whole process from its start to the classes of one image, with the weights in a file. The
library's program is shiftvit-predict; the peers' is a Python program that loads an ONNX file. Time and
memory are measured by the parent process."""
import random
import struct
import zlib
from pathlib import Path
from statistics import median

from compare_runs import PRESETS, Done, Job, Runner, peer_command, peer_result, run

SIDES = {"shiftvit": 48, "vit": 72, "slvit": 72}
RUNS = 5  # after one that is not counted, with which files come into memory


def png(side: int, pixels: bytes) -> bytes:
    """A square image of 8-bit red, green and blue, without filters."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    width = 3 * side
    rows = b"".join(b"\0" + pixels[i:i + width] for i in range(0, len(pixels), width))
    header = struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


class Inputs:
    """An image, and a model file of the library for each model, created in `folder` at the first use."""

    def __init__(self, bench: str, folder: Path) -> None:
        self.programs, self.folder = Path(bench).parent, folder

    def image(self, model: str) -> Path:
        """Writes a PNG file, and its pixels as raw bytes to a second file."""
        path = self.folder / f"{model}.png"
        if not path.exists():
            pixels = random.Random(0).randbytes(3 * SIDES[model] ** 2)
            path.with_suffix(".raw").write_bytes(pixels)
            path.write_bytes(png(SIDES[model], pixels))
        return path

    def model(self, model: str, limit: float) -> Path:
        """Writes a model file by training for one step."""
        path = self.folder / model / "model.safetensors"
        if not path.exists():
            run([str(self.programs / "shiftvit-train"), f"--preset={PRESETS[model]}",
                 f"--out={path.parent}", "--overwrite", "--epochs=1", "--batch=16", "--limit-train=16",
                 "--limit-val=16", "--limit-test=16", "--quiet"], limit)
            for other in path.parent.iterdir():
                if other != path:
                    other.unlink()
        return path


def run_often(command: list[str], limit: float) -> tuple[list[Done], dict[str, object]]:
    run(command, limit)
    runs = [run(command, limit) for _ in range(RUNS)]
    return runs, {"process_s": median(done.seconds for done in runs),
                  "peak_rss_mib": max(done.peak_mib for done in runs)}


def predict_ours(inputs: Inputs, job: Job, limit: float) -> dict[str, object]:
    command = [str(inputs.programs / "shiftvit-predict"),
               f"--model={inputs.model(job.model, limit)}", f"--threads={job.threads}", "--quiet",
               str(inputs.image(job.model))]
    return {**run_often(command, limit)[1], "details": "shiftvit-predict, a PNG file"}


def predict_peer(python: str, inputs: Inputs, runner: Runner, job: Job,
                 limit: float) -> dict[str, object]:
    """The start-up is measured by the program itself: from its first line to its first result."""
    pixels = inputs.image(job.model).with_suffix(".raw")
    runs, outside = run_often(peer_command(python, runner, job) + [f"--image={pixels}"], limit)
    answers = [peer_result(done.line, runner, job) for done in runs]
    return {**outside, "startup_s": median(answer["startup_s"] for answer in answers),
            "details": f"{answers[0]['details']}, the image's bare bytes"}
