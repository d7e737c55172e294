"""Prints the distinct colours of an 8-bit RGB or RGBA PNG as lines of hexadecimal RRGGBB.

png_colours.py FILE.png
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


def colours(data):
    parts = list(chunks(data))
    width, height, depth, kind = struct.unpack(">IIBB", parts[0][1][:10])
    size = {2: 3, 6: 4}[kind]
    assert depth == 8
    raw = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
    stride = width * size
    found, row = set(), bytearray(stride)
    for y in range(height):
        line = raw[y * (stride + 1) : (y + 1) * (stride + 1)]
        row = unfilter(line[0], bytearray(line[1:]), row, size)
        found.update(bytes(row[i : i + 3]).hex() for i in range(0, stride, size))
    return found


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        print("\n".join(sorted(colours(file.read()))))
