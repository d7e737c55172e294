"""A model or a feature set that one thread changes while another uses it: an exception, never a crash."""

import contextlib
import copy
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from unittest import mock

import numpy as np
import shiftvit
from shiftvit import _access, _library, errors
from support import FolderTest, few, tiny
from thread_pairs import APPENDS, CHANGES, FEATURES, READS, Shared


class Blocked:
    """Runs a function on another thread, which waits within a call of the library until the block ends."""

    def __init__(self, function):
        self.inside, self.go = threading.Event(), threading.Event()
        self.error = None
        self.thread = threading.Thread(target=self.run, args=(function,))

    def run(self, function):
        try:
            function(self.wait)
        except BaseException as error:
            self.error = error
        self.inside.set()

    def wait(self):
        self.inside.set()
        self.go.wait()

    def __enter__(self):
        self.thread.start()
        self.inside.wait()
        return self

    def __exit__(self, *raised):
        self.go.set()
        self.thread.join()
        if self.error:
            raise self.error


class Views(unittest.TestCase):
    def test_an_array_that_another_thread_makes_before_append_changes_the_set_is_kept(self):
        features, other = (shiftvit.FeatureSet(np.ones((4, 8), np.float32)) for _ in range(2))
        arrays, call = [], _library.call

        def show_first(name, *arguments):
            if name == "svit_features_append" and not arrays:
                thread = threading.Thread(target=lambda: arrays.append(features.values))
                thread.start()
                thread.join()
            return call(name, *arguments)

        with mock.patch.object(_library, "call", show_first):
            with self.assertRaisesRegex(BufferError, "memory of the FeatureSet"):
                features.append(other)
        self.assertEqual(arrays.pop().shape, (4, 8))
        features.append(other)
        self.assertEqual(len(features), 8)


class Interrupted(unittest.TestCase):
    def test_a_signal_handler_may_read_what_its_thread_begins_to_use(self):
        model = tiny()
        access = model._state.accesses["M"]
        with access._lock:
            self.assertTrue(access._lock.acquire(timeout=1))
            access._lock.release()
            self.assertGreater(model.parameter_count, 0)
        model.replace_head(4)


@contextlib.contextmanager
def held(*locks):
    """Locks that another thread holds meanwhile."""

    def hold(wait):
        with contextlib.ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            wait()

    with Blocked(hold):
        yield


@unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
class Waits(unittest.TestCase):
    def test_of_two_that_wait_the_second_is_refused_and_the_first_goes_on(self):
        access, events = _access.Access("Model"), []
        access.begin(None)
        first = threading.Thread(target=access.alone, args=(lambda: events.append("first"),))
        first.start()
        while access.waiting is None:
            time.sleep(1e-3)
        with self.assertRaisesRegex(errors.StateError, "a training waits to change the Model"):
            access.alone(lambda: events.append("second"))
        self.assertEqual(access.waiting, first.ident)
        access.end(None)
        first.join()
        self.assertEqual((events, access.waiting), (["first"], None))


