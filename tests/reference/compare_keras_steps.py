"""Compares training steps of this library with those of the Keras example: logits, loss, every gradient and every
weight, in training mode with the same dropout masks, images and weights. Exits with 1 if a tensor differs by more than
rounding explains, and names the first.
usage: compare_keras_steps.py --example vit_small_ds.md [--data cifar-100-binary] [--model slvit] [--change FIELD=VALUE]

Needs Keras with TensorFlow, and SHIFTVIT_LIBRARY, the path of libshiftvit.so. The example is the page or the source of
keras.io. Each step starts from the library's weights. Keras computes it in float64 and in float32; the library, which
computes in float32, may be a few times as far from the former as the latter is. Keras' optimiser gets the library's
gradients. A third model of Keras trains on its own in float64: `apart` is the difference of its loss. `--change` gives
the library another value of a field of its model or its training: with dropout=0.11 or decay_rule=unscaled the
comparison must fail."""
from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "python"))

import keras
import numpy as np
import shiftvit
import tensorflow
from keras_example import Array, Example, load
from shiftvit import _library
from shiftvit.config import training_structs

warnings.filterwarnings("ignore", message="`build")
UNIT = 2.0**-24
ALLOWED = 16  # units of rounding


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--example", type=Path, required=True)
    parser.add_argument("--data")
    parser.add_argument("--model", choices=("vit", "slvit"), default="vit")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--change", action="append", default=[])
    return parser.parse_args()


OPTIONS = parse()


class Ours:
    """The library's model, session and optimiser of the preset, with the changed fields."""

    def __init__(self) -> None:
        preset = f"{OPTIONS.model}-cifar100"
        model, changes = shiftvit.model_config(preset, init="keras-3.14"), {}
        for field, text in (change.split("=") for change in OPTIONS.change):
            value = float(text) if text[0].isdigit() else text
            (model if field in model else changes)[field] = value
        _, optimizer, pipeline = training_structs(preset, None, changes)
        context = shiftvit.Context(threads=OPTIONS.threads)
        self.model = shiftvit.Model(model, seed=OPTIONS.seed, context=context)
        self.session = shiftvit.Session(self.model, mode="train", max_batch=OPTIONS.batch, seed=OPTIONS.seed)
        self.optimizer = shiftvit.Optimizer(self.model, **_library.fields_of("svit_optimizer_config", optimizer))
        self.pipeline = _library.fields_of("svit_pipeline_config", pipeline)

    def values(self) -> dict[str, Array]:
        return {name: np.array(self.model.parameters()[name]) for name in self.model.parameters()}

    def batches(self) -> Any:
        """Augmented images, or random ones without data."""
        if OPTIONS.data:
            data = shiftvit.Dataset.cifar100(OPTIONS.data)
            mean, variance = data.statistics(scale=1)
            fields = {**self.pipeline, "mean": list(mean), "variance": list(variance)}
            yield from shiftvit.Loader(data, fields, batch=OPTIONS.batch, shuffle=True, augment=True)
        random = np.random.default_rng(OPTIONS.seed)
        while True:
            images = random.standard_normal((OPTIONS.batch, *self.model.input_shape)).astype(np.float32)
            yield images, random.integers(0, 100, OPTIONS.batch).astype(np.int32)


class Theirs:
    """The example's model in one precision, with Keras' AdamW and the example's settings."""

    def __init__(self, precision: str, values: dict[str, Array]) -> None:
        keras.config.set_floatx(precision)
        keras.config.set_dtype_policy(precision)
        scope = load(OPTIONS.example, np.zeros((2, 32, 32, 3)), augments=False)
        self.precision = precision
        self.example = Example(scope, vanilla=OPTIONS.model == "vit")
        self.variables = self.example.model.trainable_variables
        self.optimizer = keras.optimizers.AdamW(learning_rate=scope["LEARNING_RATE"],
                                                weight_decay=scope["WEIGHT_DECAY"])
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.example.assign(values)
        self.optimizer.build(self.variables)

    def backward(self, images: Array, labels: Array, step: int) -> tuple[dict[str, Array], dict[int, Any]]:
        self.example.draw(len(images), (0.1, 0.1, 0.5), OPTIONS.seed, step)
        with tensorflow.GradientTape() as tape:
            logits = self.example.model(tensorflow.constant(images, self.precision), training=True)
            loss = self.loss(labels, logits)
        found = tape.gradient(loss, [v.value for v in self.variables])
        gradients = {id(v): tensorflow.convert_to_tensor(g) for v, g in zip(self.variables, found)}
        named = self.example.read(lambda v: gradients[id(v)])
        return {"logits": np.asarray(logits), "loss": np.asarray(loss),
                **{"gradient of " + k: v for k, v in reversed(list(named.items()))}}, gradients

    def step(self, gradients: dict[int, Any]) -> None:
        self.optimizer.apply([gradients[id(v)] for v in self.variables], self.variables)

    def step_with(self, named: dict[str, Array]) -> dict[str, Array]:
        """How AdamW changes the weights, given the library's gradients."""
        before = self.values()
        gradients = self.example.variables_of(named)
        self.step({key: tensorflow.constant(value, self.precision) for key, value in gradients.items()})
        return {name: value - before[name] for name, value in self.values().items()}

    def values(self) -> dict[str, Array]:
        return self.example.read(lambda v: v)


