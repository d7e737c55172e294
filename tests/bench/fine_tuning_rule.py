#!/usr/bin/env python3
"""Compares the settings of ``fit(fine_tune=True)``, which are those of ``shiftvit-train --init-from``, with others.

    PYTHONPATH=bindings/python SHIFTVIT_LIBRARY=build/lib/libshiftvit.so.1 \
        fine_tuning_rule.py BASE CIFAR RESULTS [IMAGES_OF_A_CLASS...]

BASE is a model file of other classes, CIFAR the folder of the binary files of CIFAR-100, of which the last ten classes
are taken, or of CIFAR-10. Each run trains on the first images of each class and is tested with its last weights on the
test images of these classes.
RESULTS is a text file of lines "BASE IMAGES_OF_A_CLASS RUN TOP1 SECONDS"; what it has is not run again.
"""

import pathlib
import sys
import time

import numpy

import shiftvit

# What a set has: bytes of labels, of which the last counts, the classes that are taken, and the files.
SETS = [(2, range(90, 100), ["train.bin"], "test.bin"),
        (1, range(10), [f"data_batch_{k}.bin" for k in range(1, 6)], "test_batch.bin")]
SEED = 1
LORA_RANK = 8
HEAD = {"groups": [{"pattern": "*", "trainable": False}, {"pattern": "head.*"}], "layer_decay": 1.0}

# Epochs, batch, schedule and all else are those of the rule. "fitted" is a head that is fitted to features, without
# augmentation; with "+" everything is trained after it. ViTs alone have adapters.
SEARCH = {
    "rule": {},
    "fitted": None,
    "head-1e-3": {**HEAD, "learning_rate": 1e-3},
    "head-1e-2": {**HEAD, "learning_rate": 1e-2},
    "all-1e-3-no-decay": {"layer_decay": 1.0},
    "all-3e-3": {"learning_rate": 3e-3},
    "all-3e-4": {"learning_rate": 3e-4},
    "fitted+rule": {},
    "lora": {},
    "lora-1e-3": {"learning_rate": 1e-3},
}


def images_of(files, label_bytes, classes, per_class):
    """The first images of each class, class by class, and their labels."""
    rows = numpy.concatenate([numpy.fromfile(file, dtype=numpy.uint8) for file in files]).reshape(-1, label_bytes + 3072)
    labels = rows[:, label_bytes - 1]
    chosen = numpy.concatenate([numpy.flatnonzero(labels == label)[:per_class] for label in classes])
    pixels = rows[chosen, label_bytes:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return numpy.ascontiguousarray(pixels), (labels[chosen] - classes[0]).astype(numpy.int32)


def measure(base, training, test, name, settings):
    """The test's top-1 after one run, or None if the model cannot have it."""
    model = shiftvit.load(base)
    model.replace_head(int(training[1].max()) + 1, seed=SEED)
    if name.startswith("lora"):
        if model.config["architecture"] != "vit":
            return None
        model.add_lora(LORA_RANK, seed=SEED)
    if name.startswith("fitted"):
        model.fit_head(shiftvit.FeatureSet.compute(model, shiftvit.Dataset.from_arrays(*training)))
    if settings is not None:
        model.fit(*training, fine_tune=True, seed=SEED, **settings)
    return model.evaluate(*test, batch_size=100)["top1"]


def main():
    base, cifar, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    known = set()
    if results.exists():
        known = {tuple(line.split()[:3]) for line in results.read_text().splitlines()}
    label_bytes, classes, train_files, test_file = next(found for found in SETS if (cifar / found[3]).exists())
    test = images_of([cifar / test_file], label_bytes, classes, None)
    for per_class in sys.argv[4:] or ["5", "50", "500"]:
        training = images_of([cifar / file for file in train_files], label_bytes, classes, int(per_class))
        for name, settings in SEARCH.items():
            if (base.stem, per_class, name) in known:
                continue
            start = time.monotonic()
            top1 = measure(base, training, test, name, settings)
            if top1 is None:
                continue
            line = f"{base.stem} {per_class} {name} {100 * top1:.1f} {time.monotonic() - start:.0f}"
            print(line, flush=True)
            with open(results, "a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
