"""Compares the speed of fine-tuning with PyTorch's, and of features with ONNX Runtime's and OpenVINO's too:

    python3 tests/bench/compare_finetune.py --finetune build/tests/bench/finetune --python ~/venv/bin/python

In each round every program runs once, in turn, each in a process of its own; the table has the medians of the rounds,
their smallest and largest value, and the largest memory of a process. It is no part of the tests."""
import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

PEER = Path(__file__).with_name("peers") / "finetune_peer.py"
TORCH, GRAPHS = ["torch", "torch-compile"], ["onnxruntime", "openvino"]
BATCHES = {"head": 256, "frozen": 32, "last2": 32, "all": 32, "infer": 32, "features": 32}
MEANING = {"head": "classifier on cached features", "frozen": "classifier on images, body frozen",
           "last2": "classifier and last two blocks", "all": "all of DeiT-Ti", "infer": "inference of DeiT-Ti",
           "features": "features of DINOv2-S at 224 x 224"}


def runners(work: str, compute: str) -> list[str]:
    names = ["shiftvit"] + TORCH
    if work in ("infer", "features"):
        names += GRAPHS if compute == "f32" else ["openvino"]
    return names


def run(options: argparse.Namespace, name: str, work: str, compute: str) -> dict[str, object] | None:
    program = [options.finetune] if name == "shiftvit" else [options.python, str(PEER), name]
    rest = [work, compute, str(BATCHES[work]), str(options.threads), str(options.seconds)]
    done = subprocess.run(program + rest, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{name} {work} {compute}: {(done.stdout + done.stderr).strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def cell(values: list[float]) -> str:
    return f"{statistics.median(values):,.4g} ({min(values):,.4g} to {max(values):,.4g})"


def compare(options: argparse.Namespace, work: str, compute: str) -> list[str]:
    speeds: dict[str, list[float]] = {}
    memory: dict[str, float] = {}
    for _ in range(options.rounds):
        for name in runners(work, compute):
            answer = run(options, name, work, compute)
            if answer:
                speeds.setdefault(name, []).append(answer["images_per_second"])
                memory[name] = max(memory.get(name, 0), answer["peak_rss_mib"])
    ours = statistics.median(speeds["shiftvit"])
    return [f"| {MEANING[work]} | {compute} | {name} | {cell(values)} | "
            f"{ours / statistics.median(values):.2f} | {memory[name]:,.0f} |" for name, values in speeds.items()]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--finetune", required=True, help="the program of this folder")
    parser.add_argument("--python", default=sys.executable, help="a Python that has the peers")
    parser.add_argument("--works", default=",".join(BATCHES))
    parser.add_argument("--compute", default="f32,bf16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def main() -> None:
    options = parse_arguments()
    print("| work | compute | runner | images/s | shiftvit is faster by | peak memory, MiB |")
    print("|---|---|---|---|---|---|")
    for work in options.works.split(","):
        for compute in options.compute.split(","):
            print("\n".join(compare(options, work, compute)), flush=True)


if __name__ == "__main__":
    main()
