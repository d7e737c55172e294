"""Optimisers: parameter updates, learning-rate schedules and averages of the weights."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _library
from .model import Model
from .session import Session


class Optimizer(_library.Handle):
    """State arrays, step count and schedule for one model, which it keeps alive. Threads take turns."""

    _free = "svit_optimizer_free"
    _exclusive = True
    _copying = "write its state with save_checkpoint() and restore it to another Optimizer"

    def __init__(self, model: Model, **fields: Any) -> None:
        """Creates an optimiser.

        Args:
            model: The model. Its trainable parameters must not change afterwards.
            **fields: Fields of ``svit_optimizer_config``: ``optimizer`` (``"adamw"``, ``"sgd"``, ``"muon"``,
                ``"lion"``), ``learning_rate`` (1e-3), ``weight_decay`` (1e-4), ``schedule``, ``total_steps``,
                ``clip_norm``, ``ema``, ``groups`` and so on, as ``optimizer.h`` describes them.
        """
        _library.expect(model, Model, "model")
        _library.refuse_foreign(fields, "lr")
        config = _library.config("svit_optimizer_config", fields)
        _library.create(
            "svit_optimizer_create", model, config, adopt=lambda pointer: self._adopt(pointer, uses=(model,))
        )
        self._model = model

    @property
    def model(self) -> Model:
        """The model."""
        return self._model

    @property
    def steps(self) -> int:
        """Number of updates so far."""
        return int(_library.call("svit_optimizer_steps", self))

    def step(self, session: Session) -> None:
        """Updates the model from the gradients of a session and sets these to zero.

        Raises:
            NumericError: names a parameter whose gradient is not finite; nothing has changed then.
        """
        _library.expect(session, Session, "session")
        _library.call("svit_step", self, session)

    def get(self, key: str) -> float:
        """``"learning_rate"``, ``"weight_decay"``, ``"momentum"``, ``"clip_norm"``, ``"ema_momentum"``, or
        ``"gradient_norm"``, the global norm of the last update's gradients before clipping."""
        return float(_library.number("svit_optimizer_get_f64", self, key))

    def set(self, key: str, value: float) -> None:
        """Changes one of the settings of :meth:`get` between two steps."""
        _library.call("svit_optimizer_set_f64", self, key, value)

    def set_parameter(self, pattern: str, key: str, value: float) -> None:
        """Changes ``"lr_scale"``, ``"weight_decay"`` or ``"trainable"`` (0 or 1) of the parameters that match."""
        number = float(value) if isinstance(value, bool) else value
        _library.call("svit_optimizer_set_parameter_f64", self, pattern, key, number)

    def bounds(self, key: str) -> tuple[float, float]:
        """The smallest and the largest value that :meth:`set` accepts."""
        low, high = ctypes.c_double(), ctypes.c_double()
        _library.call("svit_optimizer_bounds", self, key, ctypes.byref(low), ctypes.byref(high))
        return low.value, high.value

    def swap_average(self) -> None:
        """Exchanges the model's weights and their moving average. A second call restores them for further steps."""
        _library.call("svit_optimizer_swap_ema", self)


def learning_rate(step: int, **fields: Any) -> float:
    """The learning rate of update number ``step``, from 0, of an optimiser with these fields."""
    _library.refuse_foreign(fields, "lr")
    config = _library.config("svit_optimizer_config", fields)
    return float(_library.number("svit_learning_rate", config, step))
