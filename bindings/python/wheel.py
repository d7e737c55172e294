#!/usr/bin/env python3
"""Packs the package and a shared library of any machine into a wheel.

usage: wheel.py LIBRARY PLATFORM [FOLDER]

LIBRARY is what `ninja bindings/python/libshiftvit-python.so` makes in a build with -Dpython=true; PLATFORM the wheel's
tag, such as linux_aarch64, musllinux_1_2_x86_64 or win_amd64. pip makes wheels for the machine that it runs on by
itself; this is for machines that are compiled for elsewhere, where no Python runs that pip could ask. Prints the path.
"""
import base64
import hashlib
import pathlib
import re
import sys
import tomllib
import zipfile

PACKAGE = pathlib.Path(__file__).resolve().parent / "shiftvit"
ROOT = PACKAGE.parents[2]
#: Of all files, so that the same files make the same bytes.
TIME = (1980, 1, 1, 0, 0, 0)


def stated(field: str) -> str:
    """A text of the project, such as its version, as meson.build has it."""
    found = re.search(rf"^\s*{field}: '([^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return found[1]


def version() -> str:
    return stated("version")


def metadata(project: dict) -> str:
    """The core metadata of pyproject.toml."""
    extras = project["optional-dependencies"]
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version()}"]
    lines += [f"Summary: {project['description']}", f"License: {stated('license')}"]
    lines += [f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {text}" for text in project["classifiers"]]
    lines += [f"Requires-Dist: {text}" for text in project["dependencies"]]
    for extra, needs in extras.items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {text}; extra == "{extra}"' for text in needs)]
    page = (ROOT / project["readme"]).read_text(encoding="utf-8")
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", page])


def files(library: pathlib.Path, platform: str) -> dict[str, bytes]:
    """The wheel's files by their paths, but for RECORD."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    info = f"shiftvit-{version()}.dist-info"
    found = {f"shiftvit/{path.name}": path.read_bytes() for path in sorted(PACKAGE.iterdir()) if path.is_file()}
    found["shiftvit/libshiftvit-python" + library.suffix] = library.read_bytes()
    found[f"{info}/METADATA"] = metadata(project).encode()
    wheel = ["Wheel-Version: 1.0", "Generator: shiftvit", "Root-Is-Purelib: false", f"Tag: py3-none-{platform}", ""]
    found[f"{info}/WHEEL"] = "\n".join(wheel).encode()
    found[f"{info}/licenses/COPYING"] = (ROOT / "COPYING").read_bytes()
    return found


def record(found: dict[str, bytes], name: str) -> bytes:
    """The list of the files with their sums."""
    rows = []
    for path, content in found.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(content)}")
    return "\n".join([*rows, f"{name},,", ""]).encode()


def main(library: str, platform: str, folder: str = ".") -> None:
    found = files(pathlib.Path(library), platform)
    name = f"shiftvit-{version()}.dist-info/RECORD"
    found[name] = record(found, name)
    path = pathlib.Path(folder, f"shiftvit-{version()}-py3-none-{platform}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for member, content in found.items():
            entry = zipfile.ZipInfo(member, TIME)
            entry.external_attr = (0o755 if member.endswith((".so", ".dll")) else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
