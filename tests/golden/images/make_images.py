#!/usr/bin/env python3
"""Writes images.safetensors: image files, and what Pillow makes of each.

usage: make_images.py [FOLDER]     FOLDER has further files; without it those of the old images.safetensors are kept

Needs numpy and pillow. A tensor NAME is a file's bytes. `NAME.rgb` [h, w, 3] is Pillow's RGB, turned upright by
ImageOps.exif_transpose. With transparency there is `NAME.rgba` [h, w, 4] instead, and RGB is (colour * alpha + 127) /
255. A file without either is refused. Grey of 16 bits, which Pillow's convert("RGB") clips at 255, is value / 257, rounded.
Files under "damaged/" lack pixels, which Pillow fills, or their checksum; the library refuses them.

The values are those of the Pillow, libjpeg-turbo and libwebp that the metadata names. libjpeg-turbo 2.1.5 and libwebp
1.2.4 give the same ones; older ones have not been compared.
"""
import io
import json
import os
import struct
import sys

import numpy as np
from PIL import Image, ImageOps, features
from PIL import __version__ as pillow

from image_cases import generated

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "images.safetensors")
# Pillow does not apply the transparent colour of grey of 2, 4 and 16 bits and of RGB of 16 bits as PNG defines it, and
# reads GIF, which the library does not.
REFUSED = ("damaged/", "collected/f_gif.png")


def pillow_pixels(data):
    """{"rgb": pixels}, {"rgba": pixels}, or {} if Pillow refuses the file."""
    try:
        image = Image.open(io.BytesIO(data))
        image.load()
        alpha = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
        image = ImageOps.exif_transpose(image)
    except Exception:
        return {}
    if image.mode in ("I;16", "I"):
        grey = (np.asarray(image).astype(np.float64) / 257).round().astype(np.uint8)
        return {"rgb": np.repeat(grey[..., None], 3, -1)}
    if not alpha:
        return {"rgb": np.asarray(image.convert("RGB"))}
    return {"rgba": np.asarray(image.convert("RGBA"))}


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header, rest = json.loads(data[8:8 + length]), data[8 + length:]
    header.pop("__metadata__", None)
    return {name: np.frombuffer(rest[slice(*entry["data_offsets"])], np.uint8).reshape(entry["shape"])
            for name, entry in header.items()}


def write(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        header[name] = {"dtype": "U8", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + tensor.size]}
        data += np.ascontiguousarray(tensor).tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def collected(folder):
    if not folder:
        return {name: tensor.tobytes() for name, tensor in read(FILE).items()
                if name.startswith("collected/") and tensor.ndim == 1}
    files = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith((".jpg", ".png", ".webp")):
            with open(os.path.join(folder, name), "rb") as file:
                files["collected/" + name] = file.read()
    return files


def main():
    tensors = {}
    cases = collected(sys.argv[1] if len(sys.argv) > 1 else None) | generated()
    for name, data in cases.items():
        tensors[name] = np.frombuffer(data, np.uint8)
        if not name.startswith(REFUSED):
            tensors |= {f"{name}.{kind}": pixels for kind, pixels in pillow_pixels(data).items()}
    versions = {"pillow": pillow, "libjpeg-turbo": features.version("libjpeg_turbo"),
                "libwebp": features.version("webp")}
    write(FILE, tensors, versions | {"cases": str(len(cases))})
    print(len(cases), "files,", sum(name.endswith((".rgb", ".rgba")) for name in tensors), "of them read;", versions)


if __name__ == "__main__":
    main()
