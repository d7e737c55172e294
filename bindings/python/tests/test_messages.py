"""Messages that name what Python has, and not the functions and constants of the C library."""

import re

import numpy as np
import shiftvit
from shiftvit import _messages, _signatures, errors
from support import ROOT, FolderTest, few, tiny


#: Names in messages that no call of the package leads to, since it gives the library what they ask for.
OF_C_ALONE = (
    "reserved of svit_",
    "struct_size",
    "svit_constant_name",
    "svit_dataset_sample_f32",
    "svit_folder_lock_free",
    "svit_loader_next_targets",
    "svit_trainer_set_loss",
)


class Messages(FolderTest):
    def assert_in_python(self, kind, words, call):
        with self.assertRaisesRegex(kind, words) as caught:
            call()
        self.assertNotRegex(str(caught.exception), "svit_|SVIT_")

    def test_a_folder_that_holds_a_run_names_resume(self):
        x, y = few()
        tiny().fit(x, y, epochs=1, folder=self.folder / "run")
        long = self.folder / ("long" * 30)
        tiny().fit(x, y, epochs=1, folder=long)
        words = r"holds a run .*; resume=True of fit\(\), or existing=\"resume\" of a Trainer, goes on with it"
        for folder in (self.folder / "run", long):
            self.assert_in_python(errors.StateError, words, lambda: tiny().fit(x, y, epochs=1, folder=folder))

    def test_functions_and_constants_have_their_names_in_python(self):
        model, x = tiny(), few()[0]
        model.add_lora(2)
        for kind, words, call in (
            (errors.StateError, "^preprocessing is wanted, but the model has no pipeline; assigning Model.pipeline gives it one",
             lambda: model.export_onnx(self.folder / "m.onnx", preprocessing=True)),
            (errors.StateError, "adapters of rank 2 already; Model.merge_lora", lambda: model.add_lora(2)),
            (errors.StateError, "create one with 'train'", lambda: shiftvit.Session(tiny()).set_mode("train")),
            (errors.ArgumentError, r"no such layer, Session.layers lists",
             lambda: shiftvit.Session(tiny()).features(x, "nothing")),
        ):
            with self.subTest(words):
                self.assert_in_python(kind, words, call)

    def test_numbers_beyond_json_name_their_field(self):
        for fields, message in (
            ({"epochs": 1, "label_smoothing": float("nan")}, "label_smoothing has a number that is not finite"),
            ({"class_weights": [1, float("inf")]}, "class_weights has a number that is not finite"),
            ({"class_weights": [1, 10**5000]}, "class_weights has a number that is not finite or too large"),
            ({"learning_rate": np.float32("-inf")}, "learning_rate has a number that is not finite"),
            ({"learning_rate": 10**60}, "learning_rate is 1e"),
            ({"seed": 2**64}, "seed is not a whole number"),
            ({"seed": -(10**5000)}, "seed has a number that is not finite or too large"),
        ):
            with self.subTest(fields=list(fields)), self.assertRaisesRegex(shiftvit.errors.ArgumentError, message):
                shiftvit.Trainer(tiny(), shiftvit.Dataset.from_arrays(*few()), **fields)

    def test_none_is_no_path(self):
        for call in (shiftvit.load, shiftvit.read_image, tiny().save, shiftvit.Dataset.cifar10):
            with self.assertRaisesRegex(TypeError, "None is given where a path is needed"):
                call(None)

    def test_paths_stay_as_they_are(self):
        path = self.folder / "svit_model_save.svit_trainer_config.json"
        with self.assertRaisesRegex(OSError, "svit_model_save.svit_trainer_config.json"):
            shiftvit.load(path)
        kept = "svit_model_save: cannot open '/a/svit_model_save/svit_trainer_config.json'"
        self.assertEqual(_messages.in_python(kept), kept.replace("svit_model_save:", "Model.save:"))

    def test_messages_about_arguments_begin_with_what_python_has(self):
        x = few()[0]
        for words, call in (
            ("^Dataset.from_arrays: count is 0", lambda: shiftvit.Dataset.from_arrays(x[:0])),
            (r"^Dataset.select: indices\[0\] is 9", lambda: shiftvit.Dataset.from_arrays(x).select([9])),
            ("^Dataset.__getitem__: count is 0", lambda: shiftvit.Dataset.from_arrays(x)[3:3]),
            ("^read_image: channels is 2", lambda: shiftvit.read_image(b"", channels=2)),
            ("^scale is -1", lambda: shiftvit.Loader(shiftvit.Dataset.from_arrays(x), {"scale": -1})),
            ("^folder is empty", lambda: tiny().fit(*few(), folder="")),
        ):
            with self.subTest(words):
                self.assert_in_python(errors.ArgumentError, words, call)
        fused = "layer 'a' is fused with its neighbours in this session; create one with features"
        self.assertEqual(_messages.in_python(f"{fused} 1"), f"{fused}=True")

    def test_the_texts_of_the_library_name_what_python_has(self):
        sources = sorted((ROOT / "lib").rglob("*.c"))
        if not sources:
            self.skipTest("the sources of the library are not here")
        seen, texts = 0, re.compile(r'"((?:[^"\\\n]|\\.)*)"')
        for path in sources:
            code = re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8"))
            for text in texts.findall(re.sub("#include.*", "", code)):
                if re.search(r"\bsvit_", text) and " " in text and not any(name in text for name in OF_C_ALONE):
                    seen += 1
                    self.assertNotRegex(_messages.in_python(text), r"\bsvit_", path.name)
        self.assertGreater(seen, 25)

    def test_each_function_that_is_renamed_exists(self):
        self.assertEqual(set(_messages._FUNCTIONS) - set(_signatures.SIGNATURES), set())
        for name in _messages._FUNCTIONS.values():
            owner, _, member = name.removeprefix("assigning ").removesuffix("()").rpartition(".")
            self.assertTrue(hasattr(getattr(shiftvit, owner) if owner else shiftvit, member), name)


