"""Training, evaluation and prediction in one call: datasets of arrays, and the pipeline that they need."""

from __future__ import annotations

import ctypes
import logging
import math
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _library, losses, metrics
from ._handles import article
from .config import fine_tuning_structs, means_of, plain_pipeline, training_fields, training_structs
from .errors import ArgumentError, UnsupportedError

if TYPE_CHECKING:
    from .data import Dataset
    from .model import Model
    from .trainer import Callback, History, Loss, LossFunction

_DEFAULTS = {"epochs": 10, "batch": 32, "patience": 0}
#: What `fit` calls arguments of a Trainer.
_OTHERWISE = {
    "batch": "batch_size",
    "training": "x",
    "validation": "validation_data",
    "existing": "resume",
}


def dataset_of(model: Model, x: Any, y: Any, what: str, caller: str | None = None) -> Dataset:
    """A dataset of arrays, or the dataset that the caller has already. ``caller`` names a function that needs labels;
    without it they may be missing."""
    from .data import Dataset

    if isinstance(x, _library.Handle) and not isinstance(x, Dataset):
        raise TypeError(f"{what} is {article(x)}; an array or a Dataset is needed")
    if isinstance(x, Dataset):
        if y is not None:
            raise TypeError(f"{what} is a Dataset, which has its labels; y must be None")
        return x
    if isinstance(x, (str, bytes, os.PathLike)):
        raise TypeError(f"{what} is the path {os.fspath(x)!r}; Dataset.folder or Dataset.cifar10 open files")
    if y is None and caller:
        raise TypeError(f"{caller} needs y, or a Dataset")
    classes = None
    if y is not None and _arrays.array(y, "y").dtype.kind != "f":
        classes = model.num_classes
    return Dataset.from_arrays(x, y, num_classes=classes, context=model.context)


def fitted(
    pipeline: Mapping[str, Any], shape: tuple[int, int, int], source: tuple[int, int] | None = None
) -> dict[str, Any]:
    """A preset's pipeline for a model's input and for images of the size ``source``, with the margin that the preset
    crops. Without ``source``, images are brought to the size before the crop."""
    height, width, channels = shape
    resized = (
        height + pipeline["resize_height"] - pipeline["output_height"],
        width + pipeline["resize_width"] - pipeline["output_width"],
    )
    changed = {
        "output_height": height,
        "output_width": width,
        "resize_height": resized[0],
        "resize_width": resized[1],
        "source_height": (source or resized)[0],
        "source_width": (source or resized)[1],
        "channels": channels,
    }
    means = means_of(channels)
    if channels != pipeline["channels"]:  # the mean of the three colours, as for checkpoints of other libraries
        changed["mean"] = [float(np.mean(pipeline["mean"]))] * means
        changed["variance"] = [float(np.mean(np.sqrt(pipeline["variance"])) ** 2)] * means  # of the mean deviation
    if means != channels:
        changed["source_filter"] = "nearest"
    elif source is None and pipeline["source_filter"] == "nearest":
        changed["source_filter"] = "shorter-side"
    return {**pipeline, **changed}


def pipeline_of(
    model: Model, data: Dataset, given: Mapping[str, Any] | None, preset: str | None = None
) -> Mapping[str, Any]:
    """The caller's pipeline, the model's, the preset's, or a plain one, in this order. Those that are made here read
    files as the dataset does, so that predictions of files see the same images."""
    if given is not None:
        return given
    own = model.pipeline
    if own is not None:
        return own
    shape = model.input_shape
    size = data.shape[:2]
    if preset is not None:
        pipeline = _library.fields_of("svit_pipeline_config", training_structs(preset, None, {})[2])
        return _as_read(_normalised(fitted(pipeline, shape, size), data), data)
    return _as_read(plain_pipeline(size, shape[:2], shape[2], 1.0 if data.is_float else 1 / 255), data)


def _normalised(pipeline: dict[str, Any], data: Dataset) -> dict[str, Any]:
    """The pipeline with mean and variance of the data, if it leaves them to its user: its values are the bytes
    themselves, as in the presets of Keras' ViTs. A channel of one value becomes 0."""
    if pipeline["scale"] != 1 or any(pipeline["mean"]) or any(value != 1 for value in pipeline["variance"]):
        return pipeline
    mean, variance = data.statistics(1.0)
    for channel in np.flatnonzero(variance == 0):
        text = "channel %d is %g in all training images: it becomes 0"
        logging.getLogger("shiftvit").warning(text, channel, mean[channel])
    return {**pipeline, "mean": mean.tolist(), "variance": np.where(variance == 0, 1, variance).tolist()}


def _as_read(pipeline: dict[str, Any], data: Dataset) -> dict[str, Any]:
    return pipeline if data._source is None else {**pipeline, "source_filter": data._source[2]}


