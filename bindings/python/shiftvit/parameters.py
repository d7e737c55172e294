"""The parameters of a model as a mapping from names to arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _library
from .errors import ArgumentError

if TYPE_CHECKING:
    from .model import Model


class Parameters(MutableMapping[str, NDArray[np.float32]]):
    """The parameters of a model by name. Reading one copies it to a new float32 array in the shape that it has in
    files; assigning writes it. None can be added or removed.

    Iterating is cheap, since it has the names alone; ``items()`` copies one parameter after another.
    """

    def __init__(self, model: Model) -> None:
        from .model import Model

        _library.expect(model, Model, "model")
        self._model = model
        len(self)  # a closed model is refused here

    @property
    def _names(self) -> list[str]:
        # Read each time: adapters and other heads change them.
        return _library.strings("svit_model_parameter_name", self._model)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a parameter, without copying it."""
        shape, rank = (ctypes.c_int64 * 8)(), ctypes.c_size_t()
        if not isinstance(name, str):
            raise KeyError(name)
        try:
            _library.call("svit_model_parameter_shape", self._model, name, shape, ctypes.byref(rank))
        except ArgumentError:
            raise KeyError(name) from None
        return tuple(shape[: rank.value])

    def __contains__(self, name: object) -> bool:
        try:
            self.shape(name)  # type: ignore[arg-type]
        except KeyError:
            return False
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return self.keys() == other.keys() and all(np.array_equal(self[name], other[name]) for name in self)

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        out = np.empty(self.shape(name), dtype=np.float32)
        _library.call("svit_model_get_parameter", self._model, name, out, out.size)
        return out

    def __setitem__(self, name: str, value: Any) -> None:
        values = _arrays.floats(value, name, self.shape(name))
        _library.call("svit_model_set_parameter", self._model, name, values, values.size)

    def __delitem__(self, name: str) -> None:
        raise TypeError("a model's parameters follow from its configuration; none can be removed")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        if self._model.closed:
            return "<shiftvit.Parameters of a closed Model>"
        return f"<shiftvit.Parameters: {len(self)} tensors>"
