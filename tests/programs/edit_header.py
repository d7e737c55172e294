"""Writes a safetensors file anew with one entry of its metadata changed:
edit_header.py IN OUT KEY VALUE, where VALUE is Python's, '\\x1b' say, or - to leave KEY out."""
import ast
import json
import sys

source, target, key, value = sys.argv[1:]
data = open(source, "rb").read()
length = int.from_bytes(data[:8], "little")
header = json.loads(data[8 : 8 + length])
if value == "-":
    del header["__metadata__"][key]
else:
    header["__metadata__"][key] = ast.literal_eval(value)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(target, "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text + data[8 + length :])
