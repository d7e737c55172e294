"""Loads the C library and calls it: conversion of arguments, statuses to exceptions."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import json
import logging
import operator
import os
import pathlib
import reprlib
import sysconfig
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Callable, TypeVar, Union

import numpy as np

from . import _signals, errors
from ._handles import Borrowed as Borrowed
from ._handles import Callback as Callback
from ._handles import Handle as Handle
from ._handles import expect as expect
from ._messages import in_python
from ._handles import HandlePointer, Pointer, article, at_end, functions, in_use
from ._handles import reading as reading
from ._signatures import CHANGES, HANDLES, SIGNATURES
from ._structs import ErrorRecord

#: What is taken for the name of a file.
PathName = Union[str, "os.PathLike[str]"]

_Made = TypeVar("_Made", bound=Handle)

#: Rows that :func:`read_rows` reads while signal handlers wait.
_ROWS = 4096

#: Bytes of a configuration whose fields are set through JSON. The library ignores zeros behind its own struct.
_CONFIG_BYTES = 16384


def _find() -> str:
    """The library of ``SHIFTVIT_LIBRARY`` if that is set, otherwise the one that the wheel brought, otherwise the
    system's."""
    named = os.environ.get("SHIFTVIT_LIBRARY")
    if named:
        return named
    package = pathlib.Path(__file__).resolve().parent
    beside = ".shiftvit.mesonpy.libs"
    for folder in (package, package.parent / beside, pathlib.Path(sysconfig.get_path("platlib"), beside)):
        for ending in ("so", "dylib", "dll"):
            path = folder / f"libshiftvit-python.{ending}"
            if path.exists():
                return str(path)
    return "libshiftvit.so.1"


def _load() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path_of_library)
    except OSError as error:
        raise ImportError(
            f"{error}: install shiftvit with pip, which brings the library, or set SHIFTVIT_LIBRARY to the path of a "
            "libshiftvit.so"
        ) from None


def _without_nul(encoded: bytes, value: Any) -> bytes:
    if b"\0" in encoded:
        # Of bytes that are a whole file, the first ones do.
        raise errors.ArgumentError(f"{reprlib.repr(value)} has a NUL character, which no text or path may have")
    return encoded


def path_bytes(value: PathName | bytes | None) -> bytes | None:
    """The name of a file as the system has it, without NUL characters, or None."""
    return None if value is None else _without_nul(os.fsencode(value), value)


def text_bytes(value: str | bytes | None) -> bytes | None:
    """Any other text, in UTF-8 whatever the locale is, without NUL characters, or None. What :func:`string` could not
    decode has its bytes again."""
    if value is None or isinstance(value, bytes):
        return None if value is None else _without_nul(value, value)
    if not isinstance(value, str):
        raise TypeError(f"{article(value)} is given where a text is needed")
    try:
        return _without_nul(value.encode("utf-8", "surrogateescape"), value)
    except UnicodeEncodeError:
        raise errors.ArgumentError(f"{value!r} has no form in UTF-8") from None


def real(value: Any) -> float:
    """A number as a float. float() would take texts, and True for 1."""
    if isinstance(value, (str, bytes, bytearray, bool, np.bool_)):
        raise TypeError(f"{value!r} is given where a number is needed")
    return float(value)


