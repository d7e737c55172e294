"""Creates models: with random weights, from files, and with the weights of other libraries."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from . import _fit, _library
from ._library import PathName
from ._report import read_reported
from ._structs import LoadReportRecord, OpenOptionsRecord
from .config import model_config, preset_buffer, training_structs
from .context import Context, chosen_context
from .errors import ArgumentError
from .model import Model


def create_model(
    preset: str | None = None, *, seed: int = 0, context: Context | None = None, **fields: Any
) -> Model:
    """Creates a model with random initial weights.

    Args:
        preset: A name of :func:`shiftvit.presets`; None: the defaults of ``architecture``.
        seed: Of the initial weights.
        context: None takes :func:`shiftvit.default_context`.
        **fields: Fields that differ from the preset's, such as ``num_classes=10`` or ``input_height=64``;
            ``shiftvit.config_fields("vit")`` lists those of a ViT.

    >>> create_model("deit-tiny-patch16-224", num_classes=10).num_classes
    10
    """
    return Model(model_config(preset, **fields), seed=seed, context=context)


def load(
    path: PathName,
    *,
    map: bool = False,
    name: str | None = None,
    prefix: str | None = None,
    base: PathName | None = None,
    explain: Callable[[str], object] | None = None,
    context: Context | None = None,
    **fields: Any,
) -> Model:
    """Reads a model: a file of this library, or a checkpoint of timm, transformers or OpenCLIP.

    Args:
        path: A safetensors file, or the folder that holds it and the JSON files that describe it, as
            ``save_pretrained`` writes it.
        map: True: leave the weights in the file, which is mapped into memory; it must then not be written to in place
            while the model lives. Only for files of this library.
        name: Which of timm's models a checkpoint is, where no configuration lies beside it, such as
            ``"vit_tiny_patch16_224"``.
        prefix: What the names of the encoder begin with, if a checkpoint has several.
        base: The folder of the model that a PEFT adapter in ``path`` changes; None: what its configuration names.
        explain: Is called with each line of what was found out about a checkpoint and from what, such as
            ``"field heads 3 config.json: num_attention_heads"``.
        **fields: Fields of a checkpoint's configuration that have the last word, such as ``heads=3``. Those of a file
            of this library are known, and others are refused.

    Raises:
        FileError: the file cannot be read.
        FormatError: it is damaged, or its parts contradict each other.
        ArgumentError: names what neither the files nor the arguments tell.
        UnsupportedError: names the family of a model that this library does not compute.
    """
    context = chosen_context(context)
    if not isinstance(map, bool):
        raise TypeError(f"map is {map!r}; True or False is needed: load() finds out whose names a checkpoint has")
    if isinstance(path, (bytes, bytearray, memoryview)) and b"\0" in bytes(path):
        raise TypeError("path is the bytes of a file; Model.from_bytes reads them")
    if map:
        given = {"name": name, "prefix": prefix, "base": base, "explain": explain, **fields}
        for word, value in given.items():
            if value is not None:
                raise TypeError(f"{word} is given with map=True, for files of this library, which say all of it")
        return _library.create("svit_model_map", context, path, adopt=Model._taker(context))
    options = OpenOptionsRecord(struct_size=ctypes.sizeof(OpenOptionsRecord))
    options.name = _library.text_bytes(name)
    options.prefix = _library.text_bytes(prefix)
    options.base = _library.path_bytes(base)
    options.fields = _library.text_bytes(_library.to_json(fields) if fields else None)
    lines: list[str] = []

    def read(report: LoadReportRecord) -> Model:
        arguments = (context, path, ctypes.byref(options), ctypes.byref(report))
        return _library.create("svit_model_open", *arguments, adopt=Model._taker(context))

    try:
        model, _ = read_reported(read, lines)
    finally:
        for line in lines if explain else ():
            assert explain is not None
            explain(line)
    # Of a checkpoint the grid of its positions says how they are read, which no model keeps.
    passed = ("position_height", "position_width") if lines else ()
    _check_fields(model, {word: value for word, value in fields.items() if word not in passed})
    return model


def _check_fields(model: Model, fields: Mapping[str, Any]) -> None:
    """Refuses fields that the model does not have. A file of this library says all of it, and its reader passes over
    the fields."""
    if not fields:
        return
    own = model.config
    wanted = _library.fields_of("svit_model_config", _library.config("svit_model_config", {**own, **fields}))
    for word in fields:
        if wanted[word] != own[word]:
            raise ArgumentError(f"{word} is {fields[word]!r}, and the model in the file has {own[word]!r}")


def load_pretrained(
    path: PathName,
    *,
    preset: str,
    map: str | Mapping[str, Any] | None = "timm",
    context: Context | None = None,
    **fields: Any,
) -> Model:
    """Creates a model with the weights of another library, from its safetensors file, and with the preset's pipeline.

    Args:
        path: The file. Nothing is downloaded.
        preset: Which model it is, for example ``"deit-tiny-patch16-224"``.
        map: ``"timm"``, ``"huggingface"``, ``"openclip"``, a mapping of names or its JSON (docs/pretrained.md), or None
            for the library's own names.
        **fields: Fields that differ from the preset's, such as ``num_classes`` of a file with another head, or
            ``input_height`` and ``input_width``, for which positions are interpolated.

    Raises:
        FormatError: names a tensor that is missing, has another shape or belongs to no parameter.
    """
    context = chosen_context(context)
    config = _library.fields_of("svit_model_config", preset_buffer(preset))
    if map == "huggingface":
        config.update(_huggingface_fields(config))
    buffer = _library.config("svit_model_config", {**config, **fields})
    names = _library.names_of(map)
    model = _library.create("svit_model_load_mapped", context, buffer, path, names, adopt=Model._taker(context))
    pipeline = _library.fields_of("svit_pipeline_config", training_structs(preset, None, {})[2])
    if (pipeline["output_height"], pipeline["output_width"], pipeline["channels"]) != model.input_shape:
        pipeline = _fit.fitted(pipeline, model.input_shape)
    model.pipeline = pipeline
    return model


def _huggingface_fields(config: Mapping[str, Any]) -> dict[str, Any]:
    """What transformers computes otherwise than timm: the epsilon of ViT's and DeiT's norms, a position of the class
    token beside registers, and the activation of SigLIP, which has attention pooling."""
    fields: dict[str, Any] = {}
    if config["pool"] == "attention":
        fields["activation"] = "gelu-tanh"
    elif not config["layer_scale"] and not config["pre_norm"]:
        fields["norm_eps"] = 1e-12
    if config["register_tokens"] > 0:
        fields["position_tokens"] = "class-patches"
    return fields
