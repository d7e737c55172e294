"""The updates of the library by PyTorch's optimisers, schedulers and averages in float64, for compare_training.py.

What the library does otherwise than PyTorch is here, each with the place that says so: the start and the end of
schedules, Keras' forms, Muon without bfloat16, settings of single parameters, averages of what is frozen.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import timm
import torch
import torch.optim._muon
from timm.optim.lion import Lion
from torch.optim import lr_scheduler, swa_utils

import shiftvit

Fields = dict[str, Any]
Weights = dict[str, torch.Tensor]  # float64, by the library's names and in its shapes

#: The sizes of a small ViT.
SIDE, PATCH, DIM, DEPTH, HEADS, MLP, CLASSES = 16, 8, 24, 2, 3, 40, 5
LARGEST_SQUARED = 2.0**63  # AdamW clips gradients there (docs/numerics.md)
POSITIONS = ("pos_embed", "cls_token")


def warmup(fields: Fields, step: int) -> float | None:
    """The rate of a linear rise; None after it."""
    steps, rate = fields.get("warmup_steps", 0), fields["learning_rate"]
    start = fields.get("lr_start", 0.0)
    return start + (rate - start) * step / steps if step < steps else None


def scheduled(make: Callable[[torch.optim.Optimizer], lr_scheduler.LRScheduler], rate: float, step: int) -> float:
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=rate)
    scheduler = make(optimizer)
    for _ in range(step):
        optimizer.step()
        scheduler.step()
    return float(scheduler.get_last_lr()[0])


def reference_rate(fields: Fields, step: int) -> float:
    """The learning rate of torch's schedulers, with what optimizer.h adds: a start of warm-ups, and the end."""
    name, rate = fields.get("schedule", "constant"), fields["learning_rate"]
    total, warm, start = fields.get("total_steps", 0), fields.get("warmup_steps", 0), fields.get("lr_start", 0.0)
    if name == "constant" or rate == 0:
        return float(rate)
    if name in ("warmup-cosine", "linear"):
        rising = warmup(fields, step)
        if rising is not None or step >= total:
            return rising or 0.0
        if name == "linear":
            return scheduled(lambda o: lr_scheduler.LinearLR(o, 1.0, 0.0, total - warm), rate, step - warm)
        return scheduled(lambda o: lr_scheduler.CosineAnnealingLR(o, total - warm), rate, step - warm)
    if name == "one-cycle":
        if total == 1 or (warm == total and step >= total):  # torch has no step after the end, nor a single one
            return float(rate) if step < warm else (start or rate / 25) * 1e-4
        if warm <= 1:  # which torch divides by 0
            return scheduled(
                lambda o: lr_scheduler.CosineAnnealingLR(o, total - 1, (start or rate / 25) * 1e-4),
                rate, min(step, total - 1),
            )
        return scheduled(
            lambda o: lr_scheduler.OneCycleLR(
                o, rate, total, pct_start=warm / total, div_factor=rate / start if start else 25,
                final_div_factor=1e4, cycle_momentum=False,
            ),
            rate, min(step, total - 1),
        )
    if name == "step":
        return scheduled(lambda o: lr_scheduler.StepLR(o, fields["step_size"], fields["step_factor"]), rate, step)
    if name == "cosine-restarts":
        restarts = (fields["restart_steps"], fields["restart_factor"], start)
        return scheduled(lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, *restarts), rate, step)
    fractions, factors = zip(*fields["points"])
    return float(rate * np.interp(step / total, fractions, factors))


@dataclass
class Settings:
    """Those of one parameter."""

    lr_scale: float
    weight_decay: float
    depth_scale: float
    inherits: bool
    trainable: bool = True
    matrix: bool = False


def depth_of(name: str) -> int:
    """As optimizer.h counts: the embedding 0, block i i + 1, what follows the blocks."""
    if name.startswith("blocks."):
        return int(name.split(".")[1]) + 1
    return 0 if name.startswith(("patch_embed", *POSITIONS)) else DEPTH + 1


def is_excluded(name: str, exclude: list[str]) -> bool:
    if name in POSITIONS:
        return "position" in exclude
    if "norm" in name:
        return "norm" in exclude
    return name.endswith(".bias") and "bias" in exclude


