"""ShiftViT, ViT and SL-ViT in Keras, with the arithmetic of the library's presets, built of Keras' layers
where possible."""
import keras
import numpy
from keras import layers, ops

import peer

DEPTH, DIM, HEADS, HEAD_DIM, TOKENS, PATCH = 8, 64, 4, 64, 144, 6
Tensor = keras.KerasTensor


class Shift(layers.Layer):
    """The first four groups of channels move by one: left, right, up, down."""

    def call(self, x: Tensor) -> Tensor:
        group = x.shape[3] // 12
        left, right, up, down = (x[..., i * group:(i + 1) * group] for i in range(4))
        none = (0, 0)
        return ops.concatenate([
            ops.pad(left[:, :, 1:], (none, none, (0, 1), none)),
            ops.pad(right[:, :, :-1], (none, none, (1, 0), none)),
            ops.pad(up[:, 1:], (none, (0, 1), none, none)),
            ops.pad(down[:, :-1], (none, (1, 0), none, none)), x[..., 4 * group:]], axis=3)


def shift_block(x: Tensor, dim: int, drop_path: float) -> Tensor:
    x = Shift()(x)
    y = layers.LayerNormalization(epsilon=1e-5)(x)
    y = layers.Dropout(0.2)(layers.Dense(2 * dim, activation="gelu")(y))
    y = layers.Dropout(0.2)(layers.Dense(dim)(y))
    if drop_path > 0:
        y = layers.Dropout(drop_path, noise_shape=(None, 1, 1, 1))(y)
    return x + y


def shiftvit() -> keras.Model:
    inputs = keras.Input(peer.SHAPES["shiftvit"])
    x = layers.Conv2D(96, 4, 4, padding="same")(inputs)
    for index, blocks in enumerate((2, 4, 8, 2)):
        dim = 96 << index
        for i in range(blocks):
            x = shift_block(x, dim, 0.2 * i / (blocks - 1))
        if index < 3:
            x = layers.LayerNormalization(epsilon=1e-5)(x)
            x = layers.Conv2D(2 * dim, 2, 2, padding="same", use_bias=False)(x)
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


class Patches(layers.Layer):
    """The image's patches as tokens; with `copies`, also those of the image's shifted copies."""

    def __init__(self, copies: bool) -> None:
        super().__init__()
        self.copies = copies

    def call(self, x: Tensor) -> Tensor:
        side, half = x.shape[1], PATCH // 2
        if self.copies:
            wide = ops.pad(x, ((0, 0), (half, half), (half, half), (0, 0)))
            corners = [(PATCH, PATCH), (0, PATCH), (PATCH, 0), (0, 0)]
            moved = [wide[:, i:i + side, j:j + side] for i, j in corners]
            x = ops.concatenate([x] + moved, axis=3)
        count, channels = side // PATCH, x.shape[3]
        x = ops.reshape(x, (-1, count, PATCH, count, PATCH, channels))
        x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
        return ops.reshape(x, (-1, count * count, PATCH * PATCH * channels))


class Position(layers.Layer):
    def build(self, shape: tuple[int | None, ...]) -> None:
        self.position = self.add_weight(shape=shape[1:], initializer="random_uniform")

    def call(self, x: Tensor) -> Tensor:
        return x + self.position


class LocalAttention(layers.Layer):
    """A trained temperature, and no token attends to itself."""

    def build(self, shape: tuple[int | None, ...]) -> None:
        self.temperature = self.add_weight(
            shape=(), initializer=keras.initializers.Constant(HEAD_DIM**0.5))
        self.qkv, self.out = layers.Dense(3 * HEADS * HEAD_DIM), layers.Dense(DIM)
        self.dropout = layers.Dropout(0.1)
        self.mask = numpy.where(numpy.eye(TOKENS) > 0, -numpy.inf, 0).astype("float32")
        self.qkv.build(shape)
        self.out.build((*shape[:2], HEADS * HEAD_DIM))

    def call(self, x: Tensor, training: bool = False) -> Tensor:
        qkv = ops.reshape(self.qkv(x), (-1, TOKENS, 3, HEADS, HEAD_DIM))
        q, k, v = ops.unstack(ops.transpose(qkv, (2, 0, 3, 1, 4)), 3)
        scores = ops.matmul(q / self.temperature, ops.swapaxes(k, 2, 3)) + self.mask
        y = ops.matmul(self.dropout(ops.softmax(scores), training=training), v)
        y = ops.transpose(y, (0, 2, 1, 3))
        return self.out(ops.reshape(y, (-1, TOKENS, HEADS * HEAD_DIM)))


def vit_layer(x: Tensor, local: bool) -> Tensor:
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    x += LocalAttention()(y) if local else layers.MultiHeadAttention(HEADS, HEAD_DIM,
                                                                     dropout=0.1)(y, y)
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    for width in (2 * DIM, DIM):
        y = layers.Dropout(0.1)(layers.Dense(width, activation="gelu")(y))
    return x + y


def vit(local: bool) -> keras.Model:
    inputs = keras.Input(peer.SHAPES["vit"])
    x = Patches(local)(inputs)
    if local:
        x = layers.LayerNormalization(epsilon=1e-6)(x)
    x = Position()(layers.Dense(DIM)(x))
    for _ in range(DEPTH):
        x = vit_layer(x, local)
    x = layers.Dropout(0.5)(layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(x)))
    for width in (2048, 1024):
        x = layers.Dropout(0.5)(layers.Dense(width, activation="gelu")(x))
    return keras.Model(inputs, layers.Dense(100)(x))


def build(name: str) -> keras.Model:
    model = shiftvit() if name == "shiftvit" else vit(name == "slvit")
    peer.check_parameters(name, model.count_params())
    return model


def augmentation(name: str) -> keras.Sequential:
    """The training pipeline: images of 32x32 bytes to augmented floats."""
    if name == "shiftvit":
        steps = [layers.Resizing(52, 52), layers.RandomCrop(48, 48),
                 layers.RandomFlip("horizontal"), layers.Rescaling(1 / 255)]
    else:
        mean, variance = [129.3, 124.1, 112.4], [4651.0, 4277.0, 4956.0]
        steps = [layers.Normalization(mean=mean, variance=variance), layers.Resizing(72, 72),
                 layers.RandomFlip("horizontal"), layers.RandomRotation(0.02),
                 layers.RandomZoom((-0.2, 0.2), (-0.2, 0.2))]
    return keras.Sequential(steps)
