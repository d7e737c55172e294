"""The parts: models, parameters, sessions, optimisers, datasets, loaders, checkpoints, features, predictors."""

import copy
import gc
import io
import pickle
import tarfile
import tracemalloc
import unittest
from unittest import mock

import numpy as np
import shiftvit
from shiftvit import _library, errors
from support import ROOT, FolderTest, few, needs_png, small, synthetic, tiny

CIFAR = ROOT / "examples" / "models" / "cifar10.safetensors"


class Models(FolderTest):
    def test_parameters_are_read_and_written_by_name(self):
        model = tiny()
        parameters = model.parameters()
        self.assertIn("blocks.0.attn.qkv.weight", parameters)
        self.assertEqual(sum(value.size for value in parameters.values()), model.parameter_count)
        for name, value in parameters.items():
            self.assertEqual((value.dtype, value.shape), (np.float32, parameters.shape(name)))
        weight = parameters["blocks.0.norm1.weight"]
        self.assertTrue((weight == 1).all())
        weight[:] = 7
        self.assertTrue((parameters["blocks.0.norm1.weight"] == 1).all())
        parameters["blocks.0.norm1.weight"] = weight
        self.assertTrue((model.parameters()["blocks.0.norm1.weight"] == 7).all())
        with self.assertRaisesRegex(ValueError, "blocks.0.norm1.weight has the shape"):
            parameters["blocks.0.norm1.weight"] = np.ones(3)
        model.add_lora(2)
        self.assertEqual(list(parameters), list(model.parameters()))
        self.assertIn("blocks.0.attn.qkv.lora_a", parameters)
        with self.assertRaises(errors.NumericError):
            parameters["blocks.0.norm1.weight"] = np.full(8, np.inf)
        with self.assertRaises(TypeError):
            del parameters["blocks.0.norm1.weight"]

    def test_create_model_is_like_timms(self):
        model = shiftvit.create_model("deit-tiny-patch16-224", num_classes=10)
        self.assertEqual((model.num_classes, model.input_shape), (10, (224, 224, 3)))
        self.assertEqual(model.parameter_count, 5526346)  # timm's deit_tiny_patch16_224 with 10 classes

    def test_trainable_heads_and_adapters(self):
        model = tiny()
        self.assertTrue(model.is_trainable("blocks.0.norm1.weight"))
        model.set_trainable("blocks.*", False)
        self.assertFalse(model.is_trainable("blocks.0.norm1.weight"))
        self.assertEqual(model.set_trainable("*").add_classes(2).num_classes, 5)
        before = model.predict(few()[0])
        model.add_lora(2)
        self.assertEqual(model.config["lora_rank"], 2)
        np.testing.assert_array_equal(model.predict(few()[0]), before)
        self.assertFalse(model.is_trainable("blocks.0.norm1.weight"))
        self.assertEqual(model.merge_lora().config["lora_rank"], 0)
        with shiftvit.Session(model), self.assertRaises(errors.StateError):
            model.replace_head(2)
        self.assertEqual(model.replace_head(2).num_classes, 2)

    def test_files_bytes_pickles_and_copies_keep_every_bit(self):
        model = tiny()
        model.classes = ["a", "b", "c"]
        model.output = "sigmoid"
        path = self.folder / "model.safetensors"
        model.save(path)
        self.assertEqual(path.read_bytes(), model.to_bytes())
        copies = [
            shiftvit.load(path),
            shiftvit.load(str(path), map=True),
            shiftvit.Model.from_bytes(path.read_bytes()),
            pickle.loads(pickle.dumps(model)),
            copy.deepcopy(model),
        ]
        for other in copies:
            self.assertEqual(other.to_bytes(), model.to_bytes())
            self.assertEqual((other.classes, other.output, other.pipeline), (["a", "b", "c"], "sigmoid", None))

    def test_bytes_of_a_model_are_written_once(self):
        model = small()
        model.save(self.folder / "model.safetensors")
        tracemalloc.start()
        try:
            data = model.to_bytes()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        self.assertIs(type(data), bytes)
        self.assertEqual(data, (self.folder / "model.safetensors").read_bytes())
        self.assertEqual(hash(data), hash(bytes(bytearray(data))))
        # Of what Python and NumPy allocate.
        self.assertLess(peak, 1.5 * len(data))
        self.assertIsNot(model.to_bytes(), data)

    def test_weights_of_timm_and_onnx_files(self):
        model = tiny(mlp_last_gelu=False)
        model.save_timm(self.folder / "timm.safetensors")
        other = tiny(num_classes=4, mlp_last_gelu=False)
        with self.assertRaisesRegex(errors.FormatError, "head"):
            other.load_weights(self.folder / "timm.safetensors", map="timm")
        report = other.load_weights(self.folder / "timm.safetensors", map="timm", skip_mismatched=True)
        self.assertEqual(report.loaded + len(report.mismatched), len(other.parameters()))
        self.assertTrue(report.mismatched and all(name.startswith("head") for name in report.mismatched))
        np.testing.assert_array_equal(
            other.parameters()["blocks.0.attn.qkv.weight"], model.parameters()["blocks.0.attn.qkv.weight"]
        )
        model.export_onnx(self.folder / "model.onnx", output="probabilities")
        self.assertIn(b"probabilities", (self.folder / "model.onnx").read_bytes())
        with self.assertRaises(errors.StateError):
            model.export_onnx(self.folder / "model.onnx", preprocessing=True)

    def test_pretrained_weights_bring_their_pipeline(self):
        path = self.folder / "timm.safetensors"
        fields = {"depth": 1, "num_classes": 5}
        first = shiftvit.create_model("deit-tiny-patch16-224", **fields)
        first.save_timm(path)
        loaded = shiftvit.load_pretrained(path, map="timm", preset="deit-tiny-patch16-224", **fields)
        for name, value in first.parameters().items():
            np.testing.assert_array_equal(value, loaded.parameters()[name], name)
        self.assertEqual((loaded.pipeline["source_height"], loaded.pipeline["output_height"]), (248, 224))
        smaller = shiftvit.load_pretrained(
            path, preset="deit-tiny-patch16-224", input_height=96, input_width=64, **fields
        )
        sizes = [smaller.pipeline[f"{step}_{side}"] for step in ("source", "output") for side in ("height", "width")]
        self.assertEqual(sizes, [120, 88, 96, 64])
        for channels in (1, 2, 4, 5):
            with self.subTest(channels=channels):
                of_channels = {**fields, "in_channels": channels}
                shiftvit.create_model("deit-tiny-patch16-224", **of_channels).save_timm(path)
                other = shiftvit.load_pretrained(path, preset="deit-tiny-patch16-224", **of_channels)
                means = channels if channels <= 4 else 1
                self.assertEqual(other.pipeline["channels"], channels)
                np.testing.assert_allclose(other.pipeline["mean"], [0.449] * means)
                np.testing.assert_allclose(other.pipeline["variance"], [0.226**2] * means)
                self.assertEqual(other.predict(np.zeros((1, 248, 248, channels), np.uint8)).shape, (1, 5))


    def test_the_grid_of_positions_is_told(self):
        path = self.folder / "timm.safetensors"
        shiftvit.create_model("deit-tiny-patch16-224", depth=1, input_height=32, input_width=48).save_timm(path)
        name = "deit_tiny_patch16_224"
        wide = shiftvit.load(path, name=name, input_height=32, input_width=48)
        told = shiftvit.load(path, name=name, position_height=2, position_width=3)
        self.assertEqual(told.to_bytes(), wide.to_bytes())
        larger = shiftvit.load(path, name=name, position_height=2, position_width=3, input_height=64, input_width=64)
        self.assertEqual(larger.input_shape, (64, 64, 3))
        wide.save(self.folder / "own.safetensors")
        with self.assertRaisesRegex(errors.ArgumentError, "position_height is 2"):
            shiftvit.load(self.folder / "own.safetensors", position_height=2, position_width=3)


