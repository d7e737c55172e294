"""Checks that each file that a build installs belongs to a Debian package or is left out by debian/not-installed, as
dh_missing does, which needs debhelper.

    python3 installed.py SOURCE_ROOT BUILD
"""

import fnmatch
import json
import pathlib
import sys


def patterns(debian):
    """The first words of the lines of debian/*.install and debian/not-installed, which may name folders."""
    for file in [*sorted(debian.glob("*.install")), debian / "not-installed"]:
        for line in file.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                yield line.split()[0]


def installed(build):
    """The files with the folders of a Debian package, whatever those of the build are."""
    about = build / "meson-info"
    options = {option["name"]: option["value"] for option in json.loads((about / "intro-buildoptions.json").read_text())}
    prefix = pathlib.Path(options["prefix"])
    for path in json.loads((about / "intro-installed.json").read_text()).values():
        path = pathlib.PurePath(path).relative_to(prefix).as_posix()
        libraries = pathlib.PurePath(options["libdir"]).as_posix() + "/"
        yield "usr/" + (f"lib/MACHINE/{path[len(libraries):]}" if path.startswith(libraries) else path)


def main():
    root, build = map(pathlib.Path, sys.argv[1:3])
    known = list(patterns(root / "debian"))
    files = list(installed(build))
    missing = [file for file in files
               if not any(fnmatch.fnmatch(file, form) or fnmatch.fnmatch(file, f"{form}/*") for form in known)]
    for file in missing:
        print(f"{file} is in none of debian/*.install and debian/not-installed")
    print(f"{len(files)} files, {len(missing)} without a package")
    sys.exit(1 if missing or not files else 0)


if __name__ == "__main__":
    main()
