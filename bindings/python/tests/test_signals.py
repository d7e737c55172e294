"""Signal handlers that raise, as that of Ctrl-C does, at any moment: the exception arrives, and nothing stays in use."""

import asyncio
import contextlib
import ctypes
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
import weakref
from unittest import mock

import numpy as np
import shiftvit
from shiftvit import _library, _signals
from support import FolderTest, few, tiny


class Alarm(BaseException):
    """Of no kind that functions between catch: numpy.array_equal answers False to an Exception."""


def alarm(number, frame):
    raise Alarm


@unittest.skipUnless(hasattr(signal, "setitimer"), "this system has no timers that send signals")
class Signals(FolderTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, alarm))
        self.model = tiny()
        self.images, self.labels = few()

    def interrupt(self, function, times, longest):
        """Calls a function again and again until a signal has come, that many times. A finaliser of the interpreter can
        swallow one, so that another follows."""
        chance = random.Random(7)
        for _ in range(times):
            end = time.monotonic() + 60
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-5, longest), 5)
                while time.monotonic() < end:
                    function()
                self.fail("no signal has come out of a call")
            except Alarm:
                signal.setitimer(signal.ITIMER_REAL, 0)

    def unused(self, *handles):
        for handle in handles:
            state = handle._state
            self.assertEqual((state.calls, state.views), ({}, 0), handle)
            for access in state.accesses.values():
                self.assertEqual((access._readers, access._writer), ({}, None), handle)

    def test_a_handler_that_raises_where_handlers_are_put_back_leaves_none_replaced(self):
        of_package = _signals._signals
        raising = [True]

        def trace(frame, event, argument):
            if raising and frame.f_code is type(of_package)._put_back.__code__:
                raising.clear()
                sys.settrace(before)
                raise Alarm

        token = of_package.hold()
        self.assertIsNot(signal.getsignal(signal.SIGALRM), alarm)
        before = sys.gettrace()
        sys.settrace(trace)
        with self.assertRaises(Alarm):
            of_package.release(token)
        sys.settrace(before)
        self.assertEqual(raising, [])
        self.assertIs(signal.getsignal(signal.SIGALRM), alarm)

    def test_a_handler_waits_where_what_it_raises_would_not_end_the_call(self):
        logged = _library.guard(lambda: signal.raise_signal(signal.SIGALRM), None)
        token = _signals.hold()
        try:
            self.assertIsNone(logged())
            self.assertIsNone(_library._pending.late)
            with self.assertRaises(Alarm):
                _signals.poll()
        finally:
            _signals.release(token)

    def test_short_calls_are_interrupted_whole(self):
        session = shiftvit.Session(self.model, max_batch=1)
        one = self.images[:1]
        for function in (lambda: self.model.config, lambda: session.forward(one), lambda: self.model.parameter_count):
            self.interrupt(function, 60, 2e-3)
            self.unused(self.model, session)
        self.assertIs(signal.getsignal(signal.SIGALRM), alarm)
        self.model.set_trainable("*")

    def test_calls_of_hours_end_when_a_signal_comes(self):
        model = tiny(num_classes=10)
        many = shiftvit.Dataset.synthetic(5_000_000)
        few_of_them = shiftvit.Dataset.synthetic(8)
        pipeline = {f"{part}_{side}": 32 for part in ("source", "resize", "output") for side in ("height", "width")}
        features = shiftvit.FeatureSet.compute(model, few_of_them, pipeline=pipeline)
        for function in (
            lambda: model.evaluate(many, pipeline=pipeline, batch_size=64),
            lambda: shiftvit.FeatureSet.compute(model, many, pipeline=pipeline, batch=64),
            lambda: model.fit_head(features, epochs=1_000_000),
            lambda: many.statistics(),
            lambda: model.fit(few_of_them, epochs=1, validation_data=many, pipeline=pipeline),
        ):
            started = time.monotonic()
            self.interrupt(function, 1, 2e-1)
            self.assertLess(time.monotonic() - started, 30)
            self.unused(model, many, few_of_them, features)

    def test_ctrl_c_in_a_validation_leaves_a_checkpoint(self):
        folder = self.folder / "run"
        model = tiny(num_classes=10)
        data, many = shiftvit.Dataset.synthetic(8), shiftvit.Dataset.synthetic(5_000_000)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with self.assertRaises(Alarm):
            model.fit(data, validation_data=many, epochs=2, folder=folder)
        self.assertTrue((folder / "checkpoint.safetensors").exists())
        self.unused(model, data, many)

    def test_a_loss_function_is_interrupted_by_the_exception_of_the_handler(self):
        def loss(logits, labels):
            return shiftvit.cross_entropy(logits, labels)

        def fit():
            self.model.fit(self.images, self.labels, epochs=1, batch_size=2, loss_function=loss)

        self.interrupt(fit, 40, 2e-2)
        self.unused(self.model)
        fit()

    def test_a_dataset_of_a_function_gives_no_pixels_that_nobody_wrote(self):
        pixels = np.full((32, 32, 3), 200, np.uint8)
        data = shiftvit.Dataset.from_function(lambda index: (pixels, 1), 8, (32, 32, 3), 3)

        def read():
            image, label = data[3]
            if label != 1 or not np.array_equal(image, pixels):
                raise AssertionError("the sample is not that of the function")

        self.interrupt(read, 100, 1e-3)
        self.unused(data)

    def test_labels_of_many_samples_are_interrupted(self):
        pixels = np.zeros((2, 2, 3), np.uint8)
        asked = []
        made = shiftvit.Dataset.from_function(lambda index: (asked.append(index) or pixels, 1), 300_000, (2, 2, 3), 3)
        arrays = shiftvit.Dataset.from_arrays(pixels[None], [1]).select(np.zeros(300_000, int))
        for data in (made, arrays):
            for read in (lambda: data.labels, lambda: data.targets):
                self.interrupt(read, 5, 1e-2)
            self.unused(data)
        self.assertLess(max(asked), 299_999)

    def test_a_signal_that_comes_before_the_first_line_of_a_callback_is_raised_by_the_call(self):
        called = []
        guarded = _library.guard(lambda: called.append(1) or 0, 7)
        token = _signals.hold()
        signal.raise_signal(signal.SIGALRM)
        self.assertEqual(guarded(), 7)
        self.assertEqual(called, [])
        self.assertIsInstance(_library._pending.error, Alarm)
        _signals.release(token)

    def test_signals_as_a_callback_begins_and_ends_leave_its_result_or_their_exception(self):
        """Python runs handlers where a call begins. One that raised as a callback ended was followed by another as that
        was handled, and the sample was what lay in memory."""
        state, left, lost = _signals._signals, [], []

        def entered(function):
            def enter(*arguments):
                if state._open and left:
                    left.pop()
                    raise Alarm
                return function(*arguments)

            return enter

        methods = [name for name in vars(type(state)) if not name.startswith("__")]
        names = [name for name, value in vars(_signals).items() if getattr(value, "__self__", None) is state]
        with contextlib.ExitStack() as stack:
            for owner, name in [(state, name) for name in methods] + [(_signals, name) for name in names]:
                stack.enter_context(mock.patch.object(owner, name, entered(getattr(owner, name))))
            stack.enter_context(mock.patch.object(sys, "unraisablehook", lost.append))
            for early in (False, True):
                for signals in (1, 2, 3):

                    def read(index):
                        left[:] = [True] * signals
                        return np.full((32, 32, 3), 200, np.uint8), 1

                    left[:] = [True] * signals * early
                    data = shiftvit.Dataset.from_function(read, 1, (32, 32, 3), 3)
                    with self.subTest(signals=signals, early=early), contextlib.suppress(Alarm):
                        image, label = data[0]
                        self.assertEqual((image.min(), image.max(), label), (200, 200, 1))
                    self.assertEqual((lost, state._open), ([], False))
                    self.unused(data)

    def test_what_a_handler_raises_in_a_finaliser_is_raised_by_the_next_call(self):
        function, lost = _library.functions["svit_dataset_free"], []
        free = function.pointer

        def interrupted(handle):
            signal.raise_signal(signal.SIGALRM)
            free(handle)
            lost.append("freed")

        data = shiftvit.Dataset.from_arrays(self.images, self.labels)
        with mock.patch.object(function, "pointer", interrupted), mock.patch.object(sys, "unraisablehook", lost.append):
            del data
        self.assertEqual(lost, ["freed"])
        self.assertRaises(Alarm, lambda: self.model.config)
        self.assertGreater(self.model.parameter_count, 0)
        self.unused(self.model)

    def test_a_signal_as_a_finaliser_begins_keeps_nothing_from_its_end(self):
        def at_entry(code):
            def trace(frame, event, argument):
                if frame.f_code is code:
                    sys.settrace(before)
                    entered.append(code)
                    raise Alarm

            return trace

        before, entered = sys.gettrace(), []
        for code in (weakref.finalize.__call__.__code__, type(_signals._signals).finalise.__code__):
            session = shiftvit.Session(self.model, max_batch=1)
            features, more = (shiftvit.FeatureSet(np.ones((2, 3), np.float32), [0, 1]) for _ in range(2))
            values = features.values
            with mock.patch.object(sys, "unraisablehook", lambda what: None):
                sys.settrace(at_entry(code))
                del session
                sys.settrace(at_entry(code))
                del values
                sys.settrace(before)
            self.assertEqual(entered[-2:], [code, code])
            self.model.replace_head(3)
            features.append(more)

    def test_a_callback_that_takes_long_is_interrupted(self):
        def forever(index):
            signal.raise_signal(signal.SIGALRM)
            raise AssertionError("the handler did not run")

        data = shiftvit.Dataset.from_function(forever, 1, (32, 32, 3), 3)
        self.assertRaises(Alarm, lambda: data[0])
        self.unused(data)

    def test_calls_within_a_callback_let_handlers_wait_again(self):
        seen = []

        def read(index):
            token = _signals.hold()
            signal.raise_signal(signal.SIGALRM)
            seen.append("went on")
            _signals.release(token)
            raise AssertionError("the handler did not run")

        data = shiftvit.Dataset.from_function(read, 1, (32, 32, 3), 3)
        self.assertRaises(Alarm, lambda: data[0])
        self.assertEqual(seen, ["went on"])

    def test_all_handlers_that_waited_run_though_the_first_raises(self):
        ran = []

        def handler(number, frame):
            ran.append(number)
            raise Alarm

        numbers = (signal.SIGALRM, signal.SIGUSR1, signal.SIGTERM)
        for number in numbers:
            self.addCleanup(signal.signal, number, signal.signal(number, handler))
        token = _signals.hold()
        for number in numbers:
            signal.raise_signal(number)
        self.assertEqual(ran, [])
        self.assertRaises(Alarm, _signals.release, token)
        self.assertEqual(sorted(ran), sorted(numbers))
        for number in numbers:
            self.assertIs(signal.getsignal(number), handler)

    def test_the_handler_of_every_signal_waits(self):
        names = ("SEGV", "BUS", "FPE", "ILL", "TRAP", "SYS", "ABRT", "KILL", "STOP")
        numbers = signal.valid_signals() - {getattr(signal, f"SIG{name}", None) for name in names}
        self.assertLessEqual({signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT, signal.SIGTSTP}, numbers)
        for number in numbers:
            self.addCleanup(signal.signal, number, signal.signal(number, alarm) or signal.SIG_DFL)
            with self.subTest(number):
                token = _signals.hold()
                signal.raise_signal(number)
                self.assertRaises(Alarm, _signals.release, token)
                self.assertIs(signal.getsignal(number), alarm)

    def test_a_handler_that_a_callback_sets_waits_after_it(self):
        guarded = _library.guard(lambda: 0 if signal.signal(signal.SIGUSR1, alarm) is before else 1, 7)
        before = signal.getsignal(signal.SIGUSR1)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        token = _signals.hold()
        self.assertEqual(guarded(), 0)
        signal.raise_signal(signal.SIGUSR1)
        self.assertRaises(Alarm, _signals.release, token)
        self.assertIs(signal.getsignal(signal.SIGUSR1), alarm)

    def test_an_event_loop_handles_a_signal_once(self):
        handled = []
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        loop.add_signal_handler(signal.SIGALRM, handled.append, 1)
        token = _signals.hold()
        signal.raise_signal(signal.SIGALRM)
        _signals.release(token)
        loop.run_until_complete(asyncio.sleep(0.05))
        loop.remove_signal_handler(signal.SIGALRM)
        self.assertEqual(handled, [1])

    def test_a_handler_that_a_callback_sets_stays(self):
        def other(number, frame):
            raise KeyError("other")

        def read(index):
            signal.signal(signal.SIGALRM, other)
            return np.zeros((32, 32, 3), np.uint8), 0

        shiftvit.Dataset.from_function(read, 1, (32, 32, 3), 3)[0]
        self.assertIs(signal.getsignal(signal.SIGALRM), other)

    def test_a_handler_that_is_put_back_after_the_call_serves(self):
        found = []

        def read(index):
            found.append(signal.signal(signal.SIGALRM, signal.SIG_IGN))
            return np.zeros((32, 32, 3), np.uint8), 0

        shiftvit.Dataset.from_function(read, 1, (32, 32, 3), 3)[0]
        signal.signal(signal.SIGALRM, found[0])
        self.assertRaises(Alarm, signal.raise_signal, signal.SIGALRM)
        self.interrupt(lambda: self.model.config, 3, 1e-3)

    def test_a_wait_for_another_thread_is_interrupted(self):
        session = shiftvit.Session(self.model, max_batch=1)
        go, inside = threading.Event(), threading.Event()

        def use():
            session._state.enter()
            inside.set()
            go.wait(10)
            session._state.leave()

        thread = threading.Thread(target=use)
        thread.start()
        inside.wait()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        started = time.monotonic()
        try:
            self.assertRaises(Alarm, session.forward, self.images[:1])
        finally:
            go.set()
            thread.join()
        self.assertLess(time.monotonic() - started, 5)
        self.unused(session, self.model)

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_a_child_of_another_thread_has_the_handlers_of_the_program(self):
        ends = []

        def fork():
            child = os.fork()
            if child == 0:
                os._exit(0 if signal.getsignal(signal.SIGALRM) is alarm else 1)
            ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

        token = _signals.hold()
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
        _signals.release(token)
        self.assertEqual(ends, [0])
        self.assertIs(signal.getsignal(signal.SIGALRM), alarm)

    def test_ctrl_c_during_fit_leaves_a_checkpoint(self):
        folder = self.folder / "run"
        steps = []

        def loss(logits, labels):
            steps.append(1)
            if len(steps) == 4:
                ctypes.pythonapi.PyErr_SetInterrupt()
            return shiftvit.cross_entropy(logits, labels)

        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        with self.assertRaises(KeyboardInterrupt):
            self.model.fit(
                self.images, self.labels, epochs=50, batch_size=2, loss_function=loss, folder=folder
            )
        self.assertTrue((folder / "checkpoint.safetensors").exists())
        self.assertEqual(len(steps), 4)

    def test_objects_are_freed_wherever_the_stack_ends(self):
        """A program of its own, which hung where the stack was nearly full."""
        program = (
            "import sys, shiftvit\n"
            "sys.unraisablehook = lambda what: None\n"
            "def clear(depth, objects):\n"
            "    return clear(depth - 1, objects) if depth else objects.clear()\n"
            "for depth in range(sys.getrecursionlimit() - 80, sys.getrecursionlimit()):\n"
            "    objects = [shiftvit.Context(threads=1)]\n"
            "    try:\n"
            "        clear(depth, objects)\n"
            "    except RecursionError:\n"
            "        objects.clear()\n"
            "shiftvit.Context(threads=1).close()\n"
            "print('freed')\n"
        )
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environment
        )
        self.assertEqual((done.stdout, done.returncode), ("freed\n", 0), done.stderr)


if __name__ == "__main__":
    unittest.main()