class Loop(FolderTest):
    def test_a_loop_of_ones_own_gives_the_bits_of_fit(self):
        x, y = few(24)
        fitted, own = tiny(), tiny()
        fitted.fit(x, y, epochs=4, batch_size=24)
        data = shiftvit.Dataset.from_arrays(x, y)
        loader = shiftvit.Loader(data, fitted.pipeline, batch=24, shuffle=True, augment=True)
        session = shiftvit.Session(own, mode="train", max_batch=24)
        optimizer = shiftvit.Optimizer(own)
        losses = []
        for _ in range(4):
            for images, labels in loader:
                loss, dlogits = shiftvit.cross_entropy(session.forward(images), labels)
                session.backward(dlogits)
                optimizer.step(session)
                losses.append(loss)
        self.assertEqual(optimizer.steps, 4)
        self.assertLess(losses[-1], losses[0])
        for name, value in fitted.parameters().items():
            np.testing.assert_array_equal(value, own.parameters()[name], name)

    def test_gradients_are_those_of_finite_differences(self):
        x, y = few(4)
        model = tiny()
        with shiftvit.Session(model, mode="train", max_batch=4, input_gradient=True) as session:

            def loss_of(images):
                return shiftvit.cross_entropy(session.forward(images), y)

            dx = session.backward_input(loss_of(x)[1])
            gradient = session.gradient("norm.weight")
            direction = np.random.default_rng(1).standard_normal(x.shape).astype(np.float32)
            step = 1e-2
            slope = (loss_of(x + step * direction)[0] - loss_of(x - step * direction)[0]) / (2 * step)
            self.assertAlmostEqual(float((dx * direction).sum()), slope, delta=0.02 * abs(slope) + 1e-4)
            session.set_gradient("norm.weight", 2 * gradient)
            np.testing.assert_array_equal(session.gradient("norm.weight"), 2 * gradient)
            session.zero_gradients()
            self.assertFalse(session.gradient("norm.weight").any())

    def test_layers_and_attention(self):
        x = few()[0]
        with shiftvit.Session(tiny(), features=True) as session:
            self.assertEqual(session.layers[-1], "features")
            self.assertEqual(session.features(x).shape, (6, 1, 8))
            self.assertEqual(session.features(x, "blocks.0").shape, (6, 16, 8))
            logits, weights = session.attention(x)
            self.assertEqual(weights.shape, (6, 2, 16, 16))
            np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
            self.assertGreater(session.memory, 0)
            tokens = session.features(x, "blocks.0")
            with shiftvit.Session(tiny(), input_layer="blocks.0") as rest:
                np.testing.assert_allclose(rest.forward(tokens), logits, atol=1e-6)
                with self.assertRaises(ValueError):
                    rest.forward(x)

    def test_checkpoints_restore_model_optimizer_and_session(self):
        x, y = few(8)
        path = self.folder / "checkpoint.safetensors"

        def parts():
            model = tiny(dropout=0.2)
            return model, shiftvit.Optimizer(model), shiftvit.Session(model, mode="train", max_batch=8)

        def steps(model, optimizer, session, count):
            for _ in range(count):
                session.backward(shiftvit.cross_entropy(session.forward(x), y)[1])
                optimizer.step(session)
            return model.to_bytes()

        first, second = parts(), parts()
        steps(*first, 2)
        shiftvit.save_checkpoint(path, *first, notes={"epoch": "2"})
        with shiftvit.Checkpoint(path) as checkpoint:
            self.assertEqual((checkpoint.note("epoch"), checkpoint.note("no")), ("2", None))
            self.assertEqual(checkpoint.number("optimizer.steps"), 2)
            checkpoint.restore(*second)
        self.assertEqual(steps(*first, 3), steps(*second, 3))

    def test_optimizer_settings_and_schedules(self):
        model = tiny()
        groups = [{"pattern": "head*", "lr_scale": 2.0}]
        with shiftvit.Optimizer(model, optimizer="sgd", learning_rate=0.5, groups=groups) as optimizer:
            self.assertEqual(optimizer.get("learning_rate"), 0.5)
            optimizer.set("learning_rate", 0.25)
            self.assertEqual(optimizer.get("learning_rate"), 0.25)
            low, high = optimizer.bounds("momentum")
            with self.assertRaises(ValueError):
                optimizer.set("momentum", high + 1)
            self.assertEqual(low, 0)
            with self.assertRaises(errors.StateError):
                optimizer.swap_average()
        self.assertEqual(shiftvit.learning_rate(5, schedule="linear", total_steps=10, learning_rate=1.0), 0.5)


