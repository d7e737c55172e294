"""What users of PyTorch and Keras do by habit: it works, or the message says what is meant here."""

import contextlib
import os
import pickle
import signal
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np
import shiftvit
from shiftvit import _handles, _library, errors
from shiftvit.config import plain_pipeline
from support import FolderTest, few, needs_png, synthetic, tiny

PLAIN = {"source_height": 32, "source_width": 32, "resize_height": 32, "resize_width": 32, "output_height": 32,
         "output_width": 32, "scale": 1.0, "flip_probability": 0.0, "mean": [0.5] * 3, "variance": [0.25] * 3}


def dataset(n: int = 6) -> shiftvit.Dataset:
    return shiftvit.Dataset.from_arrays(*few(n))


class Interrupted:
    """A function of the library in whose call the user presses Ctrl-C."""

    def __init__(self, name: str, presses: int = 1) -> None:
        self._function = _library.functions[name].pointer
        self._left = presses

    def __call__(self, *arguments):
        result = self._function(*arguments)
        if self._left:
            self._left -= 1
            os.kill(os.getpid(), signal.SIGINT)
        return result


def interrupted(name: str):
    """For the time of a block, Ctrl-C comes in the first call of a function."""
    return mock.patch.object(_library.functions[name], "pointer", Interrupted(name))


