"""Handles of the C library: their class, their lifetime, and which threads use them."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from ctypes import c_int
from types import TracebackType
from typing import Any, ClassVar, TypeVar

import numpy as np

from . import _fork, _signals, errors
from ._access import Access

_Self = TypeVar("_Self", bound="Handle")

#: For so long a thread waits for a handle before it lets the signal handlers run that wait meanwhile.
_SECONDS_OF_WAIT = 0.1

#: The functions of the library by name, which ``_library`` loads.
functions: dict[str, Any] = {}


def one_of(kind: type) -> str:
    """``a Model`` for messages, of a class."""
    name = kind.__name__.lstrip("_")
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def article(value: Any) -> str:
    """``a Model`` for messages, of an object."""
    if isinstance(value, type):
        return f"the {type(value).__name__} {value.__name__}"
    return "None" if value is None else one_of(type(value))


_CallablePointer: Any = ctypes.CFUNCTYPE(None).__base__


class Pointer:
    """An argument that is a pointer, but not to a handle: an array in C order, a ctypes pointer, bytes or None."""

    _kinds = (bytes, ctypes.Array, ctypes.Structure, ctypes.c_void_p, _CallablePointer, type(ctypes.byref(c_int())))

    def check(self, value: Any) -> None:
        """Refuses what has no address that the library could use."""
        if isinstance(value, np.ndarray):
            if value.dtype.hasobject or not (value.flags.c_contiguous and value.flags.aligned):
                raise TypeError(f"an array of {value.dtype} is given; arrays must be of numbers, aligned, in C order")
        elif value is not None and not isinstance(value, self._kinds):
            raise TypeError(f"{article(value)} is given where the address of memory is needed")

    def from_param(self, value: Any) -> Any:
        self.check(value)
        if isinstance(value, np.ndarray):
            return ctypes.c_void_p(value.ctypes.data)
        return ctypes.byref(value) if isinstance(value, ctypes.Structure) else value


class Borrowed:
    """A handle of the library that belongs to another one, such as the optimiser of a trainer."""

    def __init__(self, noun: str, pointer: int) -> None:
        self.noun = noun
        self.pointer = pointer


class HandlePointer:
    """An argument that is a handle of one class, or None, which the library itself refuses or accepts."""

    def __init__(self, noun: str) -> None:
        self.noun = noun

    def check(self, value: Any) -> None:
        """Refuses what is no handle of the class."""
        if value is None or (isinstance(value, Handle) and value._free == f"svit_{self.noun}_free"):
            return
        if isinstance(value, Borrowed) and value.noun == self.noun:
            return
        wanted = one_of(_classes[self.noun]) if self.noun in _classes else f"a handle of svit_{self.noun}"
        raise TypeError(f"{article(value)} is given where {wanted} is needed")

    def from_param(self, value: Any) -> Any:
        self.check(value)
        if value is None:
            return None
        return ctypes.c_void_p(value._state.pointer if isinstance(value, Handle) else value.pointer)


def expect(value: Any, kind: type[Handle], name: str, optional: bool = False) -> None:
    """Refuses an argument of a public function that is no object of a class, or None if that is accepted."""
    if isinstance(value, kind) or (value is None and optional):
        return
    raise TypeError(f"{name} is {article(value)}; {one_of(kind)}{' or None' if optional else ''} is needed")


#: The class of each kind of handle by its noun: ``"model"`` is Model.
_classes: dict[str, type[Handle]] = {}


#: Of objects that have ended, the references whose work is not done yet; and the work of each reference by its number.
_ended: list[weakref.ref[Any]] = []
_works: dict[int, tuple[weakref.ref[Any], Callable[[], None]]] = {}


def at_end(owner: Any, work: Callable[[], None]) -> None:
    """Calls ``work`` once when an object has ended. A signal handler that raises as the finaliser begins stops that,
    and the next call does the work: a list knows of it, whose ``append`` runs no handlers."""
    # Threads of the interpreter may still be in calls at its exit, and the process's end frees everything.
    weakref.finalize(owner, _signals.finalise, _finish).atexit = False
    # The youngest reference is the first to be told.
    reference = weakref.ref(owner, _ended.append)
    _works[id(reference)] = reference, work


def _finish() -> None:
    """Does the work of all objects that have ended."""
    while _ended:
        try:
            reference = _ended.pop()
        except IndexError:  # another thread has done it
            return
        _works.pop(id(reference))[1]()


class State(_fork.OfThreads):
    """A handle of the library, its calls and views, and what has to live as long. It is freed after the last of them,
    if it was closed meanwhile."""

    def __init__(self, kind: type[Handle], pointer: int, keep: Any, uses: tuple[Handle, ...]) -> None:
        self.kind = kind
        self.pointer: int | None = pointer
        self.keep = keep
        #: How many calls each thread is in.
        self.calls: dict[int, int] = {}
        #: Arrays that show memory of the handle.
        self.views = 0
        self.closed = False
        self.lock = threading.RLock()
        self.busy = threading.RLock() if kind._exclusive else None
        self.process = os.getpid()
        #: What calls with this handle read or change: itself, and the model that it was created from.
        self.accesses: dict[str, Access] = {}
        for handle in uses:
            self.accesses.update(handle._state.accesses)
        if kind._shared is not None:
            self.accesses[kind._shared] = Access(kind.__name__)
        _fork.watch(self)

    def renew(self) -> None:
        me = threading.get_ident()
        self.lock = _fork.renewed(self.lock)
        if self.busy:
            self.busy = _fork.renewed(self.busy)
        self.calls = {thread: calls for thread, calls in self.calls.items() if thread == me}

    def check_process(self) -> None:
        """Refuses a child by fork, where the lock of a thread that the child does not have may be held for ever."""
        if os.getpid() != self.process:
            name = self.kind.__name__
            raise errors.StateError(f"the {name} was made before os.fork; this process needs one of its own")

    def enter(self, change: bool = False) -> None:
        """Adds a call, which waits if the handle is for one thread at a time. ``change``: the call changes the
        handle, which a callback of another call cannot."""
        if self.busy:
            self.check_process()
            while not self.busy.acquire(timeout=_SECONDS_OF_WAIT):
                _signals.poll()
        me = threading.get_ident()
        with self.lock:
            closed, nested = self.closed, change and self.busy is not None and me in self.calls
            if not closed and not nested:
                self.calls[me] = self.calls.get(me, 0) + 1
                return
        if self.busy:
            self.busy.release()
        name = self.kind.__name__
        raise errors.StateError(
            f"the {name} is closed" if closed else f"a callback cannot use the {name} whose call runs it"
        )

    def leave(self) -> None:
        me = threading.get_ident()
        with self.lock:
            self.calls[me] -= 1
            if not self.calls.get(me):
                self.calls.pop(me, None)
        self.free_if_unused()
        if self.busy:
            self.busy.release()

    def pin(self) -> None:
        """Adds an array that shows memory of the handle."""
        with self.lock:
            self.views += 1

    def unpin(self) -> None:
        """Ends what :meth:`pin` began."""
        with self.lock:
            self.views -= 1
        self.free_if_unused()

    def close(self) -> None:
        token = _signals.hold()
        self.end()
        _signals.release(token)

    def end(self) -> None:
        """What :meth:`close` does while signal handlers wait."""
        self.closed = True
        self.free_if_unused()

    def free_if_unused(self) -> None:
        with self.lock:
            if not self.closed or self.calls or self.views or self.pointer is None:
                return
            pointer, self.pointer = self.pointer, None
        functions[self.kind._free].pointer(Borrowed(self.kind._noun, pointer))
        self.keep = None


class Uses:
    """The use of some handles by a block: one call, or several calls of a method between which none may change. Signal
    handlers wait meanwhile, since one that raised would leave handles in use for ever.

    Args:
        name: What uses them, for messages.
        handles: Pairs of a handle's letter and the handle.
        changes: The letters of what the block changes.
    """

    def __init__(self, name: str, handles: Iterable[tuple[str, Handle]], changes: str = "") -> None:
        self.name = name
        self.handles = handles
        self.changes = changes
        self.entered: list[State] = []
        self.begun: list[tuple[Access, str | None]] = []
        self.wanted: dict[Access, str | None] = {}
        self.changed: list[State] = []

    def __enter__(self) -> None:
        self.signals = _signals.hold()
        try:
            if _ended:
                _finish()
            changes = self.changes
            for letter, handle in self.handles:
                self.enter(handle._state, letter, changes)
                # Of two feature sets the first is the one that changes.
                changes = changes.replace("F", "")
            self.begin()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *raised: Any) -> None:
        try:
            self.end()
        finally:
            _signals.release(self.signals)

    def enter(self, state: State, letter: str, changes: str) -> None:
        """Adds a handle."""
        state.enter(letter in changes)
        self.entered.append(state)
        if state.kind._shared is not None and letter in changes:
            self.changed.append(state)
        for shared, access in state.accesses.items():
            if shared in changes:
                self.wanted[access] = self.name
            else:
                self.wanted.setdefault(access, None)

    def begin(self) -> None:
        """Refuses a change of what arrays show, once no other thread can make such an array."""
        for access, change in self.wanted.items():
            access.begin(change)
            self.begun.append((access, change))
        for state in self.changed:
            if state.views:
                name = state.kind.__name__
                raise BufferError(f"arrays that show memory of the {name} exist; copy them and delete them first")

    def end(self) -> None:
        for access, change in reversed(self.begun):
            access.end(change)
        for state in reversed(self.entered):
            state.leave()


def in_use(name: str, letters: str, changes: str, arguments: tuple[Any, ...]) -> Uses:
    """Uses the handles among the arguments of a call of the function ``name``."""
    return Uses(name, [pair for pair in zip(letters, arguments) if isinstance(pair[1], Handle)], changes)


def reading(*handles: Handle) -> Uses:
    """Keeps handles as they are while this thread makes several calls whose results belong together, such as the number
    of classes and what is written to an array of that size."""
    return Uses("reading", [("?", handle) for handle in handles])


class Callback:
    """A function of the caller that the library calls while a call with a handle runs. The handle's object refers to
    it, and not its State, which the interpreter keeps until the object ends: the function may refer to the object in
    turn, as a method of its owner does, and the garbage collector must see that cycle."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def weakly(self) -> Callable[..., Any]:
        """A function that calls the caller's and does not keep it alive."""
        reference = weakref.ref(self)

        def call(*arguments: Any) -> Any:
            callback = reference()
            if callback is None:
                raise errors.StateError("the object whose function the library calls has ended")
            return callback._function(*arguments)

        return call


