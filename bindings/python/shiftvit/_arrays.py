"""Arrays of callers as the library takes them.

float32 arrays in C order are used in place. Other floats, other orders, addresses that are not aligned and array-likes
are copied once. Integers where floats are expected are refused, since bytes of 0..255 need the scaling of a pipeline.
Whatever has ``__dlpack__``, such as a tensor of PyTorch on the CPU, is taken without a copy.
"""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from ._handles import Handle, article
from .errors import ArgumentError

Shape = tuple[Optional[int], ...]


def array(value: Any, name: str) -> NDArray[Any]:
    """Any array or array-like as an ndarray."""
    if isinstance(value, np.ndarray):
        if hasattr(value, "filled"):  # numpy.ma is not imported for this
            raise TypeError(f"{name} is a masked array, whose mask would be lost; an array is needed: use filled()")
        return value
    if isinstance(value, Handle):
        raise TypeError(f"{name} is {article(value)}; an array is needed")
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError) as error:
            raise TypeError(f"{name} cannot be used as an array of the CPU's memory: {error}") from error
    if value is None or isinstance(value, (str, bytes)):
        raise TypeError(f"{name} is {article(value)}; an array is needed")
    try:
        given = np.asarray(value)
    except ValueError as error:  # lists of arrays of several shapes
        raise ArgumentError(f"{name} is no array: {error}") from None
    if given.dtype == object:
        raise TypeError(f"{name} is {article(value)}; an array of numbers is needed")
    return given


def _shape_text(shape: Shape) -> str:
    return "[" + ", ".join("n" if side is None else str(side) for side in shape) + "]"


def check_shape(value: NDArray[Any], name: str, shape: Shape) -> None:
    """Refuses an array that has another shape; None stands for any length."""
    if value.ndim != len(shape) or any(want not in (None, side) for want, side in zip(shape, value.shape)):
        raise ArgumentError(f"{name} has the shape {list(value.shape)}; {_shape_text(shape)} is needed")


def in_c_order(given: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """An array of a type in C order at an aligned address, which may be the given one."""
    result = np.ascontiguousarray(given, dtype=dtype)
    return result if result.flags.aligned else result.copy()


def floats(value: Any, name: str, shape: Shape | None = None) -> NDArray[np.float32]:
    """An array of float32 in C order, of a shape if one is given."""
    given = array(value, name)
    if given.dtype.kind != "f":
        raise TypeError(f"{name} is an array of {given.dtype}; floats are needed: convert it with astype('float32')")
    if shape is not None:
        check_shape(given, name, shape)
    with np.errstate(over="ignore"):
        return in_c_order(given, np.float32).reshape(given.shape)


def labels(value: Any, name: str, count: int | None = None, or_targets: bool = False) -> NDArray[np.int32]:
    """A vector of int32 in C order. ``or_targets`` says that targets of floats are taken in its place."""
    given = array(value, name)
    if or_targets and given.ndim == 2 and given.dtype.kind in "iub":
        raise ArgumentError(
            f"{name} has the shape {list(given.shape)} and {given.dtype}; integers are labels, of the shape "
            f"{_shape_text((count,))}, and targets are floats: convert them with astype('float32')"
        )
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name} is an array of {given.dtype}; labels are integers")
    check_shape(given, name, (count,))
    if given.size and (given.min() < -(2**31) or given.max() >= 2**31):
        raise ArgumentError(f"{name} has a value outside those of int32")
    return in_c_order(given, np.int32)


def images(value: Any, name: str, ndim: int = 4) -> NDArray[Any]:
    """Images [n, height, width, channels] of uint8 or of float32, in C order."""
    given = array(value, name)
    if given.ndim != ndim:
        wanted = "[n, height, width, channels]" if ndim == 4 else "[height, width, channels]"
        raise ArgumentError(f"{name} has the shape {list(given.shape)}; {wanted} is needed")
    if given.dtype == np.uint8:
        return np.ascontiguousarray(given)
    if given.dtype.kind == "f":
        return floats(given, name)
    raise TypeError(f"{name} is an array of {given.dtype}; images are of uint8 or of floats")


def output(out: NDArray[np.float32] | None, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The caller's array for a result, or a new one. It must be exactly right, since a copy would not be seen."""
    if out is None:
        return np.empty(shape, dtype=np.float32)
    if not isinstance(out, np.ndarray) or out.dtype != np.float32:
        raise TypeError(f"{name} must be an array of float32")
    check_shape(out, name, shape)
    if not (out.flags.c_contiguous and out.flags.aligned and out.flags.writeable):
        raise ArgumentError(f"{name} must be writeable, aligned and in C order")
    return out