def whole(code: str, value: Any) -> int:
    """An integer of the type of a letter, which ctypes would take modulo its size."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{value!r} is given where a whole number is needed")
    number = operator.index(value)
    low, end = _RANGES[code]
    if not low <= number < end:
        raise errors.ArgumentError(f"{number} is outside {low}..{end - 1}")
    return number


def flag(value: Any, name: str) -> bool:
    """A truth value: others, such as "no" and 0.7, would be taken for one that nobody meant."""
    if value not in (True, False):
        raise TypeError(f"{name} is {value!r}; True or False is needed")
    return bool(value)


_TYPES: dict[str, Any] = {
    "-": None,
    "x": ctypes.c_int32,
    "i": ctypes.c_int32,
    "u": ctypes.c_uint32,
    "q": ctypes.c_uint64,
    "z": ctypes.c_size_t,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "s": ctypes.c_char_p,
    "n": ctypes.c_char_p,
    "p": Pointer(),
    "e": Pointer(),
    **{letter: HandlePointer(noun) for letter, noun in HANDLES.items()},
}
_RESULTS: dict[str, Any] = {**_TYPES, **dict.fromkeys(["p", *HANDLES], ctypes.c_void_p)}
_SIZE_END = 2 ** (8 * ctypes.sizeof(ctypes.c_size_t))
_RANGES = {"x": (-(2**31), 2**31), "i": (-(2**31), 2**31), "u": (0, 2**32), "q": (0, 2**64), "z": (0, _SIZE_END)}

path_of_library = _find()
_dll = _load()


class _Function:
    """A function of the library with its types. ``checked`` functions return a status and take an error record."""

    def __init__(self, name: str, signature: str) -> None:
        result, _, arguments = signature.partition(" ")
        self.name = name
        self.arguments = arguments
        self.checked = result == "x" and arguments.endswith("e")
        self.status = result == "x"
        self.changes = CHANGES.get(name, "")
        try:
            self.pointer = getattr(_dll, name)
        except AttributeError:
            raise ImportError(f"'{path_of_library}' has no function {name}: it is of another version") from None
        self.pointer.restype = _RESULTS[result]
        self.pointer.argtypes = [_TYPES[code] for code in arguments]

    @functools.cached_property
    def plain(self) -> Any:
        """The function with addresses in place of arrays and handles, which are not checked: for loops."""
        function = _dll[self.name]  # another object than the attribute of this name
        function.restype = self.pointer.restype
        addresses = {"p", "e", *HANDLES}
        function.argtypes = [ctypes.c_void_p if code in addresses else _TYPES[code] for code in self.arguments]
        return function

    def prepared(self, arguments: tuple[Any, ...]) -> list[Any]:
        """The arguments with texts encoded and numbers as Python's own. ctypes takes integers modulo their size; one
        that does not fit is refused here instead. So is a handle of another class, whose TypeError ctypes would turn
        into an exception of its own."""
        given = len(self.arguments) - self.checked
        if len(arguments) != given:
            raise TypeError(f"{self.name} takes {given} arguments; {len(arguments)} are given")
        return [self._prepare(code, value) for code, value in zip(self.arguments, arguments)]

    def _prepare(self, code: str, value: Any) -> Any:
        if code in "sn":
            if code == "n" and value is None:
                raise TypeError("None is given where a path is needed")
            return text_bytes(value) if code == "s" else path_bytes(value)
        if code in "fd":
            return real(value)
        if code in "pe" or code in HANDLES:
            _TYPES[code].check(value)
        return whole(code, value) if code in _RANGES else value


functions.update((name, _Function(name, signature)) for name, signature in SIGNATURES.items())

#: Statuses and other constants, which are read from the library, so that they cannot differ from it.
constants: dict[str, int] = {}


def _read_constants() -> None:
    name_of = functions["svit_constant_name"].pointer
    value_of = functions["svit_constant"].pointer
    index = 0
    while (name := name_of(index)) is not None:
        value = ctypes.c_int64()
        value_of(name, ctypes.byref(value), None)
        constants[name.decode()] = value.value
        index += 1


class _Pending(threading.local):
    """What functions of the caller have raised on this thread while the library called them."""

    #: It ends the library's call.
    error: BaseException | None = None
    #: The library goes on; the call raises it at its end.
    late: BaseException | None = None


_pending = _Pending()


def guard(function: Callable[..., int | None], failure: int | None) -> Callable[..., int | None]:
    """Wraps a Python function that the library calls. An exception becomes the result ``failure``, which ends the
    library's call, and is raised again by :func:`call` on the same thread. That of a signal handler, too. ``failure``
    is None for a function without a result, whose exceptions end nothing; so signal handlers wait, which are to end the
    call."""

    def guarded(*arguments: Any) -> int | None:
        try:
            return function(*arguments) if failure is None else _signals.run(function, arguments)
        except BaseException as error:
            # No call, and so no place where a handler runs: what leaves this function has no C result.
            if failure is not None:
                _pending.error = error
            elif _pending.late is None:
                _pending.late = error
            return failure

    return guarded


def _file_error(message: str) -> errors.FileError:
    """The FileError of a message, with the ``errno`` of the system's reason, which ends it."""
    code = next((code for code in errno.errorcode if message.endswith(f": {os.strerror(code)}")), None)
    error = errors.MissingFileError(message) if code == errno.ENOENT else errors.FileError(message)
    error.errno = code
    return error


