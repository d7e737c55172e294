#!/usr/bin/env python3
"""Writes antialias-13.safetensors or antialias-12.safetensors: what Pillow's resize makes of images of noise.

Needs numpy and pillow, 13 or newer for the one file, 12.1 or older for the other: 13 resizes vertically first where the
height loses more than twice the lines that the width loses, older ones always horizontally first (12.2 and 12.3 do not
for images a hundred times as high as wide). The inputs are not in the file: both sides draw them from a linear
congruential generator. A name is KIND.HEIGHTxWIDTH.OUT_HEIGHTxOUT_WIDTH; `stretch` scales each axis by itself, `cover`
scales both alike and keeps the middle, as torchvision's Resize and CenterCrop, and `bicubic` does so with that filter.
"""
import json
import os
import struct

import numpy as np
import PIL
from PIL import Image

STRETCH = [((37, 50), (12, 16)), ((5, 7), (20, 31)), ((64, 9), (9, 40)), ((1, 1), (3, 5)),
           ((33, 33), (33, 20)), ((200, 200), (24, 24)), ((1, 40), (1, 7)), ((23, 17), (23, 17)),
           ((100, 50), (60, 30)), ((101, 50), (60, 30)), ((90, 20), (80, 31)), ((61, 40), (60, 40)), ((300, 2), (299, 1))]
COVER = [((37, 50), (16, 16)), ((50, 37), (16, 16)), ((20, 20), (31, 31)), ((5, 9), (24, 24)),
         ((1, 40), (12, 12)), ((40, 1), (12, 12)), ((3, 8192), (24, 24)), ((30, 41), (12, 20)),
         ((41, 30), (20, 12)), ((200, 300), (24, 24)), ((48, 91), (48, 48)), ((93, 48), (48, 48)),
         ((121, 40), (12, 12)), ((80, 40), (20, 20)), ((81, 40), (20, 20)), ((150, 30), (9, 24))]


def noise(height, width):
    """The bytes of bytes_fill with the seed 1000 * height + width."""
    state = ((1000 * height + width) * 2654435761 + 1) % 2**32
    values = np.empty(height * width * 3, np.uint8)
    for i in range(values.size):
        state = (state * 1664525 + 1013904223) % 2**32
        values[i] = state >> 24
    return Image.fromarray(values.reshape(height, width, 3))


def stretch(image, height, width, kernel=Image.BILINEAR):
    return np.asarray(image.resize((width, height), kernel, reducing_gap=None))


def cover(image, height, width, kernel=Image.BILINEAR):
    if image.width * height >= image.height * width:
        size = (height, image.width * height // image.height)
    else:
        size = (image.height * width // image.width, width)
    top, left = (int(round((whole - part) / 2)) for whole, part in zip(size, (height, width)))
    return stretch(image, *size, kernel)[top:top + height, left:left + width]


def bicubic(image, height, width):
    return cover(image, height, width, Image.BICUBIC)


def main():
    major, minor = map(int, PIL.__version__.split(".")[:2])
    assert major >= 13 or (major, minor) <= (12, 1), PIL.__version__
    header, data = {"__metadata__": {"pillow": PIL.__version__}}, b""
    for name, make, cases in (("stretch", stretch, STRETCH), ("cover", cover, COVER), ("bicubic", bicubic, COVER)):
        for (height, width), out in cases:
            values = np.ascontiguousarray(make(noise(height, width), *out))
            assert values.shape == out + (3,)
            header[f"{name}.{height}x{width}.{out[0]}x{out[1]}"] = {
                "dtype": "U8", "shape": list(values.shape),
                "data_offsets": [len(data), len(data) + values.size]}
            data += values.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, f"antialias-{13 if major >= 13 else 12}.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
