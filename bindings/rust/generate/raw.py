"""Writes the declarations of shiftvit-sys and the tables of its tests."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections.abc import Iterator

from headers import Function, Header, Struct, Variable

NOTE = "// Written by bindings/rust/generate from the C headers.\n"
SCALARS = {
    "size_t": "usize",
    "int32_t": "i32",
    "uint32_t": "u32",
    "int64_t": "i64",
    "uint64_t": "u64",
    "uint8_t": "u8",
    "float": "f32",
    "double": "f64",
    "char": "c_char",
    "void": "c_void",
}


def rust_type(c_type: str) -> str:
    """``const char *const *`` is ``*const *const c_char``."""
    words = re.findall(r"\w+|\*", c_type)
    constant = "const" in words[:2]
    base = next(word for word in words if word not in ("const", "struct"))
    kind = SCALARS.get(base, base)
    rest = words[words.index(base) + 1 :]
    for index, word in enumerate(rest):
        if word == "*":
            kind = f"*{'const' if constant else 'mut'} {kind}"
            constant = index + 1 < len(rest) and rest[index + 1] == "const"
    return kind


def field_type(field: Variable) -> str:
    kind = rust_type(field.c_type)
    if not field.length:
        return kind
    return f"[{kind}; {field.length if field.length.isdigit() else field.length + ' as usize'}]"


def argument_type(argument: Variable) -> str:
    kind = rust_type(argument.c_type)
    if not argument.length:
        return kind
    return f"*{'const' if argument.c_type.startswith('const') else 'mut'} {kind}"


def doc(text: str, indent: str = "", mark: str = "///") -> str:
    """A comment for rustdoc, which reads Markdown: what is not code between backquotes gets escapes."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\[\]<>*\\|])", r"\\\1", part) for part in parts[::2]]
    lines = [re.sub(r"^(\d+)\.", r"\1\\.", line) for line in "`".join(parts).split("\n")] if text else []
    return "".join(f"{indent}{mark} {line}".rstrip() + "\n" for line in lines)


def signature(name: str, function: Function, head: str, end: str, indent: str) -> str:
    """One line if it fits in 100 columns, else a line for each argument."""
    parts = [f"{rust_name(a.name)}: {argument_type(a)}" for a in function.arguments]
    result = "" if function.result == "void" else f" -> {rust_type(function.result)}"
    line = f"{indent}{head}{name}({', '.join(parts)}){result}{end}\n"
    if len(line) <= 101:
        return line
    inner = "".join(f"{indent}    {part},\n" for part in parts)
    return f"{indent}{head}{name}(\n{inner}{indent}){result}{end}\n"


def rust_name(name: str) -> str:
    return {"in": "input"}.get(name, name)


def struct(item: Struct) -> str:
    text = doc(item.doc) or f"/// See the header.\n"
    if not item.fields:
        return (
            text + f"#[repr(C)]\npub struct {item.name} {{\n    _data: [u8; 0],\n"
            "    _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,\n}\n"
        )
    fields = "".join(
        doc(field.doc, "    ") + f"    pub {rust_name(field.name)}: {field_type(field)},\n" for field in item.fields
    )
    return f"{text}#[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct {item.name} {{\n{fields}}}\n"


def module(header: Header) -> str:
    """The source that declares what a header declares."""
    parts = []
    for macro in header.macros:
        parts.append(f"pub const {macro.name}: u32 = {macro.value};\n")
    if header.name == "status":
        parts.append("/// What a call returns: SVIT_OK or one of the negative codes below.\npub type svit_status = i32;\n")
    for enumeration in header.enumerations:
        lines = "".join(doc(m.doc) + f"pub const {m.name}: i32 = {m.value};\n" for m in enumeration.members)
        comment = "".join(f"// {line}".rstrip() + "\n" for line in enumeration.doc.split("\n")) if enumeration.doc else ""
        parts.append(f"{comment}\n{lines}" if comment else lines)
    parts += [struct(item) for item in header.structs]
    for callback in header.callbacks:
        inner = signature("", callback, "unsafe extern \"C\" fn", "", "    ").lstrip()
        parts.append(doc(callback.doc) + f"pub type {callback.name} = Option<\n    {inner.rstrip()},\n>;\n")
    if header.functions:
        body = "\n".join(
            doc(f.doc, "    ") + signature(f.name, f, "pub fn ", ";", "    ") for f in header.functions
        )
        parts.append(f'extern "C" {{\n{body}}}\n')
    text = "\n".join(parts)
    uses = [f"use crate::{name}::*;" for name in neighbours(header, text)]
    raw = sorted(set(re.findall(r"\bc_(?:char|void)\b", text)))
    if raw:
        names = raw[0] if len(raw) == 1 else f"{{{', '.join(raw)}}}"
        uses.append(f"use std::os::raw::{names};")
    lines = "\n".join(uses)
    return f"{doc(header.doc, mark='//!')}\n{NOTE}\n" + (f"{lines}\n\n" if lines else "") + text


