"""No function of the package takes one handle for another: every function with every wrong value, in a process of its
own, since a case that fails may end it."""

import itertools
import os
import pathlib
import re
import subprocess
import sys
import unittest

import headers
from shiftvit import _signatures

PROGRAM = pathlib.Path(__file__).with_name("wrong_values.py")
#: Functions that take a handle without const and change nothing that other threads may read.
UNCHANGING = {
    "svit_evaluate": "M",
    "svit_evaluate_logits": "M",
    "svit_evaluate_with_compute": "M",
    "svit_extractor_create": "M",
    "svit_features_compute": "M",
    "svit_optimizer_create": "M",
    "svit_predictor_create_from_model": "M",
    "svit_session_create": "M",
    "svit_session_memory_needed": "M",
    "svit_trainer_optimizer": "T",
}


def run(kind):
    """The number of cases, and what is wrong: ``{"Session.__init__: model is Dataset": "ended by signal 11"}``."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    first, wrong, ended = 0, {}, False
    while not ended and len(wrong) < 100:
        command = [sys.executable, "-W", "ignore", str(PROGRAM), kind, str(first)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)
        lines = done.stdout.splitlines()
        ended = bool(lines) and lines[-1] == "end"
        cases = list(itertools.zip_longest(lines[::2], lines[1::2]))[: -1 if ended else None]
        if not ended and (not cases or cases[-1][1] is not None):
            raise AssertionError(f"the program ended between two cases: {done.stdout[-300:]} {done.stderr[-1000:]}")
        for case, result in cases:
            number, _, title = case.partition(" ")
            if result != "ok":
                wrong[title] = result or f"the process ended with {done.returncode} {done.stderr[-300:]}"
        first = int(number) + 1
    return first, wrong


class Handles(unittest.TestCase):
    def test_public_functions_refuse_every_wrong_value(self):
        count, wrong = run("public")
        print(f"{count} cases", end=" ", flush=True)
        self.assertEqual(wrong, {})
        self.assertGreater(count, 5000)

    def test_declared_functions_refuse_every_wrong_handle(self):
        count, wrong = run("declared")
        print(f"{count} cases", end=" ", flush=True)
        self.assertEqual(wrong, {})
        self.assertGreater(count, 10000)

    def test_what_functions_change_follows_from_the_headers(self):
        for name, letters in headers.changed().items():
            with self.subTest(function=name):
                # Contexts, datasets and locks of folders are for any number of threads.
                declared = set(re.sub("[CDW]", "", letters)) - set(UNCHANGING.get(name, ""))
                recorded = set(_signatures.CHANGES.get(name, ""))
                # A model is also changed through the handles that were created from it.
                self.assertIn(recorded, (declared, declared | {"M"}))
