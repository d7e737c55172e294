"""Arrays, errors and messages: what is used in place, what is copied, and what is refused."""

import os
import pickle
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import shiftvit
from shiftvit import _arrays, _library, errors
from support import ROOT, TINY, FolderTest, few, needs_png, tiny


class Arrays(unittest.TestCase):
    def test_float32_in_c_order_is_used_in_place(self):
        x = few()[0]
        self.assertIs(_arrays.floats(x, "x").base if _arrays.floats(x, "x") is not x else x, x)
        self.assertTrue(np.shares_memory(_arrays.floats(x, "x"), x))
        self.assertTrue(np.shares_memory(_arrays.images(x.view(np.uint8), "x"), x))

    def test_other_floats_and_orders_are_copied_with_the_same_result(self):
        x = few()[0]
        with shiftvit.Session(tiny()) as session:
            logits = session.forward(x)
            for other in (x.astype(np.float64), np.asfortranarray(x), x[::-1][::-1], x.tolist(), x.astype(">f4")):
                np.testing.assert_array_equal(session.forward(other), logits)
            np.testing.assert_array_equal(session.forward(x[::-1]), logits[::-1])

    def test_dlpack_is_accepted_without_a_copy(self):
        x = few()[0]

        class Tensor:
            def __dlpack__(self, **options):
                return x.__dlpack__(**options)

            def __dlpack_device__(self):
                return x.__dlpack_device__()

        self.assertTrue(np.shares_memory(_arrays.floats(Tensor(), "x"), x))
        with shiftvit.Session(tiny()) as session:
            np.testing.assert_array_equal(session.forward(Tensor()), session.forward(x))

    def test_arrays_at_odd_addresses_are_copied_and_refused_as_outputs(self):
        def odd(array):
            shifted = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
            shifted[...] = array
            self.assertFalse(shifted.flags.aligned)
            return shifted

        x, y = few()
        for taken in (_arrays.floats(odd(x), "x"), _arrays.images(odd(x), "x"), _arrays.labels(odd(y), "y")):
            self.assertTrue(taken.flags.aligned)
        with shiftvit.Session(tiny()) as session:
            np.testing.assert_array_equal(session.forward(odd(x)), session.forward(x))
            with self.assertRaisesRegex(ValueError, "out must be writeable, aligned and in C order"):
                session.forward(x, out=odd(np.zeros((6, 3), np.float32)))
            with self.assertRaisesRegex(TypeError, "aligned"):
                _library.call("svit_forward", session, odd(x), 6, np.zeros((6, 3), np.float32))
        data = shiftvit.Dataset.from_arrays(odd(x), odd(y))
        self.assertEqual(data.select(odd(np.array([5, 1], np.uintp))).labels.tolist(), y[[5, 1]].tolist())
        np.testing.assert_array_equal(data[4][0], x[4])

    def test_wrong_arrays_are_refused_with_their_name(self):
        x, y = few()
        with shiftvit.Session(tiny(), mode="train") as session:
            for wrong, kind, words in (
                (np.zeros(x.shape, np.uint8), TypeError, "x is an array of uint8"),
                (np.zeros(x.shape, complex), TypeError, "x is an array of complex128"),
                (np.array(["a"]), TypeError, "x is an array of"),
                (x[0], ValueError, r"x has the shape \[32, 32, 3\]; \[n, 32, 32, 3\] is needed"),
                (x[:, :31], ValueError, r"\[6, 31, 32, 3\]"),
                (np.full_like(x, np.nan), errors.NumericError, "finite"),
                (x[:0], ValueError, "n is 0"),
            ):
                with self.assertRaisesRegex(kind, words):
                    session.forward(wrong)
            with self.assertRaisesRegex(TypeError, "out must be an array of float32"):
                session.forward(x, out=np.zeros((6, 3)))
            for out in (np.zeros((5, 3), np.float32), np.zeros((3, 6), np.float32).T):
                with self.assertRaises(ValueError):
                    session.forward(x, out=out)
            locked = np.zeros((6, 3), np.float32)
            locked.flags.writeable = False
            with self.assertRaisesRegex(ValueError, "writeable"):
                session.forward(x, out=locked)
            self.assertIs(session.forward(x, out=(out := np.zeros((6, 3), np.float32))), out)
            self.assertTrue(out.any())
        with self.assertRaisesRegex(TypeError, "labels are integers"):
            shiftvit.cross_entropy(np.zeros((2, 3), np.float32), np.array([True, False]))
        with self.assertRaisesRegex(ValueError, "outside those of int32"):
            shiftvit.cross_entropy(np.zeros((2, 3), np.float32), np.array([0, 2**32]))
        with self.assertRaisesRegex(ValueError, r"labels?\[1\]"):
            shiftvit.cross_entropy(np.zeros((2, 3), np.float32), np.array([0, 3]))

    def test_weights_of_losses_may_be_whole_numbers(self):
        logits = np.array([[1, 2, 3], [3, 0, -1]], np.float32)
        targets = np.array([[1, 0, 1], [0, 1, 0]], np.float32)
        for whole in ([1, 0, 3], np.array([1, 0, 3], np.uint8)):
            of_floats = np.array(whole, np.float32)
            for loss, wanted, name in (
                (shiftvit.losses.cross_entropy, [2, 0], "class_weights"),
                (shiftvit.losses.binary_cross_entropy, targets, "pos_weight"),
            ):
                got, same = (loss(logits, wanted, **{name: weights}) for weights in (whole, of_floats))
                self.assertEqual(got[0], same[0])
                np.testing.assert_array_equal(got[1], same[1])
        with self.assertRaisesRegex(TypeError, "pos_weight is an array of bool; floats are needed"):
            shiftvit.losses.binary_cross_entropy(logits, targets, pos_weight=[True, False, True])

    def test_numbers_that_do_not_fit_are_refused_not_wrapped(self):
        model = tiny()
        with self.assertRaisesRegex(ValueError, "4294967299"):
            model.replace_head(2**32 + 3)
        with self.assertRaises(ValueError):
            model.replace_head(-1)
        with self.assertRaisesRegex(ValueError, "2\\*\\*|18446744073709551616"):
            shiftvit.create_model(seed=2**64)
        for call in (
            lambda: shiftvit.Context(threads=2**32 + 1),
            lambda: shiftvit.Predictor(model, max_batch=2**32 + 1),
            lambda: shiftvit.Session(model, max_batch=2**32 + 1),
        ):
            with self.assertRaises(ValueError):
                call()
        for label, kind in ((2**32 + 1, errors.ArgumentError), (1.9, TypeError), ("2", TypeError)):
            image = np.zeros((4, 4, 3), np.uint8)
            with self.assertRaises(kind):
                shiftvit.Dataset.from_function(lambda index: (image, label), 1, (4, 4, 3), 3)[0]


