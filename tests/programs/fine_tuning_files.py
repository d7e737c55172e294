"""Writes what the test fine_tuning needs: a folder as save_pretrained writes it, and one of photographs.

fine_tuning_files.py GOLDEN.safetensors
"""

import json
import os
import random
import struct
import sys
import zlib

CONFIG = {"architectures": ["ViTForImageClassification"], "model_type": "vit", "hidden_size": 32, "num_hidden_layers": 3,
          "num_attention_heads": 2, "intermediate_size": 96, "image_size": 28, "patch_size": 7, "layer_norm_eps": 1e-12,
          "hidden_act": "gelu", "num_channels": 3, "id2label": {str(i): f"old {i}" for i in range(6)}}
PREPROCESSOR = {"size": {"height": 28, "width": 28}, "resample": 2, "image_mean": [0.4, 0.5, 0.6],
                "image_std": [0.25, 0.25, 0.25]}


def write_weights(golden, path):
    """The tensors "param.NAME" of a golden file as NAME."""
    with open(golden, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    own, parts, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, entry in header.items():
        if name.startswith("param."):
            part = data[slice(*entry["data_offsets"])]
            own[name[6:]] = {**entry, "data_offsets": [at, at + len(part)]}
            parts.append(part)
            at += len(part)
    text = json.dumps(own).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def write_png(path, colour):
    """An image of 40 x 32 pixels about a colour."""
    rows = b""
    for _ in range(32):
        pixels = (min(255, max(0, part + random.randint(-40, 40))) for _ in range(40) for part in colour)
        rows += b"\0" + bytes(pixels)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        header = struct.pack(">IIBBBBB", 40, 32, 8, 2, 0, 0, 0)
        for kind, part in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
            crc = struct.pack(">I", zlib.crc32(kind + part))
            file.write(struct.pack(">I", len(part)) + kind + part + crc)


random.seed(1)
os.makedirs("checkpoint")
write_weights(sys.argv[1], "checkpoint/model.safetensors")
for name, value in (("config", CONFIG), ("preprocessor_config", PREPROCESSOR)):
    with open(f"checkpoint/{name}.json", "w") as stream:
        json.dump(value, stream)
for name, colour in (("blue", (40, 60, 200)), ("green", (50, 190, 60)), ("red", (200, 50, 50))):
    os.makedirs(f"photos/{name}")
    for number in range(20):
        write_png(f"photos/{name}/{number}.png", colour)
