"""What a model gets right and wrong, from logits and labels. A NaN among logits is a ``NumericError``; the errors
of ``regression`` are NaN then."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _library
from .context import Context, chosen_context


def top_k(logits: Any, labels: Any, k: int = 1) -> float:
    """The fraction of rows of logits [n, classes] whose label is among the ``k`` largest logits. With ``k`` 1 the first
    of equal logits counts."""
    values = _arrays.floats(logits, "logits", (None, None))
    known = _arrays.labels(labels, "labels", len(values))
    arguments: tuple[Any, ...] = (values, known, *values.shape)
    name = "svit_count_top1"
    if k != 1:
        name, arguments = "svit_count_top_k", (*arguments, k)
    return float(_library.number(name, *arguments, kind=ctypes.c_uint64)) / max(len(values), 1)


def confusion_matrix(logits: Any, labels: Any) -> NDArray[np.uint64]:
    """[classes, classes]: element (i, j) counts samples of label i whose largest logit is that of class j."""
    values = _arrays.floats(logits, "logits", (None, None))
    known = _arrays.labels(labels, "labels", len(values))
    matrix = np.zeros((values.shape[1],) * 2, dtype=np.uint64)
    _library.call("svit_confusion_matrix", values, known, *values.shape, matrix)
    return matrix


def multilabel(logits: Any, targets: Any) -> dict[str, float]:
    """``element_accuracy``, ``exact_match``, ``micro_f1`` and ``macro_f1`` of logits and targets, both [n, classes]; a
    label is predicted if its logit is above 0."""
    values = _arrays.floats(logits, "logits", (None, None))
    wanted = _arrays.floats(targets, "targets", values.shape)
    names = ("element_accuracy", "exact_match", "micro_f1", "macro_f1")
    out = [ctypes.c_double() for _ in names]
    _library.call("svit_multilabel_metrics", values, wanted, *values.shape, *map(ctypes.byref, out))
    return {name: value.value for name, value in zip(names, out)}


def average_precision(logits: Any, targets: Any, *, context: Context | None = None) -> NDArray[np.float64]:
    """The average precision of each class, [classes]; NaN for one that is never present."""
    values = _arrays.floats(logits, "logits", (None, None))
    wanted = _arrays.floats(targets, "targets", values.shape)
    out = np.empty(values.shape[1])
    _library.call("svit_average_precision", chosen_context(context), values, wanted, *values.shape, out)
    return out


def choose_threshold(logits: Any, *, accepted: float = 0.95, context: Context | None = None) -> float:
    """The largest probability that at least the fraction ``accepted`` of rows of logits [n, classes] reach with their
    largest softmax probability: a ``Model.threshold`` that so many images of known classes pass."""
    values = _arrays.floats(logits, "logits", (None, None))
    out = ctypes.c_double()
    _library.call(
        "svit_choose_threshold", chosen_context(context), values, *values.shape, accepted, ctypes.byref(out)
    )
    return out.value


def regression(predictions: Any, targets: Any) -> dict[str, float]:
    """``mean_absolute`` and ``root_mean_square``, the errors of predictions, both arrays [n, outputs]."""
    values = _arrays.floats(predictions, "predictions", (None, None))
    wanted = _arrays.floats(targets, "targets", values.shape)
    absolute, square = ctypes.c_double(), ctypes.c_double()
    _library.call(
        "svit_regression_errors", values, wanted, *values.shape, ctypes.byref(absolute), ctypes.byref(square)
    )
    return {"mean_absolute": absolute.value, "root_mean_square": square.value}
