"""The works of tests/bench/finetune.c in other frameworks, for compare_finetune.py:

    python3 finetune_peer.py FRAMEWORK WORK COMPUTE BATCH THREADS SECONDS

FRAMEWORK is torch, torch-compile, onnxruntime or openvino; the last two have the works infer and features. The models
are timm's. Prints the line of JSON that finetune prints."""
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

NOT_INSTALLED, CLASSES, SIDE = 3, 10, 224
FRAMEWORK, WORK, COMPUTE = sys.argv[1:4]
BATCH, THREADS, SECONDS = int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6])
LOW = COMPUTE == "bf16"
TRAINED = {"head": ("head.",), "frozen": ("head.",), "last2": ("head.", "blocks.10.", "blocks.11."), "all": ("",)}
os.environ["OMP_NUM_THREADS"] = str(THREADS)
try:
    import numpy as np
    import timm
    import torch
    if FRAMEWORK == "onnxruntime":
        import onnxruntime
    if FRAMEWORK == "openvino":
        import openvino
except ImportError as error:
    print(f"not installed: {error.name or error}")
    sys.exit(NOT_INSTALLED)

Step = Callable[[], object]


def peak_mib() -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def build() -> torch.nn.Module:
    if WORK == "features":
        return timm.create_model("vit_small_patch14_dinov2", img_size=SIDE, num_classes=0).eval()
    if WORK == "infer":
        return timm.create_model("deit_tiny_patch16_224", num_classes=CLASSES).eval()
    if WORK == "head":
        return torch.nn.Sequential()
    model = timm.create_model("deit_tiny_patch16_224", num_classes=CLASSES).train()
    for name, value in model.named_parameters():
        value.requires_grad_(name.startswith(TRAINED[WORK]))
    return model


def training_step() -> Step:
    if WORK == "head":
        model, inputs = torch.nn.Linear(192, CLASSES), torch.rand(BATCH, 192)
    else:
        model, inputs = build(), torch.rand(BATCH, 3, SIDE, SIDE)
    labels = torch.arange(BATCH) % CLASSES
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3, weight_decay=1e-4,
                                  eps=1e-7, fused=True)
    forward = torch.compile(model) if FRAMEWORK == "torch-compile" else model

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=LOW):
            loss = torch.nn.functional.cross_entropy(forward(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def torch_inference() -> Step:
    model, images = build(), torch.rand(BATCH, 3, SIDE, SIDE)
    if LOW:
        model, images = model.bfloat16(), images.bfloat16()
    compiled = FRAMEWORK == "torch-compile"
    if compiled:
        import torch._inductor.config as inductor
        inductor.freezing = True
        model = torch.compile(model)
    guard = torch.no_grad if compiled else torch.inference_mode  # freezing wants the former

    def step() -> float:
        with guard():
            return model(images)[0, 0].item()
    return step


def graph_file() -> str:
    path = str(Path(tempfile.mkdtemp()) / "model.onnx")
    with torch.no_grad():
        torch.onnx.export(build(), (torch.rand(BATCH, 3, SIDE, SIDE),), path, input_names=["x"], opset_version=17,
                          dynamo=False)
    return path


def onnxruntime_inference() -> Step:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = THREADS, 1
    session = onnxruntime.InferenceSession(graph_file(), settings, providers=["CPUExecutionProvider"])
    images = np.random.rand(BATCH, 3, SIDE, SIDE).astype(np.float32)
    return lambda: session.run(None, {"x": images})[0]


def openvino_inference() -> Step:
    settings = {"INFERENCE_NUM_THREADS": THREADS, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
                "INFERENCE_PRECISION_HINT": "bf16" if LOW else "f32"}
    request = openvino.Core().compile_model(graph_file(), "CPU", settings).create_infer_request()
    images = np.random.rand(BATCH, 3, SIDE, SIDE).astype(np.float32)
    return lambda: request.infer({0: images}, share_inputs=True)[0]


def images_per_second(step: Step) -> float:
    """Two calls that are not counted, for compilers and caches, then calls until the time is over."""
    step()
    step()
    calls, begin, elapsed = 0, time.perf_counter(), 0.0
    while elapsed < SECONDS or calls == 0:
        step()
        calls += 1
        elapsed = time.perf_counter() - begin
    return calls * BATCH / elapsed


def make_step() -> Step:
    if FRAMEWORK == "onnxruntime":
        return onnxruntime_inference()
    if FRAMEWORK == "openvino":
        return openvino_inference()
    return training_step() if WORK in TRAINED else torch_inference()


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    torch.set_num_interop_threads(1)
    torch.manual_seed(0)
    print(json.dumps({"runner": FRAMEWORK, "work": WORK, "images_per_second": images_per_second(make_step()),
                      "peak_rss_mib": peak_mib()}), flush=True)