class Forked(unittest.TestCase):
    def in_child(self, *uses):
        """Requires that a child by fork ends, with what each function returns true."""
        # Python 3.12 and later warn of fork in a process with threads, which these tests are about.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            signal.alarm(60)  # which ends a child that waits
            code = 99
            try:
                wrong = [number for number, use in enumerate(uses, 1) if not use()]
                code = wrong[0] if wrong else 0
            finally:
                os._exit(code)
        state = os.waitpid(child, 0)[1]
        self.assertEqual(state, 0, f"signal {state & 127}, or the use {state >> 8}")

    def refuses(self, use, words):
        try:
            use()
        except errors.StateError as error:
            return words in str(error)
        return False

    def test_a_child_is_refused_what_another_thread_of_its_parent_uses(self):
        def sample(index):
            wait()
            return np.zeros((32, 32, 3), np.uint8), 0

        data = shiftvit.Dataset.from_function(sample, 1, (32, 32, 3), 1)
        loader = shiftvit.Loader(data, shiftvit._fit.plain_pipeline((32, 32), (32, 32), 3, 1.0), batch=1)
        blocked = Blocked(lambda waits: loader.next())
        wait = blocked.wait
        with blocked:
            uses = (loader.next, lambda: len(loader), lambda: loader.seek(0))
            self.in_child(*(lambda use=use: self.refuses(use, "before os.fork") for use in uses))

    def test_a_child_reads_and_frees_what_other_threads_of_its_parent_had_locked(self):
        model, other, features = tiny(), tiny(), shiftvit.FeatureSet(np.ones((4, 8), np.float32))
        handles = (model, other, features, shiftvit.default_context())
        locks = [handle._state.lock for handle in handles]
        locks += [access._lock for handle in handles for access in handle._state.accesses.values()]

        def close():
            other.close()
            return other._state.pointer is None

        with held(*locks):
            self.in_child(
                lambda: model.parameter_count > 0,
                lambda: features.values.shape == (4, 8),
                lambda: shiftvit.default_context().threads > 0,
                close,
            )
        self.assertGreater(model.parameter_count, 0)

    def test_a_child_reads_what_any_thread_may_read_and_has_its_own_for_the_rest(self):
        model, data = tiny(), shiftvit.Dataset.from_arrays(*few())
        model.pipeline = shiftvit._fit.plain_pipeline((32, 32), (32, 32), 3, 1.0)
        session, optimizer = shiftvit.Session(model, mode="train"), shiftvit.Optimizer(model)
        predictor, extractor = shiftvit.Predictor(model), shiftvit.Extractor(model)
        loader, trainer = shiftvit.Loader(data, model.pipeline), shiftvit.Trainer(model, data)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "checkpoint")
            shiftvit.save_checkpoint(path, model, optimizer, session)
            checkpoint = shiftvit.Checkpoint(path)
        calls = (
            lambda: session.layers,
            lambda: optimizer.get("learning_rate"),
            lambda: predictor.classes,
            lambda: extractor.channels,
            lambda: len(loader),
            lambda: trainer.history,
        )
        self.in_child(*(lambda call=call: self.refuses(call, "was made before os.fork") for call in calls))
        self.in_child(
            lambda: len(model.parameters()["norm.bias"]) == 8,
            lambda: len(model.to_bytes()) > 0,
            lambda: data[1][1] == 1 and len(data.labels) == 6,
            lambda: checkpoint.number("optimizer.steps") == 0,
            lambda: self.refuses(lambda: model.predict(few()[0]), "a forked child without the threads"),
            lambda: [handle.close() for handle in (session, optimizer, predictor, extractor, loader, trainer, model)],
        )

    def test_a_child_has_no_calls_of_other_threads(self):
        """It changes what they read, and frees what they used, but does not read what they were changing."""
        model, features = tiny(), shiftvit.FeatureSet(np.ones((4, 8), np.float32))
        reads = [_library.reading(model, features)]
        changes = [_library.in_use("svit_features_append", "F", "F", (features,))]

        def append():
            features.append(shiftvit.FeatureSet(np.ones((4, 8), np.float32), context=shiftvit.Context(threads=1)))
            return len(features) == 8

        def close():
            model.close()
            return model._state.pointer is None

        with held(*reads):
            self.in_child(append, close)
        with held(*changes):
            self.in_child(
                lambda: self.refuses(lambda: features.values, "half changed"),
                lambda: self.refuses(append, "half changed"),
            )
        self.assertEqual(features.values.shape, (4, 8))

    def test_a_child_of_a_callback_is_in_the_calls_of_its_thread(self):
        model, features = tiny(), shiftvit.FeatureSet(np.ones((4, 8), np.float32))
        with _library.reading(model):
            self.in_child(lambda: len(model._state.calls) == 1, lambda: model.parameter_count > 0)
            self.in_child(lambda: self.refuses(lambda: model.replace_head(4), "a callback cannot change"))
        with _library.in_use("svit_features_append", "F", "F", (features,)):
            self.in_child(lambda: features.values.shape == (4, 8))


