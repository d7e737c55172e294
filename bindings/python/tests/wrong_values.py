"""Calls every function with every wrong value in turn. A case may end the process, so test_handles.py runs this program
and starts it again behind such a case.

    python3 wrong_values.py public|declared FIRST

prints ``N NAME`` before a case, and then ``ok``, or what is wrong. The last line is ``end``.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np
import shiftvit
from public_calls import REFUSING, Call, Things, public_calls
from shiftvit import _library
from shiftvit._signatures import HANDLES, SIGNATURES

CLASSES = {
    "Checkpoint": "K", "Context": "C", "Dataset": "D", "FeatureSet": "F", "Loader": "L", "Model": "M",
    "Optimizer": "O", "Predictor": "P", "Session": "S", "Trainer": "T", "_Image": "I", "Extractor": "X",
}  # fmt: skip
#: Parameters of any type that also take a handle.
ALSO = {("x", "Dataset"), ("self", "Handle")}
#: What takes objects of any kind: a cycle of copy's memo, what ``with`` reports, the protocol of a pickle.
ANY_OBJECT = ("memo", "kind", "error", "trace", "protocol")
PYTHONS = (TypeError, ValueError, AttributeError, KeyError, LookupError)
Case = tuple[str, Callable[[], "str | None"]]


class Empty:
    """No handle, though it has an attribute that handles have."""

    _state = None
    _free = "svit_model_free"


def others() -> dict[str, Any]:
    """Values that are no handles."""
    frozen = np.zeros((2, 3), np.float32)
    frozen.flags.writeable = False
    return {
        "int": 5, "address": id(Empty), "float": 1.5, "object": object(), "text": "text", "bytes": b"bytes",
        "fake": Empty(), "class": shiftvit.Model, "objects": np.array([None, {}]), "complex": np.zeros(3, complex),
        "float64": np.zeros((6, 3)), "shape": np.zeros((1, 2, 1, 7), np.float32), "read-only": frozen,
        "strided": np.zeros((12, 6), np.float32)[::2, ::2], "reversed": np.zeros((6, 3), np.float32)[::-1],
        "big-endian": np.zeros((6, 3), ">f4"), "bool": np.zeros(6, bool), "huge": np.array([2**63], np.uint64),
    }  # fmt: skip


def outcome(function: Callable[[], Any]) -> BaseException | None:
    try:
        function()
    except Exception as error:
        return error
    return None


def takes(call: Call, parameter: inspect.Parameter) -> set[str]:
    """The classes of handles that a parameter takes."""
    if parameter.name == "self":
        return {call.owner.__name__} if call.owner else set()
    annotation = re.sub(r"\bIterable\[\w+\]", "", str(parameter.annotation))
    found = {name for name in CLASSES if re.search(rf"\b{name}\b", annotation)}
    return found | {kind for name, kind in ALSO if name == parameter.name and call.name.startswith("Model.")}


def judge(call: Call, parameter: inspect.Parameter, value: Any, error: BaseException | None, kind: str) -> str | None:
    """What is wrong with the end of a case, None if it is right."""
    wanted = takes(call, parameter)
    if parameter.name == "self" or not wanted:
        # Not all of these are wrong, and some are Python's own business: it must not crash.
        accepted = (*PYTHONS, shiftvit.Error, RuntimeError, OSError, OverflowError)
        return None if error is None or isinstance(error, accepted) else repr(error)
    if kind in CLASSES and error is None:
        return f"took a {kind} for {' or '.join(sorted(wanted))}"
    if kind in CLASSES or wanted & set(re.findall(r"\w+", str(parameter.annotation).replace("PathName", ""))):
        if kind == "None" or "PathName" in str(parameter.annotation):
            return None if kind not in CLASSES or type(error) is TypeError else repr(error)
        named = (kind if kind in CLASSES else type(value).__name__).lstrip("_")
        if not isinstance(error, TypeError) or isinstance(error, shiftvit.Error):
            return f"raised {error!r}, no TypeError"
        if named not in str(error) or not any(name in str(error) for name in wanted):
            return f"the message names not both {named} and {wanted}: {error}"
    return None


def public() -> Iterator[Case]:
    """Cases of the public functions."""
    wrong = Things()
    values = {**others(), "None": None, **{name: wrong.of_class(name) for name in CLASSES}}
    for call in public_calls():
        yield f"{call.name} with what it is for", lambda call=call: good(call)
        for parameter in call.parameters:
            if parameter.name in ANY_OBJECT:
                continue
            wanted = takes(call, parameter)
            things = Things()
            for kind, value in values.items():
                if kind not in wanted and not (kind == "None" and "None" in str(parameter.annotation)):
                    yield f"{call.name}: {parameter.name} is {kind}", bad(call, parameter, value, things, kind)
            for kind in sorted(wanted - {"Handle"}):
                yield f"{call.name}: {parameter.name} is a closed {kind}", closed(call, parameter, kind)
                yield f"{call.name}: {parameter.name} is of another context", foreign(call, parameter, kind)
                yield f"{call.name}: {parameter.name} is a subclass", subclass(call, parameter, kind)


def good(call: Call) -> str | None:
    things = Things()
    error = outcome(lambda: call.run(call.arguments(things)))
    if call.name in REFUSING:
        return None if isinstance(error, TypeError) else repr(error)
    return None if error is None else repr(error)


def with_value(call: Call, parameter: inspect.Parameter, value: Any, things: Things) -> Callable[[], Any]:
    keyword = parameter.kind is inspect.Parameter.VAR_KEYWORD
    arguments = {**call.arguments(things), parameter.name: {"batch": value} if keyword else value}
    if parameter.name == "x" and isinstance(value, shiftvit.Dataset):
        arguments.pop("y", None)
    return lambda: call.run(arguments)


def bad(call: Call, parameter: inspect.Parameter, value: Any, things: Things, kind: str) -> Callable[[], str | None]:
    def run() -> str | None:
        return judge(call, parameter, value, outcome(with_value(call, parameter, value, things)), kind)

    return run


def closed(call: Call, parameter: inspect.Parameter, kind: str) -> Callable[[], str | None]:
    def run() -> str | None:
        things = Things()
        use = with_value(call, parameter, things.of_class(kind), things)
        getattr(things.of_class(kind), "close", lambda: None)()
        error = outcome(use)
        if parameter.name == "self":
            return None
        return None if isinstance(error, shiftvit.errors.StateError) and "closed" in str(error) else repr(error)

    return run


def foreign(call: Call, parameter: inspect.Parameter, kind: str) -> Callable[[], str | None]:
    def run() -> str | None:
        things = Things(shiftvit.Context(threads=2))
        rest = Things()
        error = outcome(with_value(call, parameter, things.of_class(kind), rest))
        return None if error is None or isinstance(error, (shiftvit.Error, *PYTHONS)) else repr(error)

    return run


def subclass(call: Call, parameter: inspect.Parameter, kind: str) -> Callable[[], str | None]:
    def run() -> str | None:
        things = Things()
        value = call.arguments(things).get(parameter.name)
        if type(value).__name__ != kind:
            value = things.of_class(kind)
        value.__class__ = type("Mine", (type(value),), {})
        error = outcome(with_value(call, parameter, value, things))
        return repr(error) if isinstance(error, TypeError) and call.name not in REFUSING else None

    return run


def declared() -> Iterator[Case]:
    """Cases of the functions of _signatures.py, at the place where all calls of the package meet."""
    things = Things()
    handles = {letter: things.of_class(name) for name, letter in CLASSES.items()}
    fillers = {"s": "text", "n": "file", "f": 0.0, "d": 0.0, **handles}
    for name, signature in SIGNATURES.items():
        codes = signature.partition(" ")[2]
        codes = codes[:-1] if signature.startswith("x") and codes.endswith("e") else codes
        if name.endswith("_free"):
            continue
        arguments = [fillers.get(code, None if code in "pWe" else 0) for code in codes]
        for place, code in enumerate(codes):
            wrong = {kind: handles[letter] for kind, letter in CLASSES.items() if letter != code}
            # A class, an object or an array for text and numbers is what Python itself refuses.
            keys = ("int", "object", "text", "fake", "class", "objects", "strided", "reversed")
            wrong.update((key, others()[key]) for key in keys if code in HANDLES or (code in "pe" and key != "bytes"))
            for kind, value in wrong.items():
                changed = [*arguments[:place], value, *arguments[place + 1 :]]
                yield f"{name}({place}) is {kind}", declared_case(name, code, kind, value, changed)
            if code in HANDLES and code != "W":
                yield f"{name}({place}) is closed", declared_closed(name, code, place, arguments)
                changed = [*arguments[:place], None, *arguments[place + 1 :]]
                yield f"{name}({place}) is NULL", declared_null(name, changed)


def declared_case(name: str, code: str, kind: str, value: Any, arguments: list[Any]) -> Callable[[], str | None]:
    def run() -> str | None:
        error = outcome(lambda: _library.call(name, *arguments))
        if not isinstance(error, TypeError):
            return f"raised {error!r}, no TypeError"
        given = kind if kind in CLASSES else type(value).__name__
        given = {"ndarray": "array", "_Image": "Image"}.get(given, given)
        nouns = {letter: kind for kind, letter in CLASSES.items()}
        wanted = nouns.get(code, "folder_lock" if code == "W" else "").lstrip("_")
        return None if given in str(error) and wanted in str(error) else f"names not {given} and {wanted}: {error}"

    return run


def declared_closed(name: str, code: str, place: int, arguments: list[Any]) -> Callable[[], str | None]:
    def run() -> str | None:
        kind = next(kind for kind, letter in CLASSES.items() if letter == code)
        value = Things().of_class(kind)
        value.close()
        error = outcome(lambda: _library.call(name, *arguments[:place], value, *arguments[place + 1 :]))
        return None if isinstance(error, shiftvit.errors.StateError) else repr(error)

    return run


def declared_null(name: str, arguments: list[Any]) -> Callable[[], str | None]:
    def run() -> str | None:
        error = outcome(lambda: _library.call(name, *arguments))
        return repr(error) if isinstance(error, TypeError) else None

    return run


if __name__ == "__main__":
    first = int(sys.argv[2])
    holder = tempfile.TemporaryDirectory()
    os.chdir(holder.name)  # Some of the wrong values are names of files that are written.
    for index, (title, case) in enumerate({"public": public, "declared": declared}[sys.argv[1]]()):
        if index >= first:
            print(index, title, flush=True)
            print(case() or "ok", flush=True)
    print("end")
