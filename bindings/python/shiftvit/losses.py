"""Losses and activations on arrays: each loss returns its mean and its gradient."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _library

Gradient = NDArray[np.float32]


def _loss(name: str, logits: NDArray[np.float32], *arguments: Any) -> tuple[float, Gradient]:
    loss, gradient = ctypes.c_float(), np.empty_like(logits)
    _library.call(name, logits, *arguments, ctypes.byref(loss), gradient)
    return loss.value, gradient


def _vector(value: Any, name: str, classes: int) -> NDArray[np.float32] | None:
    if value is None:
        return None
    given = _arrays.array(value, name)
    # Unlike those of images, whole numbers of weights have no other scale.
    return _arrays.floats(given.astype(np.float32) if given.dtype.kind in "iu" else given, name, (classes,))


def cross_entropy(
    logits: Any, targets: Any, *, label_smoothing: float = 0.0, class_weights: Any = None
) -> tuple[float, Gradient]:
    """The mean cross-entropy of logits [n, classes] and its gradient [n, classes].

    Args:
        logits: Floats.
        targets: Labels [n], integers; or probabilities [n, classes], floats.
        label_smoothing: [0, 1), with labels.
        class_weights: [classes], at least 0, with labels: the weight of each class.

    Raises:
        NumericError: the loss is not finite.
    """
    values = _arrays.floats(logits, "logits", (None, None))
    n, classes = values.shape
    given = _arrays.array(targets, "targets")
    if given.dtype.kind == "f":
        if label_smoothing or class_weights is not None:
            raise TypeError("label_smoothing and class_weights need labels, not probabilities")
        return _loss("svit_cross_entropy_soft", values, _arrays.floats(given, "targets", (n, classes)), n, classes)
    labels = _arrays.labels(given, "targets", n, or_targets=True)
    weights = _vector(class_weights, "class_weights", classes)
    return _loss("svit_cross_entropy_weighted", values, labels, weights, n, classes, label_smoothing)


def binary_cross_entropy(
    logits: Any, targets: Any, *, label_smoothing: float = 0.0, pos_weight: Any = None
) -> tuple[float, Gradient]:
    """The binary cross-entropy of several labels for each sample, the mean over all elements, and its gradient.

    Args:
        logits: [n, classes].
        targets: [n, classes] in [0, 1].
        label_smoothing: [0, 1).
        pos_weight: [classes], at least 0: weights of present labels.
    """
    values = _arrays.floats(logits, "logits", (None, None))
    wanted = _arrays.floats(targets, "targets", values.shape)
    weights = _vector(pos_weight, "pos_weight", values.shape[1])
    return _loss("svit_binary_cross_entropy", values, wanted, weights, *values.shape, label_smoothing)


def mean_squared_error(predictions: Any, targets: Any) -> tuple[float, Gradient]:
    """The mean of (prediction - target)**2 over all elements of two arrays [n, outputs], and its gradient."""
    values = _arrays.floats(predictions, "predictions", (None, None))
    return _loss("svit_mean_squared_error", values, _arrays.floats(targets, "targets", values.shape), *values.shape)


def softmax(logits: Any) -> NDArray[np.float32]:
    """The softmax of each row of logits [n, classes]."""
    values = _arrays.floats(logits, "logits", (None, None))
    out = np.empty_like(values)
    _library.call("svit_softmax", values, *values.shape, out)
    return out


def sigmoid(logits: Any) -> NDArray[np.float32]:
    """1 / (1 + exp(-z)) of each element z of logits [n, classes]."""
    values = _arrays.floats(logits, "logits", (None, None))
    out = np.empty_like(values)
    _library.call("svit_sigmoid", values, *values.shape, out)
    return out