class Words(FolderTest):
    def test_targets_of_integers_are_told_from_labels(self):
        x, y = few()[0], np.ones((6, 3), dtype=np.int64)
        words = r"y has the shape \[6, 3\] and int64; integers are labels, of the shape \[6\], and targets are floats"
        for call in (
            lambda: tiny().fit(x, y, epochs=1, loss="binary"),
            lambda: shiftvit.Dataset.from_arrays(x, y),
        ):
            with self.assertRaisesRegex(errors.ArgumentError, words):
                call()
        for call in (
            lambda: tiny().fit(x, y == 1, epochs=1, loss="binary"),
            lambda: shiftvit.Dataset.from_function(x.__getitem__, 6, (32, 32, 3), y=y == 1),
        ):
            with self.assertRaisesRegex(errors.ArgumentError, words.replace("int64", "bool")):
                call()
        with self.assertRaisesRegex(TypeError, "y is an array of bool; labels are integers"):
            tiny().fit(x, y[:, 0] == 1)
        with self.assertRaisesRegex(errors.ArgumentError, "targets are floats"):
            shiftvit.losses.cross_entropy(np.zeros((6, 3), dtype=np.float32), y)

    def test_int8_is_one_word_everywhere(self):
        model = tiny()
        model.save(self.folder / "int8.safetensors", dtype="int8")
        model.save(self.folder / "i8.safetensors", dtype="i8")
        stored = [(self.folder / f"{word}.safetensors").read_bytes() for word in ("int8", "i8")]
        self.assertEqual(stored[0], stored[1])
        self.assertLess(len(stored[0]), len(model.to_bytes()))
        with self.assertRaisesRegex(errors.ArgumentError, "'f64'; accepted are .*'int8'"):
            model.save(self.folder / "none.safetensors", dtype="f64")