def warn_of_size(data: Dataset, pipeline: Mapping[str, Any]) -> None:
    """Logs a warning where image files have been scaled to another size than that of the pipeline's source step, which
    scales them once more: predictions of the files themselves are others."""
    if data._source is None:
        return
    fields = _library.fields_of("svit_pipeline_config", _library.config("svit_pipeline_config", pipeline))
    size = (fields["source_height"], fields["source_width"])
    if data._source[:2] != size:
        text = (
            "the dataset has scaled its files to %d x %d pixels, and the pipeline scales these images once more, to "
            "%d x %d: Dataset.folder(path, pipeline=model.pipeline) reads files as the pipeline does"
        )
        logging.getLogger("shiftvit").warning(text, *data._source[:2], *size)


def warn_of_scale(x: Any, pipeline: Mapping[str, Any], what: str = "x") -> None:
    """Logs a warning where the values of images are of another range than the pipeline's: floats of 0..1 where it takes
    those of bytes, of which all but a spot of grey is lost, or bytes where it takes floats of 0..1."""
    images = _arrays.array(x, what)
    if images.size == 0 or images.dtype.kind not in "fu":
        return
    fields = _library.fields_of("svit_pipeline_config", _library.config("svit_pipeline_config", pipeline))
    # Standard deviations from black to white.
    contrast = fields["scale"] / math.sqrt(max(fields["variance"]))
    largest = float(images.max())
    if images.dtype.kind == "f" and contrast < 1 / 20 and 0 < largest <= 1:
        text = "%s has no value above 1, and the pipeline's scale is %g: it takes floats in place of bytes, 0 to 255"
    elif images.dtype.kind == "u" and contrast * 255 > 100 and largest > 1:
        text = "%s has bytes, and the pipeline's scale is %g: it takes floats of 0 to 1"
    else:
        return
    logging.getLogger("shiftvit").warning(text, what, fields["scale"])


def fine_tuning(model: Model, data: Dataset) -> dict[str, Any]:
    """The settings of trainer and optimiser by which a trained model learns the images of a dataset."""
    structs = fine_tuning_structs(model, len(data), pipeline_too=False)
    fields = training_fields(*structs)
    images = _library.fields_of("svit_pipeline_config", structs[2])
    of_call = {"loss", "existing", *images}
    return {name: value for name, value in fields.items() if name not in of_call}


def fine_tuning_pipeline(model: Model, data: Dataset) -> Mapping[str, Any]:
    """The model's pipeline; without one, that of the settings for fine-tuning, for images of the dataset's size."""
    own = model.pipeline
    if own is not None:
        return own
    images = _library.fields_of("svit_pipeline_config", fine_tuning_structs(model, len(data))[2])
    pipeline = _as_read(fitted(images, model.input_shape, data.shape[:2]), data)
    return {**pipeline, "scale": 1.0} if data.is_float else pipeline


def fit(
    model: Model,
    x: Any,
    y: Any,
    *,
    epochs: int | None,
    batch_size: int | None,
    validation_data: tuple[Any, Any] | Dataset | None,
    callbacks: Iterable[Callback] | None,
    loss: Loss | None,
    loss_function: LossFunction | None,
    preset: str | None,
    pipeline: Mapping[str, Any] | None,
    folder: Any,
    resume: bool,
    fine_tune: bool,
    settings: dict[str, Any],
) -> History:
    """:meth:`shiftvit.Model.fit`"""
    from .data import Dataset
    from .trainer import Trainer, checked_callbacks

    callbacks = checked_callbacks(callbacks)
    for name, meant in _OTHERWISE.items():
        if name in settings:
            raise TypeError(f"{name} is given as {meant}")
    for name, flag in (("resume", resume), ("fine_tune", fine_tune)):
        _library.flag(flag, name)
    if resume and folder is None:
        raise TypeError("resume needs folder")
    if fine_tune and preset is not None:
        raise TypeError(f"preset is {preset!r}; with fine_tune the settings follow from the number of images")
    training = dataset_of(model, x, y, "x", "fit()")
    chosen: dict[str, Any] = {} if preset is not None else dict(_DEFAULTS)
    if fine_tune:
        chosen = fine_tuning(model, training)
        if pipeline is None:
            pipeline = fine_tuning_pipeline(model, training)
    chosen.update(settings)
    for name, value in (("epochs", epochs), ("batch", batch_size)):
        if value is not None:
            chosen[name] = value
    # What the caller gave decides: the settings of fine-tuning have every field.
    if resume and "schedule" in settings and "schedule_anew" not in settings:
        chosen["schedule_anew"] = True
    validation = None
    if isinstance(validation_data, Dataset):
        validation = validation_data
    elif validation_data is not None:
        if not isinstance(validation_data, (tuple, list)) or len(validation_data) != 2:
            raise TypeError(f"validation_data is {article(validation_data)}; a Dataset or a pair (x, y) is needed")
        validation = dataset_of(model, *validation_data, "validation_data", "validation_data")
    images = pipeline_of(model, training, pipeline, preset)
    if x is not training:
        warn_of_scale(x, images)
    if isinstance(validation_data, (tuple, list)) and not isinstance(validation_data[0], Dataset):
        warn_of_scale(validation_data[0], images, "validation_data")
    resumes = resume and os.path.exists(os.path.join(os.fsdecode(folder), "checkpoint.safetensors"))

    def create() -> Trainer:
        return Trainer(
            model,
            training,
            validation,
            preset=preset,
            pipeline=images,
            loss=loss,
            loss_function=loss_function,
            folder=folder,
            existing="resume" if resumes else "refuse",
            **chosen,
        )

    alone = model._state.accesses["M"].alone
    with alone(create) as trainer:
        if resumes:
            alone(trainer.resume)
        return trainer.run(callbacks)


