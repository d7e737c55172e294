"""Golden values of ShiftViT with a depthwise mixer and with other stems, by PyTorch in float64.
usage: make_mixer.py OUTPUT_FOLDER"""
import json
import sys

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

BATCH, CLASSES = 3, 10
CONFIGS = {
    "shiftvit_depthwise_small": dict(input_height=20, input_width=20, patch_size=4, dim=24, blocks=[2, 2],
                                     num_div=6, mixer="depthwise"),
    "shiftvit_whitened_small": dict(input_height=10, input_width=12, patch_size=2, dim=12, blocks=[2, 1],
                                    num_div=6, stem="whitened"),
    "shiftvit_conv_small": dict(input_height=13, input_width=16, patch_size=4, dim=12, blocks=[1, 1],
                                num_div=6, stem="conv"),
}


def shapes(c):
    d, p, out = c["dim"], c["patch_size"], {}
    wide = 2 * p * p * 3
    if c.get("stem") == "whitened":
        out["patch_embed.whiten.weight"], out["patch_embed.whiten.bias"] = (wide, 3, p, p), (wide,)
        out["patch_embed.proj.weight"] = (d, wide, 1, 1)
    elif c.get("stem") == "conv":
        out["patch_embed.conv1.weight"], out["patch_embed.conv1.bias"] = (d // 2, 3, 3, 3), (d // 2,)
        out["patch_embed.conv2.weight"], out["patch_embed.conv2.bias"] = (d, d // 2, 3, 3), (d,)
    else:
        out["patch_embed.proj.weight"] = (d, 3, p, p)
    if c.get("stem") != "conv":
        out["patch_embed.proj.bias"] = (d,)
    for i, count in enumerate(c["blocks"]):
        for j in range(count):
            b = "layers.%d.blocks.%d." % (i, j)
            if c.get("mixer") == "depthwise":
                out[b + "dwconv.weight"], out[b + "dwconv.bias"] = (d, 1, 3, 3), (d,)
            out[b + "norm2.weight"], out[b + "norm2.bias"] = (d,), (d,)
            out[b + "mlp.fc1.weight"], out[b + "mlp.fc1.bias"] = (2 * d, d, 1, 1), (2 * d,)
            out[b + "mlp.fc2.weight"], out[b + "mlp.fc2.bias"] = (d, 2 * d, 1, 1), (d,)
        if i + 1 < len(c["blocks"]):
            out["layers.%d.downsample.reduction.weight" % i] = (2 * d, d, 2, 2)
            out["layers.%d.downsample.norm.weight" % i] = (d,)
            out["layers.%d.downsample.norm.bias" % i] = (d,)
            d *= 2
    out["head.weight"], out["head.bias"] = (CLASSES, d), (CLASSES,)
    return out


def initial(name, shape, random):
    value = random.uniform(-0.15, 0.15, shape)
    return (value + (1 if "norm" in name and name.endswith(".weight") else 0)).astype(np.float32)


def norm(x, w, name):
    x = x.permute(0, 2, 3, 1)
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], 1e-5).permute(0, 3, 1, 2)


def shift(x, groups):
    """Groups of channels move by one pixel to the left, right, up and down; zeros move in."""
    out, g = x.clone(), x.shape[1] // groups
    for k, (dim, to_end) in enumerate([(3, False), (3, True), (2, False), (2, True)]):
        part = x[:, k * g:(k + 1) * g]
        zero = torch.zeros_like(part.narrow(dim, 0, 1))
        inner = part.narrow(dim, 0 if to_end else 1, part.shape[dim] - 1)
        out[:, k * g:(k + 1) * g] = torch.cat([zero, inner] if to_end else [inner, zero], dim)
    return out


def forward(w, x, c):
    x = x.permute(0, 3, 1, 2)
    if c.get("stem") == "whitened":
        x = F.conv2d(x, w["patch_embed.whiten.weight"], w["patch_embed.whiten.bias"], stride=c["patch_size"])
        x = F.conv2d(F.gelu(x), w["patch_embed.proj.weight"], w["patch_embed.proj.bias"])
    elif c.get("stem") == "conv":
        x = F.conv2d(x, w["patch_embed.conv1.weight"], w["patch_embed.conv1.bias"], c["patch_size"] // 2, 1)
        x = F.conv2d(F.gelu(x), w["patch_embed.conv2.weight"], w["patch_embed.conv2.bias"], 2, 1)
    else:
        x = F.conv2d(x, w["patch_embed.proj.weight"], w["patch_embed.proj.bias"], stride=c["patch_size"])
    for i, count in enumerate(c["blocks"]):
        for j in range(count):
            b = "layers.%d.blocks.%d." % (i, j)
            if c.get("mixer") == "depthwise":
                x = x + F.conv2d(x, w[b + "dwconv.weight"], w[b + "dwconv.bias"], padding=1, groups=x.shape[1])
            else:
                x = shift(x, c["num_div"])
            y = F.gelu(F.conv2d(norm(x, w, b + "norm2"), w[b + "mlp.fc1.weight"], w[b + "mlp.fc1.bias"]))
            x = x + F.conv2d(y, w[b + "mlp.fc2.weight"], w[b + "mlp.fc2.bias"])
        if i + 1 < len(c["blocks"]):
            s = "layers.%d.downsample." % i
            x = norm(x, w, s + "norm")
            x = F.conv2d(F.pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2)), w[s + "reduction.weight"], stride=2)
    return F.linear(x.mean((2, 3)), w["head.weight"], w["head.bias"])


def adamw(w, slots, step, rate=1e-3, decay=1e-4, b1=0.9, b2=0.999, eps=1e-7):
    """Keras' form: the decay first, eps beside the root of the uncorrected second moment."""
    with torch.no_grad():
        for name, value in w.items():
            m, v = slots[name]
            m.mul_(b1).add_(value.grad, alpha=1 - b1)
            v.mul_(b2).addcmul_(value.grad, value.grad, value=1 - b2)
            value.mul_(1 - rate * decay)
            value.sub_(rate * (1 - b2 ** step) ** 0.5 / (1 - b1 ** step) * m / (v.sqrt() + eps))


def make(name, c):
    random = np.random.default_rng(7)
    start = {k: initial(k, s, random) for k, s in shapes(c).items()}
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
    config = dict(architecture="shiftvit", num_classes=CLASSES, mlp_ratio=2, dropout=0, drop_path=0, **c)
    save_file(out, "%s/%s.safetensors" % (sys.argv[1], name), {"config": json.dumps(config)})


for name, c in CONFIGS.items():
    make(name, c)
