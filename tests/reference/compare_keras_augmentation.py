"""Compares the augmentation of vit-cifar100 and slvit-cifar100 with that of the Keras example: flips, angles, zooms and
their order, moments of augmented images, and the images of evaluation. Exits with 1 if they differ.
usage: compare_keras_augmentation.py --example vit_small_ds.md --data cifar-100-binary [--change FIELD=VALUE]

Needs Keras with TensorFlow, and SHIFTVIT_LIBRARY, the path of libshiftvit.so. The example is the page or the source of
keras.io. Flip, angle and zooms of an image are read from images whose values are their coordinates. `--change` gives
the library another value of a field of its pipeline: with rotation=0.025 the comparison must fail."""
from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "python"))

import keras
import numpy as np
import shiftvit
from keras_example import Array, load
from shiftvit import _library
from shiftvit.config import training_structs

BATCH = 250
CENTRE = 12  # pixels to each side of the centre in which no sample comes from beyond the border
LIMIT = 5.0  # standard errors
ENDS = 20.0  # mean distances of two neighbours, by which the ends of two samples of a uniform distribution differ
SHARE = 1e-6  # the least probability of a Kolmogorov-Smirnov statistic
ALMOST = 1e-4  # what float32 leaves of an angle or a shift of 0
EXACT = 2e-5  # the largest difference of an evaluated pixel, whose values are below 3


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--example", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--images", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--change", action="append", default=[])
    return parser.parse_args()


OPTIONS = parse()
FAILED: list[str] = []


def judge(name: str, text: str, good: bool) -> None:
    print(f"{name:28} {text}" + ("" if good else "  DIFFERS"), flush=True)
    if not good:
        FAILED.append(name)


def read(name: str) -> Array:
    records = np.fromfile(OPTIONS.data / name, np.uint8).reshape(-1, 2 + 3 * 32 * 32)
    return records[:, 2:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).copy()


def pipeline(mean: Array, variance: Array) -> dict[str, Any]:
    changes = {field: float(value) for field, value in (change.split("=") for change in OPTIONS.change)}
    fields = _library.fields_of("svit_pipeline_config", training_structs("vit-cifar100", None, changes)[2])
    return {**fields, "mean": [float(x) for x in mean], "variance": [float(x) for x in variance]}


def ours(images: Array, fields: dict[str, Any], augment: bool) -> Iterator[Array]:
    data = shiftvit.Dataset.from_arrays(images)
    for batch, _ in shiftvit.Loader(data, fields, batch=BATCH, seed=OPTIONS.seed, augment=augment):
        yield batch


def theirs(images: Array, layer: Any, augment: bool) -> Iterator[Array]:
    for first in range(0, len(images), BATCH):
        yield np.asarray(layer(images[first:first + BATCH].astype(np.float32), training=augment))


def transforms(batches: Iterator[Array]) -> dict[str, Array]:
    """Flip, angle and zooms of each image, how far from square the axes are, and how far the centre moved: from images
    whose first two channels are the coordinates x and y, which every image of a batch samples at A (x, y) + t."""
    rows = []
    for batch in batches:
        half = batch.shape[1] // 2
        near = batch[:, half - CENTRE:half + CENTRE, half - CENTRE:half + CENTRE, :2].astype(np.float64)
        place = np.arange(2 * CENTRE) - CENTRE + 0.5
        x, y = np.meshgrid(place, place)
        basis = np.stack([x.ravel(), y.ravel(), np.ones(x.size)], 1)
        flat = near.reshape(len(near), -1, 2).transpose(1, 0, 2).reshape(x.size, -1)
        rows.append(np.linalg.lstsq(basis, flat, rcond=None)[0].reshape(3, -1, 2).transpose(1, 2, 0))
    a = np.concatenate(rows)
    flip = np.linalg.det(a[:, :, :2]) < 0
    a[flip, 0] *= -1
    width, height = np.linalg.norm(a[:, :, 0], axis=1), np.linalg.norm(a[:, :, 1], axis=1)
    return {"flips": flip.astype(float), "angle, turns": np.arctan2(a[:, 1, 0], a[:, 0, 0]) / (2 * math.pi),
            "zoom of the width": width, "zoom of the height": height,
            "product of the zooms": (width - 1) * (height - 1),
            "flip times angle": (flip - 0.5) * np.arctan2(a[:, 1, 0], a[:, 0, 0]),
            "angle between the axes": np.sum(a[:, :, 0] * a[:, :, 1], 1) / (width * height),
            "shift of the centre": np.linalg.norm(a[:, :, 2], axis=1)}


def coordinates(count: int, size: int) -> Array:
    """Images whose values are, after resizing to `size`, coordinates from the centre in its pixels."""
    place = (np.arange(32) - 15.5) * (size / 32)
    x, y = np.meshgrid(place, place)
    return np.repeat(np.stack([x, y, x + y], 2)[None].astype(np.float32), count, 0)


