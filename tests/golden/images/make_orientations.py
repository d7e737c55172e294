#!/usr/bin/env python3
"""Writes orientations.safetensors: metadata of image files, and how ImageOps.exif_transpose of Pillow turns them.

Needs numpy and pillow. "jpeg", "png" and "webp" are three files of 3 x 2 pixels without metadata. "records" is a
sequence of records: the format (0, 1, 2 in the order above), Pillow's orientation (1..8), the number of bytes, two
bytes with the low one first, and the bytes, to be put into the file: in a JPEG behind the first two bytes, in a PNG
behind IHDR or, if the format is 3, before IEND, and in a WebP behind everything, as chunks behind a flag byte for a
VP8X chunk. The test numbers the records from 0; `make_orientations.py NUMBER` names one.
"""
import io
import os
import struct
import sys
import warnings
import zlib

import numpy as np
from PIL import Image, ImageOps
from PIL import __version__ as pillow

from jpeg_write import jpeg, segment
from make_images import write
from png_write import RGB, chunk, png

warnings.simplefilter("ignore")
ORIENTATION = 0x0112
BYTE, ASCII, SHORT, LONG, RATIONAL, SBYTE, UNDEFINED, SSHORT, SLONG, SRATIONAL, FLOAT, DOUBLE, IFD = range(1, 14)
FORMATS = {SHORT: "H", LONG: "I", SBYTE: "b", SSHORT: "h", SLONG: "i", FLOAT: "f", DOUBLE: "d", IFD: "I", BYTE: "B",
           UNDEFINED: "B", 16: "Q"}
JPEG, PNG, WEBP, PNG_LATE = range(4)
TRANSPOSED = {1: "ABCDEF", 2: "CBAFED", 3: "FEDCBA", 4: "DEFABC", 5: "ADBECF", 6: "DAEBFC", 7: "FCEBDA", 8: "CFBEAD"}


def packed(order, kind, values):
    if kind == ASCII:
        return b"".join(b"%d" % v for v in values) + b"\0"
    if kind in (RATIONAL, SRATIONAL):
        return b"".join(struct.pack(order + ("ii" if kind == SRATIONAL else "II"), *v) for v in values)
    return b"".join(struct.pack(order + FORMATS[kind], v) for v in values)


def tiff(order, entries, magic=None, tail=b"\0\0\0\0", count=None):
    """EXIF data of entries (tag, type, count, bytes of the values); longer values lie behind the directory."""
    head = magic or (b"II*\0" if order == "<" else b"MM\0*")
    at, lines, values = 8 + 2 + 12 * len(entries) + len(tail), b"", b""
    for tag, kind, number, data in entries:
        inside = data
        if len(data) > 4:
            inside = struct.pack(order + "I", at + len(values))
            values += data
        lines += struct.pack(order + "HHI", tag, kind, number) + inside.ljust(4, b"\0")
    number = len(entries) if count is None else count
    return head + struct.pack(order + "IH", 8, number) + lines + tail + values


def entry(order, kind, values, count=None):
    data = packed(order, kind, values)
    if kind == ASCII:
        return (ORIENTATION, kind, len(data) if count is None else count, data)
    return (ORIENTATION, kind, len(values) if count is None else count, data)


