"""Configurations are dictionaries of the fields that the C headers describe, with words for enumerators."""

from __future__ import annotations

import ctypes
import difflib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _library
from ._handles import article
from ._structs import TrainerConfig
from .errors import ArgumentError

if TYPE_CHECKING:
    from .model import Model


def presets() -> list[str]:
    """The names of all presets, for :func:`shiftvit.create_model` and :func:`shiftvit.load_pretrained`."""
    return _library.strings("svit_model_preset_name")


def _check_preset(preset: Any) -> None:
    """Refuses what is no name of a preset."""
    if not isinstance(preset, str):
        raise TypeError(f"preset is {article(preset)}; a name is needed")
    known = presets()
    if preset not in known:
        near = difflib.get_close_matches(preset.replace("_", "-"), known, 1)
        advice = f"did you mean {near[0]!r}? " if near else ""
        raise ArgumentError(f"preset {preset!r} is unknown; {advice}shiftvit.presets() lists the known ones")


def config_fields(of: str = "training") -> list[dict[str, Any]]:
    """Describes the fields of a configuration: ``name``, ``type``, ``accepted`` and ``default`` of each.

    Args:
        of: ``"training"`` for the settings of ``fit``, or an architecture: ``"shiftvit"``, ``"vit"``, ``"mixer"``.
    """
    fields: list[dict[str, Any]] = json.loads(_library.long_text("svit_config_fields", of))
    return fields


def model_config(preset: str | None = None, **fields: Any) -> dict[str, Any]:
    """All fields of a model: those of a preset, or the defaults of ``architecture``, changed by ``fields``.

    Raises:
        ArgumentError: names a preset or field that is unknown, or a value that is not accepted.
    """
    if preset is not None:
        fields = {**_library.fields_of("svit_model_config", preset_buffer(preset)), **fields}
    return _library.fields_of("svit_model_config", _library.config("svit_model_config", fields))


def preset_buffer(preset: str) -> ctypes.Array[ctypes.c_char]:
    """The struct of a preset."""
    _check_preset(preset)
    buffer = ctypes.create_string_buffer(_library._CONFIG_BYTES)
    _library.call("svit_model_config_preset", buffer, len(buffer), preset)
    return buffer


def training_config(preset: str | None = None, **settings: Any) -> dict[str, Any]:
    """All settings of a training, those of trainer, optimiser and pipeline: what a preset's paper or example used, or
    the defaults, changed by ``settings``. :func:`config_fields` describes them."""
    return training_fields(*training_structs(preset, None, settings))


def training_fields(trainer: TrainerConfig, optimizer: Any, pipeline: Any) -> dict[str, Any]:
    """The settings that three structs hold."""
    fields: dict[str, Any] = json.loads(_library.long_text("svit_training_to_json", trainer, optimizer, pipeline))
    return fields


def training_structs(
    preset: str | None, pipeline: Mapping[str, Any] | None, settings: Mapping[str, Any]
) -> tuple[TrainerConfig, Any, Any]:
    """The structs of trainer, optimiser and pipeline: those of the preset, or defaults; then ``pipeline`` in place of
    the preset's; then ``settings``."""
    _library.refuse_foreign(settings, "lr", "batch_size")
    trainer = _library.initialised("svit_trainer_config_init", TrainerConfig)
    optimizer = _library.filled("svit_optimizer_config_init")
    images = _library.filled("svit_pipeline_config_init")
    if preset is not None:
        _check_preset(preset)
        size = ctypes.sizeof(trainer)
        _library.call(
            "svit_training_preset", preset, trainer, size, optimizer, len(optimizer), images, len(images)
        )
    if pipeline is not None:
        images = _library.config("svit_pipeline_config", pipeline)
    _library.call("svit_training_from_json", trainer, optimizer, images, _library.to_json(settings))
    return trainer, optimizer, images


def fine_tuning_structs(model: Model, images: int, *, pipeline_too: bool = True) -> tuple[TrainerConfig, Any, Any]:
    """The structs of trainer, optimiser and pipeline with which a trained model learns so many images. Without
    ``pipeline_too`` the pipeline is the default, and its warnings are not logged."""
    trainer = _library.initialised("svit_trainer_config_init", TrainerConfig)
    optimizer = _library.filled("svit_optimizer_config_init")
    pipeline = _library.filled("svit_pipeline_config_init")
    size = ctypes.sizeof(trainer)
    used = (pipeline, len(pipeline)) if pipeline_too else (None, 0)
    _library.call("svit_fine_tuning_settings", model, images, trainer, size, optimizer, len(optimizer), *used)
    return trainer, optimizer, pipeline


def means_of(channels: int) -> int:
    """The length of a pipeline's mean and variance for images of that many channels."""
    return channels if channels <= _library.constants["SVIT_MAX_CHANNELS"] else 1


def plain_pipeline(
    size: tuple[int, int], model_size: tuple[int, int], channels: int, scale: float
) -> dict[str, Any]:
    """A pipeline without augmentation: images of ``size`` are resized to ``model_size``, values multiplied by
    ``scale``."""
    return {
        "source_height": size[0],
        "source_width": size[1],
        "resize_height": model_size[0],
        "resize_width": model_size[1],
        "output_height": model_size[0],
        "output_width": model_size[1],
        "channels": channels,
        "flip_probability": 0.0,
        "scale": scale,
        "mean": [0.0] * means_of(channels),
        "variance": [1.0] * means_of(channels),
    }