def settings_of(name: str, rank: int, fields: Fields) -> Settings:
    depth_scale = fields["layer_decay"] ** (DEPTH + 1 - depth_of(name))
    decays = not is_excluded(name, fields["decay_exclude"])
    settings = Settings(depth_scale, fields["weight_decay"] if decays else 0.0, depth_scale, decays)
    group: Fields = {}
    for each in fields.get("groups", ()):
        group = each if fnmatch.fnmatchcase(name, each["pattern"]) else group
    settings.lr_scale *= group.get("lr_scale", 1.0)
    settings.trainable = group.get("trainable", True)
    if "weight_decay" in group:
        settings.weight_decay, settings.inherits = group["weight_decay"], False
    inner = name.startswith("blocks.") and name.endswith(".weight") and "norm" not in name
    rule = group.get("rule", "auto")
    settings.matrix = fields["optimizer"] == "muon" and rank > 1 and (rule == "matrix" or (inner and rule == "auto"))
    return settings


def newton_schulz(g: torch.Tensor, c: tuple[float, float, float], steps: int, eps: float) -> torch.Tensor:
    """torch's in the precision of `g`, which torch rounds to bfloat16; eps is added as in Jordan's code."""
    x = g.T if g.size(0) > g.size(1) else g
    x = x / (x.norm() + eps)
    for _ in range(steps):
        a = x @ x.T
        x = c[0] * x + (c[1] * a + c[2] * a @ a) @ x
    out: torch.Tensor = x.T if g.size(0) > g.size(1) else x
    return out


