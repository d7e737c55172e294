"""Changes a model or a feature set on another thread between two library calls of one operation. What the operation
learnt before, such as a number of classes, may be wrong then. Or the change lasts: the next call is refused, and with
it the operation. Arrays end where memory ends, so an access behind one ends the process, and test_threads.py runs
this program.

    python3 between_calls.py

prints each operation and change before they run, then the number of cases.
"""

from __future__ import annotations

import collections
import ctypes
import math
import mmap
import os
import pathlib
import tempfile
import threading
from typing import Any, Callable

import numpy as np
import shiftvit
from shiftvit import _library, errors
from thread_pairs import ACCEPTED, CHANGES, FEATURES, READS, Shared, X

PROT_NONE = 0
LIBC = None if os.name == "nt" else ctypes.CDLL(None)


def guarded(shape: Any, dtype: Any = np.float64) -> Any:
    """An array with a page behind it that nobody may touch, where the system can do that."""
    dtype = np.dtype(dtype)
    size = (shape if isinstance(shape, int) else math.prod(shape)) * dtype.itemsize
    if LIBC is None or size == 0:
        return np.zeros(shape, dtype)
    inside = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, inside + mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if LIBC.mprotect(ctypes.c_void_p(address + inside), ctypes.c_size_t(mmap.PAGESIZE), PROT_NONE):
        raise OSError("mprotect")
    return np.frombuffer(memory, np.uint8, size, inside - size).view(dtype).reshape(shape)


def attention(s: Any) -> None:
    with shiftvit.Session(s.model, max_batch=6) as session:
        session.attention(X)
        session.features(X)


#: Operations besides those of thread_pairs.py.
MORE: dict[str, Callable[[Any], Any]] = {
    "attention": attention,
    "text head": lambda s: s.model.set_text_head(s.texts, ["a", "b", "c", "d"]),
}


def hold(s: Any) -> None:
    """Begins a change, which lasts until the end of the next call."""
    s.model._state.accesses["M"].begin("a change")


#: What happens between two calls.
BETWEEN: dict[str, Callable[[Any], Any]] = {
    "more classes": lambda s: s.model.replace_head(9),
    "fewer classes": lambda s: s.model.replace_head(2),
    "no pipeline": lambda s: setattr(s.model, "pipeline", None),
    "more features": lambda s: s.features.append(s.more),
    "a change that lasts": hold,
}


class Interruption:
    """Stands for the function of _library that makes all calls: makes the change before one of them."""

    def __init__(self, shared: Any, change: Callable[[Any], Any], place: int) -> None:
        self.shared, self.change, self.place = shared, change, place
        self.owner, self.calls = threading.get_ident(), 0
        self.held = self.lost = False
        self.ends: collections.Counter[str] = collections.Counter()

    def __call__(self, name: str, *arguments: Any) -> Any:
        if threading.get_ident() == self.owner:
            self.calls += 1
            if self.calls == self.place:
                thread = threading.Thread(target=self.interrupt)
                thread.start()
                thread.join()
                return self.interrupted(name, *arguments)
        return CALL(name, *arguments)

    def interrupted(self, name: str, *arguments: Any) -> Any:
        try:
            return CALL(name, *arguments)
        except errors.StateError as error:
            self.lost = self.held and "at the moment" in str(error)
            raise
        finally:
            if self.held:
                self.shared.model._state.accesses["M"].end("a change")

    def interrupt(self) -> None:
        try:
            self.change(self.shared)
            self.held = self.change is hold
            self.ends["changed"] += 1
        except errors.StateError:
            self.ends["refused"] += 1


CALL = _library.call


def run(
    folder: pathlib.Path, operation: Callable[[Any], Any], change: Callable[[Any], Any], place: int
) -> Interruption:
    shared = Shared(folder)
    shared.texts = guarded((4, 3), np.float32)  # type: ignore[attr-defined]
    shared.texts.fill(1)  # type: ignore[attr-defined]
    interruption = Interruption(shared, change, place)
    _library.call = interruption
    try:
        operation(shared)
    except ACCEPTED:
        interruption.lost = False
    finally:
        _library.call = CALL
    assert not interruption.lost, "the operation goes on after a call that was refused"
    return interruption


def main() -> None:
    np.empty = guarded
    ends: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        for title, operation in {**READS, **CHANGES, **FEATURES, **MORE}.items():
            for what, change in BETWEEN.items():
                place, calls = 0, 1
                while place < calls:
                    place += 1
                    print(f"{title}: {what} before call {place}", flush=True)
                    interruption = run(pathlib.Path(name), operation, change, place)
                    calls = max(calls, interruption.calls)
                    ends.update(interruption.ends)
    print(f"{sum(ends.values())} cases", *(f"{count} {word}" for word, count in sorted(ends.items())), sep=", ")


if __name__ == "__main__":
    main()
