"""The generated image files: name -> bytes. See make_images.py."""
import io
import struct
import zlib

from jpeg_write import JFIF, Noise, adobe, jpeg, segment
from png_write import DEPTHS, GREY, GREY_ALPHA, PALETTE, RGB, RGBA, chunk, png

HEIGHT, WIDTH = 19, 29


def sampling_cases():
    """Every sampling of luma against chroma of one sample a block, chroma finer than luma, and other mixtures."""
    cases = [((h, v), (1, 1), (1, 1)) for h in range(1, 5) for v in range(1, 5) if h * v <= 8]
    cases += [((1, 1), (h, v), (h, v)) for h, v in ((2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (3, 1), (1, 3))]
    cases += [((2, 2), (2, 1), (1, 2)), ((2, 2), (1, 2), (1, 1)), ((4, 2), (1, 1), (1, 1)), ((4, 1), (2, 1), (2, 1)),
              ((1, 4), (1, 2), (1, 2)), ((2, 1), (2, 1), (1, 1)), ((2, 2), (2, 2), (2, 2)), ((2, 1), (1, 2), (1, 1)),
              ((3, 2), (1, 2), (1, 1)), ((2, 4), (1, 1), (1, 1)), ((4, 1), (1, 1), (2, 1)), ((3, 1), (2, 1), (1, 1)),
              ((1, 2), (1, 2), (1, 2)), ((3, 3), (1, 1), (1, 1)), ((4, 4), (1, 1), (1, 1))]
    for i, sampling in enumerate(dict.fromkeys(cases)):
        name = "_".join(f"{h}x{v}" for h, v in sampling)
        yield f"jpeg/sampling/{name}", jpeg(HEIGHT, WIDTH, sampling, 100 + i)
    for i, (height, width) in enumerate(((1, 1), (1, 40), (40, 1), (8, 8), (17, 16), (33, 31))):
        yield f"jpeg/size/{height}x{width}", jpeg(height, width, [(2, 2), (1, 1), (1, 1)], 150 + i)


def colour_cases():
    three, four = [(2, 1), (1, 1), (1, 1)], [(1, 1)] * 4
    fine = [(2, 2), (1, 1), (1, 1), (2, 2)]
    yield "jpeg/colour/grey", jpeg(HEIGHT, WIDTH, [(1, 1)], 200)
    yield "jpeg/colour/grey_2x2", jpeg(HEIGHT, WIDTH, [(2, 2)], 201)
    for name, header in (("none", b""), ("jfif", JFIF), ("adobe0", adobe(0)), ("adobe1", adobe(1)),
                         ("adobe7", adobe(7)), ("jfif_adobe0", JFIF + adobe(0))):
        yield f"jpeg/colour/three_{name}", jpeg(HEIGHT, WIDTH, three, 202, header=header)
        yield f"jpeg/colour/rgb_{name}", jpeg(HEIGHT, WIDTH, [(1, 1)] * 3, 203, header=header, ids=b"RGB")
    for name, header in (("none", b""), ("adobe0", adobe(0)), ("adobe2", adobe(2)), ("adobe7", adobe(7))):
        yield f"jpeg/colour/four_{name}", jpeg(HEIGHT, WIDTH, four, 204, header=header)
        yield f"jpeg/colour/four_fine_{name}", jpeg(HEIGHT, WIDTH, fine, 205, header=header)
    yield "jpeg/colour/two", jpeg(HEIGHT, WIDTH, [(1, 1)] * 2, 206)


def warning_cases():
    three = [(2, 2), (1, 1), (1, 1)]

    def make(seed=300, **options):
        return jpeg(HEIGHT, WIDTH, three, seed, **options)

    for part in ("DQT", "SOF", "DHT", "SOS", "EOI"):
        yield f"jpeg/warning/zeros_before_{part}", make(before={part: b"\0\0\0"})
        yield f"jpeg/warning/fill_before_{part}", make(before={part: b"\xff\xff"})
    yield "jpeg/warning/junk_before_RST1", make(restart=1, before={"RST1": b"\x12\x34"})
    yield "jpeg/warning/restarts", make(restart=1)
    for version in (b"\2\1", b"\0\7", b"\1\xff"):
        yield f"jpeg/warning/jfif_{version.hex()}", make(header=segment(0xE0, b"JFIF\0" + version + b"\0\0\1\0\1\0\0"))
    yield "jpeg/warning/data_behind_the_end", make(end=b"\xff\xd9 and more \xff\xd8\xff")
    yield "jpeg/warning/junk_for_the_end", make(end=b"\0" * 80)
    whole = make()
    for cut in (1, 2, 3, 10, 60):
        yield f"jpeg/cut/{cut}", whole[:-cut]
    # What Pillow reads, and fills with grey.
    restarts = {"drop": lambda p: p[:2] + p[3:], "swap": lambda p: [p[1], p[0][:len(p[0]) // 2]] + p[2:],
                "short": lambda p: [part[:-4] for part in p], "bad_code": lambda p: [b"\xff\0" * 40] + p[1:]}
    for name, change in restarts.items():
        yield f"damaged/jpeg_{name}", make(restart=1, scan=change)


def png_cases():
    for colour, depths in DEPTHS.items():
        for depth in depths:
            for interlace in (False, True):
                seed = 400 + 32 * colour + depth
                name = f"{colour}_{depth}_{'adam7' if interlace else 'plain'}"
                yield f"png/kind/{name}", png(HEIGHT, WIDTH, colour, depth, seed, interlace)
    text = {b"gAMA": [1, 1000, 45455, 100000, 250000], b"sRGB": [0, 3]}
    for value in text[b"gAMA"]:
        for colour in (GREY, RGB, PALETTE, RGBA):
            yield f"png/gamma/{value}_{colour}", png(11, 13, colour, 8, 500 + colour,
                                                     chunks=chunk(b"gAMA", struct.pack(">I", value)))
    chromaticities = struct.pack(">8I", 31270, 32900, 73470, 26530, 11500, 82600, 15700, 1800)
    profile = chunk(b"iCCP", b"p\0\0" + zlib.compress(b"no profile"))
    for name, extra in (("cHRM", chunk(b"cHRM", chromaticities)), ("sRGB", chunk(b"sRGB", b"\3")), ("iCCP", profile),
                        ("cHRM_gAMA", chunk(b"gAMA", struct.pack(">I", 30000)) + chunk(b"cHRM", chromaticities)),
                        ("sBIT", chunk(b"sBIT", b"\3\3\3")), ("bKGD", chunk(b"bKGD", b"\0\1\0\2\0\3")),
                        ("unknown", chunk(b"abCd", b"x" * 9)), ("private", chunk(b"vpAg", b"\0" * 9))):
        yield f"png/chunk/{name}", png(11, 13, RGB, 8, 510, chunks=extra)
    for depth in (1, 8):
        yield f"png/transparent/grey_{depth}", png(11, 13, GREY, depth, 520, chunks=chunk(b"tRNS", b"\0\1"))
    yield "png/transparent/rgb", png(1, 40, RGB, 8, 521, chunks=chunk(b"tRNS", bytes(
        x for value in [Noise(521).below(256)] * 3 for x in (0, value))))
    for depth in DEPTHS[PALETTE]:
        alpha = bytes(40 * i % 256 for i in range(min(1 << depth, 7)))
        yield f"png/transparent/palette_{depth}", png(11, 13, PALETTE, depth, 522, chunks=chunk(b"tRNS", alpha))
        yield f"png/short_palette/{depth}", png(11, 13, PALETTE, depth, 523, palette=max(1, (1 << depth) - 1))
    for height, width in ((1, 1), (1, 9), (9, 1), (2, 5), (5, 3), (8, 8)):
        for interlace in (False, True):
            yield f"png/size/{height}x{width}_{int(interlace)}", png(height, width, RGB, 8, 530, interlace)
    end = chunk(b"IEND", b"")
    for interlace in (False, True):
        for name, tail in (("none", b""), ("cut", end[:7]), ("no_crc", end[:8]), ("bad_crc", end[:8] + b"\0\0\0\0"),
                           ("bad_length", b"\0\0\xff\xff" + end[4:]), ("zeros", b"\0" * 12), ("more", end + b"more")):
            yield f"png/end/{name}_{int(interlace)}", png(7, 5, RGB, 8, 540, interlace, end=tail)
    whole = png(7, 5, RGB, 8, 541)
    for cut in (2, 12, 14, 16, 40, 80):  # up to 16: IEND and the checksum before it
        yield f"png/cut/{cut}", whole[:-cut]
    yield "damaged/png_cut_17", whole[:-17]


def webp_cases():
    """Pillow encodes these, so their bytes depend on its version."""
    import numpy as np
    from PIL import Image

    def image(height, width, channels, seed):
        noise, across, down = Noise(seed), np.arange(width)[None, :, None], np.arange(height)[:, None, None]
        steps = np.array([[noise.below(9) + 1 for _ in range(channels)] for _ in range(2)])
        values = across * steps[0] + down * steps[1] + np.array([noise.below(99) for _ in range(channels)])
        return Image.fromarray((np.abs(values % 512 - 256) % 256).astype(np.uint8))

    def webp(images, **options):
        out = io.BytesIO()
        images[0].save(out, "WEBP", append_images=images[1:], save_all=len(images) > 1, **options)
        return out.getvalue()

    for channels in (3, 4):
        for height, width in ((19, 29), (1, 1), (16, 16), (33, 7)):
            size = f"{channels}_{height}x{width}"
            yield f"webp/lossy/{size}", webp([image(height, width, channels, 600)], quality=60)
            yield f"webp/lossless/{size}", webp([image(height, width, channels, 601)], lossless=True)
        yield f"webp/exact/{channels}", webp([image(9, 9, channels, 602)], lossless=True, exact=True)
        frames = [image(20, 24, channels, 603 + i) for i in range(3)]
        yield f"webp/animated/{channels}", webp(frames, duration=50, lossless=True)
        yield f"webp/animated_lossy/{channels}", webp(frames, duration=50, quality=70)
        corner = Image.new("RGBA" if channels == 4 else "RGB", (24, 20))
        corner.paste(image(6, 8, channels, 610), (10, 12))
        yield f"webp/animated_corner/{channels}", webp([corner, frames[0]], duration=50, lossless=True)
    whole = webp([image(19, 29, 3, 620)], quality=60)
    for cut in (1, 20, len(whole) - 40, len(whole) - 20):
        yield f"webp/cut/{cut}", whole[:-cut]


def generated():
    cases = {}
    for make in (sampling_cases, colour_cases, warning_cases, png_cases, webp_cases):
        for name, data in make():
            assert name not in cases, name
            cases[name] = data
    return cases