class Data(FolderTest):
    def test_datasets_of_arrays_slices_and_selections(self):
        images, labels = synthetic(30)
        data = shiftvit.Dataset.from_arrays(images, labels)
        self.assertEqual((len(data), data.shape, data.num_classes), (30, (32, 32, 3), 10))
        for view, indices in ((data[5:9], range(5, 9)), (data[::-2], range(29, -1, -2)), (data.select([3, 3]), [3, 3])):
            self.assertEqual(len(view), len(indices))
            for (image, label), index in zip(view, indices):
                np.testing.assert_array_equal(image, images[index])
                self.assertEqual(label, labels[index])
        np.testing.assert_array_equal(data[-1][0], images[-1])
        for wrong in (30, -31):
            with self.assertRaises(IndexError):
                data[wrong]
        with self.assertRaises(ValueError):
            data.select([30])
        with self.assertRaises(ValueError):
            data.select([-1])
        with self.assertRaises(TypeError):
            data.select([0.5])
        mean, variance = data.statistics()
        np.testing.assert_allclose(mean, (images / 255).mean((0, 1, 2)), rtol=1e-9)
        np.testing.assert_allclose(variance, (images / 255).var((0, 1, 2)), rtol=1e-9)

    def test_samples_and_rows_are_read_without_asking_for_sizes_again(self):
        x = np.arange(9 * 48, dtype=np.uint8).reshape(9, 4, 4, 3)
        y, targets = np.arange(9) % 4, np.random.default_rng(2).random((9, 5), dtype=np.float32)
        many = 2 * _library._ROWS + 3
        for made, read in (
            (shiftvit.Dataset.from_arrays(x, y), y),
            (shiftvit.Dataset.from_arrays(x, targets), targets),
            (shiftvit.Dataset.from_arrays(x.astype(np.float32), targets), targets),
            (shiftvit.Dataset.from_function(lambda index: (x[index], int(y[index])), 9, (4, 4, 3), 4), y),
        ):
            names = []
            data = made[2:]
            data[0]
            call = _library.call

            def counted(name, *arguments):
                names.append(name)
                return call(name, *arguments)

            with mock.patch.object(_library, "call", counted):
                for index in (0, 6, -1):
                    image, value = data[index]
                    self.assertEqual(image.dtype, np.float32 if data.is_float else np.uint8)
                    np.testing.assert_array_equal(image, x[2:][index])
                    np.testing.assert_array_equal(value, read[2:][index])
                for index in (7, -8):
                    with self.assertRaises(IndexError):
                        data[index]
            sample = "svit_dataset_sample_f32" if made.is_float else "svit_dataset_sample"
            wanted = [sample, "svit_dataset_targets"] if made.has_targets else [sample]
            self.assertEqual([name for name in names if name != "svit_dataset_is_f32"], wanted * 3)
            # Rows of several blocks.
            repeated = made.select(np.arange(many) % 9)
            self.assertEqual(repeated.labels.shape, (many,))
            wanted_rows = (read if made.has_targets else np.eye(4, dtype=np.float32)[y])[np.arange(many) % 9]
            np.testing.assert_array_equal(repeated.targets, wanted_rows)
            wanted_labels = np.full(many, -1) if made.has_targets else y[np.arange(many) % 9]
            np.testing.assert_array_equal(repeated.labels, wanted_labels)
            repeated.close()
            for function in (lambda: repeated.labels, lambda: repeated.targets, lambda: repeated[0]):
                with self.assertRaises(errors.StateError):
                    function()

    def test_errors_of_a_row_are_those_of_the_function(self):
        pixels, many = np.zeros((4, 4, 3), np.uint8), _library._ROWS + 5

        def sample(index):
            if index == many - 1:
                raise LookupError(f"no image {index}")
            return pixels, 1

        data = shiftvit.Dataset.from_function(sample, many, (4, 4, 3), 2)
        for read in (lambda: data.labels, lambda: data.targets):
            with self.assertRaisesRegex(LookupError, f"no image {many - 1}"):
                read()
        np.testing.assert_array_equal(data[: many - 1].labels, np.ones(many - 1))
        wrong = shiftvit.Dataset.from_function(lambda index: (pixels, 2), 3, (4, 4, 3), 2)
        with self.assertRaises(errors.ArgumentError):
            wrong.labels
        self.assertEqual((data._state.calls, wrong._state.calls), ({}, {}))

    def test_labels_that_change_afterwards_are_not_those_of_the_dataset(self):
        images, labels = few()
        data = shiftvit.Dataset.from_arrays(images, labels, num_classes=3)
        labels[:] = 2
        self.assertEqual(data.labels.tolist(), [0, 1, 2, 0, 1, 2])
        np.testing.assert_array_equal(data.targets, np.eye(3, dtype=np.float32)[[0, 1, 2] * 2])

    def test_a_shape_that_changes_afterwards_is_not_that_of_the_dataset(self):
        shape = [4, 4, 3]
        data = shiftvit.Dataset.from_function(lambda index: (np.full(tuple(shape), 7, np.uint8), 0), 3, shape, 1)
        self.assertTrue((data[1][0] == 7).all())
        shape[0], shape[1] = 65536, 64
        with self.assertRaisesRegex(errors.ArgumentError, r"\[4, 4, 3\] is needed"):
            data[1]

    def test_indices_and_sizes_mean_what_they_say(self):
        data = shiftvit.Dataset.from_function(lambda index: (np.zeros((1, 1, 3), np.uint8), index % 2), 2**33, (1, 1, 3), 2)
        far = data.select([2**32 + 1, 2**31])
        self.assertEqual([far[0][1], far[1][1]], [1, 0])
        self.assertEqual(len(data[2**31 : 2**31 + 4 : 2]), 2)
        for wrong, error in ((np.array([True]), TypeError), ([0.5], TypeError), ([-1], ValueError), ([[1]], ValueError)):
            with self.assertRaises(error):
                data.select(wrong)
        with self.assertRaises(ValueError):
            shiftvit.Dataset.from_arrays(np.zeros((2, 4, 4, 3), np.uint8), [0, 4], num_classes=0)
        with self.assertRaises(ValueError):
            shiftvit.Dataset.folder(self.folder, 4, 0)
        with self.assertRaisesRegex(TypeError, "masked array"):
            shiftvit.Dataset.from_arrays(np.ma.masked_array(np.zeros((2, 4, 4, 3), np.uint8)), [0, 1])

    def test_views_cannot_be_made_writeable(self):
        labels = shiftvit.FeatureSet(np.zeros((2, 3), np.float32), [0, 1]).labels
        with self.assertRaises(ValueError):
            labels.flags.writeable = True
        with self.assertRaises(ValueError):
            labels[0] = 1

    def test_splits_have_their_share_of_each_class(self):
        labels = np.repeat(np.arange(3), [20, 10, 1])
        pixels = np.arange(31, dtype=np.uint8).reshape(31, 1, 1, 1)
        data = shiftvit.Dataset.from_arrays(pixels, labels)
        parts = data.split(validation=0.2, test=0.1, seed=5)
        counts = [np.bincount(part.labels, minlength=3).tolist() for part in parts]
        self.assertEqual(counts, [[14, 7, 1], [4, 2, 0], [2, 1, 0]])
        again = data.split(validation=0.2, test=0.1, seed=5)
        images = [[int(image[0, 0, 0]) for image, _ in part] for part in (*parts, *again)]
        self.assertEqual(sorted(sum(images[:3], [])), list(range(31)))
        self.assertEqual(images[:3], images[3:])
        calls = []

        def sample(index):
            calls.append(index)
            return np.full((1, 1, 1), index, np.uint8)

        parent = shiftvit.Dataset.from_function(sample, 31, (1, 1, 1), y=labels, classes=["a", "b", "c"])
        views = parent.split(validation=0.2, test=0.1, seed=5)
        parent.close()
        del parent
        gc.collect()
        self.assertEqual([[int(image[0, 0, 0]) for image, _ in view] for view in views], images[:3])
        self.assertEqual(sorted(calls), list(range(31)))
        training, validation, test = data.split(validation=0)
        self.assertEqual((len(training), validation, test), (31, None, None))
        self.assertEqual([len(part) for part in data.split()[:2]], [28, 3])
        for wrong in ({"validation": 1.0}, {"validation": -0.1}, {"validation": float("nan")}):
            with self.assertRaisesRegex(ValueError, "Dataset.split: validation is"):
                data.split(**wrong)
        with self.assertRaisesRegex(ValueError, "1 samples are too few"):
            data[:1].split()
        self.assertEqual([len(part) for part in data[:30].split(validation=0.8, test=0.1)], [3, 24, 3])

    def test_prepared_arrays_are_what_predictions_see(self):
        model = tiny()
        data = shiftvit.Dataset.synthetic(6)
        images = np.stack([image for image, _ in data])
        wide = np.repeat(images, 2, axis=2)
        for given in (images, wide, images.astype(np.float64), wide.astype(np.float32)):
            with self.subTest(shape=given.shape, dtype=given.dtype):
                prepared = model.prepare(given)
                self.assertEqual((prepared.shape, prepared.dtype), ((6, *model.input_shape), np.float32))
                with shiftvit.Session(model, max_batch=6) as session:
                    logits = session.forward(prepared)
                np.testing.assert_array_equal(logits, model.predict(given, output="logits"))
        height, width, _ = model.input_shape
        sizes = {"resize_height": height, "resize_width": width, "output_height": height, "output_width": width}
        model.pipeline = {**sizes, "mean": [0.4, 0.5, 0.6]}
        loader = shiftvit.Loader(data, model.pipeline, batch=6)
        np.testing.assert_array_equal(model.prepare(images), loader.next()[0])
        kept = {**model.pipeline, "evaluation": "keep", "resize_height": 40, "resize_width": 36}
        self.assertEqual(model.prepare(images, pipeline=kept).shape, (6, 40, 36, 3))
        for wrong, reason in ((images[0], "is needed"), (images[..., :1], "images has the shape"), (images[:0], "no image")):
            with self.assertRaisesRegex(ValueError, reason):
                model.prepare(wrong)

    def test_concatenated_datasets_match_their_classes_by_name(self):
        calls = []

        def sample(index):
            calls.append(index)
            return np.full((2, 2, 1), 9, np.uint8)

        named = {"dtype": np.uint8, "shape": (2, 2, 1)}
        first = shiftvit.Dataset.from_function(sample, 2, y=[0, 1], classes=["a", "b"], **named)
        second = shiftvit.Dataset.from_function(sample, 3, y=[0, 1, 1], classes=["c", "a"], **named)
        both = shiftvit.Dataset.concatenate(part for part in (first, second))
        first.close()
        second.close()
        del first, second
        gc.collect()
        self.assertEqual(both.classes, ["a", "b", "c"])
        self.assertEqual(both.labels.tolist(), [0, 1, 2, 0, 0])
        self.assertEqual(both[4][0][0, 0, 0], 9)
        self.assertEqual(calls, [2])
        arrays = shiftvit.Dataset.from_arrays(np.zeros((1, 2, 2, 1), np.uint8), [2])
        self.assertEqual(shiftvit.Dataset.concatenate([arrays, arrays]).labels.tolist(), [2, 2])
        for wrong, kind, reason in (
            ([], ValueError, "count is 0"),
            ([both, arrays], ValueError, r"datasets\[1\] has no class names and datasets\[0\] class names"),
            ([both, both[0]], TypeError, r"datasets\[1\]"),
            (both, TypeError, "datasets is a Dataset"),
        ):
            with self.assertRaisesRegex(kind, reason):
                shiftvit.Dataset.concatenate(wrong)
        arrays.close()
        with self.assertRaises(errors.StateError):
            shiftvit.Dataset.concatenate([both, arrays])

    def test_classes_of_other_names(self):
        data = shiftvit.Dataset.synthetic(12)
        wanted = ["new", *data.classes[::-1]]
        matched = data.match_classes(wanted)
        self.assertEqual(matched.classes, wanted)
        self.assertEqual([wanted[k] for k in matched.labels], [data.classes[k] for k in data.labels])
        with self.assertRaisesRegex(ValueError, "is none of the 9 names"):
            data.match_classes(data.classes[:9])
        model = shiftvit.Model(tiny(num_classes=11).config, seed=1)
        model.classes = wanted
        with self.assertRaisesRegex(ValueError, "class names must be the same"):
            model.evaluate(data)
        self.assertEqual(set(model.evaluate(matched)), {"loss", "top1", "top5"})
        # Predictions read no labels.
        np.testing.assert_array_equal(model.predict(data), model.predict(matched))

    @needs_png
    def test_folders_and_lists(self):
        images, labels = synthetic(20)
        for index, (image, label) in enumerate(zip(images, labels)):
            (self.folder / "photos" / f"class{label % 2}").mkdir(parents=True, exist_ok=True)
            shiftvit.write_png(self.folder / "photos" / f"class{label % 2}" / f"{index:02}.png", image)
        data = shiftvit.Dataset.folder(self.folder / "photos", 32)
        self.assertEqual((len(data), data.classes), (20, ["class0", "class1"]))
        np.testing.assert_array_equal(data[0][0], images[0])
        self.assertTrue(data.path(0).endswith("00.png"))
        self.assertEqual(shiftvit.Dataset.synthetic(1).path(0), "")
        model = tiny(num_classes=2)
        model.fit(data, epochs=1)
        self.assertEqual(model.classes, ["class0", "class1"])
        self.assertEqual(model.predict(data).shape, (20, 2))
        again = shiftvit.Dataset.folder(self.folder / "photos", pipeline=model.pipeline)
        self.assertEqual(model.evaluate(again), model.evaluate(data))
        (self.folder / "list.csv").write_text("path,size\nphotos/class0/00.png,1.5\nphotos/class1/01.png,2\n")
        listed = shiftvit.Dataset.csv(self.folder / "list.csv", model.pipeline)
        np.testing.assert_array_equal(listed.targets, [[1.5], [2]])
        self.assertTrue(listed.has_targets)
        with tarfile.open(self.folder / "photos.tar", "w") as tar:
            for number, (name, label) in enumerate((("class0/00", 3), ("class1/01", 1))):
                tar.add(self.folder / "photos" / f"{name}.png", f"{number}.png")
                info = tarfile.TarInfo(f"{number}.cls")
                info.size = 1
                tar.addfile(info, io.BytesIO(b"%d" % label))
        sharded = shiftvit.Dataset.shards(self.folder / "photos*.tar", model.pipeline)
        np.testing.assert_array_equal(sharded.labels, [3, 1])
        np.testing.assert_array_equal(sharded[1][0], listed[1][0])
        (self.folder / "photos" / "class1" / "01.png").write_bytes(b"damaged")
        self.assertRegex(repr(data.verify()), r"^\[\(10, '.*01.png")

    def test_cifar_files(self):
        images, labels = synthetic(10)
        records = [bytes([label]) + image.transpose(2, 0, 1).tobytes() for image, label in zip(images, labels)]
        (self.folder / "test_batch.bin").write_bytes(b"".join(records))
        data = shiftvit.Dataset.cifar10(self.folder, "test")
        np.testing.assert_array_equal(data.labels, labels)
        np.testing.assert_array_equal(data[7][0], images[7])
        with self.assertRaises(OSError):
            shiftvit.Dataset.cifar100(self.folder)

    def test_functions_are_read_on_the_callers_thread(self):
        images, labels = synthetic(12)
        seen = []

        def sample(index):
            seen.append(index)
            return images[index], labels[index]

        data = shiftvit.Dataset.from_function(sample, 12, (32, 32, 3), 10)
        model = small()
        model.fit(data, epochs=1, batch_size=4)
        self.assertEqual(sorted(seen), list(range(12)))
        bad = shiftvit.Dataset.from_function(lambda index: (images[0].astype(float), 0), 1, (32, 32, 3), 2)
        with self.assertRaisesRegex(TypeError, "image 0 is an array of float64"):
            bad[0]

    def test_loaders_repeat_and_mix(self):
        images, labels = synthetic(20)
        data = shiftvit.Dataset.from_arrays(images, labels)
        pipeline = {"augment": [{"name": "mixup", "probability": 1.0, "alpha": 1.0}]}
        with shiftvit.Loader(data, pipeline, batch=8, shuffle=True, augment=True) as loader:
            batches = list(loader)
            self.assertEqual([len(x) for x, _ in batches], [8, 8, 4])
            self.assertEqual((loader.shape, len(loader)), ((8, 48, 48, 3), 3))
            self.assertEqual(batches[0][1].shape, (8, 10))
            loader.seek(0)
            for (x, y), (again_x, again_y) in zip(batches, loader):
                np.testing.assert_array_equal(x, again_x)
                np.testing.assert_array_equal(y, again_y)


