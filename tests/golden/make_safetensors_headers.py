#!/usr/bin/env python3
"""Writes safetensors_headers.txt: a line for each header of a safetensors file, and what the format's reference
implementation (the Python package safetensors) says of it: refused,
or the tensors that it reads. Fields are separated
by tabs; a byte that is not printable is a backslash and its two hexadecimal digits.

usage: make_safetensors_headers.py write     writes the file anew
       make_safetensors_headers.py compare   exit status 1: the installed package says something else; 77: there is
                                             no package, or one before 0.8; the test runs $SHIFTVIT_PYTHON
"""
import itertools
import os
import struct
import sys

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "safetensors_headers.txt")
DTYPES = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
          "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
          "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64}
MAX_RANK = 8
# Why this library refuses what the reference reads.
TWICE = "the format forbids a key that occurs twice"
FORM = "the format's entries are objects, and their types texts"


def entry(dtype='"U8"', shape="[1]", offsets="[0,1]", more=""):
    return f'{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}{more}}}'


def one(dtype='"U8"', shape="[1]", offsets="[0,1]", more="", name='"t"'):
    return f"{{{name}:{entry(dtype, shape, offsets, more)}}}"


def metadata(value, more=""):
    return f'{{"__metadata__":{value}{more}}}'


def cases():
    """Yields (header, bytes of data[, why this library refuses it though the reference reads it])."""
    # Types: each with as many elements as make whole bytes, one less, one more, and none.
    for name, bits in DTYPES.items():
        least = 1 if bits >= 8 else 2 if bits == 4 else 4
        size = least * bits // 8
        for elements, data in ((least, size), (least, size + 1), (least - 1, size), (least + 1, size), (0, 0)):
            yield one(f'"{name}"', f"[{elements}]", f"[0,{data}]"), data
        yield one(f'"{name}"', f"[3,{least}]", f"[0,{3 * size}]"), 3 * size
    for name in ("F31", "f32", "", "F4_E2M1", "C128", "BOOL\\u0000", "F\\u00332"):
        yield one(f'"{name}"', "[1]", "[0,4]"), 4
    for value in ("null", "1", "[]", "{}", '["F32"]', "true"):
        yield one(value, "[1]", "[0,4]"), 4
    yield one('{"F32":null}', "[1]", "[0,4]"), 4, FORM
    # Shapes.
    for rank in (0, 1, 7, 8, 9, 10, 33, 300):
        yield one('"U8"', str([1] * rank), "[0,1]"), 1
    yield one('"F16"', "[1,2,1,1,1,1,1,1,3]", "[0,12]"), 12
    yield one('"F16"', "[1,2,1,1,1,1,1,1,3]", "[0,6]"), 6
    for shape in ("1", "null", '"1"', "{}", "[-1]", "[-0]", "[0.0]", "[1.0]", "[1.5]", "[1e0]", '["1"]', "[null]",
                  "[[1]]", "[true]", "[01]", "[+1]", "[1,]", "[ 1 , 1 ]", "[0x1]", "[]"):
        yield one('"U8"', shape, "[0,1]"), 1
    # Sizes at the limits of 64 bits: a dimension of 0 before and behind.
    for length in (2**31, 2**32, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**65, 10**30):
        for shape in (f"[{length}]", f"[0,{length}]", f"[{length},0]", f"[{length},2,0]", f"[0,{length},2]",
                      f"[{length},{length}]"):
            for name in ("U8", "F4", "F64"):
                yield one(f'"{name}"', shape, "[0,0]"), 0
    # Offsets.
    for offsets in ("[0,2]", "[1,1]", "[1,2]", "[0,0]", "[1,0]", "[-1,0]", "[-0,1]", "[0,-1]", "[0,1.0]", "[0,1,2]",
                    "[0]", "[]", "null", '"01"', "[null,1]", '{"0":0,"1":1}', "[0,1e0]", "[0,9223372036854775807]",
                    "[9223372036854775807,9223372036854775808]", "[0,18446744073709551615]",
                    "[18446744073709551615,0]", "[0,18446744073709551616]"):
        yield one('"U8"', "[1]", offsets), 1
    yield one('"U8"', "[1]", "[0,1]"), 0
    yield one('"U8"', "[1]", "[0,1]"), 2
    yield "{}", 1
    # Two tensors: every pair of ranges in four bytes.
    ranges = [(0, 2), (2, 4), (0, 4), (1, 3), (0, 1), (1, 4), (4, 4), (0, 0), (2, 2)]
    for (a, b), (c, d) in itertools.product(ranges, ranges):
        yield (f'{{"a":{entry(shape=f"[{b - a}]", offsets=f"[{a},{b}]")},'
               f'"b":{entry(shape=f"[{d - c}]", offsets=f"[{c},{d}]")}}}'), 4
    # Entries.
    for text in ("1", "null", "[]", "{}", '"U8"', '{"dtype":"U8"}', '{"dtype":"U8","shape":[1]}',
                 '{"shape":[1],"data_offsets":[0,1]}', '{"data_offsets":[0,1],"shape":[1],"dtype":"U8"}',
                 '{"Dtype":"U8","shape":[1],"data_offsets":[0,1]}'):
        yield f'{{"t":{text}}}', 1
    yield '{"t":["U8",[1],[0,1]]}', 1, FORM
    yield '{"t":["U8",[1]]}', 1
    for key in ('"extra"', '"Dtype"', '""', '"\\u0000"', '"__metadata__"', '"offsets"'):
        for value in ("1", "null", '"x"', "[]", '{"a":[1,2,{"b":null}]}', "1e400", "1e-400", "-0",
                      "12345678901234567890123", "-9223372036854775809", "1e308", "1.5e+3",
                      '"\\ud83d\\ude00"', '"\\ud83d"', '"\\u0000"', '"\x01"'):
            yield one(more=f",{key}:{value}"), 1
    for more in (',"x":1,"x":2', ',"x":{"a":1,"a":2}'):
        yield one(more=more), 1, TWICE
    for more in (',"dtype":"U8"', ',"shape":[1]', ',"data_offsets":[0,1]', ",", ',"x"', ',"x":', ",x:1", ",null:1"):
        yield one(more=more), 1
    # Nesting.
    for depth in (1, 50, 62, 63, 64, 100, 124, 125, 126, 127, 128, 200):
        yield one(more=f',"x":{"[" * depth}{"]" * depth}'), 1
        yield one(more=f',"x":{{"y":{"[" * (depth - 1)}{"]" * (depth - 1)}}}'), 1
    # Metadata.
    for value in ("null", "{}", "[]", "1", '""', "false", '{"k":"v"}', '{"k":1}', '{"k":null}', '{"k":["v"]}',
                  '{"k":{}}', '{"":""}', '{"k\\u0000":"v"}', '{"k":"v\\u0000w"}',
                  '{"k":"\\ud800"}', '{"format":"pt","k":true}'):
        yield metadata(value), 0
        yield metadata(value, more=',"t":' + entry()), 1
    yield metadata('{"a":"b","a":"c"}'), 0, TWICE
    yield metadata("null", more=',"__metadata__":null'), 0
    yield metadata("{}", more=',"__metadata__":{}'), 0
    # Names.
    for name in ('""', '"a.b"', '"t\\u0000"', '"\\u0000"', '"t\\u0000u"', '"t\\\\u0000"', '"\\u00e9"', '"é"',
                 '"\\ud83d\\ude00"', '"\\ud83d"', '"\\ude00"', '"\\uDEAD"', '"\\n"', '"\\x"',
                 '"\\u12"', '"\t"', '"\x7f"',
                 '"__metadata__\\u0000"',
                 '"/"', '"\\/"', "t", "1", "null", "'t'"):
        yield one(name=name), 1
    yield f'{{"t":{entry()},"t":{entry()}}}', 1, TWICE
    yield f'{{"t":{entry()},"t\\u0000":{entry(offsets="[1,2]")},"t\\u0000u":{entry(offsets="[2,3]")}}}', 3
    # The text around the object.
    for text in ("", " ", "{", "}", "[]", "null", "1", '"t"', " {}", "{} ", "\n{}", "{}\r\n\t ", "{}\x00", "\ufeff{}",
                 "{}{}", "{},", "{,}", "//\n{}", "{}\x0b", "{}\x0c", "{}\xa0", '{"t":}', "{\"t\"}"):
        yield text, 0
    for raw in (b"\xff", b'{"\xff":1}', b'{"\xc0\x80":1}', b'{"\xed\xa0\x80":1}', b"\x00", b"{}\xff"):
        yield raw, 0


