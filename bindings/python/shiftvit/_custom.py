"""The functions of ``svit_dataset_custom``: images that a Python function gives, with labels or targets of an array,
or labels that the function gives with them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _library
from ._structs import CustomDatasetRecord, ErrorRecord
from .errors import ArgumentError

_ErrorPointer = ctypes.POINTER(ErrorRecord)
_SampleFunction = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32), _ErrorPointer
)
_LabelFunction = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int32), _ErrorPointer
)
_TargetsFunction = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_float), _ErrorPointer
)


def _pointer(keep: list[Any], kind: Any, function: Callable[..., int]) -> Any:
    """A function as a field of the struct, which fails with SVIT_E_STOPPED where it raises."""
    keep.append(kind(_library.guard(function, 1)))
    return ctypes.cast(keep[-1], ctypes.c_void_p)


def _sample_function(
    sample_of: Callable[[int], Any], sizes: tuple[int, int, int], is_f32: bool, y: NDArray[Any] | None
) -> Callable[..., int]:
    element: Any = ctypes.c_float if is_f32 else ctypes.c_uint8
    memory_type = element * (sizes[0] * sizes[1] * sizes[2])

    def read(user: Any, index: int, address: int, label: Any, error: Any) -> int:
        image, value = sample_of(index) if y is None else (sample_of(index), y[index])
        name = f"image {index}"
        array = _arrays.floats(image, name) if is_f32 else _arrays.array(image, name)
        _arrays.check_shape(array, name, sizes)
        if not is_f32 and array.dtype != np.uint8:
            raise TypeError(f"{name} is an array of {array.dtype}; uint8 is needed")
        np.ctypeslib.as_array(memory_type.from_address(address)).reshape(sizes)[...] = array
        if y is None or y.ndim == 1:
            label[0] = _library.whole("i", int(value) if isinstance(value, bool) else value)
        return 0

    return read


def _label_function(labels: NDArray[np.int32]) -> Callable[..., int]:
    def read(user: Any, index: int, label: Any, error: Any) -> int:
        label[0] = int(labels[index])
        return 0

    return read


def _targets_function(rows: NDArray[np.float32]) -> Callable[..., int]:
    def read(user: Any, index: int, targets: Any, error: Any) -> int:
        np.ctypeslib.as_array(targets, rows.shape[1:])[...] = rows[index]
        return 0

    return read


def _copied(y: Any, count: int) -> NDArray[Any]:
    """Labels or targets, which stay as they are when the caller's change."""
    given = _arrays.array(y, "y")
    if given.dtype.kind == "f":
        return np.array(_arrays.floats(given, "y", (count, None)))
    return np.array(_arrays.labels(given, "y", count, or_targets=True))


def _classes(y: NDArray[Any] | None, num_classes: int | None) -> int:
    """The classes, or with targets their columns."""
    if y is None and num_classes is None:
        raise TypeError("from_function() needs num_classes, or y")
    if y is None:
        return _library.whole("z", num_classes)
    if y.ndim == 1 and y.min(initial=0) < 0:
        raise ArgumentError(f"y has the label {y.min()}; labels are 0 and above")
    if num_classes is not None and y.ndim == 1:
        classes = _library.whole("z", num_classes)
        if y.max(initial=-1) >= classes:
            raise ArgumentError(f"y has the label {y.max()}, and num_classes is {classes}")
        return classes
    columns = y.shape[1] if y.ndim == 2 else int(y.max(initial=0)) + 1
    if num_classes not in (None, columns):
        raise ArgumentError(f"y has {columns} columns, and num_classes is {num_classes}")
    return columns


def record_of(
    sample_of: Callable[[int], Any],
    count: int,
    shape: Sequence[int],
    num_classes: int | None,
    y: Any,
    dtype: Any,
    classes: Sequence[str] | None,
) -> tuple[Any, list[Any]]:
    """``svit_custom_dataset`` of Python functions, and what has to be kept as long as the dataset.

    ``sample_of`` gives an image, and without ``y`` its label. What it raises is raised by the library's call.
    """
    record = _library.initialised("svit_custom_dataset_init", CustomDatasetRecord)
    keep: list[Any] = []
    if len(shape) != 3:
        raise ArgumentError(f"shape is {tuple(shape)}; height, width and channels are needed")
    height, width, channels = (_library.whole("z", side) for side in shape)
    sizes = (height, width, channels)  # which stay, as the library's do
    if np.dtype(dtype) not in (np.uint8, np.float32):
        raise ArgumentError(f"dtype is {np.dtype(dtype)}; uint8 and float32 are accepted")
    record.is_f32 = np.dtype(dtype) == np.float32
    record.count, record.height, record.width, record.channels = _library.whole("z", count), *sizes
    rows = None if y is None else _copied(y, record.count)
    record.classes = _classes(rows, num_classes)
    if classes is not None:
        keep.append(_library.class_names(classes))
        if len(keep[-1]) != record.classes:
            raise ArgumentError(f"classes has {len(keep[-1])} names; {record.classes} are needed")
        record.class_names = ctypes.cast(keep[-1], ctypes.c_void_p)
    record.sample = _pointer(keep, _SampleFunction, _sample_function(sample_of, sizes, bool(record.is_f32), rows))
    if rows is not None and rows.ndim == 1:
        record.label = _pointer(keep, _LabelFunction, _label_function(rows))
    if rows is not None and rows.ndim == 2:
        record.targets = _pointer(keep, _TargetsFunction, _targets_function(rows))
    return record, keep
