"""Who uses a model or a feature set: any number of threads that read it, or one that changes it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from . import _fork, errors
from ._messages import changing

#: In place of the thread that changed an object while another one forked: a child has the object half changed.
_GONE = 0

#: For so long a thread waits before it looks again whether others read what it will change.
_SECONDS_OF_WAIT = 0.001

_Result = TypeVar("_Result")


class Access(_fork.OfThreads):
    """The readers and the writer of one object. A use that does not fit the others is refused instead of waited for:
    a thread that waits would find an object that has changed between two of its calls."""

    def __init__(self, name: str) -> None:
        self._name = name
        # A signal handler, or a finaliser, may use the object while its thread is in here. Its uses end before it does.
        self._lock = threading.RLock()
        self._readers: dict[int, int] = {}
        self._writer: int | None = None
        self._change = ""
        #: The thread that waits for the readers to end, to change the object. New ones are refused meanwhile.
        self.waiting: int | None = None
        _fork.watch(self)

    def renew(self) -> None:
        me = threading.get_ident()
        self._lock = _fork.renewed(self._lock)
        self._readers = {thread: uses for thread, uses in self._readers.items() if thread == me}
        if self.waiting != me:
            self.waiting = None
        if self._writer not in (None, me):
            self._writer = _GONE

    def begin(self, change: str | None) -> None:
        """Adds a use by this thread. ``change`` is the function that changes the object, None for one that reads it. A
        callback of a changing call may read what the call changes."""
        me = threading.get_ident()
        with self._lock:
            if self._writer == _GONE:
                raise errors.StateError(
                    f"{changing(self._change)} changed the {self._name} on another thread during os.fork, so that this process "
                    "has it half changed; make another one"
                )
            if self._writer is not None and (change or self._writer != me):
                raise errors.StateError(
                    f"{changing(self._change)} changes the {self._name} at the moment; {self._advice(me, change)}"
                )
            begins = not change and me != self._writer and me not in self._readers
            if begins and self.waiting not in (None, me):
                raise errors.StateError(f"a training waits to change the {self._name}; {self._advice(me, change)}")
            if change and self._readers:
                raise errors.StateError(
                    f"{changing(change)} changes the {self._name}, which other calls use at the moment; "
                    f"{self._advice(me, change)}"
                )
            if change:
                self._writer, self._change = me, change
            else:
                self._readers[me] = self._readers.get(me, 0) + 1

    def alone(self, change: Callable[[], _Result]) -> _Result:
        """Calls a function that changes the object, once no other thread reads it. Nobody else begins to read from the
        begin of the wait to the end of the function."""
        me = threading.get_ident()
        with self._lock:
            if self.waiting not in (None, me):
                raise errors.StateError(f"a training waits to change the {self._name}; {self._advice(me, 'fit')}")
            before, self.waiting = self.waiting, me
        try:
            while self._readers and self._writer is None and me not in self._readers:
                time.sleep(_SECONDS_OF_WAIT)
            return change()
        finally:
            self.waiting = before

    def _advice(self, me: int, change: str | None) -> str:
        if self._writer == me or me in self._readers:
            return "a callback cannot change what the call that runs it uses"
        advice = "any number of threads may read it, or one may change it"
        if self._name == "Model" and not change:
            advice += ", so those that predict meanwhile need a copy.copy(model), made before"
        return advice

    def end(self, change: str | None) -> None:
        """Ends what :meth:`begin` began on the same thread."""
        me = threading.get_ident()
        with self._lock:
            if change:
                self._writer = None
                return
            self._readers[me] -= 1
            if not self._readers.get(me):
                self._readers.pop(me, None)
