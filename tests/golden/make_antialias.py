#!/usr/bin/env python3
"""Writes antialias.safetensors: what Pillow's bilinear resize makes of images of noise.

Needs numpy and pillow below 13 (13 resizes vertically first where that is less work, which changes
stretch.64x9.9x40 by one level here and there). The inputs are not in the file: both sides draw them from a linear
congruential generator. A name is KIND.HEIGHTxWIDTH.OUT_HEIGHTxOUT_WIDTH; `stretch` scales each axis
by itself, `cover` scales both alike and keeps the middle, as torchvision's Resize and CenterCrop.
"""
import json
import os
import struct

import numpy as np
from PIL import Image

STRETCH = [((37, 50), (12, 16)), ((5, 7), (20, 31)), ((64, 9), (9, 40)), ((1, 1), (3, 5)),
           ((33, 33), (33, 20)), ((200, 200), (24, 24)), ((1, 40), (1, 7)), ((23, 17), (23, 17))]
COVER = [((37, 50), (16, 16)), ((50, 37), (16, 16)), ((20, 20), (31, 31)), ((5, 9), (24, 24)),
         ((1, 40), (12, 12)), ((40, 1), (12, 12)), ((3, 8192), (24, 24)), ((30, 41), (12, 20)),
         ((41, 30), (20, 12)), ((200, 300), (24, 24)), ((48, 91), (48, 48)), ((93, 48), (48, 48))]


def noise(height, width):
    """The bytes of bytes_fill with the seed 1000 * height + width."""
    state = ((1000 * height + width) * 2654435761 + 1) % 2**32
    values = np.empty(height * width * 3, np.uint8)
    for i in range(values.size):
        state = (state * 1664525 + 1013904223) % 2**32
        values[i] = state >> 24
    return Image.fromarray(values.reshape(height, width, 3))


def stretch(image, height, width):
    return np.asarray(image.resize((width, height), Image.BILINEAR, reducing_gap=None))


def cover(image, height, width):
    if image.width * height >= image.height * width:
        size = (height, image.width * height // image.height)
    else:
        size = (image.height * width // image.width, width)
    top, left = (int(round((whole - part) / 2)) for whole, part in zip(size, (height, width)))
    return stretch(image, *size)[top:top + height, left:left + width]


def main():
    header, data = {}, b""
    for name, make, cases in (("stretch", stretch, STRETCH), ("cover", cover, COVER)):
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
    with open(os.path.join(folder, "antialias.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