class Features(FolderTest):
    def test_a_head_on_features_and_neighbours(self):
        model = shiftvit.load(CIFAR)
        images, labels = synthetic(200)
        data = shiftvit.Dataset.from_arrays(images, labels)
        features = shiftvit.FeatureSet.compute(model, data)
        self.assertEqual((len(features), features.layer), (200, "features"))
        np.testing.assert_array_equal(features.labels, labels)
        with self.assertRaises(ValueError):
            features.values[0, 0] = 1
        votes = features.knn(features.values, k=1)
        np.testing.assert_array_equal(votes.argmax(1), labels)
        model.replace_head(10).fit_head(features, epochs=40)
        self.assertGreater(model.evaluate(data)["top1"], 0.6)
        path = self.folder / "features.safetensors"
        features.save(path)
        loaded = shiftvit.FeatureSet.load(path)
        np.testing.assert_array_equal(loaded.values, features.values)
        held = loaded.values
        with self.assertRaises(BufferError):
            loaded.append(features)
        del held
        loaded.append(features)
        self.assertEqual(len(loaded), 400)
        before = model.num_classes
        model.fit_class(None, shiftvit.FeatureSet.compute(model, data[:20]), features)
        self.assertEqual(model.num_classes, before + 1)

    def test_a_truncated_model_computes_the_features_of_its_last_block(self):
        whole, part = shiftvit.load(CIFAR), shiftvit.load(CIFAR).truncate("layers.1.blocks.5")
        images, labels = synthetic(20)
        data = shiftvit.Dataset.from_arrays(images, labels)
        expected = shiftvit.FeatureSet.compute(whole, data, layer="layers.1.blocks.5")
        found = shiftvit.FeatureSet.compute(part, data)
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-5, atol=1e-5)
        self.assertEqual((part.num_classes, part.classes), (192, None))
        with self.assertRaisesRegex(errors.ArgumentError, "layer is 'blocks.0'"):
            part.truncate("blocks.0")

    def test_anomalies_are_those_of_a_plain_patch_memory(self):
        model = shiftvit.load(CIFAR)
        images, labels = synthetic(60)
        layer = "layers.1.blocks.0"
        good, other = (shiftvit.Dataset.from_arrays(images[part], labels[part]) for part in (labels < 5, labels >= 5))
        patches = shiftvit.FeatureSet.compute(model, good, layer=layer, tokens="patches-3x3")
        self.assertEqual(len(patches), len(good) * np.prod(patches.grid))
        plain = shiftvit.FeatureSet.compute(model, good, layer=layer, tokens="patches").values
        rows, columns = patches.grid
        grid = plain.reshape(len(good), rows, columns, -1).astype(np.float64)
        around = np.stack([[grid[:, max(y - 1, 0):y + 2, max(x - 1, 0):x + 2].mean((1, 2)) for x in range(columns)]
                           for y in range(rows)]).transpose(2, 0, 1, 3)
        np.testing.assert_allclose(patches.values, around.reshape(plain.shape), rtol=1e-4, atol=1e-5)
        chosen, nearest = [0], np.full(len(patches), np.inf)
        for _ in range(29):
            nearest = np.minimum(nearest, np.linalg.norm(patches.values - patches.values[chosen[-1]], axis=1))
            chosen.append(int(nearest.argmax()))
        memory = patches.coreset(30)
        np.testing.assert_array_equal(memory.values, patches.values[chosen])
        seen = shiftvit.FeatureSet.compute(model, other, layer=layer, tokens="patches-3x3")
        images = np.stack([image for image, _ in other])
        extractor = shiftvit.Extractor(model, layer=layer, tokens="patches-3x3", batch=256)
        self.assertEqual((extractor.channels, extractor.grid), (seen.channels, seen.grid))
        np.testing.assert_array_equal(extractor.extract(images), seen.values)
        np.testing.assert_array_equal(extractor.extract(images.astype(np.float32)), seen.values)
        self.assertEqual(extractor.extract(images[0]).shape, (np.prod(seen.grid), seen.channels))
        with self.assertRaisesRegex(errors.ArgumentError, "image has the shape"):
            extractor.extract(images[..., :2])
        indices, distances = memory.nearest(seen.values, metric="euclidean")
        every = np.linalg.norm(seen.values[:, None].astype(np.float64) - memory.values[None], axis=2)
        np.testing.assert_allclose(distances[:, 0], every.min(1), rtol=1e-4)
        np.testing.assert_allclose(every[np.arange(len(every)), indices[:, 0]], every.min(1), rtol=1e-4)
        similarities = patches.nearest(plain[:3], k=2)[1]
        self.assertTrue((similarities[:, 0] >= similarities[:, 1]).all())
        for k in (0, len(memory) + 1):
            with self.assertRaises(errors.ArgumentError):
                memory.nearest(seen.values, k=k)

    def test_sets_of_arrays(self):
        values = np.eye(4, dtype=np.float32)
        features = shiftvit.FeatureSet(values, [0, 1, 0, 1], classes=["x", "y"])
        np.testing.assert_array_equal(features.values, values)
        self.assertEqual(features.classes, ["x", "y"])
        np.testing.assert_array_equal(features.knn(values, k=1).argmax(1), [0, 1, 0, 1])
        with self.assertRaises(ValueError):
            shiftvit.FeatureSet(values, [0, 1, 0, 5], classes=["x", "y"])


