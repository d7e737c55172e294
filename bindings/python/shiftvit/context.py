"""Contexts: the worker threads and kernels that all other objects share."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import threading
from typing import Any

from . import _library, errors
from ._structs import ContextConfig

_logger = logging.getLogger("shiftvit")


def _log(user: int | None, level: int, message: bytes) -> None:
    warning = level == _library.constants["SVIT_LOG_WARNING"]
    _logger.log(logging.WARNING if warning else logging.INFO, "%s", message.decode("utf-8", "replace"))


# It has no state of a context, so it serves all of them and lives as long as the module. What a handler of the logger
# raises is raised when the call ends that has logged.
_log_function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)(_library.guard(_log, None))


def _go_on(user: int | None) -> int:
    return 0


# The guard runs signal handlers that wait, and what they raise, such as KeyboardInterrupt, stops the call that asks.
_stop_function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(_library.guard(_go_on, 1))


class Context(_library.Handle):
    """Worker threads and kernels. Most programs need none of their own: see :func:`default_context`.

    Args:
        threads: Worker threads including the calling one, 1..1024; 0 takes one for each CPU of the process.
        gemm: The float32 backend, ``"tile"``, ``"amx"`` or ``"cblas"``; None takes the fastest of the library's own.
        pin: True pins each worker to a CPU of the process; the calling thread stays as it is.
        max_image_pixels: The most pixels of an image that is decoded, 1..64,000,000, which None stands for. Larger ones
            are refused before their pixels take memory.

    Signal handlers, that of Ctrl-C among them, run within long calls, which end with what a handler raises: between the
    batches of an evaluation, the features of a dataset or many predictions, the updates of a head, and so on.

    Messages go to the logger ``"shiftvit"``. Any number of threads may use a context. After ``os.fork`` a child needs
    a context of its own.
    """

    _free = "svit_context_free"
    _copying = "create another Context where one is needed"

    def __init__(self, threads: int = 0, *, gemm: str | None = None, pin: bool = False,
                 max_image_pixels: int | None = None) -> None:
        config = _library.initialised("svit_context_config_init", ContextConfig)
        if isinstance(threads, bool) or not 0 <= threads <= 1024:
            raise errors.ArgumentError(f"threads is {threads}; 0..1024 are accepted")
        config.threads = threads
        config.gemm = _library.text_bytes(gemm)
        config.pin = _library.flag(pin, "pin")
        if max_image_pixels is not None:
            if isinstance(max_image_pixels, bool) or not 1 <= max_image_pixels <= 64_000_000:
                raise errors.ArgumentError(f"max_image_pixels is {max_image_pixels}; 1..64000000 are accepted")
            config.max_image_pixels = max_image_pixels
        config.log = ctypes.cast(_log_function, ctypes.c_void_p)
        config.stop = ctypes.cast(_stop_function, ctypes.c_void_p)
        _library.create("svit_context_create", config, adopt=self._adopt)

    @property
    def threads(self) -> int:
        """Number of worker threads, the calling one included."""
        return int(_library.call("svit_context_threads", self))

    def describe(self) -> dict[str, Any]:
        """The build and the machine: ``version``, ``cpu``, ``instruction_set``, ``gemm``, ``threads``, ``warnings``
        and others, as ``svit_context_describe`` in ``context.h`` lists them."""
        description: dict[str, Any] = json.loads(_library.long_text("svit_context_describe", self))
        return description

    def __repr__(self) -> str:
        return "<shiftvit.Context, closed>" if self.closed else f"<shiftvit.Context of {self.threads} threads>"


_lock = threading.RLock()  # a signal handler or a log function may need the context while it is made
_default: tuple[int, Context] | None = None


def default_context() -> Context:
    """The context of this process that is used where none is given, with one thread for each CPU. It is created
    when it is first needed, and again in a child by ``os.fork``."""
    global _default
    with _lock:
        if _default is None or _default[0] != os.getpid() or _default[1].closed:
            _default = (os.getpid(), Context())
        return _default[1]


def chosen_context(context: Context | None) -> Context:
    """The context of an argument, the default one for None."""
    _library.expect(context, Context, "context", optional=True)
    return default_context() if context is None else context


def _replace_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_lock)
