"""Writes a safetensors file anew with its float32 tensors in float64: as_float64.py IN OUT"""
import array
import json
import sys

source, target = sys.argv[1:]
data = open(source, "rb").read()
length = int.from_bytes(data[:8], "little")
header = json.loads(data[8 : 8 + length])
body = b""
for name, entry in header.items():
    if name == "__metadata__":
        continue
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    values = data[begin:end]
    if entry["dtype"] == "F32":
        values = array.array("d", array.array("f", values)).tobytes()
        entry["dtype"] = "F64"
    entry["data_offsets"] = [len(body), len(body) + len(values)]
    body += values
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(target, "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text + body)