class Predictors(FolderTest):
    def test_texts_are_classes(self):
        model = shiftvit.load(CIFAR)
        images, _ = synthetic(5)
        z = shiftvit.Predictor(model, output="logits").predict(images).astype(np.float64)
        texts = np.random.default_rng(3).normal(size=(4, 10)).astype(np.float32)
        model.set_text_head(texts, ["a", "b", "c", "d"], logit_scale=20, logit_bias=1)
        predictor = shiftvit.Predictor(shiftvit.Model.from_bytes(model.to_bytes()), output="logits")
        unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (z, texts)]
        np.testing.assert_allclose(predictor.predict(images), 20 * unit[0] @ unit[1].T + 1, atol=1e-4)
        self.assertEqual(predictor.classes, ["a", "b", "c", "d"])
        self.assertEqual(model.text_classes, predictor.classes)
        for call in (lambda: model.predict(images), lambda: model.evaluate(images, np.zeros(5, np.int32))):
            with self.assertRaisesRegex(errors.UnsupportedError, "classes are texts; shiftvit.Predictor"):
                call()
        np.testing.assert_allclose(model.predict(images, output="logits"), z, atol=1e-4)
        model.set_text_head([], [])
        self.assertIsNone(model.text_classes)
        self.assertEqual(shiftvit.Predictor(model).num_classes, 10)

    @needs_png
    def test_several_files_are_predicted_as_each_alone(self):
        predictor = shiftvit.Predictor(CIFAR)
        paths = [self.folder / f"{number}.png" for number in range(3)]
        for number, path in enumerate(paths):
            shiftvit.write_png(path, synthetic(3)[0][number, : 32 - number])
        files = [path.read_bytes() for path in paths]
        wanted = np.stack([predictor.predict(file) for file in files])
        self.assertEqual(wanted.shape, (3, 10))
        for several in (paths, tuple(files), [paths[0], *files[1:]], [str(path) for path in paths]):
            np.testing.assert_array_equal(predictor.predict(several), wanted)
        with self.assertRaises(errors.ArgumentError):
            predictor.top(files, 1)
        with self.assertRaisesRegex(errors.ArgumentError, "files and arrays"):
            predictor.predict([files[0], synthetic(1)[0][0]])
        with self.assertRaises(errors.FormatError):
            predictor.predict([files[0], b"no image"])
        rows, failures = predictor.predict_each([files[1], b"no image", "missing.png", files[0]])
        np.testing.assert_array_equal(rows[[0, 3]], wanted[[1, 0]])
        self.assertTrue(np.isnan(rows[[1, 2]]).all())
        self.assertEqual([type(failure) for failure in failures], [
            type(None), errors.FormatError, errors.MissingFileError, type(None)])
        self.assertIn("encoded image 1", str(failures[1]))
        # The library counts within its call; the names of files are no places.
        failures = predictor.predict_each([files[0], "encoded image 0.png", b"?", "no/image 0"])[1]
        for failure, text in zip(failures[1:], ("encoded image 0.png", "encoded image 2", "no/image 0")):
            self.assertIn(text, str(failure))
        with self.assertRaisesRegex(errors.FormatError, "encoded image 1"):
            predictor.predict([paths[0], b"no image", "missing.png"])
        self.assertEqual(predictor.predict_each([])[0].shape, (0, predictor.num_classes))
        for value in (files[0], [wanted], [None]):
            with self.assertRaises(TypeError):
                predictor.predict_each(value)

    @needs_png
    def test_a_context_limits_the_pixels_of_an_image(self):
        path = self.folder / "image.png"
        shiftvit.write_png(path, synthetic(1)[0][0])
        enough = shiftvit.Context(threads=1, max_image_pixels=1024)
        self.assertEqual(shiftvit.read_image(path, context=enough).shape, (32, 32, 3))
        with self.assertRaisesRegex(errors.FormatError, "at most 1023 in all"):
            shiftvit.read_image(path, context=shiftvit.Context(threads=1, max_image_pixels=1023))
        for pixels in (0, 64_000_001, True):
            with self.assertRaisesRegex(errors.ArgumentError, "max_image_pixels"):
                shiftvit.Context(max_image_pixels=pixels)

    def test_the_top_classes_have_their_names_and_no_others_are_read(self):
        model = tiny(num_classes=300)
        model.pipeline = shiftvit._fit.plain_pipeline((32, 32), (32, 32), 3, 1.0)
        image = few()[0][0]
        function = _library.functions["svit_predictor_class_name"]
        with shiftvit.Predictor(model) as predictor:
            order = np.argsort(-predictor.predict(image), kind="stable")
            self.assertEqual([name for name, value in predictor.top(image, 4)], [str(i) for i in order[:4]])
            names = model.classes = [f"class \u00e9 {i}" for i in range(300)]
            self.assertEqual(predictor.classes, names)
            with mock.patch.object(function, "pointer", mock.Mock(side_effect=function.pointer)) as read:
                top = predictor.top(image, 4)
                self.assertEqual(read.call_count, 4)
            self.assertEqual([name for name, value in top], [names[i] for i in order[:4]])
            self.assertEqual(len(predictor.top(image, 1000)), 300)
            self.assertEqual(predictor.top(image, 0), [])

    def test_labels_are_none_below_the_threshold(self):
        model = shiftvit.load(CIFAR)
        images, _ = synthetic(60)
        logits = shiftvit.Predictor(model, output="logits").predict(images)
        threshold = shiftvit.metrics.choose_threshold(logits, accepted=0.8)
        largest = shiftvit.softmax(logits).max(1)
        self.assertEqual((largest >= threshold).sum(), 48)
        self.assertEqual(model.threshold, 0)
        model.threshold = threshold
        predictor = shiftvit.Predictor(shiftvit.Model.from_bytes(model.to_bytes()))
        rows = predictor.predict(images)
        labels = predictor.labels(rows)
        np.testing.assert_array_equal(labels, np.where(rows.max(1) < threshold, -1, rows.argmax(1)))
        self.assertGreater((labels < 0).sum(), 0)
        one = predictor.labels(predictor.predict(images[0]))
        self.assertEqual((one.shape, int(one)), ((), labels[0]))
        with self.assertRaises(errors.ArgumentError):
            predictor.labels(rows[0, :3])
        with self.assertRaises(errors.ArgumentError):
            model.threshold = 1.5
        with self.assertRaises(errors.StateError):
            shiftvit.Predictor(model, output="logits").labels(logits)

    def test_arrays_of_bytes_and_floats(self):
        images, _ = synthetic(5)
        with shiftvit.Predictor(CIFAR, max_batch=2) as predictor:
            together = predictor.predict(images)
            self.assertEqual(together.shape, (5, 10))
            for image, row in zip(images, together):
                np.testing.assert_allclose(predictor.predict(image), row, atol=1e-6)
            np.testing.assert_allclose(predictor.predict(images.astype(np.float32)), together, atol=1e-5)
            with self.assertRaisesRegex(ValueError, r"\[n, n, n, 3\]"):
                predictor.predict(images[..., :1])
            with self.assertRaises(errors.FormatError):
                predictor.predict(b"no image")
            with self.assertRaises(OSError):
                predictor.predict("missing.png")
        model = shiftvit.load(CIFAR)
        for tta in ("flip", "flip-shift"):
            versions = shiftvit.Predictor(CIFAR, tta=tta).predict(images)
            np.testing.assert_allclose(versions, model.predict(images, tta=tta), atol=1e-6)
            self.assertGreater(np.abs(versions - together).max(), 1e-4)
        (self.folder / "model.safetensors").write_bytes(CIFAR.read_bytes())
        np.testing.assert_array_equal(
            shiftvit.Predictor(self.folder).predict(images), shiftvit.Predictor(CIFAR).predict(images)
        )
        from_bytes = shiftvit.Predictor(CIFAR.read_bytes())
        np.testing.assert_array_equal(from_bytes.predict(images), shiftvit.Predictor(CIFAR).predict(images))
        with self.assertRaisesRegex(errors.StateError, "pipeline"):
            shiftvit.Predictor(tiny())


