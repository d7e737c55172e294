"""Models: parameters, files, heads and adapters; training and prediction in one call each."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _copying, _fit, _library, errors
from ._handles import UNMADE
from ._library import PathName
from ._report import read_reported
from ._structs import OnnxOptions
from .context import Context, chosen_context
from .parameters import Parameters

if TYPE_CHECKING:
    from .data import Dataset
    from .features import FeatureSet
    from .trainer import Callback, History, Loss, LossFunction

Output = Literal["auto", "softmax", "sigmoid", "logits"]
Compute = Literal["f32", "bf16", "int8"]
Dtype = Literal["f32", "f16", "bf16", "int8", "i8"]
Tta = Literal["none", "flip", "flip-shift"]


_Self = TypeVar("_Self", bound="Model")

#: Makes a bytes object of a size, whose content is to be written at once: a buffer would have to be copied to one.
_new_bytes = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)


@dataclass(frozen=True)
class LoadReport:
    """What :meth:`Model.load_weights` did not use: names of parameters and of tensors."""

    loaded: int
    missing: tuple[str, ...]
    mismatched: tuple[str, ...]
    extra: tuple[str, ...]
    buffers: tuple[str, ...]


class Model(_library.Handle):
    """A vision transformer with its parameters, class names and preprocessing.

    :func:`shiftvit.create_model`, :func:`shiftvit.load` and :func:`shiftvit.load_pretrained` create models. Any number
    of threads may read a model; a call that changes it needs it alone, and is refused with StateError if other threads
    use the model. ``copy`` and ``pickle`` give an equal model, with adapters and with what is frozen. A copy has the
    context of its original, an unpickled model that of :func:`shiftvit.default_context`.
    """

    _free = "svit_model_free"
    _shared = "M"
    _context: Context = UNMADE

    def __init__(self, config: Mapping[str, Any], *, seed: int = 0, context: Context | None = None) -> None:
        """Creates a model with random initial weights, which depend on ``config`` and ``seed`` alone.

        Args:
            config: Fields of the model, as :func:`shiftvit.model_config` returns them.
            seed: 0..2**64 - 1.
            context: None takes :func:`shiftvit.default_context`.
        """
        context = chosen_context(context)
        buffer = _library.config("svit_model_config", config)
        _library.create("svit_model_create", context, buffer, seed, adopt=lambda pointer: self._take(pointer, context))

    def _take(self: _Self, pointer: int, context: Context) -> _Self:
        self._context = context
        return self._adopt(pointer)

    @classmethod
    def _taker(cls, context: Context) -> Callable[[int], Model]:
        """A function that makes a Model of a new handle."""

        def take(pointer: int) -> Model:
            return cls.__new__(cls)._take(pointer, context)

        return take

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, context: Context | None = None) -> Model:
        """Reads a model from the bytes of a model file."""
        context = chosen_context(context)
        data = data if isinstance(data, bytes) else bytes(memoryview(data))
        return _library.create("svit_model_load_memory", context, data, len(data), adopt=cls._taker(context))

    def to_bytes(self) -> bytes:
        """The bytes of the file that :meth:`save` writes."""
        needed = ctypes.c_size_t()
        with _library.reading(self):
            _library.call("svit_model_save_memory", self, None, 0, ctypes.byref(needed))
            # Bytes may be written as long as nobody else has them.
            out: bytes = _new_bytes(None, needed.value)
            _library.call("svit_model_save_memory", self, out, needed.value, None)
        return out

    def __reduce_ex__(self, protocol: Any) -> Any:
        state = _copying.state_of(self)
        return (_copying.restored, (type(self), state), _copying.attributes_of(self) or None)

    def __copy__(self: _Self) -> _Self:
        return self._copied(_copying.attributes_of(self))

    def __deepcopy__(self: _Self, memo: dict[int, Any]) -> _Self:
        model = self._copied({})
        memo[id(self)] = model
        vars(model).update(copy.deepcopy(_copying.attributes_of(self), memo))
        return model

    def _copied(self: _Self, attributes: dict[str, Any]) -> _Self:
        if self._context.closed and not self.closed:
            raise errors.StateError(
                "the Model's Context is closed; pickle.loads(pickle.dumps(model)) copies it to the default context"
            )
        model: Any = _copying.restored(type(self), _copying.state_of(self), self._context)
        vars(model).update(attributes)
        return model  # type: ignore[no-any-return]

    # What it is.

    @property
    def context(self) -> Context:
        """The context that the model was created with."""
        return self._context

    @property
    def config(self) -> dict[str, Any]:
        """All fields of the model, a copy."""
        return _library.fields_of("svit_model_config", _library.filled("svit_model_get_config", self))

    @property
    def num_classes(self) -> int:
        """Number of logits."""
        return int(self.config["num_classes"])

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """Height and width in pixels, and channels."""
        config = self.config
        return config["input_height"], config["input_width"], config["in_channels"]

    @property
    def parameter_count(self) -> int:
        """Number of elements of all parameters."""
        return int(_library.call("svit_model_parameter_elements", self))

    @property
    def classes(self) -> list[str] | None:
        """Names of the classes in the order of the labels, or None. They are saved with the model. Those that are
        assigned are not blank, and equal ones are a warning; None removes them."""
        return _library.strings("svit_model_class_name", self) or None

    @classes.setter
    def classes(self, names: Sequence[str] | None) -> None:
        texts = _library.class_names([] if names is None else names)
        _library.call("svit_model_set_classes", self, texts, len(texts))

    def set_text_head(
        self, embeddings: Any, classes: Sequence[str], *, logit_scale: float = 100, logit_bias: float = 0
    ) -> None:
        """Makes embeddings of texts [n, num_classes] the classes of predictors, by their cosine similarities with the
        model's logits, as CLIP does; none removes them."""
        texts = _library.class_names(classes)
        width = self.num_classes
        rows = _arrays.floats(embeddings, "embeddings", (len(texts), width)) if len(texts) else None
        scale, bias = _library.real(logit_scale), _library.real(logit_bias)
        _library.call("svit_model_set_text_head", self, rows, texts, len(texts), width, scale, bias)

    @property
    def text_classes(self) -> list[str] | None:
        """Names of the classes that are embeddings of texts, or None. A :class:`shiftvit.Predictor` predicts them."""
        return _library.strings("svit_model_text_class_name", self) or None

    @property
    def pipeline(self) -> dict[str, Any] | None:
        """The pipeline that turns an image into the model's input, or None. It is saved with the model. Assigning
        takes the fields of ``svit_pipeline_config``; None removes it."""
        with _library.reading(self):
            try:
                return _library.fields_of("svit_pipeline_config", _library.filled("svit_model_get_pipeline", self))
            except errors.StateError:  # of the library: there is none
                return None

    @pipeline.setter
    def pipeline(self, fields: Mapping[str, Any] | None) -> None:
        buffer = None if fields is None else _library.config("svit_pipeline_config", fields)
        _library.call("svit_model_set_pipeline", self, buffer)

    @property
    def output(self) -> Output:
        """What predictions are made of the logits: ``"softmax"``, ``"sigmoid"`` or ``"logits"``. Training states it
        by its loss; assigning ``"auto"`` removes the statement."""
        word: Any = _library.word("SVIT_OUTPUT_", _library.call("svit_model_output", self))
        return word  # type: ignore[no-any-return]

    @output.setter
    def output(self, output: Output) -> None:
        _library.call("svit_model_set_output", self, _library.constant("SVIT_OUTPUT_", output, "output"))

    @property
    def threshold(self) -> float:
        """The probability below which :meth:`Predictor.labels` takes an image for none of the classes; 0 for never.
        :func:`shiftvit.metrics.choose_threshold` finds one."""
        return float(_library.call("svit_model_threshold", self))

    @threshold.setter
    def threshold(self, threshold: float) -> None:
        _library.call("svit_model_set_threshold", self, threshold)

    def __repr__(self) -> str:
        if self.closed:
            return "<shiftvit.Model, closed>"
        try:
            with _library.reading(self):
                config, count = self.config, self.parameter_count
        except errors.StateError:
            return "<shiftvit.Model, which another call changes>"
        size = f"{config['input_height']}x{config['input_width']}x{config['in_channels']}"
        return (
            f"<shiftvit.Model: {config['architecture']}, {size} to {config['num_classes']} classes, {count} parameters>"
        )

    # Parameters.

    def parameters(self) -> Parameters:
        """The parameters by name: ``model.parameters()["head.weight"]`` copies one, assigning writes it."""
        return Parameters(self)

    def set_trainable(self, pattern: str, trainable: bool = True) -> Model:
        """Makes the parameters whose names match ``pattern`` trainable or frozen, and returns the model. ``*`` stands
        for any characters, ``?`` for one.

        Optimisers and sessions that train are refused afterwards, with StateError. Model files do not say what is
        frozen.

        Raises:
            ArgumentError: no parameter matches.
        """
        _library.call("svit_model_set_trainable", self, pattern, int(_library.flag(trainable, "trainable")))
        return self

    def is_trainable(self, name: str) -> bool:
        """True if the parameter ``name`` is trainable. An unknown name is a KeyError."""
        try:
            return bool(_library.number("svit_model_get_trainable", self, name, kind=ctypes.c_int32))
        except errors.ArgumentError:
            raise KeyError(name) from None

    def replace_head(self, num_classes: int, *, seed: int = 0) -> Model:
        """Gives the model a new classifier with random weights, drops the class names, texts, threshold and
        output that it has, and returns the model.

        Raises:
            StateError: sessions, optimisers, trainers or predictors of the model exist. Close them first.
        """
        _library.call("svit_model_replace_head", self, num_classes, seed)
        return self

    def add_classes(self, count: int, *, seed: int = 0) -> Model:
        """Adds classes behind those of the classifier, which keep their weights, and returns the model. All class names
        are dropped, those of the old classes too: ``names = model.classes`` before, and ``model.classes = [*names,
        "new"]`` after it. Otherwise as :meth:`replace_head`."""
        _library.call("svit_model_add_classes", self, count, seed)
        return self

    def truncate(self, layer: str) -> Model:
        """Ends the model after the block ``layer``, one of :attr:`Session.layers`, drops the head and the class
        names, and returns the model. Its logits are the pooled features until :meth:`replace_head`.

        Raises:
            ArgumentError: the model has no block of this name.
            StateError: as :meth:`replace_head`.
        """
        _library.call("svit_model_truncate", self, layer)
        return self

    def add_lora(self, rank: int, alpha: float | None = None, *, seed: int = 0) -> Model:
        """Adds adapters of LoRA to the attention of a ViT, freezes all but these and the head, and returns the model.
        Files have the merged weights.

        Args:
            rank: 1..min(dim, heads * head_dim).
            alpha: The adapters count alpha / rank times; None takes ``rank``.

        Raises:
            UnsupportedError: the model is no ViT.
            StateError: it has adapters already, or sessions of it exist.
        """
        _library.call("svit_model_add_lora", self, rank, rank if alpha is None else alpha, seed)
        return self

    def merge_lora(self) -> Model:
        """Adds the adapters to their weights, removes them, and returns the model."""
        _library.call("svit_model_merge_lora", self)
        return self

    def whiten(self, images: Any) -> Model:
        """Gives a whitened stem (``stem="whitened"``) the filters of images [n, height, width, channels], float and
        scaled as the model's input is, and returns the model."""
        values = _arrays.floats(images, "images", (None, *self.input_shape))
        _library.call("svit_model_whiten", self, values, len(values))
        return self

    # Files.

    def save(self, path: PathName, dtype: Dtype = "f32") -> None:
        """Writes the model, its class names and its pipeline as a safetensors file, replacing an old file as a whole.

        Args:
            dtype: How parameters are stored: ``"f32"``, ``"f16"``, ``"bf16"`` or ``"int8"``; all but ``"f32"`` round
                them.

        Raises:
            FileError: the file cannot be written; the old one is unchanged.
        """
        _library.call("svit_model_save_as", self, path, _library.constant("SVIT_DTYPE_", dtype, "dtype"))

    def save_timm(self, path: PathName) -> None:
        """Writes the parameters of a ViT as timm names them, for ``load_state_dict``."""
        _library.call("svit_model_save_mapped", self, path, "timm")

    def export_onnx(
        self, path: PathName, *, output: Literal["logits", "probabilities"] = "logits", preprocessing: bool = False
    ) -> None:
        """Writes the model as an ONNX file of opset 17.

        Args:
            output: What the graph computes. Probabilities are those of a :class:`Predictor`.
            preprocessing: True: the input is uint8 ``bytes`` of the source size, and the graph has the evaluation's
                steps of the pipeline. False: it is float32 ``images``.
        """
        options = _library.initialised("svit_onnx_options_init", OnnxOptions)
        options.output = _library.constant("SVIT_ONNX_", output, "output")
        options.preprocessing = int(_library.flag(preprocessing, "preprocessing"))
        _library.call("svit_model_export_onnx", self, path, options)

    def load_weights(
        self,
        path: PathName,
        *,
        map: str | Mapping[str, Any] | None = None,
        skip_mismatched: bool = False,
        ignore_extra: bool = False,
        allow_missing: bool = False,
    ) -> LoadReport:
        """Reads parameters from a safetensors file into this model, which changes only if the call succeeds.

        Args:
            map: Whose names the tensors have, as in :func:`shiftvit.load_pretrained`; None: the model's own.
            skip_mismatched: Keep a parameter whose tensor has another shape, such as the head's.
            ignore_extra: Pass over tensors that no parameter takes.
            allow_missing: Keep parameters that the file does not have.

        Raises:
            FormatError: the file is damaged, or does not fit and may not be passed over; the message names the tensor.
        """
        flags = sum(
            _library.constants[f"SVIT_LOAD_{name}"] * _library.flag(wanted, word)
            for name, word, wanted in (
                ("SKIP_SHAPE_MISMATCH", "skip_mismatched", skip_mismatched),
                ("IGNORE_EXTRA", "ignore_extra", ignore_extra),
                ("ALLOW_MISSING", "allow_missing", allow_missing),
            )
        )
        lines: list[str] = []
        given = _library.names_of(map)
        _, record = read_reported(
            lambda report: _library.call("svit_model_load_into", self, path, given, flags, report), lines
        )
        names: dict[str, list[str]] = {}
        for line in lines:
            kind, _, name = line.partition(" ")
            names.setdefault(kind, []).append(name)
        lists = {kind: tuple(names.get(kind, ())) for kind in ("missing", "mismatched", "extra")}
        return LoadReport(loaded=record.loaded, buffers=tuple(names.get("buffer", ())), **lists)

    # Training and prediction.

    def fit(
        self,
        x: Any,
        y: Any = None,
        *,
        epochs: int | None = None,
        batch_size: int | None = None,
        validation_data: tuple[Any, Any] | Dataset | None = None,
        callbacks: Iterable[Callback] | None = (),
        loss: Loss | None = None,
        loss_function: LossFunction | None = None,
        preset: str | None = None,
        pipeline: Mapping[str, Any] | None = None,
        folder: PathName | None = None,
        resume: bool = False,
        fine_tune: bool = False,
        **settings: Any,
    ) -> History:
        """Trains the model and returns the history of the run.

        Args:
            x: A Dataset, or images [n, height, width, channels] of uint8 or floats. Arrays must stay unchanged until
                the call returns.
            y: With arrays, labels [n] in 0..num_classes - 1, or targets [n, num_classes] of floats; they are needed.
            epochs: 10 if neither this nor ``preset`` nor ``fine_tune`` is given.
            batch_size: Images in a step; likewise 32.
            validation_data: A Dataset or (x, y), evaluated after each epoch.
            callbacks: Functions that are called with each :class:`shiftvit.Event`; one that returns True ends the
                training. An exception ends it too and is raised again.
            loss: ``"cross-entropy"``, ``"binary"`` or ``"mse"``, or a function of (logits, labels or targets) that
                returns the mean loss and its gradient with respect to the logits. The word says which targets are
                accepted, what validation measures, and the model's ``output``; with a function it is
                ``"cross-entropy"``, unless both are given:
            loss_function: The function beside the word ``loss``, such as for several labels: ``loss="binary",
                loss_function=f``.
            preset: A preset whose settings are the defaults: its optimiser, schedule, augmentation and so on.
            pipeline: Preprocessing and augmentation; by default the model's, if it has one, then that of ``preset``,
                otherwise images are resized to the model's input and bytes are scaled to 0..1, with ``fine_tune``
                to -1..1.
            folder: Where checkpoints, the history and the best model are written. It must not have a run, but see:
            resume: True: continue the run of ``folder`` if there is one. The model gets the weights of the run.
            fine_tune: True: the defaults follow from the number of images, as ``shiftvit-train --init-from`` takes
                them: for a model with trained weights, whose head :meth:`replace_head` has made for the classes.
            **settings: Settings by the names that :func:`shiftvit.config_fields` lists, such as ``learning_rate=3e-4``,
                ``optimizer="muon"``, ``schedule="warmup-cosine"``, ``augment=[{"name": "flip", "probability": 0.5}]``,
                ``patience=5``, ``keep="best"``, ``seed=1``. By default: AdamW with a learning rate of 1e-3, and all
                epochs (``patience=0``).

        Ctrl-C raises KeyboardInterrupt after the step that is running; with ``folder`` a checkpoint is written first,
        so ``resume=True`` continues with the same bits.

        Raises:
            ArgumentError: names an argument or a setting that is not accepted.
            StateError: ``folder`` already has a run, or another trainer uses it.
            NumericError: a loss or a gradient is not finite.
        """
        return _fit.fit(
            self,
            x,
            y,
            epochs=epochs,
            batch_size=batch_size,
            validation_data=validation_data,
            callbacks=callbacks,
            loss=loss,
            loss_function=loss_function,
            preset=preset,
            pipeline=pipeline,
            folder=folder,
            resume=resume,
            fine_tune=fine_tune,
            settings=settings,
        )

    def evaluate(
        self,
        x: Any,
        y: Any = None,
        *,
        batch_size: int = 256,
        pipeline: Mapping[str, Any] | None = None,
        compute: Compute = "f32",
        tta: Tta = "none",
    ) -> dict[str, float]:
        """Measures the model on a Dataset or on arrays as those of :meth:`fit`.

        Returns:
            ``loss`` and, by the model's ``output``: ``top1`` and ``top5``, fractions in 0..1 (``"softmax"``);
            ``element_accuracy``, ``exact_match``, ``micro_f1`` and ``macro_f1`` (``"sigmoid"``); ``mean_absolute`` and
            ``root_mean_square`` (``"logits"``).
        """
        return _fit.evaluate(self, x, y, batch_size, pipeline, compute, tta)

    def predict(
        self,
        x: Any,
        *,
        batch_size: int = 256,
        pipeline: Mapping[str, Any] | None = None,
        compute: Compute = "f32",
        tta: Tta = "none",
        output: Output = "auto",
    ) -> NDArray[np.float32]:
        """Predicts for a Dataset or for images [n, height, width, channels] of uint8 or floats. Images of another size
        than the source of the pipeline are scaled to it; floats only where its ``source_filter`` is ``"nearest"``.

        Returns:
            [n, num_classes], float32: probabilities, or logits, by ``output``; ``"auto"`` takes the model's. Of a model
            whose classes are texts the logits are embeddings, and nothing else is predicted here.

        A :class:`shiftvit.Predictor` is faster for one image after another, since it keeps its memory, and also takes
        image files.
        """
        return _fit.predict(self, x, batch_size, pipeline, compute, tta, output)

    def prepare(self, images: Any, *, pipeline: Mapping[str, Any] | None = None) -> NDArray[np.float32]:
        """Makes the model's input of images [n, height, width, channels] of uint8 or floats, of the sizes that
        :meth:`predict` takes, and as it does: what a :class:`shiftvit.Session` takes.

        Returns:
            [n, height, width, channels], float32, in the size of the pipeline's evaluation, which is that of
            :attr:`input_shape` unless the pipeline has another one.
        """
        return _fit.prepare(self, images, pipeline)

    def fit_head(self, features: FeatureSet, **fields: Any) -> Model:
        """Trains the classifier on features in seconds, and returns the model. All below the classifier stays.

        Args:
            features: Those of the layer ``"features"`` of this model, with labels.
            **fields: Fields of ``svit_head_config``: ``epochs``, ``batch``, ``balanced``, ``learning_rate``,
                ``weight_decay``, ``label_smoothing``, ``seed``.
        """
        _expect_features(features, "features")
        _library.call("svit_model_fit_head", self, features, _library.config("svit_head_config", fields))
        return self

    def fit_class(
        self, name: str | None, features: FeatureSet, old: FeatureSet | None = None, **fields: Any
    ) -> Model:
        """Adds one class to the classifier from features of its samples, and returns the model. Old rows keep their
        bits.

        Args:
            name: Name of the class, in a model with class names, which has none of this name; None drops the names.
            features: Samples of the new class.
            old: Samples of the old classes, which make the row more accurate.
            **fields: Fields of ``svit_class_config``: ``weight_decay``, ``new_weight``, ``recall``.
        """
        _expect_features(features, "features")
        _expect_features(old, "old", optional=True)
        if name is not None:
            name = _library.class_name(name, "name")
        config = _library.config("svit_class_config", fields)
        _library.call("svit_model_fit_class", self, name, features, old, config)
        return self


def _expect_features(value: Any, name: str, optional: bool = False) -> None:
    from .features import FeatureSet

    _library.expect(value, FeatureSet, name, optional)
