"""Checkpoints: the complete state of a training loop, which resumes to the same bits."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

from . import _library
from ._library import PathName
from .context import Context, chosen_context
from .model import Model
from .optimizer import Optimizer
from .session import Session


def _expect(
    model: Model | None, optimizer: Optimizer | None, session: Session | None, model_optional: bool = False
) -> None:
    _library.expect(model, Model, "model", model_optional)
    _library.expect(optimizer, Optimizer, "optimizer", optional=True)
    _library.expect(session, Session, "session", optional=True)


class Checkpoint(_library.Handle):
    """A checkpoint file that was read and checked. ``shiftvit.load`` reads its model alone."""

    _free = "svit_checkpoint_free"
    _copying = "open its file again"

    def __init__(self, path: PathName, *, context: Context | None = None) -> None:
        """Reads a checkpoint.

        Raises:
            FileError, FormatError: the file cannot be read, or is damaged.
        """
        _library.create("svit_checkpoint_open", chosen_context(context), path, adopt=self._adopt)

    def restore(
        self, model: Model | None = None, optimizer: Optimizer | None = None, session: Session | None = None
    ) -> None:
        """Restores the state of those that are given. On failure nothing changes.

        Raises:
            ArgumentError: one of them has another configuration than the checkpoint.
            StateError: other parameters are frozen: restore the model alone, create optimiser and session, and
                restore all three.
        """
        _expect(model, optimizer, session, model_optional=True)
        _library.call("svit_checkpoint_restore", self, model, optimizer, session)

    def note(self, key: str) -> str | None:
        """One of the texts that :func:`save_checkpoint` was given, or None."""
        return _library.string("svit_checkpoint_value", self, key)

    def number(self, key: str) -> int:
        """``"optimizer.steps"``, ``"optimizer.swapped"`` or ``"session.counter"``."""
        return int(_library.number("svit_checkpoint_get_u64", self, key, kind=ctypes.c_uint64))


def save_checkpoint(
    path: PathName,
    model: Model,
    optimizer: Optimizer | None = None,
    session: Session | None = None,
    notes: Mapping[str, str] | None = None,
) -> None:
    """Writes a model, which of its parameters are frozen, an optimiser's state and a session's counter to one file,
    with texts of the caller's own. An old file is replaced as a whole."""
    _expect(model, optimizer, session)
    texts = dict(notes or {})
    keys, values = _library.text_array(tuple(texts)), _library.text_array(tuple(texts.values()))
    _library.call("svit_checkpoint_save", path, model, optimizer, session, keys, values, len(texts))