def logits_of(
    model: Model,
    x: Any,
    data: Dataset,
    batch: int,
    pipeline: Mapping[str, Any] | None,
    compute: str,
    tta: str,
    labels: NDArray[np.int32] | None,
) -> NDArray[np.float32]:
    """Logits [n, num_classes] of a dataset, which was made of ``x``, by the evaluation of its pipeline. Writes its labels
    to ``labels`` [n]; without these the dataset may have any classes."""
    if len(data) == 0:
        raise ArgumentError("there is no image; at least 1 is needed")
    images = pipeline_of(model, data, pipeline)
    if x is not data:
        warn_of_scale(x, images)
    warn_of_size(data, images)
    with _library.reading(model):
        logits = np.empty((len(data), model.num_classes), dtype=np.float32)
        _library.call(
            "svit_evaluate_logits",
            model.context,
            model,
            data,
            _library.config("svit_pipeline_config", images),
            batch,
            _library.constant("SVIT_COMPUTE_", compute, "compute"),
            _library.constant("SVIT_TTA_", tta, "tta"),
            logits,
            labels,
        )
    return logits


def prepare(model: Model, images: Any, pipeline: Mapping[str, Any] | None) -> NDArray[np.float32]:
    """:meth:`shiftvit.Model.prepare`"""
    images = _arrays.images(images, "images")
    if len(images) == 0:
        raise ArgumentError("there is no image; at least 1 is needed")
    chosen = pipeline_of(model, dataset_of(model, images, None, "images"), pipeline)
    config = _library.config("svit_pipeline_config", chosen)
    fields = _library.fields_of("svit_pipeline_config", config)
    _arrays.check_shape(images, "images", (None, None, None, fields["channels"]))
    warn_of_scale(images, chosen, "images")
    height, width = ctypes.c_size_t(), ctypes.c_size_t()
    _library.call("svit_pipeline_evaluation_size", config, ctypes.byref(height), ctypes.byref(width))
    out = np.empty((len(images), height.value, width.value, fields["channels"]), dtype=np.float32)
    name = "svit_pipeline_apply_evaluation" + ("_f32" if images.dtype == np.float32 else "")
    _library.call(name, model.context, config, images, *images.shape[:3], out)
    return out


def _refuse_texts(model: Model) -> None:
    """The logits of a model whose classes are texts are embeddings, not those of the classes."""
    if model.text_classes:
        raise UnsupportedError("the model's classes are texts; shiftvit.Predictor(model) predicts them")


def evaluate(
    model: Model, x: Any, y: Any, batch: int, pipeline: Mapping[str, Any] | None, compute: str, tta: str
) -> dict[str, float]:
    """:meth:`shiftvit.Model.evaluate`"""
    _refuse_texts(model)
    data = dataset_of(model, x, y, "x", "evaluate()")
    labels = np.empty(len(data), dtype=np.int32)
    logits = logits_of(model, x, data, batch, pipeline, compute, tta, labels)
    if model.output == "sigmoid":
        targets = data.targets
        return {"loss": losses.binary_cross_entropy(logits, targets)[0], **metrics.multilabel(logits, targets)}
    if model.output == "logits":
        targets = data.targets
        return {"loss": losses.mean_squared_error(logits, targets)[0], **metrics.regression(logits, targets)}
    if data.has_targets:
        targets = data.targets
        loss, labels = losses.cross_entropy(logits, targets)[0], targets.argmax(axis=1).astype(np.int32)
    else:
        loss = losses.cross_entropy(logits, labels)[0]
    return {"loss": loss, "top1": metrics.top_k(logits, labels, 1), "top5": metrics.top_k(logits, labels, 5)}


def predict(
    model: Model, x: Any, batch: int, pipeline: Mapping[str, Any] | None, compute: str, tta: str, output: str
) -> NDArray[np.float32]:
    """:meth:`shiftvit.Model.predict`"""
    _library.constant("SVIT_OUTPUT_", output, "output")
    wanted = model.output if output == "auto" else output
    if wanted != "logits":
        _refuse_texts(model)
    data = dataset_of(model, x, None, "x")
    logits = logits_of(model, x, data, batch, pipeline, compute, tta, None)
    if wanted == "logits":
        return logits
    return losses.sigmoid(logits) if wanted == "sigmoid" else losses.softmax(logits)
