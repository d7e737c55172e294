"""fit, evaluate and predict: a small ViT learns, is fine-tuned, saved, loaded; interruptions and resuming."""

import json
import logging
import os
import pathlib
import shutil
import signal
import subprocess
import threading
from unittest import mock

import numpy as np
import shiftvit
from shiftvit.config import plain_pipeline
from support import ROOT, FolderTest, few, needs_png, small, synthetic, tiny

LEARN = {"learning_rate": 2e-3, "schedule": "warmup-cosine", "warmup_fraction": 0.1}


def weights(model):
    return {name: value for name, value in model.parameters().items()}


def assert_same_bits(test, first, second):
    test.assertEqual(list(first), list(second))
    for name in first:
        np.testing.assert_array_equal(first[name].view(np.uint32), second[name].view(np.uint32), name)


class Learning(FolderTest):
    def test_a_small_vit_learns_is_fine_tuned_and_predicts_after_loading(self):
        images, labels = synthetic(2000)
        test_images, test_labels = synthetic(500, "test")
        model = small()
        history = model.fit(images, labels, epochs=8, validation_data=(test_images, test_labels), **LEARN)
        losses = history.history["train_loss"]
        self.assertEqual(len(losses), 8)
        self.assertGreater(losses[0], 2.0)
        self.assertLess(losses[-1], 1.1)
        self.assertTrue(all(late < early for early, late in zip(losses, losses[1:])), losses)
        measured = model.evaluate(test_images, test_labels)
        self.assertGreater(measured["top1"], 0.42)
        self.assertAlmostEqual(measured["top1"], history.epochs[-1].val_top1, places=6)
        self.assertAlmostEqual(measured["loss"], history.epochs[-1].val_loss, places=4)
        probabilities = model.predict(test_images)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
        self.assertAlmostEqual((probabilities.argmax(axis=1) == test_labels).mean(), measured["top1"], places=6)

        # Two new classes, with everything below the head frozen.
        is_texture = (labels >= 5).astype(np.int64)
        before = weights(model)
        model.replace_head(2, seed=3).set_trainable("*", False).set_trainable("head.*", True)
        model.classes = ["shape", "texture"]
        tuned = model.fit(images, is_texture, epochs=3, learning_rate=5e-3)
        self.assertLess(tuned.history["train_loss"][-1], tuned.history["train_loss"][0])
        for name, value in model.parameters().items():
            if not name.startswith("head."):
                np.testing.assert_array_equal(value, before[name], name)
        self.assertGreater(model.evaluate(test_images, (test_labels >= 5).astype(np.int64))["top1"], 0.85)

        path = self.folder / "tuned.safetensors"
        model.save(path)
        loaded = shiftvit.load(path)
        self.assertEqual(loaded.classes, ["shape", "texture"])
        np.testing.assert_array_equal(loaded.predict(test_images), model.predict(test_images))
        with shiftvit.Predictor(path) as predictor:
            np.testing.assert_array_equal(predictor.predict(test_images), model.predict(test_images))
            likeliest = model.classes[model.predict(test_images[:1]).argmax()]
            self.assertEqual(predictor.top(test_images[0], 1)[0][0], likeliest)

    def test_float_images_learn_like_the_bytes_they_come_from(self):
        images, labels = synthetic(256)
        scaled = images.astype(np.float32) * np.float32(1 / 255)
        losses = []
        for x in (images, scaled):
            losses.append(small().fit(x, labels, epochs=2, seed=4).history["train_loss"])
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)

    def test_images_of_another_size_are_resized_to_the_input(self):
        images, labels = synthetic(64)
        model = small(input_height=40, input_width=48)
        model.fit(images, labels, epochs=1)
        fields = [model.pipeline[name] for name in ("source_height", "output_height", "output_width")]
        self.assertEqual(fields, [32, 40, 48])
        self.assertEqual(model.predict(images).shape, (64, 10))

    def test_several_labels_and_numbers_as_targets(self):
        images, labels = synthetic(200)
        several = np.stack([labels % 2 == 0, labels < 5, labels == 3], axis=1).astype(np.float32)
        model = tiny()
        model.fit(images, several, epochs=2, loss="binary")
        self.assertEqual(model.output, "sigmoid")
        measures = {"loss", "element_accuracy", "exact_match", "micro_f1", "macro_f1"}
        self.assertEqual(set(model.evaluate(images, several)), measures)
        self.assertTrue(((model.predict(images) >= 0) & (model.predict(images) <= 1)).all())
        numbers = np.stack([labels, labels**2, -labels], axis=1).astype(np.float64)
        model = tiny()
        model.fit(images, numbers, epochs=2, loss="mse")
        self.assertEqual(model.output, "logits")
        measured = model.evaluate(images, numbers)
        error = model.predict(images) - numbers
        self.assertAlmostEqual(measured["loss"], float((error**2).mean()), delta=1e-3 * measured["loss"])
        self.assertAlmostEqual(measured["mean_absolute"], float(abs(error).mean()), places=3)

    def test_a_loss_of_ones_own_gives_the_bits_of_the_built_in_one(self):
        x, y = few(20)
        models = [tiny(), tiny()]
        kinds = []

        def loss(logits, labels):
            kinds.append((logits.shape[1], labels.dtype))
            return shiftvit.cross_entropy(logits, labels)

        models[0].fit(x, y, epochs=3, batch_size=8)
        models[1].fit(x, y, epochs=3, batch_size=8, loss=loss)
        assert_same_bits(self, weights(models[0]), weights(models[1]))
        self.assertEqual(set(kinds), {(3, np.dtype(np.int32))})

    def test_a_loss_of_ones_own_with_targets_gives_the_bits_of_the_built_in_one(self):
        x, y = few(20)
        several = (np.arange(60).reshape(20, 3) % 2).astype(np.float32)
        numbers = np.stack([y, y**2, -y], axis=1).astype(np.float32)
        own = {"binary": shiftvit.binary_cross_entropy, "mse": shiftvit.mean_squared_error}
        for word, targets, output in (("binary", several, "sigmoid"), ("mse", numbers, "logits")):
            models = [tiny(), tiny()]
            for model, function in zip(models, (None, own[word])):
                model.fit(x, targets, epochs=2, batch_size=8, loss=word, loss_function=function)
                self.assertEqual(model.output, output)
            assert_same_bits(self, weights(models[0]), weights(models[1]))
        with self.assertRaisesRegex(TypeError, "both functions"):
            tiny().fit(x, y, epochs=1, loss=own["mse"], loss_function=own["mse"])
        function = mock.Mock(side_effect=shiftvit.cross_entropy)
        tiny().fit(x, y, epochs=1, batch_size=20, loss_function=function)
        self.assertEqual(function.call_count, 1)

    def test_settings_reach_the_trainer(self):
        x, y = few(20)
        frozen = tiny()
        before = weights(frozen)
        frozen.fit(x, y, epochs=1, learning_rate=0.0)
        assert_same_bits(self, before, weights(frozen))
        data = shiftvit.Dataset.from_arrays(x, y)
        with shiftvit.Trainer(
            tiny(), data, pipeline=shiftvit._fit.pipeline_of(tiny(), data, None), optimizer="lion", epochs=2, batch=7
        ) as trainer:
            self.assertEqual(trainer.settings["optimizer"], "lion")
            trainer.settings["mean"].append("changed")  # of a copy
            self.assertNotIn("changed", trainer.settings["mean"])
            kinds = [event.kind for event in trainer]
            self.assertEqual(kinds, ["step"] * 2 + ["step", "epoch"] + ["step"] * 2 + ["step", "epoch", "finished"])
            trainer.set("learning_rate", 0.25)
            self.assertEqual(trainer.get("learning_rate"), 0.25)

    def test_fine_tuning_takes_the_settings_of_the_rule(self):
        images, labels = few(24)
        model = tiny()
        before = weights(model)
        self.assertEqual(len(model.fit(images, labels, fine_tune=True).epochs), 40)
        for name, value in model.parameters().items():
            self.assertFalse(np.array_equal(value, before[name]), name)
        with self.assertRaisesRegex(TypeError, "preset is 'shiftvit-cifar10'; with fine_tune"):
            model.fit(images, labels, fine_tune=True, preset="shiftvit-cifar10")

    def test_preset_settings_are_the_defaults(self):
        images, labels = synthetic(64)
        model = shiftvit.create_model("shiftvit-cifar10", dim=16, blocks=[1, 1], num_div=8)
        model.fit(images, labels, preset="shiftvit-cifar10", epochs=1, batch_size=32)
        fields = [model.pipeline[name] for name in ("resize_height", "output_height", "flip_probability")]
        self.assertEqual(fields, [52, 48, 0.5])

    def test_a_preset_without_mean_and_variance_gets_those_of_the_images(self):
        images, labels = synthetic(40)
        model = shiftvit.create_model(
            "vit-cifar100", dim=16, depth=1, heads=2, head_dim=8, mlp_dim=16, num_classes=10
        )
        with mock.patch.object(logging.getLogger("shiftvit"), "warning") as warning:
            model.fit(images, labels, preset="vit-cifar100", epochs=1, batch_size=40)
        warning.assert_not_called()
        values = images.reshape(-1, 3).astype(np.float64)
        np.testing.assert_allclose(model.pipeline["mean"], values.mean(0), rtol=1e-12)
        np.testing.assert_allclose(model.pipeline["variance"], values.var(0), rtol=1e-9)

    def test_a_channel_of_one_value_has_the_deviation_that_keras_gives_it(self):
        images, labels = synthetic(40)
        images = images.copy()
        images[..., 1] = 128
        model = shiftvit.create_model(
            "vit-cifar100", dim=16, depth=1, heads=2, head_dim=8, mlp_dim=16, num_classes=10
        )
        with self.assertLogs("shiftvit", "WARNING") as logs:
            history = model.fit(images, labels, preset="vit-cifar100", epochs=1, batch_size=40)
        self.assertIn("channel 1 is 128 in all training images", logs.output[0])
        self.assertTrue(np.isfinite(history.epochs[-1].train_loss))
        self.assertEqual((model.pipeline["mean"][1], model.pipeline["variance"][1]), (128, 1))


