"""Writes PNG files of every colour type, depth and interlacing, with any chunks, from noise."""
import struct
import zlib

from jpeg_write import Noise

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
DEPTHS = {GREY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GREY_ALPHA: (8, 16), RGBA: (8, 16)}
# The first column and row, and the steps, of each pass of Adam7.
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(name, contents):
    return struct.pack(">I", len(contents)) + name + contents + struct.pack(">I", zlib.crc32(name + contents))


def rows(pixels, depth):
    """Filtered rows of pixels[y][x] = samples; the filters take turns."""
    out, previous = b"", None
    for y, line in enumerate(pixels):
        value, count = 0, 0
        for pixel in line:
            for sample in pixel:
                value, count = value << depth | sample, count + depth
        fill = -count % 8
        raw = (value << fill).to_bytes((count + fill) // 8, "big")
        step, up = max(1, len(line[0]) * depth // 8), previous or bytes(len(raw))
        kind, left = y % 3, bytes(step) + raw
        if kind == 0:
            out += b"\0" + raw
        elif kind == 1:
            out += b"\1" + bytes((a - b) % 256 for a, b in zip(raw, left))
        else:
            out += b"\2" + bytes((a - b) % 256 for a, b in zip(raw, up))
        previous = raw
    return out


def png(height, width, colour, depth, seed, interlace=False, chunks=b"", palette=None, late=b"",
        end=chunk(b"IEND", b"")):
    """`chunks` come before the pixels, behind PLTE, and `late` behind the pixels."""
    noise = Noise(seed)
    limit = palette or 1 << depth
    pixels = [[[noise.below(min(limit, 1 << depth)) for _ in range(CHANNELS[colour])] for _ in range(width)]
              for _ in range(height)]
    passes = ADAM7 if interlace else [(0, 0, 1, 1)]
    data = b""
    for x, y, across, down in passes:
        part = [line[x::across] for line in pixels[y::down]]
        if part and part[0]:
            data += rows(part, depth)
    out = SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))
    if colour == PALETTE:
        out += chunk(b"PLTE", bytes(noise.below(256) for _ in range(3 * limit)))
    return out + chunks + chunk(b"IDAT", zlib.compress(data, 9)) + late + end
