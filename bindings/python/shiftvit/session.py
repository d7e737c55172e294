"""Sessions: forward and backward passes on memory that is allocated in advance."""

from __future__ import annotations

import ctypes
import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _library
from ._structs import SessionConfig
from .context import Context
from .errors import ArgumentError
from .model import Model


class Session(_library.Handle):
    """The execution plan of a model: activations, gradients and workspaces. It keeps the model alive.

    A loop of one's own is

        logits = session.forward(images)
        loss, dlogits = shiftvit.cross_entropy(logits, labels)
        session.backward(dlogits)
        optimizer.step(session)

    Calls allocate nothing but their results, and nothing at all if ``out`` is given and the input is float32 in C
    order. Threads take turns.
    """

    _free = "svit_session_free"
    _exclusive = True
    _copying = "create another Session of its model"

    def __init__(
        self, model: Model, *, mode: Literal["infer", "train"] = "infer", context: Context | None = None, **fields: Any
    ) -> None:
        """Creates a session.

        Args:
            model: The model, whose memory is shared.
            mode: ``"train"`` adds memory for backward passes.
            context: Whose workers run the passes; None: the model's.
            **fields: Fields of ``svit_session_config``: ``max_batch`` (256), ``compute`` (``"f32"``, ``"bf16"``,
                ``"int8"``), ``seed`` of dropout (0), ``input_height``, ``input_width``, ``memory`` (``"store"``,
                ``"blocks"``, ``"stages"``), ``features`` (False), ``input_layer`` (``""``), ``input_gradient`` (False),
                ``check_finite`` (False).

        Raises:
            ArgumentError: names the field that is not accepted.
            OutOfMemoryError: says how many bytes are needed.
        """
        _library.expect(model, Model, "model")
        _library.expect(context, Context, "context", optional=True)
        buffer = _library.config("svit_session_config", {**fields, "mode": mode})
        config = SessionConfig.from_buffer(buffer)
        with _library.reading(model), _library.borrowed(context, "context") as pointer:
            config.context = pointer
            _library.create(
                "svit_session_create", model, buffer, adopt=lambda pointer: self._adopt(pointer, uses=(model,))
            )
            shape = model.input_shape
            self._classes = model.num_classes
            parameters = model.parameters()
            self._shapes = {name: parameters.shape(name) for name in parameters}
        self._model = model
        self._input: tuple[int, ...] = (
            config.input_height or shape[0],
            config.input_width or shape[1],
            shape[2],
        )
        if config.input_layer:
            self._input = (int(_library.call("svit_session_input_size", self)),)
        self._input_is_layer = bool(config.input_layer)
        self._last = 0

    @property
    def model(self) -> Model:
        """The model."""
        return self._model

    @property
    def memory(self) -> int:
        """Bytes that the session holds."""
        return int(_library.call("svit_session_memory", self))

    @property
    def counter(self) -> int:
        """Number of training forwards so far. It selects the dropout masks of the next one, and may be assigned."""
        return int(_library.call("svit_session_counter", self))

    @counter.setter
    def counter(self, value: int) -> None:
        _library.call("svit_session_set_counter", self, value)

    @property
    def layers(self) -> list[str]:
        """Names of the layers that :meth:`features` computes."""
        return _library.strings("svit_session_layer_name", self)

    def set_mode(self, mode: Literal["infer", "train"]) -> None:
        """Switches between inference and training, and discards the saved activations. A session that was created for
        inference cannot train: StateError."""
        _library.call("svit_session_set_mode", self, _library.constant("SVIT_MODE_", mode, "mode"))

    def _images(self, x: Any) -> NDArray[np.float32]:
        if not self._input_is_layer:
            return _arrays.floats(x, "x", (None, *self._input))
        given = _arrays.floats(x, "x")
        if given.ndim < 2 or math.prod(given.shape[1:]) != self._input[0]:
            raise ArgumentError(
                f"x has the shape {list(given.shape)}; rows of {self._input[0]} elements, tokens * channels, are needed"
            )
        return given

    def forward(self, x: Any, *, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Computes logits [n, num_classes].

        Args:
            x: Images [n, height, width, channels] of floats, as the model takes them; n is 1..max_batch. With
                ``input_layer``, the output of that layer. float32 in C order is not copied.
            out: Where the logits are written; None creates an array.

        Raises:
            NumericError: an input or a logit is not finite.
        """
        images = self._images(x)
        logits = _arrays.output(out, "out", (len(images), self._classes))
        _library.call("svit_forward", self, images, len(images), logits)
        return logits

    def backward(self, dlogits: Any) -> None:
        """Adds the gradients of the parameters, given those of the loss with respect to the logits, [n, num_classes],
        for the images of the last training forward.

        Raises:
            StateError: there was no training forward since the last backward.
        """
        gradient = _arrays.floats(dlogits, "dlogits", (None, self._classes))
        _library.call("svit_backward", self, gradient, len(gradient))

    def backward_input(self, dlogits: Any, *, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Does what :meth:`backward` does and returns the gradient of the loss with respect to the input, in its shape
        ([n, elements] with ``input_layer``). The session needs ``input_gradient=True``."""
        gradient = _arrays.floats(dlogits, "dlogits", (None, self._classes))
        dx = _arrays.output(out, "out", (len(gradient), *self._input))
        _library.call("svit_backward_input", self, gradient, len(gradient), dx)
        return dx

    def gradient(self, name: str) -> NDArray[np.float32]:
        """A copy of the gradient of a parameter, in its shape."""
        out = np.empty(self._shapes[name], dtype=np.float32)
        _library.call("svit_session_get_gradient", self, name, out, out.size)
        return out

    def set_gradient(self, name: str, value: Any) -> None:
        """Replaces the gradient of a parameter, for gradients that were reduced over several machines."""
        values = _arrays.floats(value, name, self._shapes[name])
        _library.call("svit_session_set_gradient", self, name, values, values.size)

    def zero_gradients(self) -> None:
        """Sets all gradients to zero; :meth:`shiftvit.Optimizer.step` does so too."""
        _library.call("svit_session_zero_gradients", self)

    def features(self, x: Any, layer: str = "features") -> NDArray[np.float32]:
        """Computes the output of a layer in inference, [n, tokens, channels]. A session with ``features=True`` reaches
        every layer; another one may raise StateError for some."""
        images = self._images(x)
        tokens, channels = ctypes.c_size_t(), ctypes.c_size_t()
        _library.call("svit_session_layer_shape", self, layer, ctypes.byref(tokens), ctypes.byref(channels))
        out = np.empty((len(images), tokens.value, channels.value), dtype=np.float32)
        _library.call("svit_forward_features", self, images, len(images), layer, out, out.size)
        return out

    def attention(self, x: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Computes the logits in inference and the attention of the last layer, [n, heads, tokens, tokens].

        Raises:
            UnsupportedError: the model has no attention.
        """
        images = self._images(x)
        heads, tokens = ctypes.c_size_t(), ctypes.c_size_t()
        _library.call("svit_session_attention_size", self, ctypes.byref(heads), ctypes.byref(tokens))
        logits = np.empty((len(images), self._classes), dtype=np.float32)
        weights = np.empty((len(images), heads.value, tokens.value, tokens.value), dtype=np.float32)
        _library.call("svit_forward_attention", self, images, len(images), logits, weights, weights.size)
        return logits, weights