def exif_cases():
    """(name, EXIF data): every type, count and value in both byte orders, and malformed data."""
    for order in "<>":
        for value in range(11):
            for kind in (BYTE, ASCII, SHORT, LONG, SBYTE, UNDEFINED, SSHORT, SLONG, FLOAT, DOUBLE, IFD, 16):
                yield f"type {kind}{order} {value}", tiff(order, [entry(order, kind, [value])])
            for kind in (RATIONAL, SRATIONAL):
                yield f"type {kind}{order} {value}", tiff(order, [entry(order, kind, [(value, 1)])])
            for kind in (SHORT, LONG, SSHORT, DOUBLE):
                yield f"two of {kind}{order} {value}", tiff(order, [entry(order, kind, [value, 3])])
        for kind, values in ((RATIONAL, [(12, 2)]), (RATIONAL, [(13, 2)]), (RATIONAL, [(6, 0)]),
                             (RATIONAL, [(0, 0)]), (SRATIONAL, [(-6, -1)]), (SRATIONAL, [(-6, 1)]), (FLOAT, [6.5]),
                             (FLOAT, [float("nan")]), (DOUBLE, [float("inf")]), (SSHORT, [-6]), (SLONG, [-1]),
                             (SBYTE, [-3]), (LONG, [0x10006]), (LONG, [0x60000]), (SHORT, [0x600]), (SHORT, [0xFFFF]),
                             (IFD, [2**32 - 1]), (16, [2**63]), (16, [2**32 + 6]), (SHORT, [6, 3, 8, 1, 2])):
            yield f"value {kind}{order} {values}", tiff(order, [entry(order, kind, values)])
        six, three = entry(order, SHORT, [6]), entry(order, SHORT, [3])
        width = (0x0100, LONG, 1, struct.pack(order + "I", 640))
        model = (0x0110, ASCII, 9, b"a camera\0")
        for name, entries in (("behind others", [width, model, six, width]), ("twice", [six, three]),
                              ("count 0 first", [entry(order, SHORT, [6], 0), three]),
                              ("count 0", [entry(order, SHORT, [6], 0)]), ("none", [width]), ("empty", []),
                              ("unknown type", [(ORIENTATION, 99, 1, six[3]), three]),
                              ("type 0", [(ORIENTATION, 0, 1, six[3])]), ("type 14", [(ORIENTATION, 14, 1, six[3])]),
                              ("type 15", [(ORIENTATION, 15, 1, six[3]), three]),
                              ("other tag", [(0x0113, SHORT, 1, six[3])]), ("many", [width] * 20 + [six]),
                              ("no value, then 3", [entry(order, DOUBLE, [6.0], 2**30), three])):
            yield f"{name} {order}", tiff(order, entries)
        yield f"far value {order}", tiff(order, [(0x010E, ASCII, 8, b""), six], tail=b"")[:-4] + six[3] + b"\0\0"
        outside = (0x010E, ASCII, 8, struct.pack(order + "I", 5000))
        yield f"value outside, then 6 {order}", tiff(order, [outside, six])
        yield f"6, then value outside {order}", tiff(order, [six, outside])
        yield f"too long, then 6 {order}", tiff(order, [(0x010E, ASCII, 5000, b"\x08\0\0\x08"), six])
        for name, options in (("swapped magic", {"magic": b"II\0*" if order == "<" else b"MM*\0"}),
                              ("no next", {"tail": b""}), ("cut next", {"tail": b"\0\0"}),
                              ("more entries than data", {"count": 900}), ("count 1 of 1", {"count": 1}),
                              ("count 0 of 1", {"count": 0})):
            yield f"{name} {order}", tiff(order, [six], **options)
        whole = tiff(order, [width, six])
        for cut in range(8, len(whole)):
            yield f"cut {cut} {order}", whole[:cut]
        for prefixes in (1, 3):
            yield f"{prefixes} prefixes {order}", b"Exif\0\0" * prefixes + whole


def xmp_cases():
    yield "nothing", b"<x:xmpmeta/>"
    for value in range(10):
        yield f"attribute {value}", b'<r tiff:Orientation="%d"/>' % value
        yield f"element {value}", b"<tiff:Orientation>%d</tiff:Orientation>" % value
    for text in (b"<r tiff:Orientation='6'/>", b'<r tiff:Orientation = "6"/>', b'<r tiff:Orientation="65"/>',
                 b"<tiff:Orientation> 6</tiff:Orientation>", b'<r tiff:Orientation="x" tiff:Orientation="3"/>',
                 b'<r tiff:Orientation="8"/><tiff:Orientation>3</tiff:Orientation>', b'tiff:Orientation="',
                 b"tiff:Orientation", b"tiff:Orientation>", b"tiff:Orientationtiff:Orientation>7", b'Orientation="6"',
                 b'exif:Orientation="6"', b"tiff:Orientation=6"):
        yield text.decode(), text