class Threads(FolderTest):
    def read_slowly(self, shared):
        """What keeps a call that reads the model from ending."""

        def evaluate(wait):
            def sample(index):
                wait()
                return np.zeros((32, 32, 3), np.uint8), 0

            shared.model.evaluate(shiftvit.Dataset.from_function(sample, 1, (32, 32, 3), 3))

        return Blocked(evaluate)

    def change_slowly(self, shared):
        """Likewise for one that changes it: a step whose loss waits."""

        def fit(wait):
            def loss(logits, labels):
                wait()
                return shiftvit.cross_entropy(logits, labels)

            shared.model.fit(*few(), epochs=1, loss=loss)

        return Blocked(fit)

    def test_while_one_thread_changes_a_model_every_other_use_is_refused(self):
        for name, operation in {**READS, **CHANGES}.items():
            with self.subTest(operation=name):
                shared = Shared(self.folder)
                with self.change_slowly(shared):
                    with self.assertRaisesRegex(errors.StateError, "Model.fit or a Trainer changes the Model"):
                        operation(shared)
                operation(shared)

    def test_a_prediction_during_fit_is_told_of_a_copy(self):
        shared = Shared(self.folder)
        copied = copy.copy(shared.model)
        with self.change_slowly(shared):
            with self.assertRaises(errors.StateError) as caught:
                shared.model.predict(np.zeros((1, 32, 32, 3), np.uint8))
            copied.predict(np.zeros((1, 32, 32, 3), np.uint8))
        message = str(caught.exception)
        self.assertRegex(message, r"^Model\.fit .* need a copy\.copy\(model\), made before$")
        self.assertNotIn("svit_", message)

    def test_while_one_thread_reads_a_model_others_read_it_and_none_changes_it(self):
        for name, operation in {**READS, **CHANGES}.items():
            if name == "fit":  # which waits
                continue
            with self.subTest(operation=name):
                shared = Shared(self.folder)
                with self.read_slowly(shared):
                    if name in READS:
                        operation(shared)
                        continue
                    words = r"^(assigning )?[A-Z]\w+\.\w+( or a Trainer)? changes the Model, which other calls use"
                    with self.assertRaisesRegex(errors.StateError, words):
                        operation(shared)
                operation(shared)

    def test_feature_sets_have_many_readers_or_one_append(self):
        for name, operation in FEATURES.items():
            with self.subTest(operation=name):
                shared = Shared(self.folder)
                uses = [handle._state.accesses["F"] for handle in (shared.features, shared.more)]

                def used(change):
                    def hold(wait):
                        for use in uses:
                            use.begin(change)
                        wait()
                        for use in uses:
                            use.end(change)

                    return Blocked(hold)

                with used(None):
                    if name in APPENDS:
                        with self.assertRaisesRegex(errors.StateError, "FeatureSet.append changes the FeatureSet"):
                            operation(shared)
                    else:
                        operation(shared)
                with used("svit_features_append"):
                    with self.assertRaisesRegex(errors.StateError, "changes the FeatureSet at the moment"):
                        operation(shared)
                operation(shared)

    def test_a_list_of_names_is_that_of_one_moment(self):
        shared = Shared(self.folder)
        model, features = shared.model, shared.features
        model.classes = ["a", "b", "c"]
        model.set_text_head(np.eye(3), ["d", "e", "f"])
        session, predictor = shiftvit.Session(model, max_batch=1), shiftvit.Predictor(model)
        refused = []

        def changing(change, name):
            function = _library.functions[name]
            pointer = function.pointer

            def run():
                with self.assertRaises(errors.StateError):
                    change()
                refused.append(change)

            def read(*arguments):
                thread = threading.Thread(target=run)
                thread.start()
                thread.join()
                return pointer(*arguments)

            return mock.patch.object(function, "pointer", read)

        def unnamed():
            model.classes = None

        for name, names, change in (
            ("model_class", lambda: model.classes, unnamed),
            ("model_text_class", lambda: model.text_classes, unnamed),
            ("model_parameter", lambda: list(model.parameters()), unnamed),
            ("session_layer", lambda: session.layers, unnamed),
            ("predictor_class", lambda: predictor.classes, unnamed),
            (
                "predictor_class",
                lambda: sorted(name for name, value in predictor.top(few()[0][0], 3)),
                unnamed,
            ),
            ("features_class", lambda: features.classes, lambda: features.append(shared.more)),
        ):
            wanted = names()
            refused.clear()
            with changing(change, f"svit_{name}_name"):
                self.assertEqual(names(), wanted)
            self.assertGreater(len(refused), 2, name)

    def test_callbacks_read_the_model_of_their_call_and_do_not_change_it(self):
        x, y = few()
        model = tiny()
        model.pipeline = shiftvit._fit.plain_pipeline((32, 32), (32, 32), 3, 1.0)
        data = shiftvit.Dataset.from_arrays(x, y)
        seen = []

        def loss(logits, labels):
            seen.append(model.predict(x).shape)
            seen.append(trainer.get("learning_rate"))
            for change in (
                lambda: model.set_trainable("*", False),
                lambda: model.parameters().__setitem__("norm.bias", np.ones(8)),
                lambda: model.fit(x, y, epochs=1),
                trainer.step,
                trainer.checkpoint,
                trainer.resume,
            ):
                with self.assertRaisesRegex(errors.StateError, "callback"):
                    change()
            return shiftvit.cross_entropy(logits, labels)

        with shiftvit.Trainer(model, data, pipeline=model.pipeline, epochs=1, batch=6, loss=loss) as trainer:
            trainer.run()
        self.assertEqual(seen, [(6, 3), 0.001])

        def sample(index):
            with self.assertRaisesRegex(errors.StateError, "callback"):
                loader.next()
            return np.zeros((32, 32, 3), np.uint8), 0

        functions = shiftvit.Dataset.from_function(sample, 2, (32, 32, 3), 3)
        with shiftvit.Loader(functions, model.pipeline, batch=2) as loader:
            self.assertEqual(len(loader.next()[1]), 2)

    def test_an_object_is_free_after_a_use_that_failed(self):
        model = tiny()
        for _ in range(3):
            with self.assertRaises(ValueError):
                model.set_trainable("nothing", False)
            with self.assertRaises(ValueError):
                model.predict(few()[0][:0])
            with self.assertRaises(shiftvit.Error):
                shiftvit.FeatureSet(np.eye(3)).knn(np.eye(3))
        access = model._state.accesses["M"]
        self.assertEqual((access._readers, access._writer), ({}, None))

    def last_line(self, program, *arguments):
        """That of a program which a fault may end."""
        path = pathlib.Path(__file__).with_name(program)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-W", "ignore", str(path), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)
        lines = done.stdout.splitlines()
        self.assertEqual(done.returncode, 0, f"{lines[-1:]} {done.stderr[-2000:]}")
        print(lines[-1], end=" ", flush=True)
        return lines[-1]

    def test_changes_between_the_calls_of_an_operation_end_in_a_result_or_an_error(self):
        cases, changed, refused = map(int, re.findall(r"\d+", self.last_line("between_calls.py")))
        self.assertGreater(changed, 300)
        self.assertGreater(refused, 100)
        self.assertEqual(cases, changed + refused)

    def test_pairs_of_operations_end_in_a_result_or_an_error(self):
        line = self.last_line("thread_pairs.py", "3")
        pairs = (len(READS) + len(CHANGES)) * (len(READS) + len(CHANGES) + 1) // 2
        self.assertIn(f"{pairs + len(FEATURES) * (len(FEATURES) + 1) // 2} pairs", line)
        self.assertIn("StateError", line)
