"""Reads the declarations of the C headers, as far as the tests compare them with the package."""

from __future__ import annotations

import pathlib
import re

from shiftvit import _signatures

HEADERS = pathlib.Path(__file__).resolve().parents[3] / "include" / "shiftvit"

SCALARS = {
    "size_t": "z",
    "int32_t": "i",
    "uint32_t": "u",
    "uint64_t": "q",
    "float": "f",
    "double": "d",
    "void": "-",
    "svit_status": "x",
}
HANDLES = {f"svit_{noun}": letter for letter, noun in _signatures.HANDLES.items()}


def text() -> str:
    """All headers without comments, preprocessor lines and the contents of function bodies."""
    whole = "\n".join(path.read_text() for path in sorted(HEADERS.glob("*.h")))
    whole = re.sub(r"/\*.*?\*/", " ", whole, flags=re.S)
    return re.sub(r"^#.*(\\\n.*)*$", "", whole, flags=re.M)


def code_of(declaration: str) -> str:
    """The letter of one type, as in ``shiftvit/_signatures.py``."""
    declaration = declaration.strip()
    if "svit_error *" in declaration:
        return "e"
    if declaration.count("*") == 1 and re.match(r"const char \*", declaration):
        return "n" if re.match(r"const char \*(path|folder|file)\b", declaration) else "s"
    handle = re.match(r"(?:const )?(svit_\w+) \*(?!\*|const \*)", declaration)
    if handle and handle[1] in HANDLES:
        return HANDLES[handle[1]]
    if "*" in declaration or "[" in declaration or re.search(r"svit_\w+_(function|callback)\b", declaration):
        return "p"
    return SCALARS[declaration.replace("const ", "").split()[0]]


def functions() -> dict[str, str]:
    """``{"svit_model_free": "- p"}`` for every public function."""
    found = {}
    for result, name, arguments in re.findall(r"SVIT_API\s+([\w\s*]+?)\b(svit_\w+)\(([^;]*)\);", text()):
        arguments = " ".join(arguments.split())
        # Other patterns are of the names of parameters.
        if name == "svit_dataset_shards":
            arguments = arguments.replace("*pattern", "*path")
        codes = "" if arguments == "void" else "".join(code_of(part) for part in arguments.split(","))
        found[name] = f"{code_of(result)} {codes}".strip()
    return found


def changed() -> dict[str, str]:
    """The letters of the handles that a function takes without ``const``, but for functions that create or free."""
    found = {}
    for name, arguments in re.findall(r"SVIT_API[\w\s*]+?\b(svit_\w+)\(([^;]*)\);", text()):
        parts = [" ".join(part.split()) for part in arguments.split(",")]
        letters = "".join(code_of(part) for part in parts if not part.startswith("const "))
        if not name.endswith("_free"):
            found[name] = "".join(letter for letter in letters if letter in _signatures.HANDLES)
    return found


def structs() -> dict[str, list[str]]:
    """The fields of every public struct in their order."""
    found = {}
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\}\s*(svit_\w+);", text(), flags=re.S):
        fields = [part.strip() for part in body.split(";") if part.strip()]
        found[name] = [" ".join(field.split()) for field in fields]
    return found


def enumerators() -> set[str]:
    """The names of all enumerators."""
    bodies = re.findall(r"\benum \{(.*?)\}", text(), flags=re.S)
    return {name for body in bodies for name in re.findall(r"\b(SVIT_\w+)\s*(?:=|,|$)", body + ",")}
