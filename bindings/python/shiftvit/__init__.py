"""Small vision transformers on CPUs: ShiftViT, ViT, SL-ViT and MLP-Mixer, with NumPy arrays in and out.

    model = shiftvit.create_model("deit-tiny-patch16-224", num_classes=10)
    model.fit(images, labels, epochs=5)
    model.predict(images)

Three ways lead into the package:

- :class:`Model` has ``fit``, ``evaluate`` and ``predict`` on arrays and on :class:`Dataset`.
- :class:`Session` and :class:`Optimizer` are the parts of a training loop of one's own.
- :class:`Predictor` goes from one model file and an image file to classes.

Images are [n, height, width, channels], uint8 or floats. Every failure of the library is a :class:`Error`, which is
also a ValueError, OSError, MemoryError or the like where that fits. Calls run without the interpreter's lock.
"""

from . import errors, losses, metrics
from ._library import string as _string
from .checkpoint import Checkpoint, save_checkpoint
from .config import config_fields, model_config, presets, training_config
from .context import Context, default_context
from .creation import create_model, load, load_pretrained
from .data import Dataset, Loader
from .errors import Error
from .features import Extractor, FeatureSet
from .image import read_image, write_png
from .losses import binary_cross_entropy, cross_entropy, mean_squared_error, sigmoid, softmax
from .model import LoadReport, Model
from .optimizer import Optimizer, learning_rate
from .parameters import Parameters
from .predictor import Predictor
from .session import Session
from .trainer import Event, History, Trainer, print_epoch

#: Version of the C library.
__version__: str = _string("svit_version_string") or ""

__all__ = [
    "Checkpoint",
    "Context",
    "Dataset",
    "Error",
    "Event",
    "Extractor",
    "FeatureSet",
    "History",
    "LoadReport",
    "Loader",
    "Model",
    "Optimizer",
    "Parameters",
    "Predictor",
    "Session",
    "Trainer",
    "binary_cross_entropy",
    "config_fields",
    "create_model",
    "cross_entropy",
    "default_context",
    "errors",
    "learning_rate",
    "load",
    "load_pretrained",
    "losses",
    "mean_squared_error",
    "metrics",
    "model_config",
    "presets",
    "print_epoch",
    "read_image",
    "save_checkpoint",
    "sigmoid",
    "softmax",
    "training_config",
    "write_png",
]
