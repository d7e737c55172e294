"""Predictors: from image files or arrays to classes."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _fit, _library, errors
from ._library import PathName
from ._structs import PredictorConfig
from .context import Context
from .creation import load
from .model import Compute, Model, Output, Tta

#: Images as files: their paths, or their bytes.
PATHS = (str, os.PathLike)
FILES = (*PATHS, bytes, bytearray, memoryview)


def _count_as(error: errors.Error, indices: Sequence[int]) -> None:
    """Names the image of a message by its place in the caller's list: the library counts those of its call."""
    text = re.sub(
        r"\bimage (\d+)\b|\bthe image(?= has the value)",
        lambda found: f"image {indices[int(found[1] or 0)]}",
        error.message,
        count=1,
    )
    error.args = (text, *error.args[1:])


class Predictor(_library.Handle):
    """A model, its preprocessing and its class names, with memory for predictions. Threads take turns; to predict in
    parallel, give each thread a predictor of one model on a ``Context(threads=1)``: they share the weights.

    >>> predictor = Predictor("examples/models/cifar10.safetensors")
    >>> predictor.top(numpy.zeros((32, 32, 3), dtype="uint8"), 1)[0][0] in predictor.classes
    True
    """

    _free = "svit_predictor_free"
    _exclusive = True
    _copying = "create another Predictor of its model or file"

    def __init__(
        self,
        model: Model | PathName | bytes | bytearray | memoryview,
        *,
        max_batch: int = 32,
        compute: Compute = "f32",
        output: Output = "auto",
        tta: Tta = "none",
        context: Context | None = None,
    ) -> None:
        """Creates a predictor.

        Args:
            model: A Model with a pipeline, the bytes of a model file, or the path of one, or of a folder that
                :func:`shiftvit.load` takes. A file is mapped into memory: it must not be written to in place while the
                predictor lives.
            max_batch: Images in one forward pass; larger calls run several.
            compute: Precision of matrix products.
            output: What predictions are; ``"auto"`` is what the model states, otherwise ``"softmax"``.
            tta: Versions of each image whose logits, or with a text head whose embeddings, are averaged: ``"flip"``,
                with its mirror, or ``"flip-shift"``, also moved by a pixel. They take two or six times as long.
            context: Whose workers run it; None: the model's, or :func:`shiftvit.default_context`.

        Raises:
            StateError: the model has no pipeline.
            FileError, FormatError: the file cannot be read, or is damaged.
        """
        if isinstance(model, _library.Handle):
            _library.expect(model, Model, "model")
        _library.expect(context, Context, "context", optional=True)
        config = _library.initialised("svit_predictor_config_init", PredictorConfig)
        config.max_batch = max_batch
        config.compute = _library.constant("SVIT_COMPUTE_", compute, "compute")
        config.output = _library.constant("SVIT_OUTPUT_", output, "output")
        config.tta = _library.constant("SVIT_TTA_", tta, "tta")
        if isinstance(max_batch, bool) or not 0 < max_batch < 2**32:
            raise errors.ArgumentError(f"max_batch is {max_batch}; 1..65536 are accepted")
        if isinstance(model, (bytes, bytearray, memoryview)):
            model = Model.from_bytes(model, context=context)
        elif not isinstance(model, Model):
            model = load(model, map=not os.path.isdir(model), context=context)
        with _library.reading(model), _library.borrowed(context, "context") as pointer:
            config.context = pointer
            used = model
            _library.create(
                "svit_predictor_create_from_model",
                model,
                config,
                adopt=lambda pointer: self._adopt(pointer, uses=(used,)),
            )
            self._channels = model.input_shape[2]
            #: Until the first array, whose values are looked at.
            self._pipeline = model.pipeline

    @property
    def num_classes(self) -> int:
        """Number of values that each image gets."""
        return int(_library.call("svit_predictor_classes", self))

    @property
    def classes(self) -> list[str] | None:
        """Names of the classes, or None."""
        return _library.strings("svit_predictor_class_name", self) or None

    @property
    def output(self) -> Output:
        """``"softmax"``, ``"sigmoid"`` or ``"logits"``."""
        word: Any = _library.word("SVIT_OUTPUT_", _library.call("svit_predictor_output", self))
        return word  # type: ignore[no-any-return]

    def predict(self, image: Any) -> NDArray[np.float32]:
        """Predicts for one image, or for several.

        Args:
            image: The path or the bytes of a JPEG, PNG or WebP file, or a list or tuple of these; or an array
                [height, width, channels] or [n, height, width, channels] of uint8, or of floats that take the place of
                bytes, or a list or tuple of arrays [height, width, channels], whose sizes may differ. Floats of another
                size than the source of the pipeline need ``source_filter`` ``"nearest"``.

        Returns:
            [num_classes], or [n, num_classes] for a list or an array of four axes; float32.

        Raises:
            FileError, FormatError: a file cannot be read, or is damaged.
        """
        if isinstance(image, (list, tuple)) and any(isinstance(part, FILES) for part in image):
            if not all(isinstance(part, FILES) for part in image):
                raise errors.ArgumentError("image has files and arrays; all of one kind are accepted")
            mixed = len({isinstance(part, PATHS) for part in image}) > 1
            rows, failures = self._files(image, each=mixed)
            for failure in failures:
                if failure is not None:
                    raise failure
            return rows
        if isinstance(image, (list, tuple)) and len({np.shape(part) for part in image}) > 1:
            return np.stack([self._one(part, index) for index, part in enumerate(image)])
        if isinstance(image, FILES):
            row = np.empty(self.num_classes, dtype=np.float32)
            if isinstance(image, PATHS):
                _library.call("svit_predict_file", self, image, row)
            else:
                data = bytes(image)
                _library.call("svit_predict_encoded", self, data, len(data), row)
            return row
        array = _arrays.array(image, "image")
        images = _arrays.images(array[None] if array.ndim == 3 else array, "image")
        _arrays.check_shape(images, "image", (None, None, None, self._channels))
        if self._pipeline is not None:
            _fit.warn_of_scale(images, self._pipeline, "image")
            self._pipeline = None
        out: NDArray[np.float32] = np.empty((len(images), self.num_classes), dtype=np.float32)
        function = "svit_predict_u8" if images.dtype == np.uint8 else "svit_predict_f32"
        _library.call(function, self, images, *images.shape[:3], out)
        return out.reshape(-1) if array.ndim == 3 else out

    def predict_each(
        self, images: Sequence[PathName | bytes | bytearray | memoryview]
    ) -> tuple[NDArray[np.float32], list[errors.Error | None]]:
        """Predicts for files of which some may be missing or damaged.

        >>> predictor = Predictor("examples/models/cifar10.safetensors")
        >>> rows, failures = predictor.predict_each([b"no image", "/nowhere/at/all.png"])
        >>> [type(failure).__name__ for failure in failures], predictor.labels(rows)
        (['FormatError', 'MissingFileError'], array([-1, -1], dtype=int32))

        Args:
            images: The paths of JPEG, PNG or WebP files, or their bytes.

        Returns:
            [n, num_classes], float32, with NaN where an image cannot be read; and for each image None, or the exception
            that :meth:`predict` raises for it.
        """
        if isinstance(images, FILES) or not all(isinstance(part, FILES) for part in images):
            raise TypeError("images is no sequence of paths and bytes of files")
        return self._files(images, each=True)

    def _files(self, images: Sequence[Any], each: bool) -> tuple[NDArray[np.float32], list[errors.Error | None]]:
        """The rows of files, and with ``each`` what is wrong with each; without it the first is raised."""
        out: NDArray[np.float32] = np.empty((len(images), self.num_classes), dtype=np.float32)
        failures: list[errors.Error | None] = [None] * len(images)
        paths = [index for index, image in enumerate(images) if isinstance(image, PATHS)]
        others = [index for index, image in enumerate(images) if not isinstance(image, PATHS)]
        for name, indices in (("svit_predict_files", paths), ("svit_predict_encoded_images", others)):
            if not indices:
                continue
            given = [images[index] for index in indices]
            files = (_library.path_array(given),) if indices is paths else _library.bytes_arrays(given)
            rows = np.empty((len(indices), self.num_classes), dtype=np.float32)
            records = _library.records(len(indices)) if each else None
            try:
                _library.call(name, self, *files, len(indices), rows, records)
            except errors.NumericError as error:
                _count_as(error, indices)
                raise
            out[indices] = rows
            for index, record in zip(indices, records or ()):
                failures[index] = failure = _library.failure(name, record)
                if failure is not None and indices is others:
                    _count_as(failure, indices)
        return out, failures

    def _one(self, image: Any, index: int) -> NDArray[np.float32]:
        """The row of one array among others of other sizes."""
        array = _arrays.array(image, "image")
        _arrays.check_shape(array, "image", (None, None, self._channels))
        try:
            return self.predict(array)
        except (errors.NumericError, errors.ArgumentError) as error:
            _count_as(error, [index])
            raise

    def labels(self, probabilities: Any) -> NDArray[np.int32]:
        """The class of the largest of each row of probabilities, or -1, none of these, where it is below the model's
        ``threshold`` or the row has a NaN.

        Args:
            probabilities: [n, num_classes] or [num_classes], as :meth:`predict` returns them.

        Returns:
            [n], or an array without axes; int32.

        Raises:
            StateError: :attr:`output` is not ``"softmax"``.
        """
        array = _arrays.array(probabilities, "probabilities")
        rows = _arrays.floats(array[None] if array.ndim == 1 else array, "probabilities", (None, self.num_classes))
        labels = np.empty(len(rows), dtype=np.int32)
        _library.call("svit_predictor_labels", self, rows, len(rows), labels)
        return labels.reshape(array.shape[:-1])

    def top(self, image: Any, k: int = 5) -> list[tuple[str, float]]:
        """The ``k`` classes with the largest values for one image, and the values. Classes without names are named by
        their numbers."""
        values = self.predict(image)
        if values.ndim != 1:
            raise errors.ArgumentError("top() takes one image; predict() takes several")
        if not 0 <= operator.index(k):
            raise errors.ArgumentError(f"k is {k}; 0 or more are accepted")
        order: list[int] = np.argsort(-values, kind="stable")[:k].tolist()
        with _library.reading(self):
            names = [_library.string("svit_predictor_class_name", self, i) for i in order]
        return [(str(i) if name is None else name, float(values[i])) for i, name in zip(order, names)]
