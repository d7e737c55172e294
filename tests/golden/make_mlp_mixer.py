"""Golden values of MLP-Mixers, by PyTorch in float64. The plain functions below are compared with timm's MlpMixer,
whose state dict gives the names, shapes and order of the parameters.
usage: make_mlp_mixer.py OUTPUT_FOLDER"""
import json
import sys

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file
from timm.models.mlp_mixer import MlpMixer

BATCH, CLASSES = 3, 10
CONFIGS = {
    "mixer_small": dict(input_height=12, input_width=20, patch_size=4, dim=22, depth=2, token_mlp_dim=9, mlp_dim=35),
    "mixer_odd": dict(input_height=21, input_width=33, patch_size=3, dim=17, depth=2, token_mlp_dim=37, mlp_dim=19),
}
FULL = {
    "mixer_s32_full": dict(input_height=224, input_width=224, patch_size=32, dim=512, depth=8, token_mlp_dim=256,
                           mlp_dim=2048, num_classes=1000),
}


def timm_model(c):
    ratios = [(c[name] + 0.5) / c["dim"] for name in ("token_mlp_dim", "mlp_dim")]
    return MlpMixer(num_classes=c.get("num_classes", CLASSES), img_size=(c["input_height"], c["input_width"]), patch_size=c["patch_size"],
                    num_blocks=c["depth"], embed_dim=c["dim"], mlp_ratio=tuple(ratios)).double()


def formula(name, shape):
    """golden_formula of tests/support/golden.c."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 % 2 ** 64
    z = np.uint64(h) + np.arange(int(np.prod(shape)), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    u = ((z ^ (z >> np.uint64(31))) >> np.uint64(40)).astype(np.float64) / 16777216.0
    v = (u - 0.5) * 2.0 * 0.05
    value = (u - 0.5) * 2.0 * 0.5 + 0.5 if name == "input" else v
    return (value + (1.0 if len(shape) == 1 and name.endswith(".weight") else 0)).reshape(shape).astype(np.float32)


def initial(name, shape, random):
    value = random.uniform(-0.15, 0.15, shape)
    return (value + (1 if "norm" in name and name.endswith(".weight") else 0)).astype(np.float32)


def norm(x, w, name):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], 1e-6)


def mlp(x, w, name):
    hidden = F.gelu(F.linear(x, w[name + ".fc1.weight"], w[name + ".fc1.bias"]))
    return F.linear(hidden, w[name + ".fc2.weight"], w[name + ".fc2.bias"])


def forward(w, x, c):
    x = F.conv2d(x.permute(0, 3, 1, 2), w["stem.proj.weight"], w["stem.proj.bias"], stride=c["patch_size"])
    x = x.flatten(2).transpose(1, 2)
    for i in range(c["depth"]):
        b = "blocks.%d." % i
        x = x + mlp(norm(x, w, b + "norm1").transpose(1, 2), w, b + "mlp_tokens").transpose(1, 2)
        x = x + mlp(norm(x, w, b + "norm2"), w, b + "mlp_channels")
    return F.linear(norm(x, w, "norm").mean(1), w["head.weight"], w["head.bias"])


def check(model, w, x, logits):
    model.load_state_dict({k: v.detach() for k, v in w.items()}, strict=True)
    with torch.no_grad():
        off = (model(x.permute(0, 3, 1, 2)) - logits).abs().max().item()
    assert off < 1e-13, off


def adamw(w, slots, step, rate=1e-3, decay=1e-4, b1=0.9, b2=0.999, eps=1e-7):
    """Keras' form: the decay first, eps beside the root of the uncorrected second moment."""
    with torch.no_grad():
        for name, value in w.items():
            m, v = slots[name]
            m.mul_(b1).add_(value.grad, alpha=1 - b1)
            v.mul_(b2).addcmul_(value.grad, value.grad, value=1 - b2)
            value.mul_(1 - rate * decay)
            value.sub_(rate * (1 - b2 ** step) ** 0.5 / (1 - b1 ** step) * m / (v.sqrt() + eps))


def config_of(c):
    return json.dumps(dict(architecture="mixer", dropout=0, drop_path=0, **{"num_classes": CLASSES, **c}))


def make_full(name, c):
    """One image through a model whose weights and input follow a formula: logits, loss, norms of the gradients."""
    model = timm_model(c)
    w = {k: torch.tensor(formula(k, v.shape), dtype=torch.float64, requires_grad=True)
         for k, v in model.state_dict().items()}
    x = torch.tensor(formula("input", (1, c["input_height"], c["input_width"], 3)), dtype=torch.float64)
    labels = np.array([3], np.int32)
    logits = forward(w, x, c)
    check(model, w, x, logits.detach())
    loss = F.cross_entropy(logits, torch.tensor(labels, dtype=torch.int64))
    loss.backward()
    out = {"logits": logits.detach().numpy(), "loss": np.array([loss.item()]),
           "grad_norms": np.array([v.grad.norm().item() for v in w.values()])}
    out = {"labels": labels, **{k: np.ascontiguousarray(v.astype(np.float32)) for k, v in out.items()}}
    save_file(out, "%s/%s.safetensors" % (sys.argv[1], name),
              {"config": config_of(c), "param_names": json.dumps(list(w))})


def make(name, c):
    random = np.random.default_rng(7)
    model = timm_model(c)
    start = {k: initial(k, v.shape, random) for k, v in model.state_dict().items()}
    x32 = random.uniform(0, 1, (BATCH, c["input_height"], c["input_width"], 3)).astype(np.float32)
    labels = np.array([3, 0, 7], np.int32)
    x, y = torch.tensor(x32, dtype=torch.float64), torch.tensor(labels, dtype=torch.int64)
    w = {k: torch.tensor(v, dtype=torch.float64, requires_grad=True) for k, v in start.items()}
    out = {"input": x32, "labels": labels, **{"param." + k: v for k, v in start.items()}}
    slots = {k: (torch.zeros_like(v), torch.zeros_like(v)) for k, v in w.items()}
    losses = []
    for step in range(4):
        for value in w.values():
            value.grad = None
        logits = forward(w, x, c)
        check(model, w, x, logits.detach())
        loss = F.cross_entropy(logits, y)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            out["logits"], out["loss"] = logits.detach().numpy(), np.array([loss.item()])
            out.update({"grad." + k: v.grad.numpy().copy() for k, v in w.items()})
        if step < 3:
            adamw(w, slots, step + 1)
    out["step.losses"] = np.array(losses)
    out.update({"step3.param." + k: v.detach().numpy() for k, v in w.items()})
    out = {k: np.ascontiguousarray(v if v.dtype == np.int32 else v.astype(np.float32)) for k, v in out.items()}
    save_file(out, "%s/%s.safetensors" % (sys.argv[1], name),
              {"config": config_of(c), "param_names": json.dumps(list(w))})


for name, c in CONFIGS.items():
    make(name, c)
for name, c in FULL.items():
    make_full(name, c)
