#!/usr/bin/env python3
"""Writes position_resize.safetensors: grids of numbers on other grids, as torch.nn.functional.interpolate makes them
with align_corners=False, by its definition in float64.

Needs numpy; where PyTorch is installed, the numbers are compared with its own. Names are in.HEIGHTxWIDTH and
MODE.HEIGHTxWIDTH.OUT_HEIGHTxOUT_WIDTH; MODE is `bicubic`, and `bicubic-antialiased` and `bilinear-antialiased` for
antialias=True.

usage: make_position_resize.py OUTPUT_FOLDER
"""
import json
import math
import struct
import sys

import numpy as np

CASES = [((4, 5), (3, 7)), ((3, 3), (5, 2)), ((8, 8), (4, 4)), ((8, 8), (3, 5)), ((2, 3), (7, 6)), ((6, 1), (4, 1)),
         ((5, 6), (5, 6))]


def keys(x, a):
    x = abs(x)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0


# The kernel, and its inputs to each side.
ANTIALIASED = {"bicubic-antialiased": (lambda x: keys(x, -0.5), 2),
               "bilinear-antialiased": (lambda x: max(1 - abs(x), 0), 1)}


def weights(mode, size, out):
    """[out, size]: the weight of each input in each output of an axis."""
    matrix, scale = np.zeros((out, size)), size / out
    for o in range(out):
        centre = scale * (o + 0.5)
        if mode == "bicubic":
            first = math.floor(centre - 0.5) - 1
            for i in range(first, first + 4):
                matrix[o, min(max(i, 0), size - 1)] += keys(i + 0.5 - centre, -0.75)
            continue
        kernel, radius = ANTIALIASED[mode]
        widening = max(scale, 1)
        for i in range(max(int(centre - radius * widening + 0.5), 0),
                       min(int(centre + radius * widening + 0.5), size)):
            matrix[o, i] = kernel((i + 0.5 - centre) / widening)
        matrix[o] /= matrix[o].sum()
    return matrix


def compare_with_torch(values, mode, out, found):
    try:
        import torch
    except ImportError:
        return
    kind, _, antialias = mode.partition("-")
    wanted = torch.nn.functional.interpolate(torch.from_numpy(values)[None, None], size=out, mode=kind,
                                             align_corners=False, antialias=bool(antialias))[0, 0].numpy()
    if np.abs(wanted - found).max() > 1e-12:
        raise SystemExit(f"{mode} from {values.shape} to {out} differs from PyTorch's")


def write(path, tensors):
    header, at = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at, at + 4 * value.size]}
        at += 4 * value.size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            file.write(value.astype("<f4").tobytes())


def main(folder):
    tensors, random = {}, np.random.default_rng(11)
    for size, out in CASES:
        name = "{}x{}".format(*size)
        if "in." + name not in tensors:
            tensors["in." + name] = random.integers(-32, 33, size) / 8
        values = tensors["in." + name]
        for mode in ("bicubic", *ANTIALIASED):
            found = weights(mode, size[0], out[0]) @ values @ weights(mode, size[1], out[1]).T
            compare_with_torch(values, mode, out, found)
            tensors[mode + "." + name + ".{}x{}".format(*out)] = found
    write(folder + "/position_resize.safetensors", tensors)


if __name__ == "__main__":
    main(sys.argv[1])