def _fail(name: str, status: int, message: str) -> errors.Error:
    message = in_python(message)
    kind = next((kind for kind in errors.KINDS if constants[kind.status] == status), errors.Error)
    if kind is errors.FileError:
        return _file_error(message)
    return kind(message or f"{name} failed with {kind.status}")


def call(name: str, *arguments: Any) -> Any:
    """Calls the function ``name`` without the GIL and returns its result; raises an Error for a status.

    The error record is appended to the arguments. Handles among them cannot end before the call does, and a handle
    that one thread at a time may use is waited for. A model or a feature set that another thread changes, or that the
    function changes while another thread uses it, is a StateError.
    """
    function = functions[name]
    prepared = function.prepared(arguments)
    record = ErrorRecord(ctypes.sizeof(ErrorRecord)) if function.status else None
    with in_use(name, function.arguments, function.changes, arguments):
        _pending.error = None
        if function.checked:
            assert record is not None
            prepared.append(ctypes.byref(record))
        result = function.pointer(*prepared)
    if _pending.late is not None or (function.status and result != 0):
        raise _error_of(name, result, record)
    return None if function.status else result


def records(count: int) -> ctypes.Array[ErrorRecord]:
    """``svit_error[count]``, for functions that fill one for each of many things."""
    return (ErrorRecord * count)(*[ErrorRecord(ctypes.sizeof(ErrorRecord)) for _ in range(count)])


def failure(name: str, record: ErrorRecord) -> errors.Error | None:
    """The Error that a function has put into a record, or None."""
    return _fail(name, record.code, record.message.decode("utf-8", "replace")) if record.code != 0 else None


def _error_of(name: str, status: int, record: ErrorRecord | None) -> BaseException:
    """The exception of a call: that of the caller's function that ended it, of one that did not, or an Error."""
    error = _pending.late if _pending.error is None else _pending.error
    _pending.error = _pending.late = None
    if error is not None:
        return error
    assert record is not None
    return _fail(name, status, record.message.decode("utf-8", "replace"))


def read_rows(name: str, handle: Handle, out: np.ndarray[Any, Any]) -> None:
    """Calls a function with the arguments (handle, index, row) for each row of an array in C order. Signal handlers
    wait for a block of rows, not for all; those that come while the library calls the caller's function do not."""
    function = functions[name]
    function.prepared((handle, 0, out))
    for first in range(0, len(out), _ROWS):
        with reading(handle):
            record = ErrorRecord(ctypes.sizeof(ErrorRecord))
            error, row = ctypes.addressof(record), out[first:].ctypes.data
            _pending.error = None
            for index in range(first, min(first + _ROWS, len(out))):
                status = function.plain(handle._state.pointer, index, row, error)
                if status != 0:
                    # Before handlers run, whose own calls would forget the exception of the caller's function.
                    raise _error_of(name, status, record)
                row += out.strides[0]


def create(name: str, *arguments: Any, adopt: Callable[[int], _Made]) -> _Made:
    """Calls a creating function, whose first argument is ``out``, and returns what ``adopt`` makes of the new handle.
    No signal handler can run before that. ``adopt`` returns the new object."""
    out = ctypes.c_void_p()
    made: _Made | None = None
    try:
        with reading():
            try:
                call(name, ctypes.byref(out), *arguments)
            finally:
                # The library may have made it though a handler of the logger has raised.
                if out.value is not None:
                    made = adopt(out.value)
            assert made is not None
            return made
    except BaseException:
        # What the handler raised has the object in its traceback, which may be kept.
        if made is not None:
            made.close()
        raise


