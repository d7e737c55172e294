"""Reads the C headers: their enumerators, structs, handles, callbacks and functions, with the comments."""

from __future__ import annotations

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]


@dataclasses.dataclass
class Named:
    """A name with its comment."""

    name: str
    doc: str


@dataclasses.dataclass
class Enumerator(Named):
    value: int


@dataclasses.dataclass
class Enumeration:
    """An ``enum`` without a name, and the comment before it."""

    doc: str
    members: list[Enumerator]


@dataclasses.dataclass
class Variable(Named):
    """A field or an argument. ``length`` is that of an array, "" for none."""

    c_type: str
    length: str


@dataclasses.dataclass
class Struct(Named):
    """A struct, or a handle if there are no fields."""

    fields: list[Variable]


@dataclasses.dataclass
class Function(Named):
    """A function, or the type of a callback."""

    result: str
    arguments: list[Variable]


@dataclasses.dataclass
class Header(Named):
    enumerations: list[Enumeration]
    structs: list[Struct]
    callbacks: list[Function]
    functions: list[Function]
    macros: list[Enumerator]


COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"
BEFORE = rf"(?P<doc>{COMMENT}\s*\n)?"


def paragraphs(comment: str | None) -> str:
    """The text of a comment without its stars and indentation."""
    if not comment:
        return ""
    body = comment.strip()[2:-2]
    lines = [re.sub(r"^\s*\*? ?", "", line).strip() for line in body.split("\n")]
    return "\n".join(lines).strip()


def without_comments(text: str) -> str:
    return re.sub(COMMENT, " ", text)


def variable(text: str, doc: str = "") -> Variable:
    """Reads ``const float *out`` or ``int64_t shape[8]``."""
    found = re.fullmatch(r"(.*?)\s*\b(\w+)(?:\[(\w+)\])?", " ".join(text.split()))
    if not found:
        raise ValueError(f"cannot read the declaration '{text}'")
    kind, name, length = found.groups()
    return Variable(name, doc, kind.strip(), length or "")


def trailing(text: str, end: str) -> list[tuple[str, str]]:
    """Pairs of a declaration that ends in `end` and the comment behind it on its line."""
    found = []
    pattern = rf"(?P<code>(?:{COMMENT}|[^{end}/])+)(?:{end}|$)[ \t]*(?P<doc>{COMMENT})?"
    for match in re.finditer(pattern, text):
        code = match["code"]
        own = re.findall(COMMENT, code.rstrip()[-2:] == "*/" and code or "")
        words = " ".join(without_comments(code).split())
        if words:
            found.append((words, paragraphs(match["doc"] or (own[-1] if own else None))))
    return found


def enumeration(match: re.Match[str]) -> Enumeration:
    members = []
    for code, doc in trailing(match["body"], ","):
        name, value = (part.strip() for part in code.split("="))
        members.append(Enumerator(name, doc, int(value)))
    return Enumeration(paragraphs(match["doc"]), members)


def arguments(text: str) -> list[Variable]:
    words = " ".join(text.split())
    return [] if words == "void" else [variable(part) for part in words.split(",")]


def function(match: re.Match[str]) -> Function:
    return Function(match["name"], paragraphs(match["doc"]), match["result"].strip(), arguments(match["arguments"]))


def struct(match: re.Match[str]) -> Struct:
    fields = [variable(code, doc) for code, doc in trailing(match["body"], ";")]
    return Struct(match["name"], paragraphs(match["doc"]), fields)


def header(path: pathlib.Path) -> Header:
    text = path.read_text()
    macros = [Enumerator(name, "", int(value)) for name, value in re.findall(r"#define (SVIT_\w+) (\d+)$", text, flags=re.M)]
    opening = re.match(COMMENT, text)
    handles = [
        Struct(match["name"], paragraphs(match["doc"]), [])
        for match in re.finditer(BEFORE + r"typedef struct (?P<name>\w+) (?P=name);", text)
    ]
    structs = re.finditer(BEFORE + r"typedef struct (?P<name>\w+) \{(?P<body>.*?)\n\}", text, flags=re.S)
    callbacks = re.finditer(
        BEFORE + r"typedef (?P<result>[\w ]+?\*?)\s*\(\*(?P<name>\w+)\)\((?P<arguments>[^;]*)\);", text
    )
    functions = re.finditer(
        BEFORE + r"SVIT_API (?P<result>[\w ]+?\*?)(?P<name>svit_\w+)\((?P<arguments>[^;]*)\);", text
    )
    return Header(
        path.stem,
        paragraphs(opening[0] if opening else None),
        [enumeration(match) for match in re.finditer(BEFORE + r"enum \{(?P<body>.*?)\};", text, flags=re.S)],
        handles + [struct(match) for match in structs],
        [function(match) for match in callbacks],
        [function(match) for match in functions],
        macros,
    )


def read(root: pathlib.Path) -> list[Header]:
    """All headers, in the order in which shiftvit.h names them."""
    folder = root / "include" / "shiftvit"
    names = re.findall(r"#include <shiftvit/(\w+)\.h>", (folder / "shiftvit.h").read_text())
    left_out = {path.stem for path in folder.glob("*.h")} - set(names) - {"shiftvit"}
    if left_out:
        raise SystemExit(f"shiftvit.h does not include {sorted(left_out)}")
    headers = [header(folder / f"{name}.h") for name in names]
    compare_with_records(root, headers)
    return headers


def compare_with_records(root: pathlib.Path, headers: list[Header]) -> None:
    """Fails unless exactly the functions and enumerators were found that tests/abi lists and compilers saw."""
    listed = {line.split("@@")[0] for line in (root / "tests/abi/symbols.txt").read_text().split()}
    found = {function.name for header in headers for function in header.functions}
    if listed != found:
        raise SystemExit(f"tests/abi/symbols.txt and the functions that were read differ: {sorted(listed ^ found)}")
    lines = [line.split() for line in (root / "tests/abi/constants.txt").read_text().splitlines()]
    recorded = {name: int(value) for name, value in lines}
    constants = {m.name: m.value for header in headers for e in header.enumerations for m in e.members}
    wrong = [name for name in recorded if constants.get(name) != recorded[name]]
    if wrong:
        raise SystemExit(f"tests/abi/constants.txt and the enumerators that were read differ: {wrong}")
