"""The examples of docs/python.md and of the docstrings run, and every public name has a docstring."""

import doctest
import functools
import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy
import shiftvit
from shiftvit import _handles
from support import ROOT, FolderTest, needs_png


class Docs(FolderTest):
    @needs_png
    def test_the_blocks_of_the_page_run_in_their_order(self):
        page = (ROOT / "docs" / "python.md").read_text()
        blocks = re.findall(r"^```python\n(.*?)^```", page, flags=re.S | re.M)
        self.assertGreaterEqual(len(blocks), 7)
        if importlib.util.find_spec("sklearn") is None:
            blocks = [block for block in blocks if "sklearn" not in block]
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", "\n".join(blocks)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("epoch 2/2: loss", done.stdout)
        self.assertRegex(done.stdout, r"'top1': 0\.\d+")
        self.assertRegex(done.stdout, r"\[\('(shape|texture)', 0\.\d+\), ")
        self.assertEqual(done.stderr, "")

    def test_every_setting_that_the_page_names_exists(self):
        page = (ROOT / "docs" / "python.md").read_text()
        names = {field["name"] for field in shiftvit.config_fields()}
        for name in ("optimizer", "schedule", "augment", "patience"):
            self.assertIn(f"`{name}=", page)
            self.assertIn(name, names)

    def test_the_page_names_the_classes_that_a_child_by_fork_cannot_use(self):
        page = " ".join((ROOT / "docs" / "python.md").read_text().split())
        named = re.search(r"so is every call of an? ([\w, ]+?), which \"was made before os\.fork\"", page)
        exclusive = {kind.__name__ for kind in _handles._classes.values() if kind._exclusive}
        self.assertEqual(set(re.findall("[A-Z]\\w+", named[1])), exclusive)

    def test_examples_of_docstrings(self):
        folder = os.getcwd()
        os.chdir(ROOT)
        self.addCleanup(os.chdir, folder)
        tried = 0
        for module in pkgutil.iter_modules(shiftvit.__path__):
            try:
                loaded = importlib.import_module(f"shiftvit.{module.name}")
            except ImportError as error:
                if module.name == "sklearn" and error.name == "sklearn":
                    continue
                raise
            result = doctest.testmod(loaded, extraglobs={"numpy": numpy})
            self.assertEqual(result.failed, 0, module.name)
            tried += result.attempted
        self.assertGreaterEqual(tried, 3)

    def test_every_public_name_is_documented_and_typed(self):
        for name in shiftvit.__all__:
            thing = getattr(shiftvit, name)
            self.assertTrue(inspect.getdoc(thing), name)
            if not inspect.isclass(thing):
                continue
            for member, value in vars(thing).items():
                if member.startswith("_") or not (callable(value) or isinstance(value, (property, classmethod))):
                    continue
                self.assertTrue(inspect.getdoc(value), f"{name}.{member}")


class Typing(unittest.TestCase):
    def test_type_hints_pass_mypy(self):
        try:
            import mypy.api
        except ImportError:
            self.skipTest("mypy is not installed")
        package = os.path.dirname(shiftvit.__file__)
        self.assertTrue(os.path.exists(os.path.join(package, "py.typed")))
        client = (
            "import numpy as np, shiftvit\n"
            "model = shiftvit.create_model('shiftvit-cifar10', num_classes=3)\n"
            "history: shiftvit.History = model.fit(np.zeros((1, 2)), callbacks=[shiftvit.print_epoch])\n"
            "with shiftvit.Session(model) as session:\n"
            "    reveal_type(session.forward(np.zeros(3)))\n"
            "reveal_type(shiftvit.Dataset.synthetic(3)[1:2])\n"
        )
        wrong = client.replace("num_classes=3", "seed='three'").replace("'shiftvit-cifar10'", "5")
        # The first run reads NumPy's types into the cache, which takes the longest.
        with tempfile.TemporaryDirectory() as cache:
            run = functools.partial(self._mypy, mypy.api.run, os.path.dirname(package), cache)
            for target in ([package], ["-c", client]):
                found = run(target)
                self.assertEqual(found[2], 0, found[0])
            self.assertIn("numpy.ndarray[", found[0])
            self.assertIn('"shiftvit.data.Dataset"', found[0])
            self.assertEqual(run(["-c", wrong])[0].count("[arg-type]"), 2)

    def _mypy(self, run, folder, cache, target):
        with unittest.mock.patch.dict(os.environ, {"MYPYPATH": folder}):
            return run(["--strict", "--cache-dir", cache, *target])