def jpeg_exif(data):
    return segment(0xE1, b"Exif\0\0" + data)


def jpeg_xmp(text):
    return segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + text)


def text_chunks(key, text):
    yield "tEXt", chunk(b"tEXt", key + b"\0" + text)
    yield "zTXt", chunk(b"zTXt", key + b"\0\0" + zlib.compress(text))
    yield "iTXt", chunk(b"iTXt", key + b"\0\0\0\0\0" + text)
    yield "iTXt, compressed", chunk(b"iTXt", key + b"\0\1\0\0\0" + zlib.compress(text))


def profile(data, kind=b"exif"):
    digits = data.hex().encode()
    lines = b"\n".join(digits[i:i + 72] for i in range(0, len(digits), 72))
    return b"\n" + kind + b"\n%8d\n" % len(data) + lines + b"\n"


def webp_chunk(name, contents):
    return name + struct.pack("<I", len(contents)) + contents + b"\0" * (len(contents) % 2)


def cases():
    """(name, place, metadata)"""
    for name, data in exif_cases():
        yield f"jpeg exif {name}", JPEG, jpeg_exif(data)
        yield f"png eXIf {name}", PNG, chunk(b"eXIf", data)
        yield f"webp EXIF {name}", WEBP, b"\x08" + webp_chunk(b"EXIF", data)
    for name, text in xmp_cases():
        yield f"jpeg xmp {name}", JPEG, jpeg_xmp(text)
        yield f"webp XMP {name}", WEBP, b"\x04" + webp_chunk(b"XMP ", text)
        for kind, data in text_chunks(b"XML:com.adobe.xmp", text):
            yield f"png {kind} xmp {name}", PNG, data
    turned = {v: tiff("<", [entry("<", SHORT, [v])]) for v in range(10)}
    xmp = {v: b'<r tiff:Orientation="%d"/>' % v for v in range(10)}
    for v in range(10):
        for kind, data in text_chunks(b"Raw profile type exif", profile(turned[v])):
            yield f"png {kind} profile {v}", PNG, data
            yield f"png {kind} profile {v}, late", PNG_LATE, data
        for kind, data in text_chunks(b"Raw profile type exif", profile(b"Exif\0\0" + turned[v])):
            yield f"png {kind} profile with prefix {v}", PNG, data
        for kind, data in text_chunks(b"Raw profile type APP1", profile(b"Exif\0\0" + turned[v], b"APP1")):
            yield f"png {kind} profile APP1 {v}", PNG, data
        yield f"png eXIf {v}, late", PNG_LATE, chunk(b"eXIf", turned[v])
    empty = tiff("<", [])
    for name, one, two in (("6 and 3", turned[6], xmp[3]), ("1 and 3", turned[1], xmp[3]), ("9 and 3", turned[9], xmp[3]),
                           ("none and 3", empty, xmp[3]), ("byte and 3", tiff("<", [entry("<", BYTE, [6])]), xmp[3])):
        for order in (1, -1):
            yield f"jpeg exif and xmp {name} {order}", JPEG, b"".join([jpeg_exif(one), jpeg_xmp(two)][::order])
            yield f"webp exif and xmp {name} {order}", WEBP, b"\x0c" + b"".join(
                [webp_chunk(b"EXIF", one), webp_chunk(b"XMP ", two)][::order])
            text = chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + two)
            yield f"png eXIf and xmp {name} {order}", PNG, b"".join([chunk(b"eXIf", one), text][::order])
            raw = chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(profile(one)))
            yield f"png profile and xmp {name} {order}", PNG, b"".join([raw, text][::order])
            yield f"png eXIf 8 and profile {name} {order}", PNG, b"".join([chunk(b"eXIf", turned[8]), raw][::order])
            yield f"png eXIf none and profile {name} {order}", PNG, b"".join([chunk(b"eXIf", empty), raw][::order])
    for flags in (0, 4, 8, 12):
        both = webp_chunk(b"EXIF", turned[6]) + webp_chunk(b"XMP ", xmp[3])
        yield f"webp flags {flags}", WEBP, bytes([flags]) + both
    yield "webp two", WEBP, b"\x08" + webp_chunk(b"EXIF", turned[6]) + webp_chunk(b"EXIF", turned[3])
    yield "jpeg two exif", JPEG, jpeg_exif(turned[6]) + jpeg_exif(turned[3])
    yield "jpeg two xmp", JPEG, jpeg_xmp(xmp[6]) + jpeg_xmp(xmp[3])
    yield "jpeg behind bytes", JPEG, segment(0xFE, b"words") + b"\0\xff\0\0" + jpeg_exif(turned[6])
    yield "jpeg behind a comment", JPEG, segment(0xFE, b"words") + b"\xff\xff" + jpeg_exif(turned[6])
    yield "jpeg other names", JPEG, segment(0xE1, b"exif\0\0" + turned[6]) + segment(0xE2, b"Exif\0\0" + turned[3])
    yield "png two eXIf", PNG, chunk(b"eXIf", turned[6]) + chunk(b"eXIf", turned[3])
    for name, text in (("no lines", turned[6].hex().encode()), ("odd", profile(turned[6])[:-2]), ("words", b"\n\n\nwords"),
                       ("spaces", b"\nexif\n 1\n" + turned[6].hex(" ").encode()), ("empty", b"")):
        yield f"png profile {name}", PNG, chunk(b"tEXt", b"Raw profile type exif\0" + text)


