"""Synthetic images as PNG files: discs, and stripes, in any colours and places; and plain ones of any colour."""

import math
import pathlib
import random
import struct
import zlib

KINDS = ("discs", "stripes")


def png(path, width, height, data, channels=3):
    """Writes data[height, width, channels], RGB or RGBA, as a PNG file."""
    row, colour = channels * width, {3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + data[row * y:row * (y + 1)] for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pathlib.Path(path).write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)) +
        chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def pixels(kind, seed, side):
    """rgb[side, side, 3] of one image."""
    draw = random.Random(f"{kind} {seed}")
    colours = [bytes(draw.randrange(256) for _ in range(3)) for _ in range(2)]
    if kind == "discs":
        x, y, radius = draw.uniform(.3, .7) * side, draw.uniform(.3, .7) * side, draw.uniform(.18, .3) * side

        def inside(column, row):
            return (column - x) ** 2 + (row - y) ** 2 < radius ** 2
    elif kind == "plain":
        def inside(_column, _row):
            return False
    else:
        angle, period, shift = draw.uniform(0, math.pi), draw.uniform(.15, .3) * side, draw.uniform(0, side)
        dx, dy = math.cos(angle), math.sin(angle)

        def inside(column, row):
            return (column * dx + row * dy + shift) % period < period / 2
    return b"".join(colours[inside(column, row)] for row in range(side) for column in range(side))


def write(folder, each, side=40, first=0, kinds=KINDS):
    """Writes `each` images of the kinds to folder/KIND/NUMBER.png. Returns the paths by kind."""
    paths = {}
    for kind in kinds:
        (pathlib.Path(folder) / kind).mkdir(parents=True, exist_ok=True)
        paths[kind] = [pathlib.Path(folder) / kind / f"{number:05}.png" for number in range(first, first + each)]
        for number, path in enumerate(paths[kind], first):
            png(path, side, side, pixels(kind, number, side))
    return paths
