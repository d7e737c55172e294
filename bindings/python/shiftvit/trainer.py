"""Trainers: the training loop with validation, early stopping, history, checkpoints and resuming."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import logging
import math
from collections.abc import Callable as _Callable
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Callable, Literal, Union

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _fit, _library, errors
from ._handles import article
from ._library import PathName
from ._structs import ErrorRecord, LossCall, TrainerEvent
from .config import training_fields, training_structs
from .data import Dataset
from .model import Model

LossWord = Literal["cross-entropy", "binary", "mse"]
LossFunction = Callable[[NDArray[np.float32], NDArray[Any]], "tuple[float, NDArray[np.float32]]"]
Loss = Union[LossWord, LossFunction]

_LossFunction = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(LossCall), ctypes.c_void_p, ctypes.POINTER(ErrorRecord)
)


@dataclass(frozen=True)
class Event:
    """What a trainer has completed. Values of validation are NaN without it; fractions are in 0..1."""

    #: ``"step"``, ``"epoch"`` (with its validation) or ``"finished"``.
    kind: str
    #: From 1.
    epoch: int
    epochs: int
    #: Steps of this epoch so far, and steps in an epoch.
    step: int
    steps: int
    train_loss: float
    train_top1: float
    train_top5: float
    val_loss: float
    val_top1: float
    val_top5: float
    learning_rate: float
    images_per_second: float
    seconds: float
    eta_seconds: float
    #: 0 without validation.
    best_epoch: int
    stopped_early: bool
    pflop: float


#: Is called with each event. True ends the training.
Callback = _Callable[[Event], Any]


def _event(record: TrainerEvent) -> Event:
    values = {field.name: getattr(record, field.name) for field in fields(Event)}
    values["kind"] = _library.word("SVIT_EVENT_", record.kind)
    values["stopped_early"] = bool(record.stopped_early)
    return Event(**values)


@dataclass(frozen=True)
class History:
    """The completed epochs of a run, those before it was resumed included."""

    epochs: tuple[Event, ...]
    #: True if a callback ended the run.
    stopped: bool

    @property
    def history(self) -> dict[str, list[float]]:
        """Columns by name, as Keras has them: ``history["train_loss"][3]`` is of the fourth epoch."""
        names = ("train_loss", "train_top1", "train_top5", "val_loss", "val_top1", "val_top5", "learning_rate")
        columns = {name: [getattr(event, name) for event in self.epochs] for name in names}
        if not self.epochs:
            return columns
        return {name: column for name, column in columns.items() if not all(map(math.isnan, column))}

    @property
    def best_epoch(self) -> int:
        """Epoch with the best validation, from 1; 0 without validation."""
        return self.epochs[-1].best_epoch if self.epochs else 0


def _top1(fraction: float) -> str:
    """Of a run with targets there is none."""
    return "" if math.isnan(fraction) else f", top-1 {fraction:.4f}"


def print_epoch(event: Event) -> None:
    """A callback that prints a line for each epoch."""
    if event.kind == "epoch":
        text = f"epoch {event.epoch}/{event.epochs}: loss {event.train_loss:.4f}{_top1(event.train_top1)}"
        if not math.isnan(event.val_loss):
            text += f", validation loss {event.val_loss:.4f}{_top1(event.val_top1)}"
        print(f"{text}, {event.images_per_second:.0f} images/s", flush=True)


def checked_callbacks(callbacks: Iterable[Callback] | None) -> tuple[Callback, ...]:
    """The callbacks of a run; None are none."""
    if callable(callbacks):
        raise TypeError("callbacks is one function; a sequence of functions is needed")
    functions = () if callbacks is None else tuple(callbacks)
    for function in functions:
        if not callable(function):
            raise TypeError(f"callbacks has {article(function)}; functions are needed")
    return functions


def _loss_callback(function: LossFunction) -> Any:
    """The C function that calls ``function`` with copies of the logits and labels, or targets."""

    def compute(pointer: Any, user: Any, error: Any) -> int:
        call = pointer.contents
        shape = (call.n, call.classes)

        def copy(address: int, dtype: Any, size: tuple[int, ...]) -> NDArray[Any]:
            array: NDArray[Any] = np.empty(size, dtype=dtype)
            ctypes.memmove(array.ctypes.data, address, array.nbytes)
            return array

        logits = copy(call.logits, np.float32, shape)
        known = copy(call.labels, np.int32, shape[:1]) if call.labels else copy(call.targets, np.float32, shape)
        loss, dlogits = function(logits, known)
        gradient = _arrays.floats(dlogits, "the gradient that the loss returned", shape)
        ctypes.memmove(call.dlogits, gradient.ctypes.data, gradient.nbytes)
        call.loss = float(loss)
        return 0

    return _LossFunction(_library.guard(compute, _library.constants["SVIT_E_STOPPED"]))


class Trainer(_library.Handle):
    """Trains one model on one dataset. :meth:`Model.fit` is a trainer in one call.

    ``run`` goes to the end, ``step`` to the next event. While it lives, a trainer holds the lock of its folder.
    """

    _free = "svit_trainer_free"
    _exclusive = True
    _copying = "give it a folder, and resume another Trainer from the checkpoint"

    def __init__(
        self,
        model: Model,
        training: Dataset,
        validation: Dataset | None = None,
        *,
        preset: str | None = None,
        pipeline: Mapping[str, Any] | None = None,
        loss: Loss | None = None,
        loss_function: LossFunction | None = None,
        folder: PathName | None = None,
        existing: Literal["refuse", "resume", "overwrite"] = "refuse",
        description: str | None = None,
        **settings: Any,
    ) -> None:
        """Creates a trainer, which keeps the model and the datasets alive.

        Args:
            model: Gets the pipeline, and the class names of ``training``.
            training: The images to learn from.
            validation: Is evaluated after each epoch.
            preset: Whose settings are the defaults.
            pipeline: Preprocessing and augmentation; None: as in :meth:`Model.fit`.
            loss: As in :meth:`Model.fit`.
            loss_function: As in :meth:`Model.fit`.
            folder: Where checkpoints and results are written.
            existing: What happens if ``folder`` has a run: ``"resume"`` needs a call of :meth:`resume`.
            description: Notes on the run, which its checkpoints contain.
            **settings: Settings by the names that ``shiftvit.config_fields()`` lists. Without a preset those of trainer
                and optimiser have the defaults that it states: 100 epochs, batches of 256, patience 5.

        Raises:
            ArgumentError: names the setting that is not accepted, or sizes that do not match.
            StateError: the folder has a run, or another trainer uses it.
        """
        _library.expect(model, Model, "model")
        _library.expect(training, Dataset, "training")
        _library.expect(validation, Dataset, "validation", optional=True)
        if loss is not None and not isinstance(loss, str):
            if loss_function is not None:
                raise TypeError("loss and loss_function are both functions; loss is a word beside loss_function")
            loss, loss_function = None, loss
        if loss_function is not None and not callable(loss_function):
            raise TypeError(f"the loss is {article(loss_function)}; a word or a function is needed")
        words = {} if loss is None else {"loss": loss}
        pipeline = _fit.pipeline_of(model, training, pipeline, preset)
        config, optimizer, images = training_structs(preset, pipeline, {**settings, **words})
        self._settings = training_fields(config, optimizer, images)
        for data in (training, validation):
            if data is not None:
                _fit.warn_of_size(data, _library.fields_of("svit_pipeline_config", images))
        config.folder = _library.path_bytes(folder)
        config.description = _library.text_bytes(description)
        config.existing = _library.constant("SVIT_EXISTING_", existing, "existing")
        sets = (training._state.keep, None if validation is None else validation._state.keep)
        callback = None if loss_function is None else _library.Callback(loss_function)
        function = None if callback is None else _loss_callback(callback.weakly())
        kept = (*sets, function)
        callbacks = (training._callbacks, None if validation is None else validation._callbacks, callback)

        def adopt(pointer: int) -> Trainer:
            self._adopt(pointer, kept, (model,), callbacks)
            if function is not None:
                _library.call("svit_trainer_set_loss", self, function, None)
            return self

        _library.create(
            "svit_trainer_create",
            model.context,
            model,
            training,
            validation,
            config,
            optimizer,
            images,
            adopt=adopt,
        )
        self._model = model
        self._folder = folder

    @property
    def model(self) -> Model:
        """The model."""
        return self._model

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the run, a copy."""
        return copy.deepcopy(self._settings)

    def resume(self) -> None:
        """Restores the run of the folder's checkpoint; training continues with the same bits as without interruption.

        Raises:
            FileError: there is no checkpoint.
            ArgumentError: it belongs to another model, other data or other settings.
        """
        _library.call("svit_trainer_resume", self)

    def step(self) -> Event:
        """Works up to the next event and returns it."""
        record = TrainerEvent()
        _library.call("svit_trainer_step", self, record, ctypes.sizeof(record))
        return _event(record)

    def __iter__(self) -> Iterator[Event]:
        """The events up to and including ``"finished"``."""
        while True:
            event = self.step()
            yield event
            if event.kind == "finished":
                return

    def run(self, callbacks: Iterable[Callback] | None = ()) -> History:
        """Trains to the end, and calls ``callbacks`` with each event. If one returns True, or raises, or at Ctrl-C, the
        run ends after the event; with a folder, a checkpoint is written first. Before each step it waits for threads
        that read the model."""
        callbacks = checked_callbacks(callbacks)
        stops = steps = False
        try:
            while not stops:
                steps = True
                event = self._state.accesses["M"].alone(self.step)
                steps = False
                results = [callback(event) for callback in callbacks]
                # Comparisons of NumPy's numbers are no Python bool.
                stops = any(isinstance(result, (bool, np.bool_)) and result for result in results)
                if event.kind == "finished":
                    break
        except BaseException as error:
            # A step that the library refuses leaves nothing that is worth a checkpoint.
            if not (steps and isinstance(error, errors.Error)):
                self._checkpoint_after(error)
            raise
        if stops and self._folder is not None:
            self.checkpoint()
        return History(self.history, event.kind != "finished")

    def _checkpoint_after(self, error: BaseException) -> None:
        """Writes a checkpoint where there is a folder. If that fails, ``error`` is still what the caller gets."""
        if self._folder is None:
            return
        try:
            self.checkpoint()
        except errors.Error as failure:
            logging.getLogger("shiftvit").warning("no checkpoint after %r: %s", error, failure)

    def checkpoint(self) -> None:
        """Writes a checkpoint.

        Raises:
            StateError: the trainer has no folder.
        """
        _library.call("svit_trainer_checkpoint", self)

    @property
    def history(self) -> tuple[Event, ...]:
        """The completed epochs."""
        record = TrainerEvent()
        events = []
        for index in range(_library.call("svit_trainer_history_count", self)):
            _library.call("svit_trainer_history", self, index, record, ctypes.sizeof(record))
            events.append(_event(record))
        return tuple(events)

    @contextlib.contextmanager
    def _optimizer(self) -> Iterator[_library.Borrowed]:
        """The trainer's optimiser, while no other thread uses the trainer."""
        with _library.reading(self):
            yield _library.Borrowed("optimizer", _library.call("svit_trainer_optimizer", self))

    def get(self, key: str) -> float:
        """A setting of the optimiser, as :meth:`shiftvit.Optimizer.get`."""
        with self._optimizer() as optimizer:
            return float(_library.number("svit_optimizer_get_f64", optimizer, key))

    def set(self, key: str, value: float) -> None:
        """Changes a setting of the optimiser between two events, as :meth:`shiftvit.Optimizer.set`. Checkpoints do not
        contain it."""
        with self._optimizer() as optimizer:
            _library.call("svit_optimizer_set_f64", optimizer, key, value)