def kolmogorov(a: Array, b: Array) -> float:
    """The probability of a distance as large as that of the two samples' distributions."""
    both = np.sort(np.concatenate([a, b]))
    distance = np.max(np.abs(np.searchsorted(np.sort(a), both, "right") / len(a)
                             - np.searchsorted(np.sort(b), both, "right") / len(b)))
    scaled = distance * math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    if scaled < 0.2:  # the series converges slowly there, to 1
        return 1.0
    return min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 50)))


def compare_transforms(layer: Any, size: int) -> None:
    images = coordinates(OPTIONS.images, size)
    got = transforms(ours(images, pipeline(np.zeros(3), np.ones(3)), True))
    wanted = transforms(theirs(images, layer, True))
    for name, a in got.items():
        b = wanted[name]
        error = math.sqrt((a.var() + b.var()) / len(a)) or 1.0
        z, share = (a.mean() - b.mean()) / error, kolmogorov(a, b)
        ends = max(abs(a.min() - b.min()), abs(a.max() - b.max())) / (np.ptp(b) / len(b))
        is_uniform = name.startswith(("angle, ", "zoom "))
        if name in ("angle between the axes", "shift of the centre"):
            largest = np.abs(a).max(), np.abs(b).max()
            judge(name, f"largest {largest[0]:.1e} and {largest[1]:.1e}", max(largest) < ALMOST)
        else:
            judge(name, f"{a.mean():8.5f} {b.mean():8.5f} (z {z:4.1f}), deviation {a.std():.5f} {b.std():.5f}, "
                  f"range {a.min():.4f}..{a.max():.4f} {b.min():.4f}..{b.max():.4f}, Kolmogorov-Smirnov {share:.2g}",
                  abs(z) < LIMIT and share > SHARE and (not is_uniform or ends < ENDS))


def moments(batches: Iterator[Array]) -> dict[str, Array]:
    """Moments of each image: of its values, of differences of neighbours, which blur lessens, and of its border, which
    the fill makes."""
    rows: dict[str, list[Array]] = {}
    for x in batches:
        border = np.concatenate([x[:, :4].reshape(len(x), -1), x[:, -4:].reshape(len(x), -1),
                                 x[:, :, :4].reshape(len(x), -1), x[:, :, -4:].reshape(len(x), -1)], 1)
        corner = np.concatenate([x[:, i, j].reshape(len(x), -1) for i in (slice(0, 4), slice(-4, None))
                                 for j in (slice(0, 4), slice(-4, None))], 1)
        for power in (1, 2, 3, 4):
            rows.setdefault(f"moment {power}", []).append((x**power).mean((1, 2, 3)))
        for name, dx in (("horizontal", np.diff(x, axis=2)), ("vertical", np.diff(x, axis=1)),
                         ("6 pixels", x[:, :, 6:] - x[:, :, :-6])):
            rows.setdefault(f"differences, {name}", []).append((dx**2).mean((1, 2, 3)))
        rows.setdefault("border, square", []).append((border**2).mean(1))
        rows.setdefault("corners, square", []).append((corner**2).mean(1))
        sides = x[:, :, :36].mean((1, 2, 3)), x[:, :, 36:].mean((1, 2, 3))
        rows.setdefault("left minus right", []).append(np.abs(sides[0] - sides[1]))
    return {name: np.concatenate(parts).astype(np.float64) for name, parts in rows.items()}


def compare_moments(images: Array, layer: Any, fields: dict[str, Any]) -> None:
    got, wanted = (moments(b) for b in (ours(images, fields, True), theirs(images, layer, True)))
    for name, a in got.items():
        difference = a - wanted[name]
        z = difference.mean() / (difference.std() / math.sqrt(len(a)))
        judge(name, f"{a.mean():8.5f} {wanted[name].mean():8.5f} (z {z:4.1f})", abs(z) < LIMIT)


def main() -> int:
    keras.utils.set_random_seed(OPTIONS.seed)
    train, test = read("train.bin"), read("test.bin")
    layer = load(OPTIONS.example, train, augments=True)["data_augmentation"]
    size = layer.layers[1].height
    normalize = layer.layers[0]
    mean, variance = np.asarray(normalize.mean).ravel(), np.asarray(normalize.variance).ravel()
    print(f"Keras {keras.__version__}, {OPTIONS.images} images; the library first, then Keras")
    part = train[:45000].reshape(-1, 3)
    print(f"{'mean, 45000 and 50000':28} {part.mean(0).round(3)} {mean.round(3)}\n"
          f"{'variance, 45000 and 50000':28} {part.var(0).round(1)} {variance.round(1)}")
    fields = pipeline(mean, variance)
    pairs = zip(ours(test[:2000], fields, False), theirs(test[:2000], layer, False))
    worst = max(np.abs(a - b).max() for a, b in pairs)
    judge("evaluation", f"largest difference {worst:.1e}", worst < EXACT)
    compare_transforms(keras.Sequential(layer.layers[1:]), size)
    compare_moments(train[:OPTIONS.images], layer, fields)
    print("differ: " + (", ".join(FAILED) or "none"))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