def run_ours(ours: Ours, images: Array, labels: Array) -> tuple[dict[str, Array], dict[str, Array]]:
    logits = ours.session.forward(images)
    loss, dlogits = shiftvit.cross_entropy(logits, labels)
    ours.session.backward(dlogits)
    gradients = {name: ours.session.gradient(name) for name in ours.model.parameters()}
    return {"logits": logits, "loss": np.asarray(loss),
            **{"gradient of " + k: v for k, v in reversed(list(gradients.items()))}}, gradients


def distance(a: Array, b: Array) -> float:
    return float(np.linalg.norm(np.subtract(a, b, dtype=np.float64)))


def size(x: Array) -> float:
    return distance(x, np.zeros_like(x))


def kind_of(name: str) -> str:
    return re.sub(r"blocks\.\d+", "blocks", name)


def errors_of(ours: dict[str, Array], exact: dict[str, Array], rounded: dict[str, Array]) -> list[tuple[float, str]]:
    """The error of each tensor in units of that of Keras in float32, or of the rounding of the tensor itself. The error
    of a single element may be small by chance, so it is at least the mean of the tensors of that name in all blocks."""
    kinds: dict[str, list[float]] = {}
    for name, wanted in exact.items():
        kinds.setdefault(kind_of(name), []).append(distance(rounded[name], wanted))
    errors = []
    for name, wanted in exact.items():
        typical = float(np.sqrt(np.mean(np.square(kinds[kind_of(name)]))))
        unit = max(distance(rounded[name], wanted), typical, UNIT * size(wanted)) or 1
        errors.append((distance(ours[name], wanted) / unit, name))
    return errors


def step_errors(before: dict[str, Array], after: dict[str, Array], exact: dict[str, Array],
                step: int) -> list[tuple[float, str]]:
    """The error of each change of weights in units of rounding: of the weights, and of the 1 - 0.999^step that Keras
    computes in float32 in either precision."""
    correction = 0.5 / (1 - 0.999 ** step)
    errors = []
    for name, wanted in exact.items():
        unit = UNIT * (size(before[name]) + (4 + correction) * size(wanted))
        errors.append((distance(after[name].astype(np.float64) - before[name], wanted) / unit, "step of " + name))
    return errors


def main() -> int:
    ours = Ours()
    start = ours.values()
    exact, rounded, free = (Theirs(p, start) for p in ("float64", "float32", "float64"))
    keras.config.set_floatx("float64")
    print(f"Keras {keras.__version__}, TensorFlow {tensorflow.__version__}, {OPTIONS.model}, batches of {OPTIONS.batch}"
          f"\n{'step':>4} {'loss':>9} {'error':>8} {'apart':>8}  the largest errors, in units of rounding")
    first = ""
    for step, (images, labels) in zip(range(OPTIONS.steps), ours.batches()):
        before = ours.values()
        for theirs in (exact, rounded):
            theirs.example.assign(before)
        (wanted, _), (near, _) = (theirs.backward(images, labels, step) for theirs in (exact, rounded))
        apart, gradients = free.backward(images, labels, step)
        free.step(gradients)
        got, named = run_ours(ours, images, labels)
        ours.optimizer.step(ours.session)
        errors = errors_of(got, wanted, near) + step_errors(before, ours.values(), exact.step_with(named), step + 1)
        worst = {kind: max(e for e in errors if e[1].startswith(kind)) for kind in ("log", "grad", "step")}
        print(f"{step + 1:4} {float(got['loss']):9.6f} {float(got['loss'] - wanted['loss']):8.1e} "
              f"{float(got['loss'] - apart['loss']):8.1e}  " + ", ".join(f"{n} {e:.1f}" for e, n in worst.values()),
              flush=True)
        first = first or next((f"step {step + 1}: {n} ({e:.3g})" for e, n in errors if e > ALLOWED), "")
    print(f"first tensor that differs by more than {ALLOWED} units of rounding: {first or 'none'}")
    return 1 if first else 0


if __name__ == "__main__":
    sys.exit(main())
