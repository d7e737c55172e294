"""Image files: JPEG, PNG and WebP to arrays, and arrays to PNG."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _library
from ._library import PathName
from .context import Context, chosen_context


class _Image(_library.Handle):
    _free = "svit_image_free"
    _copying = "copy its array"


def read_image(
    source: PathName | bytes | bytearray | memoryview, *, channels: int = 3, context: Context | None = None
) -> NDArray[np.uint8]:
    """Decodes a JPEG, PNG or WebP file, or its bytes, to an array [height, width, channels], which cannot be written.

    Args:
        source: The path, or the bytes of the file.
        channels: 1 grey, 3 RGB (transparent pixels blended with black), 4 RGBA.

    Raises:
        FileError: the file cannot be read.
        FormatError: it is damaged, or none of the three formats.
    """
    context = chosen_context(context)
    image = _Image()
    if isinstance(source, (bytes, bytearray, memoryview)):
        source = bytes(source)
        _library.create("svit_image_decode", context, source, len(source), None, channels, adopt=image._adopt)
    else:
        _library.create("svit_image_read", context, source, channels, adopt=image._adopt)
    shape = tuple(_library.call(f"svit_image_{side}", image) for side in ("height", "width", "channels"))
    return _library.view(image, "svit_image_pixels", np.uint8, shape)


def write_png(path: PathName, rgb: Any, *, context: Context | None = None) -> None:
    """Writes uint8 [height, width, 3] as a PNG file, replacing an old file as a whole."""
    pixels = _arrays.images(rgb, "rgb", 3)
    if pixels.dtype != np.uint8:
        raise TypeError(f"rgb is an array of {pixels.dtype}; uint8 is needed")
    _arrays.check_shape(pixels, "rgb", (None, None, 3))
    _library.call("svit_image_write_png", chosen_context(context), path, pixels, *pixels.shape[:2])
