"""Writes the parts of the Rust crates that follow from the C headers.

    python3 bindings/rust/generate/generate.py [ROOT]            after a change of the headers
    python3 bindings/rust/generate/generate.py --check [ROOT]    fails if a file is not what it would write
"""

from __future__ import annotations

import pathlib
import re
import sys

import headers
import raw
import typed


def versions(root: pathlib.Path) -> list[str]:
    """Says where the crates state another version than the library's, of themselves or of each other."""
    wanted = re.search(r"version: '([\d.]+)'", (root / "meson.build").read_text()).group(1)
    wrong = []
    for name in ("shiftvit-sys/Cargo.toml", "shiftvit/Cargo.toml", "Cargo.lock"):
        stated = re.findall(r'(?<![\w-])version = "([^"]+)"', (root / "bindings/rust" / name).read_text())
        if not stated or set(stated) != {wanted}:
            wrong.append(f"bindings/rust/{name}: a version is not {wanted}")
    return wrong


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    places = [argument for argument in arguments if argument != "--check"]
    root = pathlib.Path(places[0]).resolve() if places else headers.ROOT
    found = headers.read(root)
    wrong = versions(root)
    for name, text in {**raw.files(root, found), **typed.files(found)}.items():
        path = root / "bindings" / "rust" / name
        if path.exists() and path.read_text() == text:
            continue
        if check:
            wrong.append(f"bindings/rust/{name} does not follow from the headers")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote bindings/rust/{name}")
    for line in wrong:
        print(line)
    if wrong:
        print("renew them with: python3 bindings/rust/generate/generate.py")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
