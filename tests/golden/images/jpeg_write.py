"""Writes baseline JPEG files with any sampling factors, components and markers, which encoders do not offer.

The blocks are noise in the frequency domain, drawn from a linear congruential generator, so the files are the same on
every machine and need no image.
"""
import struct

# The DC and AC tables of luma in ISO/IEC 10918-1, Annex K: the number of codes of each length, and their symbols.
DC_BITS = [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
DC_VALUES = list(range(12))
AC_BITS = [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7D]
AC_VALUES = bytes.fromhex(
    "01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a"
    "434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9"
    "aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa")


class Noise:
    """Whole numbers from a linear congruential generator."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 16) * limit >> 16


def codes(bits, values):
    """Symbol -> (code, length)."""
    found, code, at = {}, 0, 0
    for length, count in enumerate(bits, 1):
        for _ in range(count):
            found[values[at]] = (code, length)
            code, at = code + 1, at + 1
        code <<= 1
    return found


DC, AC = codes(DC_BITS, DC_VALUES), codes(AC_BITS, AC_VALUES)


class Bits:
    """The entropy-coded data of one restart interval."""

    def __init__(self):
        self.value, self.count = 0, 0

    def put(self, code, length):
        self.value, self.count = self.value << length | code, self.count + length

    def put_number(self, number, size):
        self.put(number if number >= 0 else number + (1 << size) - 1, size)

    def bytes(self):
        fill = -self.count % 8
        whole = (self.value << fill | (1 << fill) - 1).to_bytes((self.count + fill) // 8, "big")
        return whole.replace(b"\xff", b"\xff\0")


def put_block(bits, noise, previous):
    """A block of a random mean and six random coefficients. Returns its DC coefficient."""
    dc = noise.below(90) - 45
    size = abs(dc - previous).bit_length()
    bits.put(*DC[size])
    bits.put_number(dc - previous, size)
    for _ in range(6):
        run, number = noise.below(3), (noise.below(9) + 1) * (1 if noise.below(2) else -1)
        size = abs(number).bit_length()
        bits.put(*AC[run << 4 | size])
        bits.put_number(number, size)
    bits.put(*AC[0])
    return dc


def segment(marker, contents):
    return struct.pack(">BBH", 0xFF, marker, len(contents) + 2) + contents


JFIF = segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0")


def adobe(transform):
    return segment(0xEE, b"Adobe\0\x64\0\0\0\0" + bytes([transform]))


def intervals(height, width, sampling, restart, seed):
    """The restart intervals of a scan of all components; the whole scan is one if `restart` is 0."""
    noise = Noise(seed)
    across, down = (max(s[i] for s in sampling) for i in (0, 1))
    units = [(h, v) for h, v in sampling]
    count = -(-width // (8 * across)) * -(-height // (8 * down))
    if len(sampling) == 1:  # such a scan is not interleaved
        units, count = [(1, 1)], -(-width // 8) * -(-height // 8)
    found, bits, previous = [], Bits(), [0] * len(units)
    for unit in range(count):
        if restart and unit and unit % restart == 0:
            found.append(bits.bytes())
            bits, previous = Bits(), [0] * len(units)
        for c, (h, v) in enumerate(units):
            for _ in range(h * v):
                previous[c] = put_block(bits, noise, previous[c])
    return found + [bits.bytes()]


def jpeg(height, width, sampling, seed, ids=None, header=JFIF, restart=0, before=None, scan=None, end=b"\xff\xd9"):
    """A file whose components have the sampling factors [(across, down), ...]. `before` gives bytes to put before a
    part ("DQT", "SOF", "DHT", "SOS", "RST1", "EOI"); `scan` changes the list of restart intervals."""
    before = before or {}
    ids = ids or range(1, len(sampling) + 1)
    parts = intervals(height, width, sampling, restart, seed)
    parts = scan(parts) if scan else parts
    frame = struct.pack(">BHHB", 8, height, width, len(sampling))
    for i, (h, v) in zip(ids, sampling):
        frame += bytes([i, h << 4 | v, 0])
    tables = b"\0" + bytes(DC_BITS) + bytes(DC_VALUES) + b"\x10" + bytes(AC_BITS) + AC_VALUES
    script = bytes([len(sampling)]) + b"".join(bytes([i, 0]) for i in ids) + b"\0\x3f\0"
    out = b"\xff\xd8" + header + before.get("DQT", b"") + segment(0xDB, b"\0" + bytes([9] * 64))
    out += before.get("SOF", b"") + segment(0xC0, frame)
    out += before.get("DHT", b"") + segment(0xC4, tables)
    if restart:
        out += segment(0xDD, struct.pack(">H", restart))
    out += before.get("SOS", b"") + segment(0xDA, script)
    for i, part in enumerate(parts):
        if i:
            out += before.get(f"RST{i}", b"") + bytes([0xFF, 0xD0 + (i - 1) % 8])
        out += part
    return out + before.get("EOI", b"") + end