class _Unmade:
    """Stands for an attribute that the creation of a handle sets, in objects of subclasses that leave it out."""

    def __get__(self, handle: Any, owner: type[Handle]) -> Any:
        if handle is None:
            return self
        kind = next(kind for kind in owner.__mro__ if "_free" in vars(kind))
        raise TypeError(f"{article(handle)} is no {kind.__name__} of the library: {owner._making}")


UNMADE: Any = _Unmade()


class Handle:
    """An object of the C library.

    It ends when it is closed, when its ``with`` block ends, or when nothing refers to it. The library keeps what an
    object was created from, so objects may be closed in any order. A closed object raises StateError,
    and so do calls that make new objects of a closed context.
    """

    #: The noun of the C type: ``"model"`` of ``svit_model``.
    _noun: ClassVar[str]
    _free: ClassVar[str]
    #: True: one thread at a time may use the handle, and other threads wait.
    _exclusive: ClassVar[bool] = False
    #: The letter in ``CHANGES`` of an object that any number of threads may read, or one may change.
    _shared: ClassVar[str | None] = None

    _state: State = UNMADE

    #: What makes an object, for the message about one that a subclass did not make.
    _making: ClassVar[str] = "its __init__ has to call that of its base class"
    #: What to do in place of a copy, for the message that refuses it.
    _copying: ClassVar[str] = "create it again"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_free" in vars(cls):
            cls._noun = cls._free[len("svit_") : -len("_free")]
            _classes[cls._noun] = cls

    def _adopt(
        self: _Self, pointer: int, keep: Any = None, uses: tuple[Handle, ...] = (), callbacks: Any = None
    ) -> _Self:
        """Takes over a new handle. ``keep`` lives at least until it is freed; calls read what ``uses`` are. The
        :class:`Callback` objects among ``callbacks`` live as long as this object."""
        self._state = State(type(self), pointer, keep, uses)
        self._callbacks = callbacks
        at_end(self, self._state.end)
        return self

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return self._state.closed

    def close(self) -> None:
        """Frees the object; if another thread is in one of its calls, when that call ends. May be called again."""
        self._state.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuses copies and pickles: a second object of the same handle would be closed with the first."""
        raise TypeError(f"{article(self)} cannot be copied or pickled: {self._copying}")

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