def number(name: str, *arguments: Any, kind: Any = ctypes.c_double) -> Any:
    """Calls a function whose last argument before the error is a number that it writes, and returns that."""
    out = kind()
    call(name, *arguments, ctypes.byref(out))
    return out.value


def string(name: str, *arguments: Any) -> str | None:
    """Calls a function that returns borrowed text, and returns a copy."""
    value = call(name, *arguments)
    return None if value is None else _decoded(value)


def _decoded(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def strings(name: str, *arguments: Any) -> list[str]:
    """Calls a function that returns text by index until it returns NULL. The texts are those of one moment."""
    found: list[str] = []
    function = functions[name]
    function.prepared((*arguments, 0))
    with reading(*(argument for argument in arguments if isinstance(argument, Handle))):
        while (value := function.pointer(*arguments, len(found))) is not None:
            found.append(_decoded(value))
    return found


def long_text(name: str, *arguments: Any, decode: Callable[[bytes], str] = bytes.decode) -> str:
    """Calls a function that ends in (buffer, capacity, needed) and returns its text, which is UTF-8 but for paths."""
    capacity = 8192
    while True:
        buffer = ctypes.create_string_buffer(capacity)
        needed = ctypes.c_size_t()
        try:
            call(name, *arguments, buffer, capacity, ctypes.byref(needed))
            return decode(buffer.value)
        except errors.ArgumentError:
            if needed.value <= capacity:
                raise
            capacity = needed.value


def text_array(given: Iterable[str]) -> Any:
    """``const char *const *`` of texts, borrowed for one call. Its length is their number."""
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{given!r} is one text; a sequence of texts is needed")
    texts = list(given)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is no text")
    return (ctypes.c_char_p * len(texts))(*[text_bytes(text) for text in texts])


def path_array(given: Iterable[PathName]) -> Any:
    """``const char *const *`` of the names of files, borrowed for one call."""
    names = [path_bytes(name) for name in given]
    return (ctypes.c_char_p * len(names))(*names)


def bytes_arrays(given: Iterable[bytes | bytearray | memoryview]) -> tuple[Any, Any]:
    """``const void *const *`` of bytes, borrowed for one call, and ``const size_t *`` of their numbers."""
    data = [bytes(part) for part in given]
    return (ctypes.c_char_p * len(data))(*data), (ctypes.c_size_t * len(data))(*map(len, data))


def class_name(text: Any, what: str) -> str:
    """The name of a class: a text that is not blank and can be written to files."""
    if not isinstance(text, str):
        raise TypeError(f"{what} is {article(text)}; a text is needed")
    if not text.strip():
        raise errors.ArgumentError(f"{what} is {text!r}; a name that is not blank is needed")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise errors.ArgumentError(f"{what} is {text!r}, which has no form in UTF-8") from None
    return text


def ordered_names(given: Iterable[str], what: str) -> list[str]:
    """The names of classes, whose places are labels."""
    if isinstance(given, str):
        raise TypeError(f"{what} is the text {given!r}; a sequence of texts is needed")
    if isinstance(given, (set, frozenset)):
        raise TypeError(f"{what} is a set, which has no order; a sequence of texts is needed")
    return [class_name(text, f"{what}[{index}]") for index, text in enumerate(given)]


def class_names(given: Iterable[str]) -> Any:
    """``const char *const *`` of the names of classes. Equal ones, which files have (ImageNet has two cranes), are a
    warning: labels cannot go by them."""
    names = ordered_names(given, "classes")
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        first = seen.setdefault(name, index)
        if first != index:
            logger = logging.getLogger("shiftvit")
            logger.warning("classes[%d] and classes[%d] are both %r: labels cannot go by this name", first, index, name)
    return text_array(names)


#: Names whose words stand for a constant beside its own: int8 is what sessions and programs call it.
_ALSO = {"SVIT_DTYPE_INT8": "SVIT_DTYPE_I8"}


def words(prefix: str) -> list[str]:
    """The words that stand for the constants of a prefix: ``SVIT_COMPUTE_BF16`` is ``"bf16"``."""
    return [
        name[len(prefix) :].lower().replace("_", "-") for name in (*constants, *_ALSO) if name.startswith(prefix)
    ]


def constant(prefix: str, word: str, what: str) -> int:
    """The value of the constant that a word stands for."""
    name = prefix + str(word).upper().replace("-", "_")
    name = _ALSO.get(name, name)
    is_word = isinstance(word, str) and word == word.lower().replace("_", "-")
    if not is_word or name not in constants:
        raise errors.ArgumentError(f"{what} is {word!r}; accepted are {', '.join(map(repr, words(prefix)))}")
    return constants[name]


def word(prefix: str, value: int) -> str:
    """The word for a value of the constants of a prefix."""
    return next(w for w in words(prefix) if constant(prefix, w, prefix) == value)


#: Names that other libraries have for fields.
_FOREIGN = {"lr": "learning_rate", "batch_size": "batch"}


def refuse_foreign(fields: Mapping[str, Any], *names: str) -> None:
    """Refuses names that other libraries have for fields."""
    for name in names:
        if name in fields:
            raise errors.ArgumentError(f"{name} is called {_FOREIGN[name]} here")


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON has them."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be the value of a field")


