#!/usr/bin/env python3
"""Writes what the Pillow that is installed makes of resizes of random sizes to resizes.safetensors.

Needs numpy and pillow. Run it once with Pillow 13 and once with Pillow 12.0, which resizes as 10.4 does: each version
replaces its own tensors. (12.1 to 12.3 resize images over 100 times as high as wide vertically first.) The inputs are
noise from a linear congruential generator, which the test draws itself. "sizes" [n, 4, 2] has the sides of input and
output, height first, two bytes each with the low one first. "stretch-V", "cover-V" and "cover-bicubic-V" [n, 8] are
hashes of the bytes (FNV-1a, 64 bits) that version V gives: both axes scaled by themselves, bilinear; and both alike
until the output is covered, whose middle is kept, bilinear and bicubic.
"""
import os
import sys

import numpy as np
from PIL import Image
from PIL import __version__ as pillow

from jpeg_write import Noise
from make_images import read, write

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "resizes.safetensors")
COUNT = 480


def sizes():
    """Random sides, small ones more often; a third of the images is high and narrow, some over 100 times as high as
    wide."""
    noise = Noise(13)

    def side(limit):
        return 1 + noise.below(1 + noise.below(limit))

    found = []
    for i in range(COUNT):
        height, width, out = side(240), side(240), (side(90), side(90))
        if i % 3 == 0:
            height, width = side(500), side(60)
        if i % 12 == 1:
            width = 1 + noise.below(4)
            height = 100 * width + noise.below(60) - 20
        found.append((height, width) + out)
    return found


def noise(height, width):
    """The bytes of bytes_fill with the seed 1000 * height + width."""
    count = height * width * 3
    factors = np.multiply.accumulate(np.full(count, 1664525, np.uint32), dtype=np.uint32)
    sums = np.add.accumulate(np.concatenate(([1], factors[:-1])).astype(np.uint32), dtype=np.uint32)
    seed = np.uint32(((1000 * height + width) * 2654435761 + 1) % 2**32)
    states = factors * seed + sums * np.uint32(1013904223)
    return Image.fromarray((states >> np.uint32(24)).astype(np.uint8).reshape(height, width, 3))


def cover(image, height, width, how):
    if image.width * height >= image.height * width:
        size = (height, image.width * height // image.height)
    else:
        size = (image.height * width // image.width, width)
    top, left = (int(round((whole - part) / 2)) for whole, part in zip(size, (height, width)))
    resized = np.asarray(image.resize(size[::-1], how))
    return resized[top:top + height, left:left + width]


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value.to_bytes(8, "little")


def main():
    version = pillow.split(".")[0]
    assert version == "13" or pillow.startswith("12.0."), pillow
    tensors = read(FILE) if os.path.exists(FILE) else {}
    cases, hashes = sizes(), {"stretch": b"", "cover": b"", "cover-bicubic": b""}
    for height, width, *out in cases:
        image = noise(height, width)
        for name, made in (("stretch", np.asarray(image.resize(out[::-1], Image.BILINEAR))),
                           ("cover", cover(image, *out, Image.BILINEAR)),
                           ("cover-bicubic", cover(image, *out, Image.BICUBIC))):
            hashes[name] += fnv1a(np.ascontiguousarray(made).tobytes())
    tensors["sizes"] = np.array(cases, "<u2").view(np.uint8).reshape(COUNT, 4, 2)
    for name, values in hashes.items():
        tensors[f"{name}-{version}"] = np.frombuffer(values, np.uint8).reshape(COUNT, 8)
    write(FILE, dict(sorted(tensors.items())), {"pillow": "12.0.0 and 13.0.0"})
    for name in hashes:
        both = [tensors.get(f"{name}-{v}") for v in (12, 13)]
        if both[0] is not None and both[1] is not None:
            print(name, int((both[0] != both[1]).any(1).sum()), "of", COUNT, "differ between the versions")


if __name__ == "__main__":
    sys.exit(main())
