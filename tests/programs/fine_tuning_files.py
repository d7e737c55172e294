"""Writes what the tests fine_tuning and again need: a folder as save_pretrained writes it, one that has an adapter,
too, one with a prefix before the names, one with two encoders, one of an adapter alone, and one of photographs.

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
ADAPTER = {"peft_type": "LORA", "lora_alpha": 4, "bias": "none", "base_model_name_or_path": "checkpoint"}


def write_tensors(path, tensors):
    """A safetensors file of (name, shape, bytes of F32 values)."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, part in tensors:
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(part)]}
        at += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(part for _, _, part in tensors))


def golden_weights(golden):
    """The tensors "param.NAME" of a golden file as NAME."""
    with open(golden, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    return [(name[6:], entry["shape"], data[slice(*entry["data_offsets"])])
            for name, entry in header.items() if name.startswith("param.")]


def adapter_weights(module, width, rank):
    """LoRA's pair for a linear map of width x width, all 0.1."""
    values = struct.pack("<f", 0.1) * (width * rank)
    return [(f"base_model.model.{module}.lora_A.weight", [rank, width], values),
            (f"base_model.model.{module}.lora_B.weight", [width, rank], values)]


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
weights = golden_weights(sys.argv[1])
for folder, prefixes in (("checkpoint", [""]), ("both", [""]), ("wrapped", ["module."]),
                         ("twins", ["teacher.backbone.", "student.backbone."])):
    os.makedirs(folder)
    # The second encoder has other weights, the first ones moved by a value.
    write_tensors(f"{folder}/model.safetensors",
                  [(prefix + name, shape, part[4 * i:] + part[:4 * i])
                   for i, prefix in enumerate(prefixes) for name, shape, part in weights])
    for name, value in (("config", CONFIG), ("preprocessor_config", PREPROCESSOR), ("adapter_config", ADAPTER)):
        with open(f"{folder}/{name}.json", "w") as stream:
            json.dump(value, stream)
os.makedirs("adapter")
with open("adapter/adapter_config.json", "w") as stream:
    json.dump({**ADAPTER, "base_model_name_or_path": "gone"}, stream)
for folder in ("both", "adapter"):
    write_tensors(f"{folder}/adapter_model.safetensors",
                  adapter_weights("vit.encoder.layer.0.attention.attention.query", 32, 2))
for name, colour in (("blue", (40, 60, 200)), ("green", (50, 190, 60)), ("red", (200, 50, 50))):
    os.makedirs(f"photos/{name}")
    for number in range(20):
        write_png(f"photos/{name}/{number}.png", colour)