def _json_value(value: Any) -> Any:
    """A value as JSON has it: integers beyond 64 bits are floats."""
    if isinstance(value, np.floating):
        value = float(value)
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _json_value(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(part) for part in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value)
    return value


def to_json(fields: Mapping[str, Any]) -> str:
    """The JSON object of some fields."""
    if not isinstance(fields, Mapping):
        raise TypeError(f"{article(fields)} is given where a mapping of fields is needed")
    texts = []
    for name, value in fields.items():
        try:
            text = json.dumps(_json_value(value), default=_plain, allow_nan=False)
        except (ValueError, OverflowError, RecursionError):
            raise errors.ArgumentError(f"{name} has a number that is not finite or too large") from None
        texts.append(f"{json.dumps(str(name))}: {text}")
    return "{" + ", ".join(texts) + "}"


def names_of(map: str | Mapping[str, Any] | None) -> str | None:
    """Whose names tensors have, as the library takes it: a mapping of names as JSON, a word as it is."""
    return json.dumps(dict(map)) if isinstance(map, Mapping) else map


def config(kind: str, fields: Mapping[str, Any]) -> ctypes.Array[ctypes.c_char]:
    """A configuration struct, for example ``svit_model_config``, of these fields and defaults for the others."""
    buffer = ctypes.create_string_buffer(_CONFIG_BYTES)
    call(f"{kind}_from_json", buffer, _CONFIG_BYTES, to_json(fields))
    return buffer


def filled(function: str, *arguments: Any) -> ctypes.Array[ctypes.c_char]:
    """A configuration struct that a function with the arguments (..., config, size) fills."""
    buffer = ctypes.create_string_buffer(_CONFIG_BYTES)
    call(function, *arguments, buffer, _CONFIG_BYTES)
    return buffer


def fields_of(kind: str, buffer: Any) -> dict[str, Any]:
    """All fields of a configuration struct."""
    fields: dict[str, Any] = json.loads(long_text(f"{kind}_to_json", buffer))
    return fields


def initialised(function: str, struct: type[ctypes.Structure]) -> Any:
    """A struct with its defaults."""
    record = struct()
    call(function, record, ctypes.sizeof(record))
    return record


@contextlib.contextmanager
def borrowed(handle: Handle | None, noun: str) -> Iterator[int | None]:
    """The address of a handle of one kind for a field of a struct; the handle cannot end meanwhile. None is NULL."""
    HandlePointer(noun).check(handle)
    if handle is None:
        yield None
        return
    with reading(handle):
        yield handle._state.pointer


def view(handle: Handle, function: str, dtype: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A read-only array of memory that belongs to a handle, which lives as long as the array and all views of it."""
    with reading(handle):
        address = call(function, handle)
        bytes_ = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = (ctypes.c_char * bytes_).from_address(address)
        handle._state.pin()
        at_end(memory, handle._state.unpin)
    # Of a view that cannot be written: NumPy lets nobody make the array writeable.
    array: np.ndarray[Any, Any] = np.frombuffer(memoryview(memory).toreadonly(), dtype=dtype).reshape(shape)
    return array


_read_constants()
