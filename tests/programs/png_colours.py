"""Prints the distinct colours of an 8-bit RGB or RGBA PNG as lines of hexadecimal RRGGBB, or where it is not black.

png_colours.py [--box] FILE.png
"""
import struct
import sys
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += 12 + length


def paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def unfilter(kind, row, above, size):
    for i in range(len(row)):
        a = row[i - size] if i >= size else 0
        b, c = above[i], above[i - size] if i >= size else 0
        row[i] = (row[i] + (0, a, b, (a + b) // 2, paeth(a, b, c))[kind]) & 255
    return row


def rows(data):
    """The rows of an image, each a list of pixels in hexadecimal."""
    parts = list(chunks(data))
    width, height, depth, kind = struct.unpack(">IIBB", parts[0][1][:10])
    size = {2: 3, 6: 4}[kind]
    assert depth == 8
    raw = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
    stride = width * size
    row = bytearray(stride)
    for y in range(height):
        line = raw[y * (stride + 1) : (y + 1) * (stride + 1)]
        row = unfilter(line[0], bytearray(line[1:]), row, size)
        yield [bytes(row[i : i + 3]).hex() for i in range(0, stride, size)]


def colours(data):
    return {pixel for row in rows(data) for pixel in row}


def box(data):
    """Left, top, right and bottom of what is not black, the last two one past it."""
    coloured = [(x, y) for y, row in enumerate(rows(data)) for x, pixel in enumerate(row) if pixel != "000000"]
    across, down = zip(*coloured)
    return min(across), min(down), max(across) + 1, max(down) + 1


if __name__ == "__main__":
    with open(sys.argv[-1], "rb") as file:
        content = file.read()
    if sys.argv[1] == "--box":
        print(*box(content))
    else:
        print("\n".join(sorted(colours(content))))