class Reference:
    """The update of the library, by torch's optimisers, which each have one parameter."""

    def __init__(self, fields: Fields, weights: Weights) -> None:
        self.fields, self.weights = dict(fields), weights
        self.settings = {name: settings_of(name, w.ndim, fields) for name, w in weights.items()}
        self.optimizers = {name: self._optimizer(name, w) for name, w in weights.items()}
        self.steps, self.norm = 0, 0.0
        self.slow = {name: w.detach().clone() for name, w in weights.items()}
        self.moved = {name: w.detach().abs() for name, w in weights.items()}
        parameters = {name.replace(".", "/"): torch.nn.Parameter(w) for name, w in weights.items()}
        self.holder = torch.nn.ParameterDict(parameters)
        moving: Any = swa_utils.get_ema_multi_avg_fn  # which has no type hints
        decay = moving(fields["ema_momentum"]) if fields["ema"] != "swa" else None
        self.average = swa_utils.AveragedModel(self.holder, multi_avg_fn=decay)
        if fields["ema"] == "plain":
            self.average.update_parameters(self.holder)

    def _optimizer(self, name: str, w: torch.Tensor) -> torch.optim.Optimizer:
        f, betas = self.fields, (self.fields["beta1"], self.fields["beta2"])
        if self.settings[name].matrix:
            rows = w.reshape(w.shape[0], -1)
            return torch.optim.Muon([rows], momentum=f["momentum"], nesterov=f["nesterov"])
        if f["optimizer"] == "sgd":
            return torch.optim.SGD([w], lr=1.0, momentum=1e-300, nesterov=f["nesterov"])
        return Lion([w], betas=betas) if f["optimizer"] == "lion" else torch.optim.AdamW([w], betas=betas)

    def rate(self, name: str) -> float:
        rate = reference_rate(self.fields, self.steps)
        if self.fields["optimizer"] == "muon" and not self.settings[name].matrix:
            base = self.fields["learning_rate"]
            rate = rate / base * self.fields["adamw_learning_rate"] if base else 0.0
        return rate * self.settings[name].lr_scale

    def _update(self, name: str, gradient: torch.Tensor) -> None:
        f, own, optimizer = self.fields, self.settings[name], self.optimizers[name]
        group = optimizer.param_groups[0]
        rate = group["lr"] = self.rate(name)
        w = group["params"][0]
        group["weight_decay"] = own.weight_decay
        is_torch_sgd = f["optimizer"] == "sgd" and f["sgd_form"] == "torch"
        if not is_torch_sgd and (f["optimizer"] == "sgd" or f["decay_rule"] == "unscaled"):
            group["weight_decay"] = 0.0
            w.mul_(1 - own.weight_decay * (1.0 if f["decay_rule"] == "unscaled" else rate))
        if isinstance(optimizer, torch.optim.AdamW):
            gradient = gradient.clamp(-LARGEST_SQUARED, LARGEST_SQUARED)
            updates = float(optimizer.state[w].get("step", 0.0)) + 1
            correction = math.sqrt(1 - f["beta2"] ** updates) if f["epsilon_form"] == "keras" else 1.0
            group["eps"] = f["epsilon"] / correction
        if isinstance(optimizer, torch.optim.SGD):
            group["momentum"] = max(f["momentum"], 1e-300)  # with 0 torch keeps no velocity for the next step
            if not is_torch_sgd:  # the velocity includes the rate
                gradient, group["lr"] = rate * gradient, 1.0
        if own.matrix:
            group["momentum"] = f["momentum"]
        w.grad = gradient.reshape(w.shape)
        optimizer.step()

    def _average(self) -> None:
        f, done = self.fields, self.steps
        if f["ema"] != "swa":
            self.average.update_parameters(self.holder)
            return
        start = math.floor(f["swa_start"] * f["total_steps"] + 1e-9)
        if done <= start or done - start < f["swa_every"]:
            self.average.n_averaged.zero_()  # the weights themselves
            self.average.update_parameters(self.holder)
            self.average.n_averaged.zero_()
        elif (done - start) % f["swa_every"] == 0:
            self.average.update_parameters(self.holder)

    @torch.no_grad()
    def step(self, gradients: Weights, settle: Callable[[], None] = lambda: None) -> None:
        f = self.fields
        used = {name: g for name, g in gradients.items() if self.settings[name].trainable}
        self.norm = float(torch.nn.utils.get_total_norm(used.values()))
        scale = f["clip_norm"] / max(self.norm, f["clip_norm"]) if f["clip_norm"] > 0 else 1.0
        for name, gradient in used.items():
            before = self.weights[name].clone()
            self._update(name, gradient * scale)
            self.moved[name] += (self.weights[name] - before).abs()
        settle()
        self.steps += 1
        if f.get("lookahead") and self.steps % f["lookahead"] == 0:
            for name in used:
                self.slow[name].lerp_(self.weights[name], f["lookahead_alpha"])
                self.weights[name].copy_(self.slow[name])
        kept = {name: w.clone() for name, w in self.averages().items() if name not in used}
        self._average()
        for name, w in kept.items():  # the average of what is frozen does not drift
            self.averages()[name].copy_(w)

    def averages(self) -> Weights:
        return {name.removeprefix("module.").replace("/", "."): p for name, p in self.average.named_parameters()}

    def error(self, model: shiftvit.Model, theirs: Weights, exact: bool = True) -> tuple[float, str]:
        """The largest relative error of weights, and its parameter. If gradients are not `exact`, AdamW makes their
        rounding larger: that of keys' biases is none then, since their gradient is 0 but for rounding."""
        errors, ours = [], model.parameters()
        floor = (1e-2 if exact else 1.0) * max(self.fields["learning_rate"], self.fields["adamw_learning_rate"])
        for name, w in theirs.items():
            # What AdamW, Lion and Muon move is of the size of the rate.
            moved = self.moved[name].max() if self.settings[name].matrix else self.moved[name]
            terms = moved + floor * self.settings[name].lr_scale
            difference = (torch.as_tensor(ours[name]).double() - w.detach()).abs()
            if name.endswith("qkv.bias") and not exact:
                difference[DIM : 2 * DIM] = 0
            errors.append((float((difference / (terms + 1e-30)).max()), name))
        return max((math.inf if math.isnan(e) else e, name) for e, name in errors)


class Network:
    """timm's ViT in float64, on parameters as the library has them."""

    def __init__(self) -> None:
        self.vit = timm.models.VisionTransformer(
            img_size=SIDE, patch_size=PATCH, embed_dim=DIM, depth=DEPTH, num_heads=HEADS, mlp_ratio=MLP / DIM,
            num_classes=CLASSES,
        ).double()

    def __call__(self, weights: Weights, images: Any) -> torch.Tensor:
        shapes = dict(self.vit.named_parameters())
        state = {}
        for name, w in weights.items():
            timm_name = name.replace("head.fc1", "head")
            if name == "patch_embed.proj.weight":
                w = w.reshape(DIM, PATCH, PATCH, 3).permute(0, 3, 1, 2)
            state[timm_name] = w.reshape(shapes[timm_name].shape)
        x = torch.as_tensor(images).double().permute(0, 3, 1, 2)
        out: torch.Tensor = torch.func.functional_call(self.vit, state, (x,))
        return out


def exact_muon() -> None:
    """Lets torch.optim.Muon orthogonalise in the precision of its gradients."""
    setattr(torch.optim._muon, "_zeropower_via_newtonschulz", newton_schulz)