class Losses(unittest.TestCase):
    def test_losses_and_metrics_are_numpys(self):
        rng = np.random.default_rng(2)
        logits = rng.standard_normal((7, 5)).astype(np.float32)
        labels = rng.integers(0, 5, 7)
        exps = np.exp(logits.astype(np.float64))
        p = exps / exps.sum(1, keepdims=True)
        loss, gradient = shiftvit.cross_entropy(logits, labels)
        self.assertAlmostEqual(loss, -np.log(p[np.arange(7), labels]).mean(), places=5)
        np.testing.assert_allclose(gradient, (p - np.eye(5)[labels]) / 7, atol=1e-6)
        np.testing.assert_allclose(shiftvit.softmax(logits), p, atol=1e-6)
        soft, _ = shiftvit.cross_entropy(logits, np.eye(5)[labels])
        self.assertAlmostEqual(soft, loss, places=5)
        matrix = shiftvit.metrics.confusion_matrix(logits, labels)
        self.assertEqual(int(np.trace(matrix)) / 7, shiftvit.metrics.top_k(logits, labels))
        self.assertEqual(shiftvit.metrics.top_k(logits, labels, 5), 1.0)
        self.assertEqual(shiftvit.mean_squared_error(logits, logits)[0], 0)
        targets = (logits > 0).astype(np.float32)
        self.assertEqual(shiftvit.metrics.multilabel(logits, targets)["exact_match"], 1)
        np.testing.assert_array_equal(shiftvit.metrics.average_precision(logits, targets), 1)
        binary = np.log1p(np.exp(-abs(logits))).mean()
        self.assertAlmostEqual(shiftvit.binary_cross_entropy(logits, targets)[0], float(binary), places=5)

    def test_metrics_refuse_logits_that_are_not_numbers(self):
        logits, targets = np.zeros((3, 2), dtype=np.float32), np.eye(3, 2)
        logits[1, 0] = np.nan
        for measure in (shiftvit.metrics.top_k, shiftvit.metrics.confusion_matrix):
            with self.assertRaisesRegex(errors.NumericError, "row 1"):
                measure(logits, [0, 1, 0])
        with self.assertRaisesRegex(errors.NumericError, "row 1"):
            shiftvit.metrics.multilabel(logits, targets)
        self.assertTrue(np.isnan(shiftvit.metrics.regression(logits, targets)["mean_absolute"]))
