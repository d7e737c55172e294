"""The estimator of scikit-learn: scikit-learn's own checks, its tools, images and labels of all kinds."""

import io
import pickle
import subprocess
import sys
import unittest

import numpy as np
import shiftvit
from shiftvit import errors
from support import synthetic, tiny

try:
    import joblib
    import sklearn
    from shiftvit.sklearn import ViTClassifier
    from sklearn.base import clone, is_classifier
    from sklearn.exceptions import NotFittedError
    from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, MinMaxScaler
    from sklearn.utils import estimator_checks
except ImportError as error:
    if error.name not in ("sklearn", "joblib"):
        raise
    sklearn = None

#: Checks of scikit-learn that do not apply, by their names, and why. A classifier of images that takes rows of features
#: as images of one row passes all others.
NOT_APPLICABLE: dict = {}


def checks(estimator):
    """(name, function) of each of scikit-learn's checks, in its releases before and since 1.6."""
    if hasattr(estimator_checks, "estimator_checks_generator"):
        pairs = estimator_checks.estimator_checks_generator(estimator)
    else:
        pairs = estimator_checks.check_estimator(estimator, generate_only=True)
    for subject, check in pairs:
        yield getattr(check, "func", check).__name__, lambda subject=subject, check=check: check(subject)


@unittest.skipIf(sklearn is None, "scikit-learn is not installed")
class Estimator(unittest.TestCase):
    def test_scikit_learns_own_checks(self):
        count, skipped = 0, []
        for name, check in checks(ViTClassifier(random_state=0)):
            count += 1
            if name in NOT_APPLICABLE:
                skipped.append(f"{name}: {NOT_APPLICABLE[name]}")
                continue
            with self.subTest(check=name):
                try:
                    check()
                except unittest.SkipTest as reason:
                    skipped.append(f"{name}: {reason}")
        print(f"{count} checks of scikit-learn {sklearn.__version__}, {len(skipped)} skipped {skipped}", end=" ")
        self.assertGreater(count, 40)
        self.assertLess(len(skipped), 5)

    def test_images_of_bytes_and_floats_and_their_rows_are_the_same(self):
        images, labels = synthetic(100)
        scaled = images * np.float32(1 / 255)
        expected = None
        for x in (images, scaled, scaled.astype(np.float64), scaled.reshape(100, -1), scaled[:, ::-1][:, ::-1]):
            estimator = ViTClassifier(image_shape=(32, 32, 3), epochs=2, random_state=3).fit(x, labels)
            probabilities = estimator.predict_proba(x)
            self.assertEqual((probabilities.shape, probabilities.dtype), ((100, 10), np.float32))
            np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
            expected = probabilities if expected is None else expected
            np.testing.assert_allclose(probabilities, expected, atol=2e-3)
            np.testing.assert_array_equal(estimator.predict(x), estimator.classes_[probabilities.argmax(axis=1)])
            self.assertEqual((estimator.n_features_in_, estimator.image_shape_), (3072, (32, 32, 3)))
            self.assertEqual(len(estimator.history_.epochs), 2)
        self.assertTrue(is_classifier(estimator))

    def test_it_learns(self):
        images, labels = synthetic(1500)
        estimator = ViTClassifier(epochs=6, learning_rate=2e-3, random_state=0).fit(images, labels)
        self.assertGreater(estimator.score(*synthetic(500, "test")), 0.3)

    def test_labels_of_any_kind(self):
        images, labels = synthetic(60)
        kinds = ("abcdefghij", [f"name {i}" for i in range(10)], range(-5, 5), np.arange(10) * 2.0, [True, False] * 5)
        for values in kinds:
            y = np.asarray(list(values))[labels]
            estimator = ViTClassifier(epochs=1, random_state=0).fit(images, y)
            np.testing.assert_array_equal(estimator.classes_, np.unique(y))
            self.assertLessEqual(set(estimator.predict(images)), set(y))
            self.assertEqual(estimator.model_.classes, [str(label) for label in np.unique(y)])
        objects = np.array(["b", "a"], dtype=object)[labels % 2]
        self.assertEqual(list(ViTClassifier(epochs=1).fit(images, objects).classes_), ["a", "b"])
        self.assertIsNone(ViTClassifier(epochs=1).fit(images, np.array(["", "x"])[labels % 2]).model_.classes)

    def test_wrong_arguments_are_refused(self):
        images, labels = synthetic(20)
        fitted = ViTClassifier(epochs=1).fit(images, labels)
        small = images[:, :16, :16]
        data = shiftvit.Dataset.from_arrays(images, labels)
        for call, kind, words in (
            (lambda: ViTClassifier().fit(images, labels[:5]), ValueError, "inconsistent numbers of samples"),
            (lambda: ViTClassifier().fit(images, None), ValueError, "requires y"),
            (lambda: ViTClassifier().fit(images, labels / 3), ValueError, "continuous"),
            (lambda: ViTClassifier().fit(images[0], labels), ValueError, "dim 3"),
            (lambda: ViTClassifier().fit(images[..., :0], labels), ValueError, "channels|0 sample|minimum"),
            (lambda: ViTClassifier().fit(np.full(images.shape, np.nan), labels), ValueError, "NaN"),
            (lambda: ViTClassifier(image_shape=(32, 32)).fit(images, labels), ValueError, "image_shape is"),
            (lambda: ViTClassifier(image_shape=(16, 16, 3)).fit(images, labels), ValueError, "image_shape is"),
            (lambda: ViTClassifier(image_shape=(8, 8, 3)).fit(images.reshape(20, -1), labels), ValueError, "rows of"),
            (lambda: ViTClassifier(epochs=0).fit(images, labels), errors.ArgumentError, "epochs"),
            (lambda: ViTClassifier(model="vit-cifr").fit(images, labels), errors.ArgumentError, "vit-cifr"),
            (lambda: ViTClassifier(settings={"optimiser": 1}).fit(images, labels), errors.ArgumentError, "optimizer"),
            (
                lambda: ViTClassifier(settings={"learning_rate": 0.5}).fit(images, labels),
                errors.ArgumentError,
                "settings has learning_rate, which is a parameter",
            ),
            (lambda: ViTClassifier(image_shape=(32.5, 32, 3)).fit(images, labels), TypeError, "integer"),
            (lambda: ViTClassifier(fitted.model_.parameters()).fit(images, labels), TypeError, "Parameters"),
            (lambda: ViTClassifier(data).fit(images, labels), TypeError, "model is a Dataset; a Model is needed"),
            (lambda: ViTClassifier().fit(data, labels), TypeError, "X is a Dataset; an array is needed"),
            (lambda: fitted.predict(fitted.model_), TypeError, "X is a Model; an array is needed"),
            (lambda: ViTClassifier().predict(images), NotFittedError, "fit"),
            (lambda: ViTClassifier().predict_proba(images), NotFittedError, "fit"),
            (lambda: fitted.predict(small), ValueError, r"\(16, 16, 3\); those of fit\(\) had \(32, 32, 3\)"),
            (lambda: fitted.predict(images.reshape(20, -1)[:, :5]), ValueError, "5 features"),
            (lambda: ViTClassifier().set_params(depth=3), ValueError, "depth"),
        ):
            with self.subTest(words=words), self.assertRaisesRegex(kind, words):
                call()

    def test_a_fit_that_fails_leaves_the_estimator_as_it_was(self):
        images, labels = synthetic(20)
        estimator = ViTClassifier(settings={"learning_rat": 1})
        with self.assertRaises(errors.ArgumentError):
            estimator.fit(images, labels)
        with self.assertRaises(NotFittedError):
            estimator.predict(images)
        estimator.set_params(settings=None, epochs=1).fit(images, labels)
        before = estimator.predict_proba(images)
        with self.assertRaises(errors.ArgumentError):
            estimator.set_params(epochs=0).fit(images[:, ::2, ::2], labels)
        np.testing.assert_array_equal(estimator.predict_proba(images), before)

    def test_random_states_repeat_every_bit(self):
        images, labels = synthetic(60)

        def bits(state):
            return ViTClassifier(epochs=1, random_state=state).fit(images, labels).model_.to_bytes()

        self.assertEqual(bits(1), bits(1))
        self.assertEqual(bits(np.random.RandomState(1)), bits(1))
        self.assertNotEqual(bits(1), bits(2))

    def test_models_and_presets_are_fine_tuned(self):
        images, labels = synthetic(60)
        model = tiny().set_trainable("blocks.*", False)
        before = model.to_bytes()
        estimator = ViTClassifier(model, epochs=1, random_state=0)
        fitted = clone(estimator).fit(images, labels)
        self.assertEqual(model.to_bytes(), before)
        self.assertEqual((fitted.model_.num_classes, model.num_classes), (10, 3))
        name = "blocks.0.attn.qkv.weight"
        np.testing.assert_array_equal(fitted.model_.parameters()[name], model.parameters()[name])
        again = ViTClassifier(fitted.model_, epochs=1, learning_rate=0.0).fit(images, labels)
        np.testing.assert_array_equal(again.predict_proba(images), fitted.predict_proba(images))
        preset = ViTClassifier("mixer-cifar10", epochs=1).fit(images[:20], labels[:20])
        self.assertEqual(preset.model_.config["architecture"], "mixer")

    def test_settings_reach_the_training(self):
        images, labels = synthetic(60)
        pipeline = {**shiftvit._fit.plain_pipeline((32, 32), (32, 32), 3, 1 / 255), "flip_probability": 0.5}
        settings = {"optimizer": "lion", "pipeline": pipeline, "validation_data": (images, labels)}
        estimator = ViTClassifier(epochs=1, settings=settings).fit(images, labels)
        self.assertEqual(estimator.model_.pipeline["flip_probability"], 0.5)
        self.assertIn("val_loss", estimator.history_.history)


