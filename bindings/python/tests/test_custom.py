"""Datasets of Python functions against datasets of the same arrays."""

from __future__ import annotations

import gc
import threading
import unittest
import weakref

import numpy as np

import shiftvit
from shiftvit import errors
from support import small, synthetic

COUNT, SHAPE = 20, (32, 32, 3)


def arrays(dtype, kind):
    images, labels = synthetic(COUNT)
    x = images if dtype == np.uint8 else images.astype(np.float32) * 0.5 - 3
    y = labels.copy() if kind == "labels" else np.linspace(-1, 1, COUNT * 4, dtype=np.float32).reshape(COUNT, 4)
    return x, y


class CustomDatasets(unittest.TestCase):
    def test_they_have_the_samples_of_the_arrays(self):
        for dtype in (np.uint8, np.float32, "float32"):
            for kind in ("labels", "targets"):
                with self.subTest(dtype=dtype, kind=kind):
                    x, y = arrays(dtype, kind)
                    made = shiftvit.Dataset.from_function(lambda index: x[index], COUNT, SHAPE, y=y, dtype=dtype)
                    same = shiftvit.Dataset.from_arrays(x, y)
                    self.assertEqual((len(made), made.shape, made.num_classes), (len(same), same.shape, same.num_classes))
                    np.testing.assert_array_equal(made.labels, same.labels)
                    np.testing.assert_array_equal(made.targets, same.targets)
                    for index in range(COUNT):
                        np.testing.assert_array_equal(made[index][0], same[index][0])
                        self.assertEqual(made[index][0].dtype, same[index][0].dtype)
                        np.testing.assert_array_equal(made[index][1], same[index][1])

    def test_models_learn_the_same(self):
        x, y = arrays(np.uint8, "labels")
        trained = []
        for data in (
            shiftvit.Dataset.from_function(lambda index: x[index], COUNT, SHAPE, y=y),
            shiftvit.Dataset.from_arrays(x, y),
        ):
            model = small(num_classes=data.num_classes)
            model.fit(data, epochs=2, batch_size=8)
            trained.append(model.to_bytes())
        self.assertEqual(*trained)

    def test_images_of_many_channels_are_learnt_measured_and_predicted(self):
        for channels in (2, 6):
            with self.subTest(channels=channels):
                x = np.random.default_rng(1).normal(size=(24, 16, 16, channels)).astype(np.float32)
                y = np.arange(24) % 3
                x[y == 1, :, :, -1] += 4
                data = shiftvit.Dataset.from_function(lambda index: x[index], 24, x.shape[1:], y=y, dtype=np.float32)
                mean, variance = data.statistics()
                axes = (0, 1, 2) if channels <= 4 else None
                np.testing.assert_allclose(mean, np.atleast_1d(x.mean(axes, np.float64)), rtol=1e-9)
                np.testing.assert_allclose(variance, np.atleast_1d(x.var(axes, np.float64)), rtol=1e-9)
                model = small(num_classes=3, in_channels=channels, input_height=16, input_width=16)
                model.fit(data, epochs=6, batch_size=8)
                self.assertEqual(len(model.pipeline["mean"]), len(mean))
                found = model.predict(x).argmax(axis=1)
                self.assertGreater((found == y).mean(), 0.6)
                with self.assertRaisesRegex(errors.ArgumentError, f"channels is {channels}; files give images of 1"):
                    shiftvit.Predictor(model).predict("a.png")

    def test_wrong_arguments_are_refused_at_once(self):
        from_function = shiftvit.Dataset.from_function
        with self.assertRaisesRegex(errors.ArgumentError, "y has the label 2, and num_classes is 2"):
            from_function(lambda index: None, 3, SHAPE, 2, y=[0, 1, 2])
        for classes in (None, 2):
            with self.assertRaisesRegex(errors.ArgumentError, "y has the label -1; labels are 0 and above"):
                from_function(lambda index: None, 3, SHAPE, classes, y=[0, -1, 1])
        with self.assertRaisesRegex(errors.ArgumentError, r"shape is \(16, 16\); height, width and channels"):
            from_function(lambda index: None, 3, (16, 16), 2)
        with self.assertRaisesRegex(TypeError, "ndarray is given where a function is needed"):
            from_function(np.zeros((3, *SHAPE), np.uint8), 3, SHAPE, 2)

    def test_labels_are_known_without_images(self):
        x, y = arrays(np.uint8, "labels")
        read = []

        def sample(index):
            read.append((index, threading.get_ident()))
            return x[index]

        names = [f"kind {k}" for k in range(10)]
        data = shiftvit.Dataset.from_function(sample, COUNT, SHAPE, 10, y=y, classes=names)
        self.assertEqual(data.classes, names)
        np.testing.assert_array_equal(data.labels, y)
        pipeline = {"source_height": 32, "source_width": 32, "output_height": 32, "output_width": 32}
        balanced = shiftvit.Loader(data, pipeline, batch=4, shuffle=True, sampling="balanced")
        self.assertEqual(read, [])
        next(iter(balanced))
        self.assertEqual({thread for _, thread in read}, {threading.get_ident()})
        together = shiftvit.Dataset.from_function(lambda index: (x[index], y[index]), COUNT, SHAPE, 10)
        with self.assertRaises(errors.UnsupportedError):
            shiftvit.Loader(together, pipeline, batch=4, shuffle=True, sampling="balanced")

    def test_labels_that_change_afterwards_are_not_those_of_the_dataset(self):
        x, y = arrays(np.uint8, "labels")
        wanted = y.copy()
        data = shiftvit.Dataset.from_function(lambda index: x[index], COUNT, SHAPE, y=y)
        y[:] = 99
        np.testing.assert_array_equal(data.labels, wanted)

    def test_what_is_refused(self):
        x, y = arrays(np.float32, "targets")
        labels = np.arange(COUNT) % 3
        from_function = shiftvit.Dataset.from_function
        for wrong, problem, arguments in (
            (TypeError, "num_classes, or y", {}),
            (errors.ArgumentError, "dtype is float64", {"y": y, "dtype": np.float64}),
            (errors.ArgumentError, "4 columns, and num_classes is 3", {"y": y, "num_classes": 3}),
            (errors.ArgumentError, r"\[20, n\] is needed", {"y": y[:3]}),
            (errors.ArgumentError, r"\[20\] is needed", {"y": labels[:3]}),
            (errors.ArgumentError, "classes has 2 names; 4 are needed", {"y": y, "classes": ["a", "b"]}),
            (TypeError, "a sequence of texts is needed", {"y": y, "classes": "abcd"}),
        ):
            with self.subTest(problem=problem), self.assertRaisesRegex(wrong, problem):
                from_function(lambda index: x[index], COUNT, SHAPE, **arguments)
        floats = from_function(lambda index: x[index], COUNT, SHAPE, y=y)
        with self.assertRaisesRegex(TypeError, "image 3 is an array of float32; uint8 is needed"):
            floats[3]
        bytes_ = from_function(lambda index: np.zeros(SHAPE, np.uint8), COUNT, SHAPE, y=y, dtype=np.float32)
        with self.assertRaisesRegex(TypeError, "image 3 is an array of uint8; floats are needed"):
            bytes_[3]
        x[4, 0, 0, 1] = np.nan
        bad = from_function(lambda index: x[index].astype(float), COUNT, SHAPE, y=y, dtype=np.float32)
        with self.assertRaisesRegex(errors.FormatError, "sample 4: value 1 is nan"):
            bad[4]
        self.assertEqual([index for index, *_ in bad.verify()], [4])

    def test_functions_end_with_their_datasets(self):
        class Source:
            def __init__(self):
                self.data = shiftvit.Dataset.from_function(self.read, 4, SHAPE, y=[0, 1, 0, 1])

            def read(self, index):
                return np.full(SHAPE, index, np.uint8)

        source = Source()
        gone = weakref.ref(source)
        view = source.data[1:3]
        self.assertEqual(view[1][0][0, 0, 0], 2)
        del source, view
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    unittest.main()
