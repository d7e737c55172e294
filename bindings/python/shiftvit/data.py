"""Datasets and loaders: labelled images, and shuffled, augmented batches of them."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _custom, _library
from ._handles import article
from ._library import PathName
from .config import means_of
from .context import Context, chosen_context
from .errors import ArgumentError

Split = Literal["train", "test", "validation"]
#: CIFAR has no images for validation of its own.
CifarSplit = Literal["train", "test"]
Filter = Literal[
    "nearest", "shorter-side", "bicubic", "shorter-side-pillow-12", "bicubic-pillow-12", "squash", "squash-bicubic",
    "keep-ratio", "keep-ratio-bicubic"
]

_BadFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_size_t, ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)


def _cifar_part(split: Any) -> int:
    if split not in ("train", "test"):
        raise ArgumentError(f"split is {split!r}; accepted are 'train', 'test'")
    return _library.constant("SVIT_SPLIT_", split, "split")


class _Kind(NamedTuple):
    """What the samples of a dataset are: the arrays of an image and its targets, and how many there are."""

    length: int
    shape: tuple[int, int, int]
    is_float: bool
    #: None: samples have labels.
    targets: int | None


class Dataset(_library.Handle):
    """Numbered images [height, width, channels] with labels, or with targets: several numbers for each image.

    The class methods create datasets. ``dataset[i]`` is an image and its label or targets, ``dataset[100:200]`` a view
    of a range, ``len(dataset)`` the number of samples. Any number of threads may read a dataset, but only one at a time
    if it is of :meth:`from_function`.
    """

    _free = "svit_dataset_free"
    _copying = "create it again from its arrays, its files or its function"
    _making = "Dataset.from_function makes one of a function that gives sample i, such as a method __getitem__"
    #: The source step that reads image files: height, width and filter. None: the images are no files.
    _source: tuple[int, int, str] | None = None
    #: What a sample is, which never changes; None until the first is read.
    _kind: _Kind | None = None

    @classmethod
    def _create(
        cls, name: str, context: Context | None, *arguments: Any, keep: Any = None, callbacks: Any = None
    ) -> Dataset:
        def adopt(pointer: int) -> Dataset:
            return cls.__new__(cls)._adopt(pointer, keep, callbacks=callbacks)

        return _library.create(name, chosen_context(context), *arguments, adopt=adopt)

    @classmethod
    def _of_files(
        cls, name: str, context: Context | None, path: PathName, pipeline: Mapping[str, Any]
    ) -> Dataset:
        buffer = _library.config("svit_pipeline_config", pipeline)
        dataset = cls._create(name, context, path, buffer)
        fields = _library.fields_of("svit_pipeline_config", buffer)
        dataset._source = (fields["source_height"], fields["source_width"], fields["source_filter"])
        return dataset

    def _derive(self, name: str, *arguments: Any) -> Dataset:
        keep = self._state.keep  # before the call: another thread may close this dataset after it

        def adopt(pointer: int) -> Dataset:
            return Dataset.__new__(Dataset)._adopt(pointer, keep, callbacks=self._callbacks)

        view = _library.create(name, self, *arguments, adopt=adopt)
        view._source = self._source
        return view

    def __init__(self) -> None:
        raise TypeError("datasets are created by Dataset.from_arrays, .from_function, .folder, .csv and the like")

    @classmethod
    def from_arrays(
        cls, x: Any, y: Any = None, *, num_classes: int | None = None, context: Context | None = None
    ) -> Dataset:
        """Wraps arrays. Images and targets must stay unchanged while the dataset and what was made of it are in use;
        labels are copied.

        Args:
            x: [n, height, width, channels] of uint8 or floats, of 1 to 1024 channels. uint8 and float32 in C
                order are used in place, others are copied once.
            y: Labels [n], integers; or targets [n, columns], floats. None: every label is 0.
            num_classes: With labels; None takes the largest label and 1.
        """
        images = _arrays.images(x, "x")
        n, height, width, channels = images.shape
        if y is None:
            y = np.zeros(n, dtype=np.int32)
        given = _arrays.array(y, "y")
        if given.dtype.kind == "f":
            targets = _arrays.floats(given, "y", (n, None))
            labels, columns = None, targets.shape[1]
            if num_classes not in (None, columns):
                raise ArgumentError(f"y has {columns} columns, and num_classes is {num_classes}")
        else:
            # Labels that change later would be indices out of bounds.
            labels, targets = np.array(_arrays.labels(given, "y", n, or_targets=True)), None
            columns = int(labels.max(initial=0)) + 1 if num_classes is None else num_classes
        sizes = (n, height, width, channels, columns)
        keep = (images, labels, targets)
        if images.dtype == np.float32:
            return cls._create("svit_dataset_memory_f32", context, images, labels, targets, *sizes, keep=keep)
        if targets is not None:
            return cls._create("svit_dataset_memory_targets", context, images, targets, *sizes, keep=keep)
        return cls._create("svit_dataset_memory", context, images, labels, *sizes, keep=keep)

    @classmethod
    def from_function(
        cls,
        sample: Callable[[int], Any],
        count: int,
        shape: tuple[int, int, int],
        num_classes: int | None = None,
        *,
        y: Any = None,
        dtype: Any = np.uint8,
        classes: Sequence[str] | None = None,
        context: Context | None = None,
    ) -> Dataset:
        """Reads images from a Python function when they are needed, such as those of a file that does not fit memory.

        Args:
            sample: Gets an index and returns (image, label), or with ``y`` the image alone, the same each time. It is
                called on the thread that uses the dataset. Its exceptions are raised by the call that read it.
            count: Number of samples.
            shape: Height, width and channels (1 to 1024) of every image.
            num_classes: Labels are 0..num_classes - 1. With labels in ``y`` None takes the largest one and 1.
            y: Labels [count], integers, which are then known without reading images, as balanced sampling needs; or
                targets [count, columns], floats. They are copied.
            dtype: Of the images: ``numpy.uint8``, or ``numpy.float32``, which other floats become.
            classes: Names, one for each class, or for each column of targets.
        """
        if not callable(sample):
            raise TypeError(f"{article(sample)} is given where a function is needed")
        callback = _library.Callback(sample)
        record, keep = _custom.record_of(callback.weakly(), count, shape, num_classes, y, dtype, classes)
        return cls._create("svit_dataset_custom", context, record, keep=keep, callbacks=callback)

    @classmethod
    def folder(
        cls,
        path: PathName,
        height: int | None = None,
        width: int | None = None,
        *,
        channels: int | None = None,
        filter: Filter | None = None,
        pipeline: Mapping[str, Any] | None = None,
        context: Context | None = None,
    ) -> Dataset:
        """Opens a folder with a subfolder of JPEG, PNG and WebP images for each class, which are decoded when they are read.

        Args:
            path: The folder. Classes and images are in byte order of their names.
            height: Pixels to which images are brought; ``width`` is the same if it is None. A model that has a pipeline
                wants ``pipeline=model.pipeline`` instead: it scales images of another size once more.
            channels: 1 grey, 3 RGB, 4 RGBA; None: 3.
            filter: How; ``"shorter-side"``, which None stands for, ``"bicubic"`` and ``"keep-ratio"`` crop the centre,
                ``"nearest"``, ``"squash"`` and ``"squash-bicubic"`` distort.
            pipeline: Has size, channels and filter, in place of the others; such as ``model.pipeline``.

        Raises:
            FormatError: there is no class.
        """
        if pipeline is not None:
            given = {"height": height, "width": width, "channels": channels, "filter": filter}
            for word, value in given.items():
                if value is not None:
                    raise TypeError(f"folder() takes {word} or pipeline, which has it")
            return cls._of_files("svit_dataset_folder_pipeline", context, path, pipeline)
        if height is None:
            raise TypeError("folder() needs height, or pipeline")
        filter = "shorter-side" if filter is None else filter
        source = _library.constant("SVIT_SOURCE_", filter, "filter")
        sizes = (height, height if width is None else width, 3 if channels is None else channels)
        dataset = cls._create("svit_dataset_folder", context, path, *sizes, source)
        dataset._source = (sizes[0], sizes[1], filter)
        return dataset

    @classmethod
    def csv(cls, path: PathName, pipeline: Mapping[str, Any], *, context: Context | None = None) -> Dataset:
        """Opens the images that a CSV file lists in its column ``path``, with the classes of ``label``, or with the
        numbers of all other columns as targets. Images are read as :meth:`folder` reads them with ``pipeline``."""
        return cls._of_files("svit_dataset_list", context, path, pipeline)

    @classmethod
    def shards(cls, pattern: PathName, pipeline: Mapping[str, Any], *, context: Context | None = None) -> Dataset:
        """Opens WebDataset's shards: tar archives with an image and ``cls`` or ``json`` for each sample. ``pattern`` is
        a path with a range such as ``train-{000..127}.tar``, or with ``*`` in its name. Images are read as
        :meth:`folder` reads them with ``pipeline``."""
        return cls._of_files("svit_dataset_shards", context, pattern, pipeline)

    @classmethod
    def cifar10(cls, folder: PathName, split: CifarSplit = "train", *, context: Context | None = None) -> Dataset:
        """Reads CIFAR-10 from the official binary files in ``folder``; ``split`` is ``"train"`` or ``"test"``."""
        part = _cifar_part(split)
        return cls._create("svit_dataset_cifar10", context, folder, part)

    @classmethod
    def cifar100(
        cls,
        folder: PathName,
        split: CifarSplit = "train",
        *,
        labels: Literal["fine", "coarse"] = "fine",
        context: Context | None = None,
    ) -> Dataset:
        """Reads CIFAR-100, with its 100 classes (``"fine"``) or 20 superclasses (``"coarse"``)."""
        part = _cifar_part(split)
        kind = _library.constant("SVIT_LABELS_", labels, "labels")
        return cls._create("svit_dataset_cifar100", context, folder, part, kind)

    @classmethod
    def synthetic(
        cls, count: int, *, seed: int = 0, split: Split = "train", context: Context | None = None
    ) -> Dataset:
        """Draws ``count`` images of shapes and textures, 32 x 32 RGB, in 10 classes. Nothing is downloaded."""
        part = _library.constant("SVIT_SPLIT_", split, "split")
        return cls._create("svit_dataset_synthetic", context, seed, part, count)

    @classmethod
    def concatenate(cls, datasets: Iterable[Dataset]) -> Dataset:
        """The samples of the first dataset, then those of the second, and so on. Shapes and kinds of images are the same,
        and all have labels, or targets of the same names. Classes are matched by their names: those that the first
        dataset lacks follow its own.

        Raises:
            ArgumentError: the datasets differ, some have class names and others do not, or there are none.
        """
        if isinstance(datasets, Dataset):
            raise TypeError("datasets is a Dataset; a sequence of them is needed")
        parts = list(datasets)
        for index, part in enumerate(parts):
            _library.expect(part, Dataset, f"datasets[{index}]")

        def adopt(pointer: int) -> Dataset:
            keep = [part._state.keep for part in parts]
            return cls.__new__(cls)._adopt(pointer, keep, callbacks=[part._callbacks for part in parts])

        with _library.reading(*parts):
            pointers = (ctypes.c_void_p * len(parts))(*[part._state.pointer for part in parts])
            chain = _library.create("svit_dataset_concatenate", pointers, len(parts), adopt=adopt)
        chain._source = next((part._source for part in parts if part._source), None)
        return chain

    def __len__(self) -> int:
        return int(_library.call("svit_dataset_count", self))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of an image."""
        sizes = [_library.call(f"svit_dataset_{side}", self) for side in ("height", "width", "channels")]
        return sizes[0], sizes[1], sizes[2]

    @property
    def num_classes(self) -> int:
        """Number of classes, or of targets."""
        return int(_library.call("svit_dataset_classes", self))

    @property
    def has_targets(self) -> bool:
        """True if samples have targets instead of labels."""
        return bool(_library.call("svit_dataset_has_targets", self))

    @property
    def is_float(self) -> bool:
        """True if images are floats instead of bytes."""
        return bool(_library.call("svit_dataset_is_f32", self))

    @property
    def classes(self) -> list[str] | None:
        """Names of the classes or targets, or None."""
        return _library.strings("svit_dataset_class_name", self) or None

    @property
    def labels(self) -> NDArray[np.int32]:
        """The labels of all samples, [n]; -1 where there are targets."""
        out = np.empty(len(self), dtype=np.int32)
        _library.read_rows("svit_dataset_label", self, out)
        return out

    @property
    def targets(self) -> NDArray[np.float32]:
        """The targets of all samples, [n, num_classes]: those of the dataset, or 1 for the label and 0 elsewhere."""
        out = np.empty((len(self), self.num_classes), dtype=np.float32)
        _library.read_rows("svit_dataset_targets", self, out)
        return out

    @overload
    def __getitem__(self, index: int) -> tuple[NDArray[Any], Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Dataset: ...
    def __getitem__(self, index: int | slice) -> tuple[NDArray[Any], Any] | Dataset:
        if isinstance(index, slice):
            first, stop, step = index.indices(len(self))
            if step != 1:
                return self.select(range(first, stop, step))
            return self._derive("svit_dataset_slice", first, max(stop - first, 0))
        kind = self._kind
        if kind is None:
            columns = self.num_classes if self.has_targets else None
            kind = self._kind = _Kind(len(self), self.shape, self.is_float, columns)
        index = range(kind.length)[index]
        image: NDArray[Any] = np.empty(kind.shape, dtype=np.float32 if kind.is_float else np.uint8)
        label = ctypes.c_int32()
        function = "svit_dataset_sample_f32" if kind.is_float else "svit_dataset_sample"
        _library.call(function, self, index, image, ctypes.byref(label))
        if kind.targets is None:
            return image, label.value
        targets = np.empty(kind.targets, dtype=np.float32)
        _library.call("svit_dataset_targets", self, index, targets)
        return image, targets

    def __iter__(self) -> Iterator[tuple[NDArray[Any], Any]]:
        return (self[index] for index in range(len(self)))

    def select(self, indices: Sequence[int] | NDArray[Any] | range) -> Dataset:
        """A view of the samples of these indices, in their order."""
        given = _arrays.array(indices, "indices")
        if given.size and given.dtype.kind not in "iu":
            raise TypeError(f"indices is an array of {given.dtype}; integers are needed")
        _arrays.check_shape(given, "indices", (None,))
        if given.size and given.min() < 0:
            raise ArgumentError(f"indices has {given.min()}; 0..{len(self) - 1} are accepted")
        array = _arrays.in_c_order(given, np.uintp)
        return self._derive("svit_dataset_select", array, array.size)

    def split(
        self, *, validation: float = 0.1, test: float = 0.0, seed: int = 0
    ) -> tuple[Dataset, Dataset | None, Dataset | None]:
        """Views of the samples to train, to validate and to test, drawn at random by ``seed``. ``validation`` and ``test``
        are fractions; each class gives its share, and keeps at least one sample to train. A view without samples is
        None.

        Raises:
            ArgumentError: a fraction is out of range, or the samples are too few for one.
        """
        pointers = (ctypes.c_void_p * 3)()
        made: dict[int, Dataset] = {}
        try:
            with _library.reading(self):
                _library.call("svit_dataset_split", pointers, self, validation, test, seed)
                for place, pointer in enumerate(pointers):
                    if pointer:
                        view = Dataset.__new__(Dataset)
                        made[place] = view._adopt(pointer, self._state.keep, callbacks=self._callbacks)
                        view._source = self._source
        except BaseException:
            # What a signal handler raised has these objects in its traceback, which may be kept.
            for view in made.values():
                view.close()
            raise
        training, held_out, tested = (
            made.get(_library.constants[f"SVIT_SPLIT_{name}"]) for name in ("TRAIN", "VALIDATION", "TEST")
        )
        assert training is not None
        return training, held_out, tested

    def path(self, index: int) -> str:
        """The path of a sample's image, for messages and reports; empty where images are no files."""
        return _library.long_text("svit_dataset_path", self, index, decode=os.fsdecode)

    def match_classes(self, names: Sequence[str]) -> Dataset:
        """A view whose classes are ``names``: a label becomes that of the same name. So a test set that lacks some classes
        of a model, or has them in another order, gets its labels: ``data.match_classes(model.classes)``.

        Raises:
            ArgumentError: a class is none of the names or two of them, a name is blank, or the dataset has no names.
        """
        texts = _library.text_array(_library.ordered_names(names, "names"))
        return self._derive("svit_dataset_match_classes", texts, len(texts))

    def statistics(self, scale: float | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of value * scale, each [channels], over all samples, for the pipeline's fields; above four
        channels [1], those of all values. None stands for 1/255 where images are of bytes, and for 1 where they are of
        floats, as in :meth:`Model.fit`. Pipelines refuse the variance 0 of a channel that has one value; 1 in its place
        makes 0 of it."""
        if scale is None:
            scale = 1.0 if self.is_float else 1 / 255
        means = means_of(self.shape[2])
        mean, variance = np.empty(means), np.empty(means)
        _library.call("svit_dataset_statistics", self, scale, mean, variance)
        return mean, variance

    def verify(self) -> list[tuple[int, str]]:
        """Reads every sample and returns (index, message) of each one that cannot be read."""
        bad: list[tuple[int, str]] = []

        def report(index: int, status: int, message: bytes, user: Any) -> int:
            bad.append((index, message.decode("utf-8", "replace")))
            return 0

        _library.call("svit_dataset_verify", self, _BadFunction(_library.guard(report, 1)), None, None)
        return bad

    def __repr__(self) -> str:
        if self.closed:
            return "<shiftvit.Dataset, closed>"
        size = "x".join(map(str, self.shape))
        what = "targets" if self.has_targets else "classes"
        return f"<shiftvit.Dataset: {len(self)} images {size}, {self.num_classes} {what}>"


class Loader(_library.Handle):
    """Batches of a dataset, prepared ahead on a thread. Iterating goes through one epoch, or through the rest of it
    after :meth:`next` and :meth:`seek`; the next iteration goes through the following one, also after a ``break``:

        for images, labels in loader: ...

    ``images`` is float32 [batch, height, width, channels], new for each batch; ``labels`` is int32 [batch], or float32
    [batch, classes] if the dataset has targets or the pipeline mixes images. With ``ranks``, arrays have the images of
    the rank, which may be none: all ranks get the same number of batches.
    """

    _free = "svit_loader_free"
    _exclusive = True
    _copying = "create another Loader of its dataset, and seek() to its place"

    def __init__(self, dataset: Dataset, pipeline: Mapping[str, Any], **fields: Any) -> None:
        """Creates a loader that stands before its first epoch.

        Args:
            dataset: Is kept alive.
            pipeline: Preprocessing and augmentation, fields of ``svit_pipeline_config``.
            **fields: Fields of ``svit_loader_config``: ``batch`` (256), ``seed`` (0), ``shuffle`` (False), ``augment``
                (False: the evaluation), ``prefetch`` (2), ``sampling`` (``"shuffle"`` or ``"balanced"``).
        """
        _library.expect(dataset, Dataset, "dataset")
        _library.refuse_foreign(fields, "batch_size")
        config = _library.config("svit_loader_config", fields)
        batch = _library.fields_of("svit_loader_config", config)["batch"]
        images = _library.config("svit_pipeline_config", pipeline)
        keep = dataset._state.keep
        _library.create(
            "svit_loader_create",
            dataset,
            images,
            config,
            adopt=lambda pointer: self._adopt(pointer, keep, callbacks=dataset._callbacks),
        )
        height, width = (_library.call(f"svit_loader_{side}", self) for side in ("height", "width"))
        self._shape = (min(batch, len(dataset)), height, width, dataset.shape[2])
        self._classes = dataset.num_classes
        self._targets = bool(_library.call("svit_loader_has_targets", self))
        #: Batches of the epoch so far. Only they tell where it ends, since a rank's batch may be empty.
        self._batch = 0
        self._epoch = 0
        #: Whether an iteration has begun the epoch and not ended it.
        self._left = False

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape of a full batch of images."""
        return self._shape

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return int(_library.call("svit_loader_batches", self))

    def next(self) -> tuple[NDArray[np.float32], NDArray[Any]] | None:
        """The next batch, or None at the end of an epoch; the call after it starts the next one."""
        return self._next(self._left)

    def _next(self, iterates: bool) -> tuple[NDArray[np.float32], NDArray[Any]] | None:
        """:meth:`next`. ``iterates``: an iteration calls it, which may be left."""
        images = np.empty(self._shape, dtype=np.float32)
        labels: NDArray[Any] = (
            np.empty((self._shape[0], self._classes), dtype=np.float32)
            if self._targets
            else np.empty(self._shape[0], dtype=np.int32)
        )
        function = "svit_loader_next_targets" if self._targets else "svit_loader_next"
        with self._alone(), _library.reading():
            n = _library.number(function, self, images, labels, kind=ctypes.c_size_t)
            ends = self._batch == len(self)
            self._epoch, self._batch = (self._epoch + 1, 0) if ends else (self._epoch, self._batch + 1)
            self._left = iterates and not ends
        return None if ends else (images[:n], labels[:n])

    def _alone(self) -> threading.RLock:
        """What keeps other threads from the loader between two calls."""
        self._state.check_process()
        assert self._state.busy is not None
        return self._state.busy

    def __iter__(self) -> Iterator[tuple[NDArray[np.float32], NDArray[Any]]]:
        if self._left:
            self.seek(self._epoch + 1)
        while (batch := self._next(True)) is not None:
            yield batch

    def seek(self, epoch: int, batch: int = 0) -> None:
        """Moves before ``batch`` of ``epoch``, both from 0. What a batch has depends on these two numbers, the dataset
        and the fields alone."""
        with self._alone(), _library.reading():
            _library.call("svit_loader_seek", self, epoch, batch)
            self._epoch, self._batch = epoch, batch
            self._left = False
