"""What several tests share: a small ViT and synthetic images."""

from __future__ import annotations

import functools
import pathlib
import tempfile
import unittest
from typing import Any

import numpy as np

import shiftvit

ROOT = pathlib.Path(__file__).resolve().parents[3]

SMALL = {
    "architecture": "vit",
    "input_height": 32,
    "input_width": 32,
    "patch_size": 4,
    "dim": 64,
    "depth": 2,
    "heads": 4,
    "head_dim": 16,
    "mlp_dim": 128,
    "num_classes": 10,
    "pool": "mean",
    "head_units": [],
    "dropout": 0.0,
    "head_dropout": 0.0,
    "attention_dropout": 0.0,
}
TINY = {**SMALL, "dim": 8, "depth": 1, "heads": 2, "head_dim": 4, "mlp_dim": 8, "patch_size": 8, "num_classes": 3}


def small(**fields: Any) -> shiftvit.Model:
    return shiftvit.create_model(**{**SMALL, **fields}, seed=1)


def tiny(**fields: Any) -> shiftvit.Model:
    return shiftvit.create_model(**{**TINY, **fields}, seed=1)


with shiftvit.Context(threads=1) as _context:
    needs_png = unittest.skipUnless("png" in _context.describe()["decoders"], "this build has no PNG")


@functools.lru_cache(maxsize=None)
def synthetic(count: int, split: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """Images [count, 32, 32, 3] of uint8 and labels [count]."""
    data = shiftvit.Dataset.synthetic(count, seed=5, split=split)
    images = np.stack([image for image, _ in data])
    return images, data.labels


def few(n: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Images of noise for the tiny model, float32, and labels of its 3 classes."""
    images = np.random.default_rng(3).random((n, 32, 32, 3), dtype=np.float32)
    return images, np.arange(n, dtype=np.int32) % 3


class FolderTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
