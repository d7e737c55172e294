"""Copies of models: what a copy or a pickle contains, and a model made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _library

if TYPE_CHECKING:
    from .context import Context
    from .model import Model

#: Attributes of a Model that a copy gets from its creation.
_OWN = ("_state", "_context")


@dataclass(frozen=True)
class ModelState:
    """A model but for its context: the bytes of its file, and what files do not have."""

    #: With adapters merged.
    file: bytes
    #: Rank and alpha of LoRA's adapters, and all parameters, which the merged ones cannot give back; or None.
    lora: tuple[int, float, dict[str, NDArray[np.float32]]] | None
    #: Names of the frozen parameters.
    frozen: tuple[str, ...]


def state_of(model: Model) -> ModelState:
    """The state of a model, as one moment has it."""
    with _library.reading(model):
        config, parameters = model.config, model.parameters()
        rank = int(config.get("lora_rank", 0))
        return ModelState(
            file=model.to_bytes(),
            lora=(rank, float(config["lora_alpha"]), dict(parameters)) if rank else None,
            frozen=tuple(name for name in parameters if not model.is_trainable(name)),
        )


def restored(kind: type[Model], state: ModelState, context: Context | None = None) -> Model:
    """A model of a class with this state. Pickles name this function."""
    model = kind.from_bytes(state.file, context=context)
    if state.lora is not None:
        rank, alpha, values = state.lora
        model.add_lora(rank, alpha)
        parameters = model.parameters()
        for name, value in values.items():
            parameters[name] = value
    model.set_trainable("*", True)
    for name in state.frozen:
        model.set_trainable(name, False)
    return model


def attributes_of(model: Model) -> dict[str, Any]:
    """What a program or a subclass has added to a model."""
    return {name: value for name, value in vars(model).items() if name not in _OWN}
