"""checkpoint_parts.py FILE SHARDS ADAPTER: writes the tensors of a safetensors file to the folder SHARDS as two
files with their index, and an adapter of PEFT for its attention to the folder ADAPTER, which changes FILE."""
import json
import os
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (entry["shape"], data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]])
            for name, entry in header.items()}


def write(path, tensors):
    header, at = {}, 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, data in tensors.values()))


def main(path, shards, adapter):
    tensors = read(path)
    os.makedirs(shards)
    os.makedirs(adapter)
    names = sorted(tensors)
    weight_map = {}
    for part, chosen in enumerate((names[::2], names[1::2]), 1):
        file = f"model-{part:05}-of-00002.safetensors"
        write(os.path.join(shards, file), {name: tensors[name] for name in chosen})
        weight_map.update({name: file for name in chosen})
    with open(os.path.join(shards, "model.safetensors.index.json"), "w") as file:
        json.dump({"weight_map": weight_map}, file)
    rank, (rows, columns) = 2, tensors["blocks.0.attn.qkv.weight"][0]
    name = "base_model.model.blocks.0.attn.qkv.lora_"
    write(os.path.join(adapter, "adapter_model.safetensors"),
          {name + "A.weight": ([rank, columns], struct.pack("<f", 0.25) * (rank * columns)),
           name + "B.weight": ([rows, rank], struct.pack("<f", 0.25) * (rows * rank))})
    with open(os.path.join(adapter, "adapter_config.json"), "w") as file:
        json.dump({"peft_type": "LORA", "r": rank, "lora_alpha": 2, "bias": "none", "target_modules": ["qkv"],
                   "base_model_name_or_path": path}, file)


main(*sys.argv[1:])