def bases():
    pixels = np.array([[[40 * i, 255 - 40 * i, 7 * i] for i in range(3)], [[40 * i, 9, 90 + 30 * i] for i in range(3)]])
    webp = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(webp, "WEBP", lossless=True)
    return jpeg(2, 3, [(1, 1)] * 3, 700), png(2, 3, RGB, 8, 701), webp.getvalue()


def assemble(files, place, data):
    base = files[PNG if place == PNG_LATE else place]
    if place == JPEG:
        return base[:2] + data + base[2:]
    if place == PNG:
        return base[:33] + data + base[33:]
    if place == PNG_LATE:
        return base[:-12] + data + base[-12:]
    body = webp_chunk(b"VP8X", bytes([data[0], 0, 0, 0, 2, 0, 0, 1, 0, 0])) + base[12:] + data[1:]
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def pillow_orientation(data, plain):
    """1..8, from the pixels; 1 if Pillow fails, which training does not survive."""
    try:
        turned = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")).reshape(6, 3)
    except Exception:
        return 1
    found = "".join("ABCDEF"[np.where((plain == pixel).all(1))[0][0]] for pixel in turned)
    return next(o for o, letters in TRANSPOSED.items() if letters == found)


def main():
    if len(sys.argv) > 1:
        print(list(cases())[int(sys.argv[1])])
        return
    files = bases()
    plain = [np.asarray(Image.open(io.BytesIO(f)).convert("RGB")).reshape(6, 3) for f in files]
    plain.append(plain[PNG])
    records, count, turned = b"", 0, 0
    for _, place, data in cases():
        orientation = pillow_orientation(assemble(files, place, data), plain[place])
        records += struct.pack("<BBH", place, orientation, len(data)) + data
        turned += orientation > 1
        count += 1
    tensors = {name: np.frombuffer(data, np.uint8) for name, data in zip(("jpeg", "png", "webp"), files)}
    tensors["records"] = np.frombuffer(records, np.uint8)
    folder = os.path.dirname(os.path.abspath(__file__))
    write(os.path.join(folder, "orientations.safetensors"), tensors, {"pillow": pillow, "records": str(count)})
    print(count, "records,", turned, "of them turned, by Pillow", pillow)


if __name__ == "__main__":
    main()
