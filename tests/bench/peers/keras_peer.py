"""Keras' speed, on TensorFlow. Forms: stock, a graph; xla, the same compiled by XLA."""
import os
from typing import Callable

import peer

OPTIONS = peer.parse_options(peer.WORKS, ("stock", "xla"))
os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
try:
    import tensorflow
    import keras
    import keras_model
except ImportError as error:
    peer.not_installed(error)

Step = Callable[[], object]


def training_step(images: tensorflow.Tensor, compiled: bool) -> Step:
    model = keras_model.build(OPTIONS.model)
    model.compile(optimizer=keras.optimizers.AdamW(1e-3, weight_decay=1e-4),
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  jit_compile=compiled)
    classes = peer.CLASSES[OPTIONS.model]
    labels = tensorflow.random.uniform((OPTIONS.batch,), 0, classes, tensorflow.int32)
    return lambda: model.train_on_batch(images, labels)


def inference(images: tensorflow.Tensor, compiled: bool) -> Step:
    model = keras_model.build(OPTIONS.model)
    forward = tensorflow.function(lambda x: model(x, training=False), jit_compile=compiled)
    return lambda: forward(images).numpy()


def data_step() -> Step:
    values = tensorflow.random.uniform((OPTIONS.batch, 32, 32, 3), 0, 256, tensorflow.int32)
    images = tensorflow.cast(values, tensorflow.uint8)
    augmentation = keras_model.augmentation(OPTIONS.model)
    augment = tensorflow.function(lambda x: augmentation(x, training=True))
    return lambda: augment(images)[0, 0, 0, 0].numpy()


def make_peer() -> peer.Peer:
    version = f"Keras {keras.__version__}, TensorFlow {tensorflow.__version__}"
    if OPTIONS.work == "data":
        crop = ", one crop a batch" if OPTIONS.model == "shiftvit" else ""
        return peer.Peer(data_step(), version + crop)
    images = tensorflow.random.uniform((OPTIONS.batch, *peer.SHAPES[OPTIONS.model]))
    compiled = OPTIONS.form == "xla"
    make = training_step if OPTIONS.work == "train" else inference
    return peer.Peer(make(images, compiled), version + (", XLA" if compiled else ", graph"))


if __name__ == "__main__":
    tensorflow.config.threading.set_intra_op_parallelism_threads(OPTIONS.threads)
    tensorflow.config.threading.set_inter_op_parallelism_threads(OPTIONS.threads)
    keras.utils.set_random_seed(0)
    peer.report(OPTIONS, "keras", make_peer())