@unittest.skipIf(sklearn is None, "scikit-learn is not installed")
class Tools(unittest.TestCase):
    def test_clones_have_the_parameters_and_no_model(self):
        estimator = ViTClassifier(epochs=3, settings={"optimizer": "muon"}, random_state=1)
        other = clone(estimator.fit(*synthetic(20)))
        self.assertEqual(other.get_params(), estimator.get_params())
        self.assertFalse(hasattr(other, "model_"))
        self.assertIn("epochs=3", repr(other))

    def test_cross_validation_grids_and_pipelines(self):
        images, labels = synthetic(200)
        scores = cross_val_score(ViTClassifier(epochs=1, random_state=0), images, labels, cv=2)
        self.assertEqual(scores.shape, (2,))
        logged = cross_val_score(
            ViTClassifier(epochs=1, random_state=0), images, labels, cv=2, scoring="neg_log_loss"
        )
        self.assertTrue(np.isfinite(logged).all())
        out = cross_val_predict(ViTClassifier(epochs=1), images, labels, cv=2, method="predict_proba")
        self.assertEqual(out.shape, (200, 10))
        grid = {"learning_rate": [0.0, 2e-3], "settings": [None, {"optimizer": "lion"}]}
        search = GridSearchCV(ViTClassifier(epochs=4, random_state=0), grid, cv=2, scoring="neg_log_loss")
        search.fit(images, labels)
        self.assertEqual(search.best_params_["learning_rate"], 2e-3)
        self.assertEqual(search.predict(images).shape, (200,))
        rows = images.reshape(200, -1)
        steps = make_pipeline(MinMaxScaler(), ViTClassifier(image_shape=(32, 32, 3), epochs=1, random_state=0))
        self.assertEqual(steps.fit(rows, labels).predict_proba(rows).shape, (200, 10))
        flipped = make_pipeline(FunctionTransformer(lambda x: x[:, :, ::-1]), ViTClassifier(epochs=1))
        self.assertEqual(flipped.fit(images, labels).predict(images).shape, (200,))

    def test_several_processes(self):
        images, labels = synthetic(60)
        estimator = ViTClassifier(epochs=1, random_state=0)
        alone = cross_val_score(estimator, images, labels, cv=2)
        np.testing.assert_array_equal(cross_val_score(estimator, images, labels, cv=2, n_jobs=2), alone)
        with joblib.parallel_backend("threading", n_jobs=2):
            np.testing.assert_array_equal(cross_val_score(estimator, images, labels, cv=2, n_jobs=2), alone)

    def test_pickle_and_joblib_keep_every_bit(self):
        images, labels = synthetic(40)
        estimator = ViTClassifier(tiny(), epochs=1, random_state=0).fit(images, labels)
        file = io.BytesIO()
        joblib.dump(estimator, file)
        file.seek(0)
        for other in (pickle.loads(pickle.dumps(estimator)), joblib.load(file)):
            np.testing.assert_array_equal(other.predict_proba(images), estimator.predict_proba(images))
            np.testing.assert_array_equal(other.classes_, estimator.classes_)
            self.assertEqual(other.model.to_bytes(), estimator.model.to_bytes())


class Optional(unittest.TestCase):
    def test_the_package_does_not_import_scikit_learn(self):
        script = (
            f"import sys; sys.path[:] = {sys.path!r}; sys.modules['sklearn'] = None; import shiftvit\n"
            "try:\n import shiftvit.sklearn\nexcept ImportError as error: print(error)"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("sklearn", done.stdout)
