"""Compares the speed of a timm model's features with PyTorch compiled, ONNX Runtime and OpenVINO, in turn in one run.

    PYTHONPATH=bindings/python SHIFTVIT_LIBRARY=build/lib/libshiftvit.so.1 python3 tests/bench/compare_features.py
    ... compare_features.py --name vit_small_patch16_dinov3 --side 224 --batch 8 --rounds 7

The weights are random, the images float32 in memory. The library opens the folder that timm writes; the ONNX file is
PyTorch's own export. Each round runs each peer for a second; the table has the median of images a second, and that of
the library's speed as a multiple of the peer's in the same round. No weights are downloaded. It is no part of the
tests; without torch, timm, safetensors, onnxscript, onnxruntime and openvino it says so and ends.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import numpy as np
    import onnxruntime
    import openvino
    import timm
    import torch
    import torch._inductor.config as inductor
    from timm.models._hub import save_for_hf
except ImportError as error:
    print(f"left out: {error}")
    sys.exit(0)

import shiftvit

Run = Callable[[], Any]
WARM_UP = 3
TOLERANCE = {"f32": 1e-5, "bf16": 2e-2}


def ours(folder: str, x: torch.Tensor, threads: int, compute: str) -> Run:
    context = shiftvit.Context(threads=threads)
    session = shiftvit.Session(shiftvit.load(folder, context=context), max_batch=len(x), compute=compute,
                               context=context)
    images = np.ascontiguousarray(x.permute(0, 2, 3, 1).numpy())
    return lambda: session.forward(images)


def compiled(model: torch.nn.Module, x: torch.Tensor) -> Run:
    forward = torch.compile(model)

    def run() -> Any:
        with torch.no_grad():
            return forward(x).float().numpy()

    return run


def onnx_runtime(path: str, x: torch.Tensor, threads: int) -> Run:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = {session.get_inputs()[0].name: x.numpy()}
    return lambda: session.run(None, inputs)[0]


def open_vino(path: str, x: torch.Tensor, threads: int, compute: str) -> Run:
    request = openvino.Core().compile_model(path, "CPU", {
        "INFERENCE_PRECISION_HINT": compute, "INFERENCE_NUM_THREADS": threads}).create_infer_request()
    inputs = {0: x.numpy()}
    return lambda: request.infer(inputs)[0]


def images_a_second(run: Run, batch: int, seconds: float) -> float:
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        run()
        count += batch
    return count / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", default="vit_small_patch16_dinov3")
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    inductor.freezing = True
    model = timm.create_model(arguments.name, img_size=arguments.side, num_classes=0).eval()
    x = torch.rand(arguments.batch, 3, arguments.side, arguments.side)
    with torch.no_grad():
        wanted = model(x).numpy()
    with tempfile.TemporaryDirectory() as scratch:
        save_for_hf(model, scratch, safe_serialization=True)
        path = str(Path(scratch) / "model.onnx")
        torch.onnx.export(model, (x,), path, dynamo=True, verbose=False)
        runs = {(name, compute): run for compute in ("f32", "bf16") for name, run in (
            ("shiftvit", ours(scratch, x, arguments.threads, compute)),
            ("OpenVINO", open_vino(path, x, arguments.threads, compute)))}
        runs["ONNX Runtime", "f32"] = onnx_runtime(path, x, arguments.threads)
    runs["PyTorch, compiled", "f32"] = compiled(model, x)
    low = timm.create_model(arguments.name, img_size=arguments.side, num_classes=0).eval()
    low.load_state_dict(model.state_dict())
    runs["PyTorch, compiled", "bf16"] = compiled(low.bfloat16(), x.bfloat16())
    for (name, compute), run in runs.items():
        error = np.abs(run() - wanted).max() / np.abs(wanted).max()
        assert error < TOLERANCE[compute], f"{name} in {compute} computes something else: {error}"
        for _ in range(WARM_UP):
            run()
    speeds: dict[tuple[str, str], list[float]] = {key: [] for key in runs}
    for _ in range(arguments.rounds):
        for key, run in runs.items():
            speeds[key].append(images_a_second(run, arguments.batch, arguments.seconds))
    print("| | type | images a second | shiftvit's multiple |")
    print("|---|---|---|---|")
    for (name, compute), values in sorted(speeds.items(), key=lambda item: (item[0][1] == "bf16", item[0][0])):
        ratio = statistics.median(a / b for a, b in zip(speeds["shiftvit", compute], values))
        print(f"| {name} | {compute} | {statistics.median(values):.1f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