def halves(header: Header) -> list[Header]:
    """A header, or its types and its functions if one file of both would be long."""
    if module(header).count("\n") < 480:
        return [header]
    types = dataclasses.replace(header, functions=[])
    functions = Header(f"{header.name}_functions", f"The functions on what `{header.name}` declares.", [], [], [], header.functions, [])
    return [types, functions]


DECLARED: dict[str, str] = {}


def remember(headers: list[Header]) -> None:
    """Notes in which header each type and array length is declared."""
    DECLARED["svit_status"] = "status"
    for header in headers:
        for item in [*header.structs, *header.callbacks]:
            DECLARED[item.name] = header.name
        for enumeration in header.enumerations:
            DECLARED.update({m.name: header.name for m in enumeration.members})


def neighbours(header: Header, text: str) -> list[str]:
    """The modules whose types this one uses."""
    code = re.sub(r"//.*", "", text)
    used = {DECLARED[name] for name in re.findall(r"\bsvit_\w+|\bSVIT_\w+", code) if name in DECLARED}
    return sorted(used - {header.name})


def layouts(root: pathlib.Path) -> Iterator[tuple[str, int, list[tuple[str, int, int]]]]:
    """The layout of each struct, as tests/abi/test_layout.c has it and the C compiler has checked it."""
    text = (root / "tests/abi/test_layout.c").read_text()
    for macro, body in re.findall(r"#define (SVIT_\w+)\(F, T\) \\\n((?:.*\\\n)*.*\n)", text):
        fields = [(n, int(o), int(b)) for n, o, b in re.findall(r"F\(T, (\w+), (\d+), (\d+)\)", body)]
        name, size = re.search(rf"LAYOUT\((\w+), (\d+), {macro}\)", text).groups()
        yield name, int(size), fields


def tables(root: pathlib.Path, headers: list[Header]) -> dict[str, str]:
    """The files of shiftvit-sys that check the declarations."""
    structs = list(layouts(root))
    declared = {item.name for header in headers for item in header.structs if item.fields}
    if declared != {name for name, _, _ in structs}:
        raise SystemExit(f"tests/abi/test_layout.c lacks a struct: {declared ^ {name for name, _, _ in structs}}")
    sizes = "".join(
        f"const _: () = assert!(size_of::<{name}>() == {size}, \"{name} has another size than in C\");\n"
        for name, size, _ in structs
    )
    offsets = "".join(
        f"    layout!({name}, {{\n" + "".join(f"        {rust_name(f)}: {o}, {b};\n" for f, o, b in fields) + "    });\n"
        for name, _, fields in structs
    )
    constants = "".join(
        f"    (\"{m.name}\", {m.name} as i64),\n" for header in headers for e in header.enumerations for m in e.members
    )
    functions = "".join(f"    {f.name} as *const (),\n" for header in headers for f in header.functions)
    return {
        "shiftvit-sys/src/layout.rs": "//! Sizes of the structs, which the compiler compares with those of the C compiler\n"
        f"//! (`tests/abi/test_layout.c`).\n\n{NOTE}\nuse crate::*;\nuse std::mem::size_of;\n\n{sizes}",
        "shiftvit-sys/tests/generated/layout.rs": f"{NOTE}\nuse shiftvit_sys::*;\n\npub fn check() {{\n{offsets}}}\n",
        "shiftvit-sys/tests/generated/constants.rs": f"{NOTE}\nuse shiftvit_sys::*;\n\n"
        f"pub const CONSTANTS: &[(&str, i64)] = &[\n{constants}];\n",
        "shiftvit-sys/tests/generated/functions.rs": f"{NOTE}\nuse shiftvit_sys::*;\n\n"
        f"pub fn addresses() -> Vec<*const ()> {{\n    vec![\n{indented(functions)}    ]\n}}\n",
    }


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def files(root: pathlib.Path, headers: list[Header]) -> dict[str, str]:
    """All files by their paths below bindings/rust."""
    remember(headers)
    sources = {f"shiftvit-sys/src/{part.name}.rs": module(part) for header in headers for part in halves(header)}
    return {**sources, **tables(root, headers)}
