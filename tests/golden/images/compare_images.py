#!/usr/bin/env python3
"""Decodes the files of images.safetensors again, by the library and by the Pillow that is installed, and compares.

usage: compare_images.py LIBRARY      exit status 77: this Python has no Pillow, or one before 12; the test
runs $SHIFTVIT_PYTHON
"""
import ctypes
import os
import sys

try:
    import numpy as np
    import PIL
    from make_images import FILE, REFUSED, pillow_pixels, read
except ImportError as missing:
    print(f"skipped: {missing}; set SHIFTVIT_PYTHON")
    sys.exit(77)
# Older ones turn, refuse and convert a few of the files otherwise.
if int(PIL.__version__.split(".")[0]) < 12:
    print(f"skipped: Pillow is {PIL.__version__}, and the files are those of Pillow 12 and later; set SHIFTVIT_PYTHON")
    sys.exit(77)


class Library:
    def __init__(self, path):
        self.code = ctypes.CDLL(os.path.abspath(path))
        for name, kind in (("pixels", ctypes.c_void_p), ("height", ctypes.c_size_t), ("width", ctypes.c_size_t)):
            function = getattr(self.code, "svit_image_" + name)
            function.argtypes, function.restype = [ctypes.c_void_p], kind
        self.code.svit_image_free.argtypes = [ctypes.c_void_p]
        self.context = ctypes.c_void_p()
        assert self.code.svit_context_create(ctypes.byref(self.context), None, None) == 0

    def decode(self, data, channels):
        """The pixels [h, w, channels], or None."""
        image = ctypes.c_void_p()
        if self.code.svit_image_decode(ctypes.byref(image), self.context, data, ctypes.c_size_t(len(data)), None,
                                       ctypes.c_size_t(channels), None) != 0:
            return None
        shape = self.code.svit_image_height(image), self.code.svit_image_width(image), channels
        pixels = ctypes.cast(self.code.svit_image_pixels(image), ctypes.POINTER(ctypes.c_uint8))
        copy = np.ctypeslib.as_array(pixels, shape).copy()
        self.code.svit_image_free(image)
        return copy


def difference(got, wanted):
    if got is None or wanted is None:
        return None if got is wanted else "refused" if got is None else "read, though Pillow refuses it"
    if got.shape != wanted.shape:
        return f"{got.shape}, not {wanted.shape}"
    largest = int(np.abs(got.astype(int) - wanted).max())
    return f"differs by up to {largest}" if largest else None


def main():
    library, failed, count = Library(sys.argv[1]), 0, 0
    for name, tensor in read(FILE).items():
        if name.endswith((".rgb", ".rgba")):
            continue
        data, count = tensor.tobytes(), count + 1
        wanted = {} if name.startswith(REFUSED) else pillow_pixels(data)
        rgba = wanted.get("rgba")
        if rgba is not None:
            wanted["rgb"] = (rgba[..., :3].astype(int) * rgba[..., 3:] + 127) // 255
        found = difference(library.decode(data, 3), wanted.get("rgb"))
        if not found and rgba is not None:
            found = difference(library.decode(data, 4), rgba)
        if found:
            failed += 1
            print(f"{name}: {found}")
    print(f"{count} files against Pillow {PIL.__version__}: {failed} differ")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
