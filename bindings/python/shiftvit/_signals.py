"""Signals whose Python handlers wait while the package is in the middle of a call.

Python runs a handler between any two instructions of the main thread, and what the handler raises, as that of Ctrl-C
does, would leave a handle in use for ever, or become the result of a function that the library calls. So handlers wait
from the begin of a call to its end. Within the caller's own function they run at once, for its exceptions end the call.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from itertools import compress
from typing import Any, TypeVar

_Token = tuple[bool, bool]
_Result = TypeVar("_Result")

try:
    # The functions of `signal` turn numbers into enumerations, which takes longer than a short call.
    _module: Any = importlib.import_module("_signal")
except ImportError:
    _module = signal
_get, _set = _module.getsignal, _module.signal

#: Those whose handlers do not wait: an error of the program itself cannot, and nobody handles KILL and STOP.
_EXCEPT = ("SEGV", "BUS", "FPE", "ILL", "TRAP", "SYS", "ABRT", "KILL", "STOP")
_NUMBERS = sorted(map(int, signal.valid_signals() - {getattr(signal, f"SIG{name}", 0) for name in _EXCEPT}))


class _Signals:
    """Those of the main thread, the only one that runs handlers."""

    def __init__(self) -> None:
        #: The caller's handlers. They stay known: code of the caller may put back what it found within a call.
        self._handlers: dict[int, Callable[[int, Any], Any]] = {}
        self._replaced: list[int] = []
        self._waiting: set[int] = set()
        self._held = False
        self._thread = 0
        #: True: the caller's code runs, which an exception may break off.
        self._open = False
        #: What a handler raised within a finaliser, whose exceptions the interpreter swallows.
        self._late: BaseException | None = None

    def hold(self) -> _Token | None:
        """Lets handlers wait until :meth:`release` of what it returns. Such pairs may be nested."""
        if threading.get_ident() != threading.main_thread().ident:
            return None
        before = (self._held, self._open)
        self._open = False
        if not self._held:
            self._thread = threading.get_ident()
            try:
                self._replace()
                self._held = True
            except BaseException:
                self.release(before)
                raise
        return before

    def release(self, token: _Token | None) -> None:
        """Ends what :meth:`hold` began, and runs the handlers that waited."""
        if token is None:
            return
        self._held, self._open = token
        try:
            if not self._held:
                self._put_back()
        finally:
            # A handler that Python runs where that call begins raises before it has put anything back.
            if self._replaced and not self._held:
                self._put_back()
            if self._open or not self._held:
                self._deliver()

    def run(self, function: Callable[..., _Result], arguments: tuple[Any, ...] = ()) -> _Result:
        """Calls a function of the caller: handlers that waited run before it, and others run at once within it."""
        if not self._held or threading.get_ident() != self._thread:
            return function(*arguments)
        try:
            self._open = True
            self._deliver()
            return function(*arguments)
        finally:
            try:
                # Handlers that the function has set wait from now on.
                self._replace()
            finally:
                # By an assignment: Python runs handlers where a call begins, and what a second one raised there would
                # leave this open.
                self._open = False

    def poll(self) -> None:
        """Runs the handlers that waited, where an exception leaves nothing half done."""
        self.run(lambda: None)

    def finalise(self, end: Callable[[], None]) -> None:
        """Runs a finaliser whole. What a handler raises meanwhile is raised by the next call, which also does the work
        if this cannot begin."""
        try:
            token = self.hold()
        except (MemoryError, RecursionError):
            return
        except BaseException as error:
            self._late = error
            return
        try:
            end()
        finally:
            try:
                self.release(token)
            except (MemoryError, RecursionError):
                raise
            except BaseException as error:
                self._late = error

    def abandon(self) -> None:
        """Undoes what another thread holds: a child by fork does not have that thread."""
        if self._held and threading.get_ident() != self._thread:
            self._waiting.clear()
            self._late = None
            self.release((False, False))

    def _handle(self, number: int, frame: Any) -> None:
        if self._open or not self._held:
            self._handlers[number](number, frame)
        else:
            self._waiting.add(number)

    def _replace(self) -> None:
        # A pass over all signals in C: it is part of each call.
        for number in compress(_NUMBERS, map(callable, map(_get, _NUMBERS))):
            handler = _get(number)
            if handler != self._handle:
                self._handlers[number] = handler
                if number not in self._replaced:
                    self._replaced.append(number)
                _set(number, self._handle)

    def _put_back(self) -> None:
        """Leaves a handler alone that the caller's code has set meanwhile."""
        try:
            while self._replaced:
                number = self._replaced[-1]
                if _get(number) == self._handle:
                    _set(number, self._handlers[number])
                self._replaced.pop()
        finally:
            # What a handler that is back raises must not keep the others away.
            if self._replaced:
                self._put_back()

    def _deliver(self) -> None:
        """Runs the handlers that waited. Where one raises, all others run before that is seen. The signals are not sent
        again: an event loop, whose file is told of each, would handle them twice."""
        try:
            if self._late is not None:
                late, self._late = self._late, None
                raise late
            while self._waiting:
                number = self._waiting.pop()
                handler = _get(number)
                if handler == self._handle:
                    handler = self._handlers[number]
                if callable(handler):
                    handler(number, sys._getframe())
        finally:
            if self._waiting:
                self._deliver()


_signals = _Signals()
hold, release, poll = _signals.hold, _signals.release, _signals.poll
run, finalise = _signals.run, _signals.finalise
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_signals.abandon)
