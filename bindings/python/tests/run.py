"""Runs the tests of the Python package with unittest. Without NumPy they are skipped, with the exit status 77.

    python3 run.py [NAME...]            in a build: meson test python python_generated
    python3 run.py --except NAME...     all other modules

SHIFTVIT_PYTHON names another Python that has NumPy. SHIFTVIT_LIBRARY is the library under test, SHIFTVIT_PROGRAMS the
folder of the programs with which results are compared. If SHIFTVIT_INSTALLED is set, the installed package is tested.
"""

import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent

if __name__ == "__main__":
    other = os.environ.pop("SHIFTVIT_PYTHON", None)
    if other:
        os.execvp(other, [other, *sys.argv])
    try:
        import numpy  # noqa: F401
    except ImportError:
        print(f"SKIP: {sys.executable} has no NumPy, which the Python package needs; set SHIFTVIT_PYTHON")
        sys.exit(77)
    sys.path.insert(0, str(HERE))
    if "SHIFTVIT_INSTALLED" not in os.environ:
        sys.path.insert(0, str(HERE.parent))
    names = sys.argv[1:]
    if not names or names[0] == "--except":
        names = sorted({path.stem for path in HERE.glob("test_*.py")} - set(names))
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    for test, reason in result.skipped:
        print(f"skipped check: {test}: {reason}")
    sys.exit(not result.wasSuccessful())
