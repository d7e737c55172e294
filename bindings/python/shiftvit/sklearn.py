"""An estimator of scikit-learn, which only this module needs: ``from shiftvit.sklearn import ViTClassifier``.

    search = GridSearchCV(ViTClassifier(epochs=5), {"learning_rate": [1e-3, 3e-3]}, cv=3)
    search.fit(images, labels).predict_proba(others)
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

# scikit-learn has no type hints.
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore
from sklearn.utils import check_random_state  # type: ignore
from sklearn.utils.multiclass import check_classification_targets  # type: ignore
from sklearn.utils.validation import check_is_fitted  # type: ignore

from . import _arrays
from ._handles import Handle, expect
from .creation import create_model
from .errors import ArgumentError
from .model import Model

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # before 1.6

    def validate_data(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        return estimator._validate_data(X, y, **options)


#: The ViT that is trained if no model is given has at most as many patches in a row or a column, and these fields.
_PATCHES = 8
_SMALL: dict[str, Any] = {
    "architecture": "vit",
    "dim": 64,
    "depth": 2,
    "heads": 4,
    "head_dim": 16,
    "mlp_dim": 128,
    "pool": "mean",
    "head_units": [],
    "dropout": 0.0,
    "head_dropout": 0.0,
    "attention_dropout": 0.0,
}


class ViTClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A vision transformer as a classifier of scikit-learn.

    ``X`` are images [n, height, width, channels] of uint8 or floats, or rows [n, features]
    that are reshaped to ``image_shape``. Integers other than uint8 count as floats. ``y`` has any labels.

    Attributes:
        model_: The Model that was trained, with the labels as its class names.
        classes_: The labels in their order, which is that of the columns of :meth:`predict_proba`.
        history_: The History of the training.
        image_shape_: Height, width and channels of the images.
        n_features_in_: Elements of an image.
    """

    def __init__(
        self,
        model: Model | str | None = None,
        *,
        image_shape: tuple[int, int, int] | None = None,
        epochs: int = 10,
        batch_size: int = 32,
        learning_rate: float = 1e-3,
        settings: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        """Takes the parameters, which :meth:`fit` checks.

        Args:
            model: A Model to fine-tune, which is copied with what is frozen, and gets a new classifier unless it has
                class names that are the labels; the name of a preset; or None for a small ViT that fits the images.
            image_shape: Height, width and channels of rows of features; None: an image of one row and one channel.
            epochs: Passes over the images.
            batch_size: Images in a step.
            learning_rate: The largest one of the schedule.
            settings: Other settings of :meth:`shiftvit.Model.fit`, such as ``{"optimizer": "muon", "pipeline": ...}``.
            random_state: Seeds the weights, the order of images and dropout: an integer, a RandomState or None.
        """
        self.model = model
        self.image_shape = image_shape
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ViTClassifier:
        """Trains a model from the start and returns the estimator, which is as it was before if that fails."""
        before = dict(self.__dict__)
        try:
            return self._fit(X, y)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _fit(self, X: Any, y: Any) -> ViTClassifier:
        shape = self._shape_of(X)
        rows, y = validate_data(self, _rows(X), y, dtype=[np.float32, np.float64, np.uint8])
        check_classification_targets(y)
        if shape is None:
            shape = (1, rows.shape[1], 1)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y has 1 class, {classes[0]!r}; a classifier needs two or more")
        settings = dict(self.settings or {})
        for name in ("epochs", "batch_size", "learning_rate"):
            if name in settings:
                raise ArgumentError(f"settings has {name}, which is a parameter of the estimator")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        model = self._started(classes, shape, seed)
        history = model.fit(
            rows.reshape(len(rows), *shape),
            labels,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            **{"seed": seed, **settings},
        )
        self.classes_, self.model_, self.history_, self.image_shape_ = classes, model, history, shape
        return self

    def _shape_of(self, X: Any) -> tuple[int, int, int] | None:
        """The shape of the images that fit is given, None for rows without ``image_shape``."""
        wanted: Any = None if self.image_shape is None else tuple(operator.index(side) for side in self.image_shape)
        if wanted is not None and len(wanted) != 3:
            raise ArgumentError(f"image_shape is {wanted}; height, width and channels are needed")
        given: Any = _shape(X)
        if len(given) != 4:
            if wanted is not None and len(given) == 2 and given[1] != np.prod(wanted):
                raise ArgumentError(f"X has rows of {given[1]} features; image_shape {wanted} needs {np.prod(wanted)}")
            return wanted  # type: ignore[no-any-return]
        if wanted not in (None, given[1:]):
            raise ArgumentError(f"X has images of the shape {given[1:]}, and image_shape is {wanted}")
        return given[1:]  # type: ignore[no-any-return]

    def _started(self, classes: NDArray[Any], shape: tuple[int, int, int], seed: int) -> Model:
        """The model before its training."""
        count = len(classes)
        names = [str(label) for label in classes]
        if isinstance(self.model, Model):
            model = copy.copy(self.model)
            if model.classes != names:
                model.replace_head(count, seed=seed)
        elif self.model is not None:
            if isinstance(self.model, Handle):
                expect(self.model, Model, "model")
            model = create_model(self.model, num_classes=count, in_channels=shape[2], seed=seed)
        else:
            patch = -(-max(shape[:2]) // _PATCHES)
            height, width = (-(-side // patch) * patch for side in shape[:2])
            size: dict[str, Any] = {"input_height": height, "input_width": width, "in_channels": shape[2], "patch_size": patch}
            model = create_model(num_classes=count, seed=seed, **_SMALL, **size)
        if len(set(names)) == count and all(name.strip() for name in names):
            model.classes = names
        return model

    def _images(self, X: Any) -> NDArray[Any]:
        """What is to be predicted, as images."""
        given = _shape(X)
        if len(given) == 4 and given[1:] != self.image_shape_:
            raise ArgumentError(f"X has images of the shape {given[1:]}; those of fit() had {self.image_shape_}")
        rows = validate_data(self, _rows(X), dtype=[np.float32, np.float64, np.uint8], reset=False)
        images: NDArray[Any] = rows.reshape(len(rows), *self.image_shape_)
        return images

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """The probability of each class of ``classes_``, [n, classes]."""
        check_is_fitted(self, "model_")
        return self.model_.predict(self._images(X), output="softmax")

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable label of each image, [n]."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[likeliest]
        return labels


def _shape(X: Any) -> tuple[int, ...]:
    """The shape of an array, a data frame or a list."""
    if isinstance(X, Handle):
        _arrays.array(X, "X")
    shape = getattr(X, "shape", None)
    return np.asarray(X).shape if shape is None else tuple(shape)


def _rows(X: Any) -> Any:
    """Images as rows [n, features], whose checks scikit-learn has; anything else as it is."""
    if len(_shape(X)) != 4:
        return X
    images = np.asarray(X)
    return images.reshape(len(images), -1)