class Stopping(FolderTest):
    def test_true_from_a_callback_stops(self):
        x, y = few(20)
        seen = []

        def stop(event):
            seen.append(event.kind)
            return event.kind == "epoch"

        history = tiny().fit(x, y, epochs=9, callbacks=[stop])
        self.assertTrue(history.stopped)
        self.assertEqual((len(history.epochs), seen), (1, ["step", "epoch"]))

    def test_true_of_numpy_stops_too(self):
        history = tiny().fit(*few(20), epochs=9, callbacks=[lambda event: np.float64(1.0) > 0.5])
        self.assertTrue(history.stopped)
        history = tiny().fit(*few(20), epochs=2, callbacks=[lambda event: np.float64(1.0) < 0.5, lambda event: 1])
        self.assertEqual((history.stopped, len(history.epochs)), (False, 2))

    def test_an_error_of_the_library_in_a_callback_leaves_a_checkpoint(self):
        model = tiny()
        with self.assertRaises(shiftvit.errors.FileError):
            save = [lambda event: model.save(self.folder / "no" / "model.safetensors")]
            model.fit(*few(20), epochs=2, folder=self.folder / "run", callbacks=save)
        self.assertTrue((self.folder / "run" / "checkpoint.safetensors").exists())

    def test_an_exception_of_a_callback_is_raised_also_if_its_checkpoint_fails(self):
        def interrupt(event):
            shutil.rmtree(self.folder / "run")
            raise KeyboardInterrupt

        with self.assertLogs("shiftvit", "WARNING") as logs, self.assertRaises(KeyboardInterrupt):
            tiny().fit(*few(20), epochs=2, folder=self.folder / "run", callbacks=[interrupt])
        self.assertRegex(logs.output[-1], "no checkpoint after KeyboardInterrupt.*cannot write")

    def test_exceptions_of_callbacks_losses_and_functions_are_raised_again(self):
        x, y = few(20)

        class Mine(Exception):
            pass

        def fail(*arguments):
            raise Mine("from Python")

        model = tiny()
        for options in ({"callbacks": [fail]}, {"loss": fail}):
            with self.assertRaisesRegex(Mine, "from Python"):
                model.fit(x, y, epochs=1, **options)
        with self.assertRaisesRegex(Mine, "from Python"):
            model.fit(shiftvit.Dataset.from_function(fail, 8, (32, 32, 3), 3), epochs=1)
        with self.assertRaisesRegex(ValueError, r"the gradient that the loss returned has the shape \[3\]"):
            model.fit(x, y, epochs=1, loss=lambda logits, labels: (0.0, np.zeros(3, np.float32)))
        with self.assertRaises(shiftvit.errors.NumericError):
            model.fit(x, y, epochs=1, loss=lambda logits, labels: (np.inf, logits))
        model.replace_head(4)  # Every trainer has ended, so the model is alone.

    def test_an_interrupted_run_resumes_to_the_same_bits(self):
        x, y = few(40)
        fit = {"epochs": 3, "batch_size": 8, "seed": 2}
        whole = tiny(dropout=0.1)
        whole.fit(x, y, **fit)

        def interrupt(event):
            if (event.epoch, event.step) == (2, 3):
                os.kill(os.getpid(), signal.SIGINT)

        started = tiny(dropout=0.1)
        with self.assertRaises(KeyboardInterrupt):
            started.fit(x, y, folder=self.folder / "run", callbacks=[interrupt], **fit)
        with shiftvit.Checkpoint(self.folder / "run" / "checkpoint.safetensors") as checkpoint:
            self.assertEqual(checkpoint.number("optimizer.steps"), 5 + 3)
        with self.assertRaisesRegex(RuntimeError, "run"):
            tiny(dropout=0.1).fit(x, y, folder=self.folder / "run", **fit)
        again = tiny(dropout=0.1)
        history = again.fit(x, y, folder=self.folder / "run", resume=True, **fit)
        self.assertEqual([event.epoch for event in history.epochs], [1, 2, 3])
        assert_same_bits(self, weights(whole), weights(again))

    def test_a_longer_run_that_names_its_schedule_has_it_over_all_epochs(self):
        x, y = few(12)
        for fine_tune in (False, True):
            with self.subTest(fine_tune=fine_tune):
                run = {"folder": self.folder / f"run{fine_tune}", "batch_size": 4, "fine_tune": fine_tune}
                scheduled = {**run, "schedule": "warmup-cosine", "learning_rate": 1e-3}
                tiny().fit(x, y, epochs=2, **scheduled)
                rates = tiny().fit(x, y, epochs=6, resume=True, **scheduled).history["learning_rate"]
                self.assertGreater(min(rates[2:5]), 1e-5)
                kept = {**scheduled, "schedule_anew": False}
                with self.assertLogs("shiftvit", "WARNING"):
                    rates = tiny().fit(x, y, epochs=8, resume=True, **kept).history["learning_rate"]
                self.assertLess(max(rates[6:]), 1e-9)

    def test_ctrl_c_between_events_ends_the_run_and_leaves_a_checkpoint(self):
        x, y = few(40)
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            tiny().fit(x, y, epochs=1000000, folder=self.folder / "run")
        timer.join()
        self.assertTrue((self.folder / "run" / "checkpoint.safetensors").exists())
        self.assertEqual(shiftvit.load(self.folder / "run" / "checkpoint.safetensors").num_classes, 3)

    def test_a_folder_in_use_is_refused_and_free_afterwards(self):
        x, y = few(20)
        seen = []

        def other(event):
            with self.assertRaises(shiftvit.errors.StateError):
                tiny().fit(x, y, epochs=1, folder=self.folder / "run")
            seen.append(event)
            return True

        tiny().fit(x, y, epochs=2, folder=self.folder / "run", callbacks=[other])
        self.assertEqual(len(seen), 1)
        tiny().fit(x, y, epochs=2, folder=self.folder / "run", resume=True)


