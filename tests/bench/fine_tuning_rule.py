#!/usr/bin/env python3
"""Compares the settings of ``fit(fine_tune=True)``, which are those of ``shiftvit-train --init-from``, with a search.

    PYTHONPATH=bindings/python SHIFTVIT_LIBRARY=build/lib/libshiftvit.so.1 \
        fine_tuning_rule.py BASE CIFAR10 RESULTS [IMAGES_OF_A_CLASS...]

BASE is a model file of other classes, CIFAR10 the folder of CIFAR-10's binary files. Each run trains on the first images
of each class of data_batch_1.bin and is tested with its last weights on the first 200 images of each class of
test_batch.bin. RESULTS is a text file of lines "IMAGES_OF_A_CLASS RUN TOP1 SECONDS"; what it has is not run again.
"""

import pathlib
import sys
import time

import numpy

import shiftvit

TEST_IMAGES = 200  # of a class
SEED = 1
HEAD = {"groups": [{"pattern": "*", "trainable": False}, {"pattern": "head.*"}], "layer_decay": 1.0}
ALL = {"groups": [], "layer_decay": 1.0}
LORA_RANK = 8

# Epochs, batch, schedule and all else are those of the rule.
SEARCH = {
    "rule": {},
    "head-1e-3": {**HEAD, "learning_rate": 1e-3},
    "all-1e-3": {**ALL, "learning_rate": 1e-3},
    "all-3e-4": {**ALL, "learning_rate": 3e-4},
    "all-1e-4": {**ALL, "learning_rate": 1e-4},
    "lora-1e-3": {**ALL, "learning_rate": 1e-3},
}


def images_of(path, per_class):
    """The first images of each class, class by class, and their labels."""
    rows = numpy.fromfile(path, dtype=numpy.uint8).reshape(-1, 1 + 3072)
    chosen = numpy.concatenate([numpy.flatnonzero(rows[:, 0] == label)[:per_class] for label in range(10)])
    pixels = rows[chosen, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return numpy.ascontiguousarray(pixels), rows[chosen, 0].astype(numpy.int32)


def measure(base, training, test, name, settings):
    """The test's top-1 after one run."""
    model = shiftvit.load(base)
    model.replace_head(10, seed=SEED)
    if name.startswith("lora"):
        model.add_lora(LORA_RANK, seed=SEED)
    model.fit(*training, fine_tune=True, compute="bf16", seed=SEED, **settings)
    return model.evaluate(*test, batch_size=100)["top1"]


def main():
    base, cifar, results = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    known = set()
    if results.exists():
        known = {tuple(line.split()[:2]) for line in results.read_text().splitlines()}
    test = images_of(cifar / "test_batch.bin", TEST_IMAGES)
    for per_class in sys.argv[4:] or ["5", "50", "500"]:
        training = images_of(cifar / "data_batch_1.bin", int(per_class))
        for name, settings in SEARCH.items():
            if (per_class, name) in known:
                continue
            start = time.monotonic()
            top1 = measure(base, training, test, name, settings)
            line = f"{per_class} {name} {100 * top1:.1f} {time.monotonic() - start:.0f}"
            print(line, flush=True)
            with open(results, "a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