def shape_text(shape):
    """As sv_tensor_desc_text writes it."""
    lengths = [str(d) if d < 2**63 else "..." for d in shape]
    if len(lengths) > MAX_RANK:
        lengths = lengths[:MAX_RANK - 1] + ["..."]
    return "[" + ", ".join(lengths) + "]"


def verdict(reference, header, data):
    """None if the reference refuses the file; else its tensors by name: (name, type, shape, bytes)."""
    import safetensors
    try:
        tensors = reference(struct.pack("<Q", len(header)) + header + bytes(data))
    except safetensors.SafetensorError:
        return None
    return sorted((name.replace("\0", "\u2400"), t["dtype"], shape_text(t["shape"]), len(t["data"]))
                  for name, t in tensors)


def field(data):
    data = data.encode() if isinstance(data, str) else data
    return "".join(chr(b) if 32 <= b < 127 and b != ord("\\") else f"\\{b:02x}" for b in data)


def make():
    from safetensors import deserialize
    lines = []
    for header, data, *reason in cases():
        header = header if isinstance(header, bytes) else header.encode()
        tensors = verdict(deserialize, header, data)
        if reason and tensors is None:
            raise SystemExit(f"the reference refuses {header!r} too")
        word = "refused" if tensors is None else "stricter" if reason else "read"
        fields = [word, str(data), field(header), *reason]
        for tensor in tensors if tensors and not reason else []:
            fields += [field(str(part)) for part in tensor]
        lines.append("\t".join(fields))
    return "\n".join(lines) + "\n"


def main():
    try:
        import safetensors
    except ImportError as missing:
        print(f"skipped: {missing}; set SHIFTVIT_PYTHON")
        return 77
    if tuple(map(int, safetensors.__version__.split(".")[:2])) < (0, 8):
        print(f"skipped: safetensors is {safetensors.__version__}, and the headers are those of 0.8 and later; "
              "set SHIFTVIT_PYTHON")
        return 77
    text = make()
    if sys.argv[1:] == ["write"]:
        with open(FILE, "w", encoding="ascii") as out:
            out.write(text)
        return 0
    with open(FILE, encoding="ascii") as recorded:
        if recorded.read() != text:
            print(f"{FILE} is not what the package of version {safetensors.__version__} says")
            return 1
    print(f"{text.count(chr(10))} headers: as recorded")
    return 0


sys.exit(main())