class Programs(FolderTest):
    """The bits of the C programs."""

    def setUp(self):
        super().setUp()
        self.programs = os.environ.get("SHIFTVIT_PROGRAMS")
        if not self.programs:
            self.skipTest("the programs were not built")

    def run_program(self, name, *arguments):
        command = [str(pathlib.Path(self.programs) / name), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
        if "built without cairo" in done.stderr:
            self.skipTest("this build draws no pictures")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_fit_gives_the_bits_of_shiftvit_train(self):
        run = self.folder / "run"
        model_options = "--preset shiftvit-cifar10 --set dim=16 --set blocks=[1,1]"
        options = "--data procedural:96 --limit-val 32 --limit-test 32 --epochs 2 --batch 32 --seed 7"
        self.run_program("shiftvit-train", *model_options.split(), *options.split(), "--out", run)
        model = shiftvit.create_model("shiftvit-cifar10", dim=16, blocks=[1, 1], seed=7)
        data = shiftvit.Dataset.synthetic(96, seed=7)
        validation = shiftvit.Dataset.synthetic(32, seed=7, split="validation")
        model.fit(data, epochs=2, batch_size=32, seed=7, preset="shiftvit-cifar10", validation_data=validation)
        assert_same_bits(self, weights(shiftvit.load(run / "model.safetensors")), weights(model))

    @needs_png
    def test_attention_maps_are_of_the_patches_alone(self):
        """The colours of shiftvit-predict's map of a grey image rise with the attention to each patch."""
        grey = np.full((32, 32, 3), 128, dtype=np.uint8)
        shiftvit.write_png(self.folder / "grey.png", grey)
        for fields, before, by_class_token in (
            ({"pool": "class_token"}, 1, True),
            ({"pool": "class_token", "register_tokens": 4}, 5, True),
            ({"pool": "class_token", "register_tokens": 4, "position_tokens": "patches"}, 5, True),
            ({"pool": "class_token", "distilled": True}, 2, True),
            ({"pool": "class-mean", "register_tokens": 2}, 3, True),
            ({"pool": "mean-patches"}, 1, False),
            ({"pool": "mean", "class_token": "present", "register_tokens": 3}, 4, False),
            ({"pool": "mean"}, 0, False),
        ):
            with self.subTest(**fields):
                model = tiny(**fields)
                model.pipeline = plain_pipeline((32, 32), (32, 32), 3, 1 / 255)
                parameters = model.parameters()
                name = next(name for name in parameters if name.endswith("qkv.weight"))
                parameters[name] = 4 * parameters[name]  # queries that differ
                model.save(self.folder / "model.safetensors")
                with shiftvit.Session(model, max_batch=1) as session:
                    weights = session.attention((grey[None] / 255).astype(np.float32))[1][0]
                self.assertEqual(weights.shape[1], before + 16)
                queries = weights[:, :1] if by_class_token else weights[:, before:]
                wanted = queries[:, :, before:].sum(axis=(0, 1))
                wanted = (wanted - wanted.min()) / (wanted.max() - wanted.min())
                arguments = ["--model", "model.safetensors", "--attention", "map.png", "grey.png"]
                self.run_program("shiftvit-predict", *arguments)
                middles = 27 + 55 * np.arange(4)  # the map's side is 220 pixels
                picture = shiftvit.read_image(self.folder / "map.png").astype(int).sum(axis=2)
                colours = picture[41 + middles][:, 246 + middles].ravel()
                rises = wanted[:, None] - wanted[None] > 0.02
                self.assertGreater(rises.sum(), 30)
                self.assertTrue(np.all((colours[:, None] > colours[None])[rises]), (colours, wanted))

    @needs_png
    def test_predictor_gives_the_probabilities_of_shiftvit_predict(self):
        path = ROOT / "examples" / "models" / "cifar10.safetensors"
        image = self.folder / "image.png"
        shiftvit.write_png(image, synthetic(8)[0][4])
        printed = self.run_program("shiftvit-predict", "--model", path, "--json", image)
        printed = json.loads(printed)["classes"]
        with shiftvit.Predictor(path) as predictor:
            top = predictor.top(image, 3)
            np.testing.assert_array_equal(predictor.predict(image), predictor.predict(image.read_bytes()))
            np.testing.assert_array_equal(predictor.predict(image), predictor.predict(shiftvit.read_image(image)))
        given = [(name, f"{100 * value:g}") for name, value in top]
        self.assertEqual(given, [(row["class"], f"{row['confidence']:g}") for row in printed[:3]])
