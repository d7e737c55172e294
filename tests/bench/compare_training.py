"""Compares training with PyTorch: random settings, the same weights, batches and gradients.

    PYTHONPATH=bindings/python SHIFTVIT_LIBRARY=build/lib/libshiftvit.so \
        python3 tests/bench/compare_training.py --count 200 --seed 1

There are four comparisons, of --count random configurations each (a quarter of them in `training`):

  losses     loss and gradient with those of torch.nn.functional in float64, logits up to 1e30, class weights of 0
  schedules  learning rates with torch.optim.lr_scheduler, from the first step to beyond the end
  updates    svit_step, given random gradients, with torch.optim.AdamW, SGD and Muon and timm's Lion in float64: groups,
             layer-wise decay, clipping, averages, Lookahead, settings that change between two steps
  training   a trainer on a small ViT with timm's ViT, autograd and these optimisers in float64, on the batches of a
             loader with the trainer's seed: losses, smoothing, class weights, targets, Mixup, accumulation, leaves

An error is relative: of a weight, to the sum of its magnitude and of what updates have moved it. The largest of each
comparison is printed. One above its bound is printed with the settings, and the exit status is 1. It is no part of the
tests; without torch and timm it says so and ends.
"""

from __future__ import annotations

import argparse
import fnmatch
import logging
import math
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable

try:
    import numpy as np
    import timm  # noqa: F401
    import torch
    from torch.nn import functional
except ImportError as error:
    print(f"left out: {error}")
    sys.exit(0)

import shiftvit
from reference_training import (
    CLASSES,
    DEPTH,
    DIM,
    HEADS,
    MLP,
    PATCH,
    SIDE,
    Fields,
    Network,
    Reference,
    Weights,
    exact_muon,
    reference_rate,
)

Random = np.random.Generator

BOUNDS = {"losses": 3e-7, "schedules": 1e-9, "updates": 5e-4, "training": 2e-4}


class Difference(Exception):
    """An error above its bound, which ends a configuration."""


@dataclass
class Report:
    """The largest error of a comparison, and what was above its bound."""

    name: str
    count: int = 0
    largest: float = 0.0
    failures: int = 0

    def add(self, error: float, what: str) -> None:
        if not error <= BOUNDS[self.name]:
            raise Difference(f"{self.name}: {error:.3g}: {what}")
        self.largest = max(self.largest, error)


def chance(rng: Random, probability: float) -> bool:
    return bool(rng.random() < probability)


