"""Objects end in any order, while others use them, on several threads, and in a child by fork."""

import gc
import logging
import os
import random
import subprocess
import sys
import threading
import time
import unittest
import weakref
from unittest import mock

import numpy as np
import shiftvit
from shiftvit import _library, errors
from support import ROOT, few, synthetic, tiny


class Lifetimes(unittest.TestCase):
    def everything(self):
        """One of each object, every one created from those before it."""
        x, y = few(16)
        context = shiftvit.Context(threads=2)
        model = shiftvit.Model(tiny().config, context=context)
        data = shiftvit.Dataset.from_arrays(x.copy(), y.copy(), context=context)
        part = data[2:14]
        pipeline = shiftvit._fit.pipeline_of(model, data, None)
        trainer = shiftvit.Trainer(model, part, data, pipeline=pipeline, epochs=2, batch=4)
        loader = shiftvit.Loader(part, pipeline, batch=4, shuffle=True)
        session = shiftvit.Session(model, mode="train", context=context)
        predictor = shiftvit.Predictor(model, context=context)
        features = shiftvit.FeatureSet.compute(model, part)
        optimizer = shiftvit.Optimizer(model)
        return [context, model, data, part, trainer, loader, session, predictor, features, optimizer]

    def use(self, item):
        """Uses the object as the last one that is left."""
        x = few(4)[0]
        name = type(item).__name__
        if name == "Trainer":
            self.assertEqual([event.kind for event in item][-1], "finished")
        elif name == "Loader":
            self.assertEqual(sum(len(images) for images, _ in item), 12)
        elif name == "Session":
            self.assertEqual(item.forward(x).shape, (4, 3))
        elif name == "Predictor":
            self.assertEqual(item.predict(x).shape, (4, 3))
        elif name == "Dataset":
            self.assertEqual(item[1][0].shape, (32, 32, 3))
        elif name == "FeatureSet":
            self.assertEqual(item.knn(item.values).shape, (12, 3))

    def test_any_order_of_closing(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                items = self.everything()
                random.Random(seed).shuffle(items)
                while items:
                    items.pop().close()
                    if items:
                        self.use(items[0])

    def test_any_order_of_deletion_and_collection(self):
        # What was there before is left out of the collections, which are faster so.
        gc.collect()
        gc.freeze()
        self.addCleanup(gc.unfreeze)
        for seed in range(20):
            with self.subTest(seed=seed):
                items = self.everything()
                random.Random(seed).shuffle(items)
                watched = [weakref.ref(item) for item in items]
                last = items[0]
                for item in items:
                    item.cycle = [items, item]
                if seed % 2:
                    del items, item
                    last.cycle = None
                    gc.collect()
                else:
                    while items:
                        items.pop().cycle = None
                    gc.collect()
                    del item
                self.use(last)
                del last
                gc.collect()
                self.assertEqual([ref() for ref in watched], [None] * len(watched))

    def test_arrays_live_as_long_as_the_library_reads_them(self):
        images = np.full((64, 32, 32, 3), 51, dtype=np.uint8)
        data = shiftvit.Dataset.from_arrays(images, np.zeros(64, np.int32), num_classes=2)
        base = weakref.ref(images)
        loader = shiftvit.Loader(data[:], {**shiftvit._fit.plain_pipeline((32, 32), (32, 32), 3, 1 / 255)}, batch=8)
        del images
        data.close()
        del data
        gc.collect()
        np.random.default_rng(0).random(1 << 20)
        self.assertIsNotNone(base())
        for x, _ in loader:
            self.assertTrue((x == np.float32(51 * (1 / 255))).all())
        loader.close()
        gc.collect()
        self.assertIsNone(base())

    def test_functions_that_refer_to_the_owner_of_their_object_keep_nothing_alive(self):
        pipeline = shiftvit._fit.plain_pipeline((32, 32), (32, 32), 3, 1 / 255)

        class Owner:
            def __init__(self):
                self.data = shiftvit.Dataset.from_function(self.sample, 4, (32, 32, 3), 3)
                self.part = self.data[1:]
                self.loader = shiftvit.Loader(self.part, pipeline, batch=2)
                options = {"pipeline": pipeline, "loss": self.loss, "epochs": 1, "batch": 2}
                self.trainer = shiftvit.Trainer(tiny(), self.part, self.data, **options)

            def sample(self, index):
                return np.zeros((32, 32, 3), np.uint8), 0

            def loss(self, logits, labels):
                return shiftvit.cross_entropy(logits, labels)

        owner = Owner()
        states = [handle._state for handle in vars(owner).values()]
        for name in ("data", "part"):
            delattr(owner, name)
        gc.collect()
        self.assertEqual(sum(len(y) for _, y in owner.loader), 3)
        self.assertEqual(len(owner.trainer.run().epochs), 1)
        watched = weakref.ref(owner)
        del owner
        gc.collect()
        self.assertIsNone(watched())
        self.assertEqual([state.pointer for state in states], [None] * 4)

    def test_views_keep_their_memory(self):
        values = np.random.default_rng(1).random((1000, 64), dtype=np.float32)
        features = shiftvit.FeatureSet(values)
        view = features.values[10:20, ::2]
        features.close()
        del features
        gc.collect()
        others = [shiftvit.FeatureSet(values * 0) for _ in range(10)]
        np.testing.assert_array_equal(view, values[10:20, ::2])
        del others

    def test_closed_objects_say_so(self):
        for item in self.everything():
            item.close()
            item.close()
            self.assertTrue(item.closed)
            self.assertIn(type(item).__name__, repr(item))
        model = tiny()
        with model:
            pass
        for call in (lambda: model.config, lambda: model.pipeline, model.to_bytes, lambda: shiftvit.Session(model)):
            with self.assertRaisesRegex(errors.StateError, "the Model is closed"):
                call()

    def test_a_handle_is_freed_once_and_after_its_last_call(self):
        freed = []
        original = _library.functions["svit_session_free"].pointer

        def free(pointer):
            freed.append(pointer)
            original(pointer)

        _library.functions["svit_session_free"].pointer = free
        try:
            session = shiftvit.Session(tiny())
            session._state.enter()
            session.close()
            self.assertEqual(freed, [])
            session._state.leave()
            self.assertEqual(len(freed), 1)
            session.close()
            del session
            gc.collect()
            self.assertEqual(len(freed), 1)
        finally:
            _library.functions["svit_session_free"].pointer = original

    def test_no_memory_is_lost(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        if not sys.platform.startswith("linux"):
            self.skipTest("/proc is needed")
        x, y = few(16)
        for count in (5, 40):
            for _ in range(count):
                model = tiny(mlp_dim=65536)  # 4 MiB of weights
                model.fit(x[:2], y[:2], epochs=1)
            if count == 5:
                before = resident()
        self.assertLess(resident() - before, 32 << 20)


class Threads(unittest.TestCase):
    def together(self, functions):
        found = []

        def run(function):
            try:
                function()
            except BaseException as error:
                found.append(error)

        threads = [threading.Thread(target=run, args=(function,)) for function in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [])

    def test_one_predictor_serves_many_threads_in_turn(self):
        images, _ = synthetic(16)
        with shiftvit.Predictor(ROOT / "examples" / "models" / "cifar10.safetensors") as predictor:
            wanted = predictor.predict(images)

            def serve():
                for i in range(6):
                    np.testing.assert_array_equal(predictor.predict(images), wanted)

            self.together([serve] * 4)

    def test_predictors_of_one_model_in_parallel(self):
        images, _ = synthetic(8)
        model = shiftvit.load(ROOT / "examples" / "models" / "cifar10.safetensors")
        wanted = model.predict(images)

        def serve():
            with shiftvit.Predictor(model, context=shiftvit.Context(threads=1)) as predictor:
                for _ in range(5):
                    np.testing.assert_array_equal(predictor.predict(images), wanted)

        self.together([serve] * 4)

    def test_closing_while_others_predict(self):
        images, _ = synthetic(8)
        for _ in range(5):
            predictor = shiftvit.Predictor(ROOT / "examples" / "models" / "cifar10.safetensors")
            started = threading.Event()

            def serve():
                try:
                    while True:
                        predictor.predict(images)
                        started.set()
                except errors.StateError as error:
                    self.assertIn("closed", str(error))

            def close():
                started.wait()
                predictor.close()

            self.together([serve, serve, serve, close])

    def test_calls_release_the_interpreter(self):
        model = tiny(dim=256, mlp_dim=4096, patch_size=2)
        session = shiftvit.Session(model, max_batch=32, context=shiftvit.Context(threads=1))
        x = np.random.default_rng(0).random((32, 32, 32, 3), dtype=np.float32)
        done, ticks = threading.Event(), []
        thread = threading.Thread(target=lambda: (session.forward(x), done.set()))
        thread.start()
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)
        thread.join()
        self.assertGreater(len(ticks), 5)

    def test_a_child_by_fork_gets_a_context_of_its_own(self):
        script = """
import os, sys, shiftvit, numpy as np
from shiftvit import errors
session = shiftvit.Session(shiftvit.create_model("shiftvit-cifar10", dim=16, blocks=[1]))
x = np.zeros((1, 48, 48, 3), np.float32)
session.forward(x)
child = os.fork()
if child == 0:
    try:
        session.forward(x)
        os._exit(1)
    except errors.StateError:
        pass
    session.close()
    shiftvit.Session(shiftvit.create_model("shiftvit-cifar10", dim=16, blocks=[1])).forward(x)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
session.forward(x)
"""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        # Python 3.12 and later warn of fork in a process with threads, which this test is about.
        command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_interpreter_ends_while_a_daemon_thread_computes(self):
        script = """
import threading, numpy as np, shiftvit, time
session = shiftvit.Session(shiftvit.create_model("shiftvit-cifar10"), max_batch=8)
x = np.zeros((8, 48, 48, 3), np.float32)
def serve():
    while True:
        session.forward(x)
threading.Thread(target=serve, daemon=True).start()
time.sleep(0.3)
"""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class Logging(unittest.TestCase):
    def test_messages_go_to_the_logger(self):
        with self.assertLogs("shiftvit", "INFO") as logs:
            context = shiftvit.Context(threads=1)
            _library.call("svit_context_log", context, _library.constants["SVIT_LOG_WARNING"], "from the test")
        self.assertIn("WARNING:shiftvit:from the test", logs.output)
        self.assertEqual(context.threads, 1)
        self.assertIn("instruction_set", context.describe())

    def test_what_a_handler_of_the_logger_raises_is_raised_by_the_call(self):
        class Strict(logging.Handler):
            def emit(self, record):
                raise LookupError(record.getMessage())

        x, y = few()
        logger, strict, model, lost = logging.getLogger("shiftvit"), Strict(), tiny(), []
        model.pipeline = shiftvit._fit.plain_pipeline((32, 32), (32, 32), 3, 1.0)
        model.threshold = 0.5
        logger.addHandler(strict)
        self.addCleanup(logger.removeHandler, strict)
        with mock.patch.object(sys, "unraisablehook", lost.append), self.assertRaisesRegex(LookupError, "threshold"):
            model.fit(x, y, epochs=1)
        context = shiftvit.Context(threads=1)
        log = _library.functions["svit_context_log"].plain
        for name, arguments in (("svit_context_log", (1, "first")), ("svit_context_threads", ())):
            function = _library.functions[name]

            def warn(*arguments, pointer=function.pointer):
                for text in (b"first", b"second"):
                    log(context._state.pointer, 1, text)
                return pointer(*arguments)

            with mock.patch.object(function, "pointer", warn), self.assertRaisesRegex(LookupError, "first"):
                _library.call(name, context, *arguments)
            self.assertEqual(context.threads, 1)
        self.assertEqual(lost, [])
        logger.removeHandler(strict)
        model.fit(x, y, epochs=1)
        model.replace_head(4)

    def test_workers_are_pinned_where_the_system_permits_it(self):
        self.assertEqual(shiftvit.Context(threads=3).describe()["pinned"], 0)
        with self.assertLogs("shiftvit", "INFO") as logs:
            context = shiftvit.Context(threads=3, pin=True)
            _library.call("svit_context_log", context, _library.constants["SVIT_LOG_INFO"], "created")
        self.assertEqual(context.describe()["pinned"], 2 if len(logs.output) == 1 else 0)

    def test_the_number_of_threads_is_bounded(self):
        self.assertEqual(shiftvit.Context(threads=1024).threads, 1024)
        with self.assertRaisesRegex(shiftvit.errors.ArgumentError, "1025"):
            shiftvit.Context(threads=1025)