class Words(unittest.TestCase):
    def test_words_are_exact(self):
        model, (x, _) = tiny(), few()
        for word in ("LOGITS", "Sigmoid", "flip_shift", None, 1):
            with self.assertRaisesRegex(errors.ArgumentError, "output is .*accepted are 'auto'"):
                model.predict(x, output=word)
        with self.assertRaisesRegex(errors.ArgumentError, "tta is None"):
            shiftvit.Predictor(model, tta=None)

    def test_names_of_presets_and_settings_are_suggested(self):
        with self.assertRaisesRegex(errors.ArgumentError, "did you mean 'deit-tiny-patch16-224'"):
            shiftvit.create_model("deit_tiny_patch16_224")
        with self.assertRaisesRegex(errors.ArgumentError, r"^preset 'nothing' is unknown; shiftvit\.presets\(\)"):
            tiny().fit(*few(), preset="nothing")
        with self.assertRaisesRegex(TypeError, "preset is an int"):
            shiftvit.create_model(3)
        for call, words in (
            (lambda: shiftvit.Trainer(tiny(), dataset(), batch_size=2), "batch_size is called batch here"),
            (lambda: tiny().fit(*few(), lr=1e-3), "lr is called learning_rate here"),
            (lambda: shiftvit.Optimizer(tiny(), lr=1e-3), "lr is called learning_rate here"),
            (lambda: shiftvit.learning_rate(0, lr=1e-3), "lr is called learning_rate here"),
        ):
            with self.assertRaisesRegex(errors.ArgumentError, words):
                call()

    def test_what_a_trainer_takes_has_another_name_in_fit(self):
        for name, meant in (("batch", "batch_size"), ("training", "x"), ("validation", "validation_data")):
            with self.assertRaisesRegex(TypeError, f"{name} is given as {meant}"):
                tiny().fit(*few(), **{name: 2})
        with self.assertRaisesRegex(TypeError, "existing is given as resume"):
            tiny().fit(*few(), existing="resume")

    def test_map_is_a_flag_of_load(self):
        with self.assertRaisesRegex(TypeError, "map is 'timm'; True or False"):
            shiftvit.load("model.safetensors", map="timm")
        with self.assertRaisesRegex(TypeError, r"Model\.from_bytes reads them"):
            shiftvit.load(tiny().to_bytes())

    def test_what_a_pipeline_has_is_not_given_beside_it(self):
        for word, value in (("height", 64), ("channels", 1), ("filter", "nope")):
            with self.assertRaisesRegex(TypeError, f"takes {word} or pipeline"):
                shiftvit.Dataset.folder("nowhere", pipeline=PLAIN, **{word: value})
        with self.assertRaisesRegex(errors.ArgumentError, "split is 'validation'; accepted are 'train', 'test'"):
            shiftvit.Dataset.cifar10("nowhere", "validation")

    def test_texts_and_flags_are_no_numbers(self):
        model = tiny()
        optimizer = shiftvit.Optimizer(tiny())
        for wrong in ("0.5", b"1", True, np.True_):
            for call in (
                lambda: setattr(model, "threshold", wrong),
                lambda: optimizer.set("learning_rate", wrong),
                lambda: model.add_lora(2, wrong),
                lambda: model.replace_head(wrong),
            ):
                with self.assertRaises(TypeError, msg=repr(wrong)):
                    call()
        with self.assertRaisesRegex(TypeError, "trainable is 'false'"):
            model.set_trainable("*", "false")
        for flag in ("resume", "fine_tune"):
            for wrong in ("no", "", None, 2):
                with self.assertRaisesRegex(TypeError, f"{flag} is {wrong!r}; True or False"):
                    model.fit(*few(), **{flag: wrong})
        with self.assertRaisesRegex(errors.ArgumentError, "batch is True"):
            shiftvit.FeatureSet.compute(model, dataset(), batch=True)
        model.set_trainable("*", False)
        self.assertFalse(model.is_trainable("head.fc1.weight"))
        optimizer.set_parameter("*", "trainable", False)

    def test_classes_have_an_order(self):
        with self.assertRaisesRegex(TypeError, "a set, which has no order"):
            tiny().classes = {"a", "b", "c"}
        data = shiftvit.Dataset.synthetic(2)
        for wrong, words in (
            (set(data.classes), "names is a set, which has no order"),
            (frozenset(data.classes), "names is a set, which has no order"),
            ("abc", "names is the text 'abc'"),
            ([*data.classes, 3], r"names\[10\] is an int"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                data.match_classes(wrong)
        with self.assertRaisesRegex(errors.ArgumentError, r"names\[10\] is ' '; a name that is not blank"):
            data.match_classes([*data.classes, " "])

    def test_subclasses_that_make_no_object_of_the_library_say_so(self):
        class Photos(shiftvit.Dataset):
            def __init__(self):
                self.images = few()[0]

            def __len__(self):
                return len(self.images)

            def __getitem__(self, index):
                return self.images[index], 0

        data = Photos()
        words = "^a Photos is no Dataset of the library: Dataset.from_function makes one"
        for call in (
            lambda: tiny().fit(data, epochs=1),
            lambda: tiny().fit(*few(), validation_data=data),
            lambda: tiny().predict(data),
            lambda: repr(data),
            lambda: data.closed,
            lambda: shiftvit.Dataset.concatenate([data]),
            lambda: shiftvit.Loader(data, PLAIN),
            lambda: shiftvit.Trainer(tiny(), data),
        ):
            with self.assertRaisesRegex(TypeError, words):
                call()
        made = shiftvit.Dataset.from_function(data.__getitem__, len(data), (32, 32, 3), 3, dtype="float32")
        self.assertEqual(len(tiny().fit(made, epochs=1).epochs), 1)

    def test_subclasses_of_all_handles_have_to_create_them(self):
        kinds = [kind for kind in _handles._classes.values() if not kind.__name__.startswith("_")]
        self.assertGreater(len(kinds), 9)
        for kind in kinds:
            own = type("Own", (kind,), {"__init__": lambda self: None})()
            for call in (own.close, lambda: own.closed):
                with self.subTest(kind=kind), self.assertRaisesRegex(TypeError, f"an Own is no {kind.__name__} of"):
                    call()
        with self.assertRaisesRegex(TypeError, "an Own is no Model of the library"):
            type("Own", (shiftvit.Model,), {"__init__": lambda self: None})().context

    def test_callbacks_are_functions(self):
        model, x = tiny(), few()
        self.assertEqual(len(model.fit(*x, epochs=1, callbacks=None).epochs), 1)
        before = model.pipeline
        for wrong, words in (([None], "callbacks has None"), (print, "callbacks is one function")):
            with self.assertRaisesRegex(TypeError, words):
                model.fit(*x, epochs=1, callbacks=wrong, pipeline=PLAIN)
        with self.assertRaisesRegex(TypeError, "the loss is an int"):
            model.fit(*x, epochs=1, loss=5, pipeline=PLAIN)
        self.assertEqual(model.pipeline, before)

    def test_a_callback_that_stops_at_once_leaves_empty_columns(self):
        history = tiny().fit(*few(), callbacks=[lambda event: True])
        self.assertEqual(history.history["train_loss"], [])


class Files(FolderTest):
    def test_missing_files_are_those_of_python(self):
        missing = self.folder / "missing.safetensors"
        for call in (
            lambda: shiftvit.load(missing),
            lambda: shiftvit.load(missing, map=True),
            lambda: shiftvit.read_image(self.folder / "missing.png"),
        ):
            with self.assertRaises(FileNotFoundError) as raised:
                call()
            self.assertIsInstance(raised.exception, errors.FileError)
            self.assertEqual((raised.exception.errno, raised.exception.status), (2, "SVIT_E_IO"))
            again = pickle.loads(pickle.dumps(raised.exception))
            self.assertEqual((type(again), again.errno), (errors.MissingFileError, 2))
        with self.assertRaises(errors.FileError) as raised:
            tiny().save(self.folder)
        self.assertNotIsInstance(raised.exception, FileNotFoundError)

    def test_folders_are_texts_bytes_and_what_has_a_path_of_them(self):
        class Path(os.PathLike):
            def __init__(self, path):
                self.path = path

            def __fspath__(self):
                return self.path

        name = os.fsencode(self.folder / "run")
        for epochs, folder in enumerate((name, Path(name), os.fsdecode(name), Path(os.fsdecode(name))), 1):
            with self.subTest(folder=folder):
                history = tiny().fit(*few(), epochs=epochs, folder=folder, resume=True)
                self.assertEqual(len(history.epochs), epochs)
                with self.assertRaisesRegex(TypeError, "x is the path"):
                    tiny().fit(folder)

    @unittest.skipUnless(os.name == "posix", "Ctrl-C is sent by os.kill")
    def test_ctrl_c_while_a_trainer_is_made_leaves_the_folder_free(self):
        model, x = tiny(), few()
        kept = None
        try:
            with interrupted("svit_trainer_create"):
                model.fit(*x, epochs=1, folder=self.folder / "run")
        except KeyboardInterrupt as interrupt:
            kept = interrupt  # with its traceback, as interactive Pythons keep it
        self.assertIsNotNone(kept)
        self.assertEqual(len(model.fit(*x, epochs=1, folder=self.folder / "run", resume=True).epochs), 1)
        model.replace_head(4)


class Loops(unittest.TestCase):
    def test_a_trainer_is_the_loop_of_fit(self):
        first, second = tiny(), tiny()
        for model in (first, second):
            model.pipeline = PLAIN
        first.fit(*few(), epochs=2, batch_size=4)
        with shiftvit.Trainer(second, dataset(), epochs=2, batch=4, patience=0) as trainer:
            trainer.run()
        self.assertEqual(first.parameters(), second.parameters())
        self.assertEqual(second.pipeline["mean"], PLAIN["mean"])

    def test_a_peek_at_a_batch_does_not_shorten_the_next_epoch(self):
        loader = shiftvit.Loader(dataset(), PLAIN, batch=2, shuffle=True)
        whole = [[labels.tolist() for _, labels in loader] for _ in range(3)]
        loader.seek(0)
        next(iter(loader))
        self.assertEqual([labels.tolist() for _, labels in loader], whole[1])
        for _ in loader:
            break
        while loader.next():
            pass
        loader.seek(1, 1)
        self.assertEqual([labels.tolist() for _, labels in loader], whole[1][1:])
        self.assertEqual([labels.tolist() for _, labels in loader], whole[2])

    @unittest.skipUnless(os.name == "posix", "Ctrl-C is sent by os.kill")
    def test_ctrl_c_in_a_loader_does_not_move_the_epochs(self):
        loader = shiftvit.Loader(dataset(), PLAIN, batch=2)
        with interrupted("svit_loader_next"), self.assertRaises(KeyboardInterrupt):
            loader.next()
        self.assertEqual([len(labels) for _, labels in loader], [2, 2])
        self.assertEqual([len(labels) for _, labels in loader], [2, 2, 2])
        with interrupted("svit_loader_next"), self.assertRaises(KeyboardInterrupt):
            next(iter(loader))
        self.assertEqual([len(labels) for _, labels in loader], [2, 2, 2])

    def test_gradients_are_read_after_the_model_is_closed(self):
        model = tiny()
        session = shiftvit.Session(model, mode="train")
        x, y = few()
        session.backward(shiftvit.cross_entropy(session.forward(x), y)[1])
        before = session.gradient("head.fc1.weight")
        model.close()
        np.testing.assert_array_equal(session.gradient("head.fc1.weight"), before)
        self.assertGreater(np.abs(before).max(), 0)
        session.set_gradient("head.fc1.weight", 2 * before)
        np.testing.assert_array_equal(session.gradient("head.fc1.weight"), 2 * before)

    def test_a_run_waits_for_threads_that_read_its_model(self):
        model = tiny()
        reading, over = threading.Event(), threading.Event()
        waits = []

        def read() -> None:
            with _library.reading(model):
                reading.set()
                over.wait(60)

        thread = threading.Thread(target=read)

        def begin(event) -> None:
            if not thread.ident:
                thread.start()
                reading.wait(60)

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            over.set()
            thread.join(60)

        with mock.patch("time.sleep", sleep):
            history = model.fit(*few(), epochs=1, batch_size=2, callbacks=[begin])
        self.assertEqual((len(history.epochs), len(waits)), (1, 1))

    def test_threads_that_read_without_end_do_not_stop_a_run(self):
        model = tiny()
        model.pipeline = PLAIN
        ended, begun = threading.Event(), threading.Barrier(4)
        refused = []

        def read() -> None:
            begun.wait(60)
            while not ended.wait(0):
                try:
                    model.predict(few(30)[0])
                except errors.StateError as error:
                    refused.append(str(error))

        threads = [threading.Thread(target=read, daemon=True) for _ in range(3)]

        def begin(event) -> None:
            if not threads[0].ident:
                for thread in threads:
                    thread.start()
                begun.wait(60)

        timer = threading.Timer(120, ended.set)
        timer.start()
        model.fit(*few(60), epochs=1, batch_size=1, callbacks=[begin])
        self.assertFalse(ended.is_set())
        timer.cancel()
        ended.set()
        for thread in threads:
            thread.join(60)
        self.assertTrue(all("any number of threads may read it" in text for text in refused), refused[:3])

    def test_fit_begins_and_resumes_beside_threads_that_read_without_end(self):
        model, ended = tiny(), threading.Event()
        model.pipeline = PLAIN

        def read() -> None:
            while not ended.wait(0):
                with contextlib.suppress(errors.StateError):
                    model.predict(few(30)[0])

        threads = [threading.Thread(target=read, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            with tempfile.TemporaryDirectory() as folder:
                for epochs in range(1, 9):
                    history = model.fit(*few(), epochs=epochs, folder=os.path.join(folder, "run"), resume=True)
                    self.assertEqual(len(history.epochs), epochs)
        finally:
            ended.set()
            for thread in threads:
                thread.join(60)

    def test_a_model_that_is_changed_has_a_text_for_monitors(self):
        model = tiny()
        texts = []

        def watch(event) -> None:
            thread = threading.Thread(target=lambda: texts.append(repr(model)))
            thread.start()
            thread.join(60)

        def loss(logits, labels):
            watch(None)
            return shiftvit.cross_entropy(logits, labels)

        model.fit(*few(), epochs=1, loss=loss, callbacks=[watch])
        self.assertIn("<shiftvit.Model, which another call changes>", texts)
        self.assertIn(repr(model), texts)


@needs_png
class Sizes(FolderTest):
    """Image files are brought to one size once."""

    def write_photos(self):
        """Folders of two classes with images of 96 x 64 pixels."""
        for name in ("fox", "owl"):
            (self.folder / name).mkdir()
            for number, image in enumerate(synthetic(8)[0]):
                image = np.repeat(np.repeat(image, 2, axis=1), 3, axis=0)
                shiftvit.write_png(self.folder / name / f"{number}.png", image)

    def test_files_that_are_scaled_twice_are_noticed(self):
        self.write_photos()
        model = tiny(num_classes=2)
        model.pipeline = {**plain_pipeline((36, 36), (32, 32), 3, 1 / 255), "source_filter": "bicubic"}
        scaled = shiftvit.Dataset.folder(self.folder, 32)
        same = shiftvit.Dataset.folder(self.folder, pipeline=model.pipeline)
        wanted = shiftvit.Predictor(model).predict([scaled.path(index) for index in range(len(scaled))])
        np.testing.assert_array_equal(model.predict(same), wanted)
        self.assertGreater(np.abs(model.predict(scaled) - wanted).max(), 0)
        training = {"epochs": 1, "pipeline": model.pipeline}
        for call in (
            model.predict,
            model.evaluate,
            lambda data: model.predict(data[2:9]),
            lambda data: shiftvit.FeatureSet.compute(model, data),
            lambda data: tiny(num_classes=2).fit(data, **training),
            lambda data: tiny(num_classes=2).fit(same, validation_data=data, **training),
        ):
            with self.assertLogs("shiftvit") as logs:
                call(scaled)
                shiftvit.context._logger.info("nothing")
                call(same)
            self.assertEqual(len(logs.output), 2, logs.output)
            self.assertRegex(logs.output[0], "scaled its files to 32 x 32 .* once more, to 36 x 36")

    def test_a_model_reads_files_as_its_training_did(self):
        self.write_photos()
        for filter in ("shorter-side", "squash-bicubic", "nearest"):
            for fine_tune in (False, True):
                model, data = tiny(num_classes=2), shiftvit.Dataset.folder(self.folder, 32, filter=filter)
                model.fit(data, epochs=1, fine_tune=fine_tune)
                with self.subTest(filter=filter, fine_tune=fine_tune), shiftvit.Predictor(model) as predictor:
                    predicted = predictor.predict([data.path(index) for index in range(len(data))])
                    np.testing.assert_array_equal(predicted, model.predict(data))


class Values(unittest.TestCase):
    def test_values_of_another_range_are_noticed(self):
        x, y = few()
        bytes_ = (x * 255).astype(np.uint8)
        of_bytes, of_floats = tiny(), tiny()
        of_bytes.fit(bytes_, y, epochs=1)
        of_floats.fit(x, y, epochs=1)
        for call, words in (
            (lambda: of_bytes.predict(x), "takes floats in place of bytes"),
            (lambda: of_bytes.evaluate(x, y), "takes floats in place of bytes"),
            (lambda: of_bytes.fit(x, y, epochs=1), "takes floats in place of bytes"),
            (lambda: of_bytes.fit(bytes_, y, epochs=1, validation_data=(x, y)), "validation_data has no value above"),
            (lambda: shiftvit.Predictor(of_bytes).predict(x[0]), "image has no value above"),
            (lambda: of_floats.predict(bytes_), "takes floats of 0 to 1"),
        ):
            with self.assertLogs("shiftvit", "WARNING") as logs:
                call()
            self.assertRegex(logs.output[0], words)
        for call in (
            lambda: of_bytes.predict(bytes_),
            lambda: of_bytes.predict(x * 255),
            lambda: of_bytes.predict(x * 0),
            lambda: of_floats.predict(x),
            lambda: of_floats.predict(np.zeros_like(bytes_)),
        ):
            with self.assertLogs("shiftvit") as logs:
                call()
                shiftvit.context._logger.info("nothing")
            self.assertEqual(len(logs.output), 1, logs.output)

    def test_a_pipeline_that_is_none_is_refused_with_its_field(self):
        for wrong, kind, words in (
            (5, TypeError, "an int is given where a mapping"),
            ({"variance": []}, errors.ArgumentError, "variance"),
            ({"variance": "a"}, errors.ArgumentError, "variance"),
            ({"scale": None}, errors.ArgumentError, "scale"),
        ):
            for call in (lambda: tiny().fit(*few(), pipeline=wrong), lambda: tiny().predict(few()[0], pipeline=wrong)):
                with self.assertRaisesRegex(kind, words):
                    call()

    def test_statistics_of_floats_are_those_of_the_values(self):
        x, y = few()
        mean, variance = dataset().statistics()
        np.testing.assert_allclose(mean, x.mean(axis=(0, 1, 2), dtype=np.float64), rtol=1e-6)
        np.testing.assert_allclose(variance, x.var(axis=(0, 1, 2), dtype=np.float64), rtol=1e-5)

    def test_images_of_several_sizes_are_predicted(self):
        model = tiny()
        model.fit(*few(), epochs=1)
        predictor = shiftvit.Predictor(model)
        images = [np.full((side, side, 3), 90, np.uint8) for side in (32, 20)]
        rows = predictor.predict(images)
        np.testing.assert_array_equal(rows, [predictor.predict(image) for image in images])
        with self.assertRaisesRegex(errors.ArgumentError, r"image has the shape \[20\]"):
            predictor.predict([images[0], np.zeros(20, np.uint8)])
        # Each size is a call of its own; the message counts the images of the list.
        with self.assertRaisesRegex(errors.ArgumentError, "image 1 has"):
            predictor.predict([np.full((32, 32, 3), 0.5, np.float32), np.full((20, 20, 3), np.nan, np.float32)])
        with self.assertRaisesRegex(TypeError, "image is None"):
            predictor.predict(None)
        with self.assertRaisesRegex(errors.ArgumentError, "k is -1"):
            predictor.top(images[0], -1)
        for data in (bytearray(model.to_bytes()), memoryview(model.to_bytes())):
            np.testing.assert_array_equal(shiftvit.Predictor(data).predict(images[0]), rows[0])

    def test_what_is_no_array_is_named(self):
        with shiftvit.Session(tiny()) as session:
            for wrong, words in (
                (None, "x is None; an array"),
                ((row for row in few()[0]), "x is a generator"),
                ([object()], "x is a list; an array of numbers"),
            ):
                with self.assertRaisesRegex(TypeError, words):
                    session.forward(wrong)
            with self.assertRaisesRegex(errors.ArgumentError, "x is no array"):
                session.forward([np.zeros((2, 2)), np.zeros((3, 2))])

    def test_parameters_are_a_mapping(self):
        parameters, other = tiny().parameters(), tiny().parameters()
        self.assertIn("head.fc1.weight", parameters)
        for name in ("nothing", 3, None, "head\0weight"):
            self.assertNotIn(name, parameters)
            with self.assertRaises(KeyError):
                parameters[name]
        self.assertEqual(parameters, other)
        other["head.fc1.bias"] = other["head.fc1.bias"] + 1
        self.assertNotEqual(parameters, other)
        self.assertNotEqual(parameters, 3)
        model = tiny()
        closed = model.parameters()
        model.close()
        self.assertEqual(repr(closed), "<shiftvit.Parameters of a closed Model>")

    def test_pipelines_without_a_field_are_the_defaults_also_in_fine_tuning(self):
        model = tiny()
        model.pipeline = {**PLAIN, "flip_probability": 0.25}
        with self.assertRaisesRegex(errors.ArgumentError, "48 x 48"):
            model.fit(*few(), epochs=1, fine_tune=True, pipeline={})


if __name__ == "__main__":
    unittest.main()
