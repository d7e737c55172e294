"""Feature sets: what a layer of a model computes for many images, and classifiers on them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _fit, _library, errors
from ._library import PathName
from ._structs import FeaturesConfig
from .context import Context, chosen_context
from .data import Dataset
from .model import Compute, Model


Tokens = Literal["mean", "class", "patches", "patches-3x3"]


def _config_of(batch: int, compute: Compute, tokens: Tokens, layer: str | None) -> FeaturesConfig:
    config: FeaturesConfig = _library.initialised("svit_features_config_init", FeaturesConfig)
    if isinstance(batch, bool) or not 0 < batch < 2**32:
        raise errors.ArgumentError(f"batch is {batch}; 1..65536 are accepted")
    config.batch = batch
    config.compute = _library.constant("SVIT_COMPUTE_", compute, "compute")
    config.tokens = _library.constant("SVIT_TOKENS_", tokens, "tokens")
    config.layer = _library.text_bytes(layer)
    return config


def _grid_of(function: str, handle: _library.Handle) -> tuple[int, int]:
    tokens, height, width = ctypes.c_int32(), ctypes.c_size_t(), ctypes.c_size_t()
    _library.call(function, handle, ctypes.byref(tokens), ctypes.byref(height), ctypes.byref(width))
    return height.value, width.value


class FeatureSet(_library.Handle):
    """Features [n, channels] of images, with their labels. :meth:`Model.fit_head` trains a classifier on them."""

    _free = "svit_features_free"
    _shared = "F"
    _copying = "write it with save() and read the file with FeatureSet.load()"

    def __init__(
        self,
        values: Any,
        labels: Any = None,
        *,
        num_classes: int | None = None,
        classes: Sequence[str] | None = None,
        context: Context | None = None,
    ) -> None:
        """Creates a set of copies of arrays.

        Args:
            values: [n, channels], finite floats.
            labels: [n], integers, -1 for none; None: all are -1.
            num_classes: None: as ``classes`` or the largest label need.
            classes: Names of the classes, which are not blank. Equal ones are a warning.
        """
        features = _arrays.floats(values, "values", (None, None))
        known = None if labels is None else _arrays.labels(labels, "labels", len(features))
        names = None if classes is None else _library.class_names(classes)
        if num_classes is None:
            largest = int(known.max(initial=-1)) if known is not None else -1
            num_classes = len(names) if names is not None else largest + 1
        if names is not None and len(names) != num_classes:
            raise errors.ArgumentError(f"classes has {len(names)} names, and num_classes is {num_classes}")
        sizes = (*features.shape, num_classes)
        arguments = (chosen_context(context), features, known, *sizes, names)
        _library.create("svit_features_create", *arguments, adopt=self._adopt)

    @classmethod
    def _from_pointer(cls, pointer: int) -> FeatureSet:
        return cls.__new__(cls)._adopt(pointer)

    @classmethod
    def compute(
        cls,
        model: Model,
        dataset: Dataset,
        *,
        pipeline: Mapping[str, Any] | None = None,
        batch: int = 256,
        compute: Compute = "f32",
        tokens: Tokens = "mean",
        layer: str | None = None,
        context: Context | None = None,
    ) -> FeatureSet:
        """Computes the features of all images of a dataset.

        Args:
            model: Is run in inference.
            dataset: Its labels and class names are taken over.
            pipeline: None: the model's.
            batch: Images in one forward pass.
            tokens: What becomes of a layer with several tokens. ``"patches"`` makes each patch a sample, row by row and
                image by image; ``"patches-3x3"`` makes it the mean of itself and of those around it.
            layer: A name of ``Session.layers``; None: the input of the classifier.

        Raises:
            StateError: the model has no pipeline.
        """
        _library.expect(model, Model, "model")
        _library.expect(dataset, Dataset, "dataset")
        _library.expect(context, Context, "context", optional=True)
        config = _config_of(batch, compute, tokens, layer)
        used = model.pipeline if pipeline is None else pipeline
        if used is not None:
            _fit.warn_of_size(dataset, used)
        images = None if pipeline is None else _library.config("svit_pipeline_config", pipeline)
        with _library.borrowed(context, "context") as pointer:
            config.context = pointer
            return _library.create("svit_features_compute", model, dataset, images, config, adopt=cls._from_pointer)

    @classmethod
    def load(cls, path: PathName, *, context: Context | None = None) -> FeatureSet:
        """Reads a safetensors file with the tensors ``features`` and ``labels``."""
        return _library.create("svit_features_load", chosen_context(context), path, adopt=cls._from_pointer)

    def save(self, path: PathName) -> None:
        """Writes a safetensors file."""
        _library.call("svit_features_save", self, path)

    def __len__(self) -> int:
        return int(_library.call("svit_features_count", self))

    @property
    def channels(self) -> int:
        """Numbers of a sample."""
        return int(_library.call("svit_features_channels", self))

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return int(_library.call("svit_features_classes", self))

    @property
    def classes(self) -> list[str] | None:
        """Names of the classes, or None."""
        return _library.strings("svit_features_class_name", self) or None

    @property
    def layer(self) -> str:
        """Name of the layer, ``""`` if it is unknown."""
        return _library.string("svit_features_layer", self) or ""

    @property
    def values(self) -> NDArray[np.float32]:
        """[n, channels], read-only, not copied."""
        with _library.reading(self):
            return _library.view(self, "svit_features_values", np.float32, (len(self), self.channels))

    @property
    def labels(self) -> NDArray[np.int32]:
        """[n], read-only, not copied; -1 for none."""
        with _library.reading(self):
            return _library.view(self, "svit_features_labels", np.int32, (len(self),))

    def append(self, other: FeatureSet) -> None:
        """Appends the samples of another set. Classes are matched by their names, and new ones are added.

        Raises:
            BufferError: arrays of :attr:`values` or :attr:`labels` exist, which would become invalid.
            StateError: another thread uses the set.
        """
        _library.expect(other, FeatureSet, "other")
        _library.call("svit_features_append", self, other)

    def knn(self, queries: Any, *, k: int = 20, temperature: float = 0.07) -> NDArray[np.float32]:
        """Classifies queries [n, channels] by their ``k`` nearest neighbours in this set.

        Returns:
            Probabilities [n, num_classes].
        """
        with _library.reading(self):
            values = _arrays.floats(queries, "queries", (None, self.channels))
            out = np.empty((len(values), self.num_classes), dtype=np.float32)
            _library.call("svit_features_knn", self, values, len(values), k, temperature, out)
            return out

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of an image's patches if each is a sample, otherwise (1, 1)."""
        return _grid_of("svit_features_grid", self)

    def nearest(
        self, queries: Any, *, k: int = 1, metric: Literal["cosine", "euclidean"] = "cosine"
    ) -> tuple[NDArray[np.uintp], NDArray[np.float32]]:
        """Finds the ``k`` samples of this set that are nearest to each of queries [n, channels], the nearest first.

        Returns:
            Their numbers [n, k], and their cosine similarities or Euclidean distances [n, k].
        """
        with _library.reading(self):
            values = _arrays.floats(queries, "queries", (None, self.channels))
            if not 0 < k <= len(self):
                raise errors.ArgumentError(f"k is {k}; 1..{len(self)} are accepted")
            indices = np.empty((len(values), k), dtype=np.uintp)
            distances = np.empty((len(values), k), dtype=np.float32)
            chosen = _library.constant("SVIT_METRIC_", metric, "metric")
            _library.call("svit_features_nearest", self, values, len(values), k, chosen, indices, distances)
            return indices, distances

    def coreset(self, count: int) -> FeatureSet:
        """Returns ``count`` samples that cover this set: again and again the one farthest from those chosen before.

        With :meth:`nearest` this finds anomalies without training: the score of an image is the largest distance of its
        patches from those of good images.
        """
        return _library.create("svit_features_coreset", self, count, adopt=self._from_pointer)

    def __repr__(self) -> str:
        if self.closed:
            return "<shiftvit.FeatureSet, closed>"
        return f"<shiftvit.FeatureSet: {len(self)} samples of {self.channels} channels, {self.num_classes} classes>"


