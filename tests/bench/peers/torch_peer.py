"""PyTorch's speed. Forms: stock; fastdrop, which draws dropout from random bytes (training); compile,
the inductor, with its weights frozen (inference) or with fastdrop (training); bf16, autocast with
fastdrop (training) or all in bfloat16 (inference), and the same compiled."""
import time
from typing import Callable

import peer

FORMS = ("stock", "fastdrop", "compile", "bf16", "compile-bf16")
OPTIONS = peer.parse_options(peer.WORKS, FORMS)
try:
    import torch
    import torch.nn.functional as F
    import torch_data
    import torch_model
except ImportError as error:
    peer.not_installed(error)

TRIAL_BATCH = 32
LOW = OPTIONS.form.endswith("bf16")
COMPILED = OPTIONS.form.startswith("compile")
Step = Callable[[], object]


def build(fused: bool) -> torch.nn.Module:
    model = torch_model.build(OPTIONS.model, fused)
    peer.check_parameters(OPTIONS.model, sum(p.numel() for p in model.parameters()))
    return model.train(OPTIONS.work == "train")


def training_step(model: torch.nn.Module, batch: int, compiled: bool) -> Step:
    images = torch.rand(batch, *peer.SHAPES[OPTIONS.model])
    labels = torch.randint(0, peer.CLASSES[OPTIONS.model], (batch,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4, eps=1e-7,
                                  fused=True)
    forward = torch.compile(model) if compiled else model

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=LOW):
            loss = F.cross_entropy(forward(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def inference(model: torch.nn.Module, batch: int, compiled: bool) -> Step:
    images = torch.rand(batch, *peer.SHAPES[OPTIONS.model])
    if LOW:
        model, images = model.bfloat16(), images.bfloat16()
    if compiled:
        import torch._inductor.config as inductor
        inductor.freezing = True
    forward = torch.compile(model) if compiled else model
    guard = torch.no_grad if compiled else torch.inference_mode  # freezing wants the former

    def step() -> float:
        with guard():
            return forward(images)[0, 0].item()

    return step


def model_step(fused: bool, batch: int, compiled: bool) -> Step:
    make = training_step if OPTIONS.work == "train" else inference
    return make(build(fused), batch, compiled)


def trial_seconds(fused: bool) -> float:
    """The shorter time of two calls on a small batch, after a warm-up call."""
    step = model_step(fused, min(OPTIONS.batch, TRIAL_BATCH), False)
    step()
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return min(times)


def choose_attention() -> tuple[bool, str]:
    """Fused attention or separate operations, whichever is faster; for start-up always the fused one."""
    if OPTIONS.model == "shiftvit":
        return False, ""
    fused = OPTIONS.work == "startup" or trial_seconds(True) <= trial_seconds(False)
    return fused, ", fused attention" if fused else ", attention by hand"


def data_step() -> Step:
    images = torch.randint(0, 256, (OPTIONS.batch, 32, 32, 3), dtype=torch.uint8)
    augment = (torch_data.augment_shiftvit if OPTIONS.model == "shiftvit"
               else torch_data.augment_vit)
    return lambda: augment(images)[0, 0, 0, 0].item()


def make_peer() -> peer.Peer:
    version = f"PyTorch {torch.__version__}"
    if OPTIONS.work == "data":
        return peer.Peer(data_step(), f"{version}, every image its own draw")
    training = OPTIONS.work == "train"
    torch_model.Dropout.fast = training and OPTIONS.form != "stock"
    begin = time.perf_counter()
    fused, attention = choose_attention()
    trial = time.perf_counter() - begin
    dropout = ", dropout from bytes" if torch_model.Dropout.fast else ""
    low = (", bfloat16 by autocast" if training else ", all in bfloat16") if LOW else ""
    compiler = ", inductor" + ("" if training else " with frozen weights") if COMPILED else ""
    step = model_step(fused, OPTIONS.batch, COMPILED)
    return peer.Peer(step, version + attention + dropout + low + compiler, trial)


if __name__ == "__main__":
    torch.set_num_threads(OPTIONS.threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(0)
    peer.report(OPTIONS, "torch", make_peer())