def pick(rng: Random, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def log_uniform(rng: Random, low: float, high: float) -> float:
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


# Losses


def relative(ours: Any, theirs: torch.Tensor, terms: Any = 0.0) -> float:
    """The largest difference, relative to the value and to `terms`; 1e-37 is none, since it is next to subnormal."""
    wanted = theirs.detach().double()
    difference = (torch.as_tensor(ours).double() - wanted).abs()
    scale = wanted.abs() + torch.as_tensor(terms).double() + 1e-37
    return float((difference / scale).max())


def random_loss(rng: Random) -> tuple[str, partial[tuple[float, Any]], torch.Tensor, torch.Tensor]:
    """What was drawn, what computes the library's loss and gradient, and those of torch."""
    n, classes = pick(rng, 1, 2, 7, 64), pick(rng, 2, 3, 10, 130)
    size = pick(rng, 0.0, 1e-6, 1.0, 20.0, 1e3, 1e10, 1e30)
    logits = (rng.standard_normal((n, classes)) * size).astype(np.float32)
    kind = pick(rng, "labels", "soft", "binary", "mse")
    smoothing = float(np.float32(pick(rng, 0.0, 0.1, 0.7, 0.999))) if kind in ("labels", "binary") else 0.0
    weights = None
    if kind in ("labels", "binary") and chance(rng, 0.5):
        weights = (rng.random(classes) * pick(rng, 1.0, 1e-20, 1e20 if kind == "labels" else 1e3)).astype(np.float32)
        weights[1:] *= rng.random(classes - 1) < 0.7
    z = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    w = None if weights is None else torch.tensor(weights, dtype=torch.float64)
    what = f"{kind}, n {n}, classes {classes}, logits {size}, smoothing {smoothing}, weights {weights is not None}"
    if kind == "labels":
        labels = rng.integers(0, classes, n)
        labels[0] = 0 if weights is not None else labels[0]  # a label whose weight is not 0
        ours = partial(shiftvit.cross_entropy, logits, labels, label_smoothing=smoothing, class_weights=weights)
        theirs = functional.cross_entropy(z, torch.tensor(labels), w, label_smoothing=smoothing)
    elif kind == "soft":
        targets = rng.random((n, classes)).astype(np.float32) * (rng.random((n, classes)) < 0.6)
        ours = partial(shiftvit.cross_entropy, logits, targets.astype(np.float32))
        theirs = functional.cross_entropy(z, torch.tensor(targets, dtype=torch.float64))
    elif kind == "binary":
        targets = pick(rng, rng.random((n, classes)), rng.integers(0, 2, (n, classes))).astype(np.float32)
        t = torch.tensor(targets, dtype=torch.float64) * (1 - smoothing) + smoothing / 2
        ours = partial(shiftvit.binary_cross_entropy, logits, targets, label_smoothing=smoothing, pos_weight=weights)
        theirs = functional.binary_cross_entropy_with_logits(z, t, pos_weight=w)
    else:
        targets = (rng.standard_normal((n, classes)) * pick(rng, 1.0, size)).astype(np.float32)
        ours = partial(shiftvit.mean_squared_error, logits, targets)
        theirs = functional.mse_loss(z, torch.tensor(targets, dtype=torch.float64))
    (gradient,) = torch.autograd.grad(theirs, z)
    return what, ours, theirs, gradient


def compare_losses(rng: Random, report: Report) -> None:
    what, ours, theirs, gradient = random_loss(rng)
    size = max(1.0, float(np.abs(ours.args[0]).max())) if what.startswith("binary") else 1.0
    try:
        loss, dlogits = ours()
    except shiftvit.errors.NumericError as failure:
        if theirs.item() <= float(np.finfo(np.float32).max):
            raise Difference(f"losses: {failure}; for {theirs.item()} of {what}") from None
        return
    # torch's own rounding in float64: of pos_weight - 1, and of differences of numbers near the largest one.
    report.add(relative(loss, theirs, 1e-8 * size), f"the loss of {what}: {loss} for {theirs.item()}")
    report.add(relative(dlogits, gradient, gradient.abs().max() * 1e-9 + 1e-8), f"the gradient of {what}")


# Schedules


def random_schedule(rng: Random, total: int) -> Fields:
    """Fields of a schedule of `total` steps; `learning_rate` is drawn before."""
    name = pick(rng, "constant", "warmup-cosine", "linear", "one-cycle", "step", "cosine-restarts", "piecewise")
    fields: Fields = {"schedule": name}
    if name in ("warmup-cosine", "linear", "one-cycle", "piecewise"):
        fields["total_steps"] = total
    if name in ("warmup-cosine", "linear", "one-cycle"):
        fields["warmup_steps"] = int(rng.integers(0, total + 1))
    if name == "step":
        fields.update(step_size=int(rng.integers(1, 6)), step_factor=pick(rng, 0.0, 0.1, 0.5, 1.0, 1.3))
    if name == "cosine-restarts":
        fields.update(restart_steps=int(rng.integers(2, 7)), restart_factor=int(rng.integers(1, 4)))
    if name == "piecewise":
        fractions = np.unique(np.append(rng.random(int(rng.integers(2, 6))), rng.choice([0.0, 1.0, 0.5], 1)))
        fields["points"] = [[float(fraction), pick(rng, 0.0, 1.0, float(rng.random()))] for fraction in fractions]
    return fields


def compare_schedules(rng: Random, report: Report) -> None:
    total = int(rng.integers(1, 24))
    fields = {"learning_rate": pick(rng, 0.0, 1e-30, 1e-3, 1.0, 1e30), **random_schedule(rng, total)}
    if chance(rng, 0.5):
        fields["lr_start"] = fields["learning_rate"] * pick(rng, 1e-3, 0.3, 1.0)
    for step in range(total + 4):
        ours, theirs = shiftvit.learning_rate(step, **fields), reference_rate(fields, step)
        scale = max(abs(theirs), 1e-6 * fields["learning_rate"], 1e-300)
        report.add(abs(ours - theirs) / scale, f"{ours:.17g} for {theirs:.17g} at step {step} of {fields}")


# Updates


def random_optimizer(rng: Random, total: int, calm: bool) -> Fields:
    """Fields of an optimiser. `calm`: those with which the rounding of gradients does not grow."""
    kind = pick(rng, "adamw", "sgd", "muon") if calm else pick(rng, "adamw", "sgd", "muon", "lion")
    high = 1e-2 if calm else 1.0
    fields: Fields = {"optimizer": kind, "learning_rate": log_uniform(rng, 1e-5, high)}
    fields["beta1"] = pick(rng, 0.0, 0.4, 0.9, 0.99, float(rng.random()))
    fields["beta2"] = pick(rng, 0.9, 0.99, 0.999) if calm else pick(rng, 0.0, 0.3, 0.95, 0.999, 0.9999, 0.9)
    if fields["beta2"] == 0:
        fields["beta1"] = 0.0  # m / |g| of a small g would be the rounding of an m that cancels
    fields["epsilon"] = pick(rng, 1e-3, 1e-2) if calm else pick(rng, 1e-16, 1e-8, 1e-7, 1e-3, 1.0)
    fields["epsilon_form"], fields["sgd_form"] = pick(rng, "keras", "torch"), pick(rng, "keras", "torch")
    fields["momentum"], fields["nesterov"] = pick(rng, 0.0, 0.5, 0.9, 0.95), bool(rng.integers(2))
    fields["adamw_learning_rate"] = log_uniform(rng, 1e-5, high)
    fields["weight_decay"] = pick(rng, 0.0, 1e-4, 0.05, 0.5)
    fields["decay_rule"] = pick(rng, "scaled", "scaled", "unscaled")
    fields["decay_exclude"] = [word for word in ("bias", "norm", "position") if chance(rng, 0.4)]
    fields["layer_decay"] = pick(rng, 1.0, 0.75, 0.3)
    fields["clip_norm"] = pick(rng, 0.0, 1e-6, 0.1, 1.0, 1e6)
    fields["ema"] = pick(rng, "none", "plain", "keras", "swa")
    fields["ema_momentum"] = pick(rng, 0.0, 0.3, 0.9, 0.999)
    fields.update(random_schedule(rng, total))
    if fields["ema"] == "swa":
        fields.update(total_steps=total, swa_start=pick(rng, 0.0, 0.25, 0.6, 1.0), swa_every=int(rng.integers(1, 4)))
    if chance(rng, 0.3):
        fields.update(lookahead=int(rng.integers(1, 4)), lookahead_alpha=pick(rng, 0.0, 0.5, 0.8, 1.0))
    if chance(rng, 0.6):
        fields["groups"] = [random_group(rng, calm) for _ in range(int(rng.integers(1, 4)))]
    return fields


def random_group(rng: Random, calm: bool) -> Fields:
    patterns = ("*.bias", "head.*", "blocks.0.*", "*norm?.*", "*", "blocks.1.mlp.fc2.weight", "pos_embed", "*mlp*")
    pattern = pick(rng, *patterns)
    group: Fields = {"pattern": pattern}
    if chance(rng, 0.5):
        group["lr_scale"] = pick(rng, 0.0, 0.1, 1.0, 10.0)
    if chance(rng, 0.5):
        group["weight_decay"] = pick(rng, 0.0, 0.01, 0.3)
    if chance(rng, 0.2) and pattern != "*" and not calm:
        group["trainable"] = False
    if chance(rng, 0.3):
        group["rule"] = pick(rng, "auto", "element", "matrix")
    return group


def random_gradient(rng: Random, shape: tuple[int, ...], size: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    gradient = rng.standard_normal(shape) * size * (rng.random(shape) < pick(rng, 1.0, 1.0, 0.3, 0.0))
    rounded: np.ndarray[Any, np.dtype[np.float32]] = gradient.astype(np.float32)
    return rounded


def change_settings(rng: Random, optimizer: shiftvit.Optimizer, reference: Reference) -> str:
    """Changes a setting on both sides between two steps."""
    key = pick(rng, "learning_rate", "weight_decay", "momentum", "clip_norm", "lr_scale", "group_decay", "trainable")
    value = pick(rng, 0.0, 0.03, 0.7)
    settings = reference.settings
    if key in ("lr_scale", "group_decay"):
        pattern = pick(rng, "blocks.1.*", "*.weight", "head.*")
        optimizer.set_parameter(pattern, key.replace("group", "weight"), value)
        for name in fnmatch.filter(settings, pattern):
            if key == "lr_scale":
                settings[name].lr_scale = value * settings[name].depth_scale
            else:
                settings[name].weight_decay, settings[name].inherits = value, False
        return f"{key} of {pattern} = {value}"
    if key == "trainable":
        value = float(rng.integers(2))
        optimizer.set_parameter("blocks.0.*", key, value)
        for name in fnmatch.filter(settings, "blocks.0.*"):
            settings[name].trainable = value == 1
        return f"trainable of blocks.0.* = {value}"
    value = max(value, 1e-3) if key == "learning_rate" else value
    optimizer.set(key, value)
    reference.fields[key] = value
    for each in settings.values():
        if key == "weight_decay" and each.inherits:
            each.weight_decay = value
    return f"{key} = {value}"


def small_model(rng: Random) -> shiftvit.Model:
    return shiftvit.create_model(
        "deit-tiny-patch16-224", num_classes=CLASSES, input_height=SIDE, input_width=SIDE, patch_size=PATCH, dim=DIM,
        depth=DEPTH, heads=HEADS, head_dim=DIM // HEADS, mlp_dim=MLP, seed=int(rng.integers(1000)),
    )


def weights_of(model: shiftvit.Model) -> Weights:
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in model.parameters().items()}


def settle_ties(reference: Reference, model: shiftvit.Model) -> None:
    """Where Lion's direction is 0 but for its rounding, the library's sign counts."""
    for name, w in reference.weights.items():
        ours = torch.as_tensor(model.parameters()[name]).double()
        tie = (ours - w).abs() > 1e-3 * reference.rate(name)
        if reference.settings[name].trainable and 0 < int(tie.sum()) <= 2 + w.numel() // 500:
            w[tie] = ours[tie]


def compare_updates(rng: Random, report: Report) -> None:
    model, steps = small_model(rng), int(rng.integers(1, 9))
    fields = random_optimizer(rng, steps, calm=False)
    if chance(rng, 0.1):
        for name in model.parameters():
            model.parameters()[name] = 0 * model.parameters()[name]
    optimizer = shiftvit.Optimizer(model, **fields)
    session = shiftvit.Session(model, mode="train", max_batch=2)
    reference, changes = Reference(fields, weights_of(model)), ""
    size = pick(rng, 1.0, 1e-4, 1e4, 1e-10 if fields["epsilon"] > 1e-12 else 1.0, 1e12, 1e-3)
    for step in range(steps):
        if chance(rng, 0.2):
            changes += f"; {change_settings(rng, optimizer, reference)} before step {step}"
        here = size * pick(rng, 1.0, 1.0, 1.0, 1e-3, 1e3)
        gradients = {name: random_gradient(rng, tuple(w.shape), here) for name, w in reference.weights.items()}
        for name, gradient in gradients.items():
            session.set_gradient(name, gradient)
        optimizer.step(session)
        has_ties = fields["optimizer"] == "lion" and not fields.get("lookahead")
        settle = partial(settle_ties, reference, model) if has_ties else lambda: None
        reference.step({name: torch.tensor(g, dtype=torch.float64) for name, g in gradients.items()}, settle)
        what = f"after step {step} of {steps}, gradients {size}: {fields}{changes}"
        worst, name = reference.error(model, reference.weights)
        report.add(worst, f"{name} {what}")
        norm = optimizer.get("gradient_norm")
        report.add(abs(norm - reference.norm) / (reference.norm + 1e-300), f"gradient_norm {norm} {what}")
        if fields["ema"] != "none":
            optimizer.swap_average()
            worst, name = reference.error(model, reference.averages())
            report.add(worst, f"the average of {name} {what}")
            optimizer.swap_average()


# Training


def training_loss(fields: Fields, weights: list[float] | None, logits: torch.Tensor, wanted: Any) -> torch.Tensor:
    smoothing = fields["label_smoothing"]
    w = torch.tensor(weights, dtype=torch.float64) if weights else None
    targets = torch.as_tensor(wanted)
    targets = targets.long() if fields["loss"] == "cross-entropy" and targets.ndim == 1 else targets
    if fields["loss"] == "cross-entropy":
        targets = targets if targets.ndim == 1 else targets.double()
        return functional.cross_entropy(logits, targets, w, label_smoothing=smoothing)
    if targets.ndim == 1:
        targets = functional.one_hot(targets.long(), CLASSES)
    targets = targets.double()
    if fields["loss"] == "mse":
        return functional.mse_loss(logits, targets)
    return functional.binary_cross_entropy_with_logits(logits, targets * (1 - smoothing) + smoothing / 2, pos_weight=w)


def random_training(rng: Random) -> tuple[Fields, Fields, shiftvit.Dataset, list[float] | None]:
    """Settings, pipeline, data, and the factors of the classes."""
    count = int(rng.integers(6, 20))
    batch = int(rng.integers(1, count + 3))
    epochs = int(rng.integers(1, 4))
    steps = epochs * math.ceil(count / batch)
    fields = random_optimizer(rng, steps, calm=True)
    fields.update(epochs=epochs, batch=batch, patience=0, seed=int(rng.integers(1000)))
    fields["loss"] = pick(rng, "cross-entropy", "cross-entropy", "binary", "mse")
    fields["label_smoothing"] = 0.0 if fields["loss"] == "mse" else pick(rng, 0.0, 0.1, 0.6)
    if fields["loss"] != "mse" and chance(rng, 0.5):
        fields["class_weights"] = [float(np.float32(log_uniform(rng, 0.1, 10))) for _ in range(CLASSES)]
    how = pick(rng, "accumulate", "leaves", "none")
    if how != "none":
        fields[how] = int(rng.integers(1, batch + 1))
    fields["memory"] = pick(rng, "store", "blocks", "stages")
    images = rng.integers(0, 256, (count, SIDE, SIDE, 3)).astype(np.uint8)
    labels: Any = rng.integers(0, CLASSES, count).astype(np.int32)
    labels[:CLASSES] = np.arange(CLASSES)
    if chance(rng, 0.4):
        labels = rng.random((count, CLASSES)).astype(np.float32)
        labels /= labels.sum(axis=1, keepdims=True) if fields["loss"] == "cross-entropy" else 1
    elif chance(rng, 0.3) and fields.get("leaves") is None:
        fields["sampling"] = "balanced"
    elif chance(rng, 0.3) and fields["loss"] == "cross-entropy" and "class_weights" not in fields:
        fields["class_weighting"] = "balanced"
    pipeline: Fields = {f"{of}_{side}": SIDE for of in ("source", "resize", "output") for side in ("height", "width")}
    pipeline.update(scale=1 / 255, mean=[0.5] * 3, variance=[0.25] * 3, flip_probability=0.5)
    if chance(rng, 0.3):
        pipeline["augment"] = [{"name": pick(rng, "mixup", "cutmix"), "probability": 0.7}]
    weights = fields.get("class_weights")
    if "class_weighting" in fields:  # as scikit-learn; each class has a sample
        weights = (count / (CLASSES * np.bincount(labels, minlength=CLASSES))).tolist()
    return fields, pipeline, shiftvit.Dataset.from_arrays(images, labels), weights


def compare_training(rng: Random, report: Report) -> None:
    fields, pipeline, data, factors = random_training(rng)
    model, network = small_model(rng), Network()
    reference = Reference(fields, weights_of(model))
    order = {"shuffle": True, "sampling": fields.get("sampling", "shuffle")}
    loader = shiftvit.Loader(data, pipeline, batch=fields["batch"], augment=True, seed=fields["seed"], **order)
    validation = shiftvit.Loader(data, pipeline, batch=len(data))
    trainer = shiftvit.Trainer(model, data, data, pipeline=pipeline, **fields)
    sums, seen = 0.0, 0
    for event in trainer:
        what = f"in epoch {event.epoch}, step {event.step}: {fields}, {pipeline}, {len(data)} images"
        if event.kind == "step":
            batch = loader.next()
            assert batch is not None
            images, wanted = batch
            weights = {name: w.detach().requires_grad_() for name, w in reference.weights.items()}
            loss = training_loss(fields, factors, network(weights, images), wanted)
            gradients = torch.autograd.grad(loss, list(weights.values()))
            rate = reference_rate(reference.fields, reference.steps)
            reference.step(dict(zip(weights, gradients)))
            sums, seen = sums + loss.item() * len(wanted), seen + len(wanted)
            report.add(abs(event.train_loss - sums / seen) / (sums / seen), f"train_loss {what}")
            report.add(abs(event.learning_rate - rate) / (rate + 1e-9), f"learning_rate {event.learning_rate} {what}")
            worst, name = reference.error(model, reference.weights, exact=False)
            report.add(worst, f"{name} {what}")
        elif event.kind == "epoch":
            assert loader.next() is None
            sums, seen = 0.0, 0
            final = reference.averages() if fields["ema"] != "none" else reference.weights
            images, wanted = validation.next() or (None, None)
            validation.next()
            plain = {**fields, "label_smoothing": 0.0}
            with torch.no_grad():
                loss = training_loss(plain, None, network(final, images), wanted)
            report.add(abs(event.val_loss - loss.item()) / loss.item(), f"val_loss {event.val_loss} {what}")
        else:
            worst, name = reference.error(model, final, exact=False)
            report.add(worst, f"the final {name} {what}")


COMPARISONS: dict[str, Callable[[Random, Report], None]] = {
    "losses": compare_losses, "schedules": compare_schedules, "updates": compare_updates, "training": compare_training,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=100, help="configurations of each comparison")
    parser.add_argument("--seed", type=int, default=1, help="of the first configuration; the others follow")
    parser.add_argument("--only", choices=COMPARISONS, action="append", help="this comparison, not all")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)  # of averages without weights, which are drawn too
    exact_muon()
    failures = 0
    for name in arguments.only or COMPARISONS:
        report = Report(name)
        count = max(1, arguments.count // (4 if name == "training" else 1))
        for seed in range(arguments.seed, arguments.seed + count):
            try:
                COMPARISONS[name](np.random.default_rng([seed, len(name)]), report)
            except (Difference, shiftvit.Error) as failure:
                report.failures += 1
                print(f"--only {name} --seed {seed} --count 1: {failure}", flush=True)
            report.count += 1
        print(f"{name}: {report.count} configurations, {report.failures} differ, the largest other error is", end=" ")
        print(f"{report.largest:.2g}", flush=True)
        failures += report.failures
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