class Extractor(_library.Handle):
    """Computes features of images as they come, such as those of a camera, with memory for one batch. Threads take
    turns; to work in parallel, give each thread an extractor of one model on a ``Context(threads=1)``.

    >>> from shiftvit import load
    >>> model = load("examples/models/cifar10.safetensors")
    >>> known = FeatureSet.compute(model, Dataset.synthetic(20))
    >>> seen = Extractor(model).extract(numpy.zeros((32, 32, 3), dtype="uint8"))
    >>> known.nearest(seen)[0].shape
    (1, 1)
    """

    _free = "svit_extractor_free"
    _exclusive = True
    _copying = "create another Extractor of its model"

    def __init__(
        self,
        model: Model,
        *,
        pipeline: Mapping[str, Any] | None = None,
        batch: int = 32,
        compute: Compute = "f32",
        tokens: Tokens = "mean",
        layer: str | None = None,
        context: Context | None = None,
    ) -> None:
        """Creates an extractor, which follows changes of the model's weights.

        Args:
            pipeline: None: the model's.
            batch: Images in one forward pass; larger calls run several.
            tokens: What becomes of a layer with several tokens, as in :meth:`FeatureSet.compute`.
            layer: A name of ``Session.layers``; None: the input of the classifier.

        Raises:
            StateError: the model has no pipeline.
        """
        _library.expect(model, Model, "model")
        _library.expect(context, Context, "context", optional=True)
        config = _config_of(batch, compute, tokens, layer)
        images = None if pipeline is None else _library.config("svit_pipeline_config", pipeline)
        with _library.reading(model), _library.borrowed(context, "context") as pointer:
            config.context = pointer
            arguments = (model, images, config)
            _library.create(
                "svit_extractor_create", *arguments, adopt=lambda pointer: self._adopt(pointer, uses=(model,))
            )
            self._channels = model.input_shape[2]

    @property
    def channels(self) -> int:
        """Number of channels of a feature."""
        return int(_library.call("svit_extractor_channels", self))

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of an image's patches if each is a sample, otherwise (1, 1)."""
        return _grid_of("svit_extractor_grid", self)

    def extract(self, image: Any) -> NDArray[np.float32]:
        """Features of one image, or of several of one size.

        Args:
            image: [height, width, channels] or [n, height, width, channels] of uint8, or of floats that take the place of
                bytes. Floats of another size than the source of the pipeline need ``source_filter`` ``"nearest"``.

        Returns:
            [samples, channels], float32: for each image one, or its patches row by row; what :meth:`FeatureSet.nearest`
            and :meth:`FeatureSet.knn` take as queries.
        """
        array = _arrays.array(image, "image")
        images = _arrays.images(array[None] if array.ndim == 3 else array, "image")
        _arrays.check_shape(images, "image", (None, None, None, self._channels))
        rows, columns = self.grid
        out: NDArray[np.float32] = np.empty((len(images) * rows * columns, self.channels), dtype=np.float32)
        function = "svit_extract_u8" if images.dtype == np.uint8 else "svit_extract_f32"
        _library.call(function, self, images, *images.shape[:3], out)
        return out

    def __repr__(self) -> str:
        if self.closed:
            return "<shiftvit.Extractor, closed>"
        return f"<shiftvit.Extractor: {self.channels} channels, grid {self.grid[0]}x{self.grid[1]}>"