class Errors(FolderTest):
    def test_failures_are_also_of_pythons_kinds(self):
        missing = self.folder / "missing.safetensors"
        with self.assertRaisesRegex(OSError, "missing.safetensors") as caught:
            shiftvit.load(missing)
        self.assertIsInstance(caught.exception, shiftvit.Error)
        self.assertEqual(caught.exception.status, "SVIT_E_IO")
        self.assertEqual(caught.exception.message, str(caught.exception))
        bad = self.folder / "bad.safetensors"
        bad.write_bytes(b"no model at all")
        with self.assertRaises(errors.FormatError) as caught:
            shiftvit.load(bad)
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaises(MemoryError):
            shiftvit.create_model(architecture="mixer", dim=65536, mlp_dim=1048576, depth=1000)
        with self.assertRaises(RuntimeError):
            shiftvit.Session(tiny(), mode="train").backward(np.zeros((1, 3), np.float32))
        with self.assertRaises(NotImplementedError):
            shiftvit.Session(shiftvit.create_model(), max_batch=1).attention(np.zeros((1, 48, 48, 3), np.float32))

    def test_images_without_labels_are_refused(self):
        model, (x, y) = tiny(), few()
        before = model.to_bytes()
        for call in (
            lambda: model.fit(x, epochs=1),
            lambda: model.fit(x, y, epochs=1, validation_data=(x, None)),
            lambda: model.evaluate(x),
        ):
            with self.assertRaisesRegex(TypeError, r"needs y, or a Dataset"):
                call()
        self.assertEqual(model.to_bytes(), before)

    def test_load_passes_over_no_argument(self):
        path = self.folder / "model.safetensors"
        tiny().save(path)
        with self.assertRaisesRegex(errors.ArgumentError, "num_classes is 7, and the model in the file has 3"):
            shiftvit.load(path, num_classes=7)
        with self.assertRaisesRegex(errors.ArgumentError, "nun_classes"):
            shiftvit.load(path, nun_classes=3)
        for given in ({"name": "x"}, {"prefix": "x"}, {"base": "x"}, {"explain": print}, {"heads": 2}):
            with self.assertRaisesRegex(TypeError, f"{next(iter(given))} is given with map=True"):
                shiftvit.load(path, map=True, **given)
        self.assertEqual(shiftvit.load(path, num_classes=3, pool="mean", dropout=0).num_classes, 3)
        self.assertEqual(shiftvit.load(path, map=True).num_classes, 3)

    def test_all_exceptions_can_be_pickled(self):
        for kind in errors.KINDS:
            copy = pickle.loads(pickle.dumps(kind("a message")))
            self.assertEqual((type(copy), str(copy)), (kind, "a message"))

    def test_unknown_words_name_what_is_accepted(self):
        model = tiny()
        for call, words in (
            (lambda: shiftvit.create_model("vit-cifr100"), "vit-cifr100"),
            (lambda: shiftvit.create_model(num_clases=3), "num_clases"),
            (lambda: model.fit(*few(), learning_rat=1.0), "learning_rat.*learning_rate"),
            (lambda: model.fit(*few(), learning_rate=float("nan")), "finite"),
            (lambda: model.predict(few()[0], compute="f64"), "'f64'; accepted are 'f32', 'bf16', 'int8'"),
            (lambda: setattr(model, "output", "maximum"), "'softmax'"),
            (lambda: model.save(self.folder / "m", dtype="f64"), "'bf16'"),
            (lambda: model.set_trainable("nothing.*", False), "nothing"),
            (lambda: shiftvit.Session(model, compute="f8"), "f8"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                call()
        with self.assertRaises(KeyError):
            model.parameters()["nothing"]

    def test_texts_with_nul_are_refused(self):
        with self.assertRaisesRegex(ValueError, "NUL"):
            shiftvit.load("a\0b")
        with self.assertRaisesRegex(ValueError, "NUL"):
            tiny().classes = ["a", "b\0", "c"]
        model, (x, y), path = tiny(), few(), str(self.folder / "run\0")
        data = shiftvit.Dataset.from_arrays(x, y)
        for call in (
            lambda: model.fit(data, epochs=1, folder=path),
            lambda: model.fit(data, epochs=1, description="a\0b"),
            lambda: shiftvit.Context(gemm="tile\0"),
            lambda: shiftvit.FeatureSet.compute(model, data, pipeline={}, layer="features\0"),
        ):
            with self.assertRaisesRegex(ValueError, "NUL"):
                call()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_texts_are_utf8_in_every_locale(self):
        names, path = ["Käse", "Öl", "€"], self.folder / "checkpoint.safetensors"
        latin = os.fsencode  # of a process in a locale of Latin-1
        with mock.patch.object(os, "fsencode", lambda name: latin(name).decode().encode("latin-1")):
            model = tiny()
            model.classes = names
            model.fit_class("ß", shiftvit.FeatureSet(np.eye(8, dtype=np.float32), np.zeros(8, int)))
            shiftvit.save_checkpoint(path, model, notes={"Größe": "groß"})
        self.assertEqual(model.classes, [*names, "ß"])
        self.assertEqual(shiftvit.load(path).classes, [*names, "ß"])
        with shiftvit.Checkpoint(path) as checkpoint:
            self.assertEqual(checkpoint.note("Größe"), "groß")

    def test_texts_without_a_form_in_utf8_are_refused(self):
        with self.assertRaisesRegex(errors.ArgumentError, "no form in UTF-8"):
            tiny().fit(*few(), epochs=1, description="\ud800")
        with self.assertRaisesRegex(TypeError, "a text is needed"):
            tiny().set_trainable(3, False)

    def test_paths_that_are_no_utf8_work(self):
        name = os.fsdecode(os.fsencode(str(self.folder)) + b"/\xff\xfe.safetensors")
        tiny().save(name)
        self.assertEqual(shiftvit.load(name).num_classes, 3)

    @needs_png
    def test_paths_of_images_that_are_no_utf8_come_out_as_they_went_in(self):
        root = os.fsdecode(os.fsencode(str(self.folder)) + b"/caf\xe9")
        os.makedirs(os.path.join(root, "a"))
        shiftvit.write_png(os.path.join(root, "a", "x.png"), np.zeros((8, 8, 3), np.uint8))
        path = shiftvit.Dataset.folder(root, 8).path(0)
        self.assertEqual(path, os.path.join(root, "a", "x.png"))
        self.assertTrue(os.path.exists(path))

    def test_a_library_of_another_version_is_reported(self):
        done = subprocess.run(
            [sys.executable, "-c", "import shiftvit"],
            env={**os.environ, "SHIFTVIT_LIBRARY": "libm.so.6", "PYTHONPATH": str(ROOT / "bindings" / "python")},
            capture_output=True,
            text=True,
        )
        self.assertIn("ImportError: 'libm.so.6' has no function", done.stderr)

    def test_numbers_of_numpy_are_numbers(self):
        model = shiftvit.create_model(**{**TINY, "num_classes": np.int64(4), "dropout": np.float32(0)})
        self.assertEqual(model.replace_head(np.uint8(5)).num_classes, 5)
        with self.assertRaises(TypeError):
            model.replace_head(2.5)


class Reports(FolderTest):
    def test_reports_of_any_length_are_whole(self):
        tiny().save(self.folder / "model.safetensors")
        shiftvit.create_model("deit-tiny-patch16-224", depth=1, num_classes=5).save_timm(self.folder / "timm")

        def reports():
            lines, failed = [], []
            shiftvit.load(self.folder / "timm", explain=lines.append, name="deit_tiny_patch16_224", depth=1)
            with self.assertRaises(shiftvit.Error):
                shiftvit.load(self.folder / "timm", explain=failed.append)
            model, options = tiny(mlp_dim=16, depth=2), {"skip_mismatched": True, "allow_missing": True}
            report = model.load_weights(self.folder / "model.safetensors", **options)
            return report, lines, failed

        whole = reports()
        self.assertGreater(min(len(whole[0].missing), len(whole[0].mismatched), len(whole[1]), len(whole[2])), 1)
        with mock.patch.object(shiftvit._report, "_REPORT_BYTES", 64):
            self.assertEqual(reports(), whole)


class ClassNames(unittest.TestCase):
    """Every call that takes names of classes refuses those that cannot stand for them."""

    WRONG = (
        (["a", "", "c"], ValueError, r"classes\[1\] is ''; a name that is not blank"),
        (["a", "b", " \t"], ValueError, r"classes\[2\] is ' \\t'; a name that is not blank"),
        (["", "", ""], ValueError, r"classes\[0\] is ''"),
        (["a", "b", "\udcff"], ValueError, "UTF-8"),
        (["a", "b\0", "c"], ValueError, "NUL"),
        (["a", "b", None], TypeError, r"classes\[2\] is None; a text is needed"),
        (["a", b"b", "c"], TypeError, r"classes\[1\] is a bytes"),
        ([0, 1, 2], TypeError, r"classes\[0\] is an int"),
        ("abc", TypeError, "classes is the text 'abc'; a sequence"),
        (["a", "b"], ValueError, "2"),
        (5, TypeError, "int"),
    )

    def test_wrong_names_are_refused_and_change_nothing(self):
        model = tiny()
        model.classes = ["x", "y", "z"]
        for names, kind, words in self.WRONG:
            for call in (
                lambda: setattr(model, "classes", names),
                lambda: shiftvit.FeatureSet(np.eye(3), [0, 1, 2], classes=names, num_classes=3),
            ):
                with self.subTest(names=names), self.assertRaisesRegex(kind, words):
                    call()
        self.assertEqual(model.classes, ["x", "y", "z"])

    def test_equal_names_are_taken_as_files_have_them_and_are_a_warning(self):
        model, names = tiny(), ["crane", "fox", "crane"]
        with self.assertLogs("shiftvit", "WARNING") as logs:
            model.classes = names
        self.assertEqual(logs.records[0].getMessage(),
                         "classes[0] and classes[2] are both 'crane': labels cannot go by this name")
        self.assertEqual(len(logs.records), 1)
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/model.safetensors")
            loaded = shiftvit.load(f"{folder}/model.safetensors")
        with self.assertLogs("shiftvit", "WARNING"):
            loaded.classes = loaded.classes
        self.assertEqual(loaded.classes, names)

    def test_images_are_refused_only_where_two_classes_have_their_name(self):
        data = shiftvit.Dataset.synthetic(10)
        matched = data.match_classes(["crane", *data.classes, "crane"])
        self.assertEqual(matched.labels.tolist(), (data.labels + 1).tolist())
        words = f"classes 3 and 10 of the names are '{data.classes[3]}'"
        with self.assertRaisesRegex(errors.ArgumentError, words):
            data.match_classes([*data.classes, data.classes[3]])

    def test_a_new_class_has_a_name_of_its_own(self):
        model = tiny()
        model.classes = ["x", "y", "z"]
        features = shiftvit.FeatureSet(np.random.default_rng(1).random((5, 8)))
        for name in ("", "  ", "y", "\udcff", "a\0b"):
            with self.subTest(name=name), self.assertRaises(errors.ArgumentError):
                model.fit_class(name, features)
        self.assertEqual(model.fit_class("w", features).classes, ["x", "y", "z", "w"])

    def test_names_that_differ_are_taken_as_they_are(self):
        model = tiny()
        for names in (["a", "A", "a "], ("\u00e4", "a\u0308", "\U0001f600"), {"p": 0, "q": 1, "r": 2}):
            model.classes = names
            self.assertEqual(model.classes, list(names))
            self.assertEqual(shiftvit.FeatureSet(np.eye(3), classes=names).classes, list(names))
        model.classes = None
        self.assertIsNone(model.classes)
