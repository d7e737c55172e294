"""Converts the weights of Keras' ShiftViT, ViT and SL-ViT examples to model files, and back.

    keras-weights.py from-keras model.weights.h5 model.safetensors [--config model.json]
    keras-weights.py to-keras model.safetensors model.weights.h5 [--template saved.weights.h5]

Keras files are those of Model.save_weights (.weights.h5) and Model.save (.keras). With --config, a JSON object
with the model's fields or the run.json of a run, OUT says what its model is; without it, programs need --preset
or --set to read it. A template is a file that Keras has saved for the same model, with any weights: OUT gets all
that is in it, the layers of the augmentation and their statistics for example, with the weights of IN. A .keras
file needs one."""
import argparse
import io
import json
import re
import struct
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import h5py
import numpy

Array = numpy.ndarray
Arrays = dict[str, Array]
WEIGHTS = "model.weights.h5"  # in a .keras file, which is a ZIP file
DTYPES = {"F32": "<f4", "F16": "<f2"}


def fail(message: str) -> None:
    sys.exit(f"keras-weights.py: {message}")


# Model files: safetensors.

def read_model(path: str) -> tuple[Arrays, dict[str, str]]:
    """The tensors in float32, and the metadata."""
    data = Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else len(data)
    if length > len(data) - 8:
        fail(f"{path}: a header of {length} bytes does not fit the file; a safetensors file is needed")
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] not in DTYPES:
            fail(f"{path}: '{name}' is {entry['dtype']}; F32 and F16 are read: shiftvit-convert --dtype f32")
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"]).astype("<f4")
    return tensors, metadata


def write_model(path: str, tensors: Arrays, config: str | None) -> None:
    header, begin = {}, 0
    if config is not None:
        header["__metadata__"] = {"format": "shiftvit", "format_version": "1", "config": config}
    for name, values in tensors.items():
        end = begin + 4 * values.size
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    data = b"".join(numpy.ascontiguousarray(values, "<f4").tobytes() for values in tensors.values())
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


# Keras' files: HDF5, alone or in a .keras file.

def open_weights(path: str) -> bytes:
    """The HDF5 file's bytes."""
    if not path.endswith(".keras"):
        return Path(path).read_bytes()
    with zipfile.ZipFile(path) as archive:
        return archive.read(WEIGHTS)


def read_keras(path: str) -> Arrays:
    """All arrays by their paths in the HDF5 file."""
    arrays: Arrays = {}
    with h5py.File(io.BytesIO(open_weights(path)), "r") as file:
        file.visititems(lambda name, item: arrays.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return arrays


def write_keras(path: str, arrays: Arrays, template: str | None) -> None:
    memory = io.BytesIO(open_weights(template) if template else b"")
    with h5py.File(memory, "a" if template else "w") as file:
        for name, values in arrays.items():
            if name in file:
                file[name][...] = values
            else:
                file.create_dataset(name, data=values)
    if not path.endswith(".keras"):
        Path(path).write_bytes(memory.getvalue())
        return
    with zipfile.ZipFile(template) as old, zipfile.ZipFile(path, "w") as new:
        for item in old.infolist():
            new.writestr(item, memory.getvalue() if item.filename == WEIGHTS else old.read(item))


# The two layouts of one parameter.

@dataclass
class Rule:
    """How Keras' arrays become a tensor, and how the tensor becomes them; `heads` is that of the model."""
    to_tensor: Callable[[list[Array]], Array]
    to_keras: Callable[[Array, int], list[Array]]


def split_heads(qkv: Array, heads: int) -> list[Array]:
    """[3 heads head_dim, ..] -> [.., heads, head_dim] of queries, keys and values."""
    return [part.T.reshape(*part.shape[1:], heads, -1) for part in numpy.split(qkv, 3)]


SAME = Rule(lambda k: k[0], lambda t, _: [t])
DENSE = Rule(lambda k: k[0].T, lambda t, _: [t.T])
POINTWISE = Rule(lambda k: k[0].T[:, :, None, None], lambda t, _: [t.reshape(t.shape[:2]).T])
CONVOLUTION = Rule(lambda k: k[0].transpose(3, 2, 0, 1), lambda t, _: [t.transpose(2, 3, 1, 0)])
SCALAR = Rule(lambda k: k[0].reshape(1), lambda t, _: [t.reshape(())])
QKV_WEIGHT = Rule(lambda k: numpy.concatenate([w.reshape(w.shape[0], -1).T for w in k]), split_heads)
QKV_BIAS = Rule(lambda k: numpy.concatenate([b.reshape(-1) for b in k]), split_heads)
PROJECTION = Rule(lambda k: k[0].reshape(-1, k[0].shape[2]).T, lambda t, heads: [t.T.reshape(heads, -1, t.shape[0])])


@dataclass
class Entry:
    name: str  # of the tensor
    paths: list[str]  # of Keras' arrays
    rule: Rule


def variables(name: str, layer: str, weight: str, bias: str, rule: Rule) -> list[Entry]:
    return [Entry(name + weight, [f"{layer}/vars/0"], rule), Entry(name + bias, [f"{layer}/vars/1"], SAME)]


def linear(name: str, layer: str, rule: Rule = DENSE) -> list[Entry]:
    return variables(name, layer, ".weight", ".bias", rule)


def norm(name: str, layer: str) -> list[Entry]:
    return variables(name, layer, ".weight", ".bias", SAME)


# Keras numbers the layers of a class: dense, dense_1, dense_2.

def number_of(name: str) -> int:
    match = re.search(r"_(\d+)$", name)
    return int(match[1]) if match else 0


def numbered(stem: str, index: int) -> str:
    return stem if index == 0 else f"{stem}_{index}"


def found(arrays: Arrays, folder: str, pattern: str) -> list[str]:
    """The layers of a folder that have an array whose path there is of that form, in Keras' order."""
    names = {match[1] for path in arrays if (match := re.match(f"{folder}/({pattern})", path))}
    return [f"{folder}/{name}" for name in sorted(names, key=number_of)]


# ShiftViT.

def shiftvit_layers(arrays: Arrays) -> list[list[str]]:
    """The shift blocks of each stage in a Keras file."""
    stages = found(arrays, "layers", r"stacked_shift_blocks(?:_\d+)?")
    return [found(arrays, f"{stage}/shift_blocks", r"shift_vi_?t_block(?:_\d+)?") for stage in stages]


def shiftvit_default_layers(tensors: Arrays) -> list[list[str]]:
    """Those that Keras would write for the tensors of a model."""
    stages: list[list[str]] = []
    for name in tensors:
        match = re.fullmatch(r"layers\.(\d+)\.blocks\.(\d+)\.norm2\.weight", name)
        if match:
            stage, block = int(match[1]), int(match[2])
            while len(stages) <= stage:
                stages.append([])
            stages[stage].append(f"layers/{numbered('stacked_shift_blocks', stage)}/shift_blocks/"
                                 f"{numbered('shift_vi_t_block', block)}")
    return stages


def shiftvit_block(name: str, layer: str, dense: list[str]) -> list[Entry]:
    return (norm(name + ".norm2", f"{layer}/layer_norm") + linear(name + ".mlp.fc1", dense[0], POINTWISE) +
            linear(name + ".mlp.fc2", dense[1], POINTWISE))


def shiftvit_merge(name: str, layer: str) -> list[Entry]:
    return ([Entry(name + ".reduction.weight", [f"{layer}/reduction/vars/0"], CONVOLUTION)] +
            norm(name + ".norm", f"{layer}/layer_norm"))


def shiftvit_table(stages: list[list[str]], arrays: Arrays, has_classifier: bool) -> list[Entry]:
    table = linear("patch_embed.proj", (found(arrays, "layers", r"conv2d(?:_\d+)?") or ["layers/conv2d"])[0],
                   CONVOLUTION)
    for i, blocks in enumerate(stages):
        for j, layer in enumerate(blocks):
            folder = f"{layer}/mlp/mlp/layers"
            dense = found(arrays, folder, r"dense(?:_\d+)?") or [f"{folder}/dense", f"{folder}/dense_1"]
            table += shiftvit_block(f"layers.{i}.blocks.{j}", layer, dense)
        if i + 1 < len(stages):
            table += shiftvit_merge(f"layers.{i}.downsample", blocks[0].split("/shift_blocks/")[0] + "/patch_merge")
    return table + (linear("head", "classifier") if has_classifier else [])


# ViT and SL-ViT.

@dataclass
class VitLayers:
    """Keras' layers; `attention` has one of each block, `norms` two, `dense` two and then those of the head."""
    attention: list[str]
    norms: list[str]
    dense: list[str]
    is_shifted: bool  # shifted patch tokenization
    is_local: bool  # locality self-attention


def vit_layers(arrays: Arrays) -> VitLayers:
    attention = found(arrays, "layers", r"[^/]+(?=/query_dense/)")
    return VitLayers(attention, found(arrays, "layers", r"layer_normalization(?:_\d+)?(?=/)"),
                     found(arrays, "layers", r"dense(?:_\d+)?(?=/)"),
                     "layers/shifted_patch_tokenization/layer_norm/vars/0" in arrays,
                     f"{attention[0]}/vars/0" in arrays)


def vit_default_layers(tensors: Arrays) -> VitLayers:
    depth = sum(name.endswith(".attn.qkv.weight") for name in tensors)
    heads = sum(re.fullmatch(r"head\.fc\d+\.weight", name) is not None for name in tensors)
    is_local = "blocks.0.attn.tau" in tensors
    stem = "multi_head_attention" + ("_lsa" if is_local else "")

    def some(name: str, count: int) -> list[str]:
        return [f"layers/{numbered(name, i)}" for i in range(count)]
    return VitLayers(some(stem, depth), some("layer_normalization", 2 * depth + 1), some("dense", 2 * depth + heads),
                     "patch_embed.norm.weight" in tensors, is_local)


def vit_attention(name: str, layer: str, is_local: bool) -> list[Entry]:
    parts = [f"{layer}/{part}_dense" for part in ("query", "key", "value")]
    return ([Entry(name + ".qkv.weight", [f"{part}/vars/0" for part in parts], QKV_WEIGHT),
             Entry(name + ".qkv.bias", [f"{part}/vars/1" for part in parts], QKV_BIAS)] +
            linear(name + ".proj", f"{layer}/output_dense", PROJECTION) +
            ([Entry(name + ".tau", [f"{layer}/vars/0"], SCALAR)] if is_local else []))


def vit_table(layers: VitLayers) -> list[Entry]:
    tokens, depth = "layers/shifted_patch_tokenization", len(layers.attention)
    if len(layers.norms) != 2 * depth + 1 or len(layers.dense) <= 2 * depth:
        fail(f"{depth} attention layers, {len(layers.norms)} norms and {len(layers.dense)} dense layers are no ViT of "
             f"Keras' examples, which has {2 * depth + 1} norms and at least {2 * depth + 1} dense layers")
    table = [Entry("pos_embed", ["layers/patch_encoder/position_embedding/vars/0"], SAME)]
    if layers.is_shifted:
        table += norm("patch_embed.norm", f"{tokens}/layer_norm")
    table += linear("patch_embed.proj", f"{tokens}/projection")
    for i, attention in enumerate(layers.attention):
        table += norm(f"blocks.{i}.norm1", layers.norms[2 * i])
        table += vit_attention(f"blocks.{i}.attn", attention, layers.is_local)
        table += norm(f"blocks.{i}.norm2", layers.norms[2 * i + 1])
        table += linear(f"blocks.{i}.mlp.fc1", layers.dense[2 * i])
        table += linear(f"blocks.{i}.mlp.fc2", layers.dense[2 * i + 1])
    table += norm("norm", layers.norms[-1])
    for i, dense in enumerate(layers.dense[2 * depth:]):
        table += linear(f"head.fc{i + 1}", dense)
    return table


# The conversions.

def table_of_keras(path: str, arrays: Arrays) -> list[Entry]:
    if stages := shiftvit_layers(arrays):
        return shiftvit_table(stages, arrays, "classifier/vars/0" in arrays)
    if found(arrays, "layers", r"[^/]+(?=/query_dense/)"):
        return vit_table(vit_layers(arrays))
    fail(f"{path} has neither 'layers/stacked_shift_blocks' nor a layer with 'query_dense'; weights of Keras' "
         "ShiftViT, ViT and SL-ViT examples are accepted")


def table_of_tensors(path: str, tensors: Arrays) -> list[Entry]:
    if "layers.0.blocks.0.norm2.weight" in tensors:
        return shiftvit_table(shiftvit_default_layers(tensors), {}, "head.weight" in tensors)
    if "blocks.0.attn.qkv.weight" in tensors:
        return vit_table(vit_default_layers(tensors))
    fail(f"{path} has neither 'layers.0.blocks.0.norm2.weight' nor 'blocks.0.attn.qkv.weight'; models of Keras' "
         "ShiftViT, ViT and SL-ViT examples are accepted")


def check_complete(path: str, wanted: list[str], there: Arrays) -> None:
    for name in wanted:
        if name not in there:
            fail(f"{path} has no '{name}', which the model needs")


def note_rest(path: str, used: list[str], there: Arrays) -> None:
    for name in sorted(set(there) - set(used)):
        if "seed_generator" not in name and not name.startswith("optimizer/"):
            print(f"keras-weights.py: {path}: '{name}' is not converted", file=sys.stderr)


def config_text(path: str) -> str:
    """The fields of a model, which those of a run are one part of, as the text of a model file."""
    try:
        fields = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        fail(f"{path} is no JSON: {error}")
    if isinstance(fields, dict) and "version" in fields:
        fields = fields.get("config")
    if not isinstance(fields, dict) or "architecture" not in fields:
        fail(f"{path} has no model's fields; a JSON object with 'architecture', or a run.json, is accepted")
    return json.dumps(fields)


def from_keras(options: argparse.Namespace) -> None:
    config = config_text(options.config) if options.config else None
    arrays = read_keras(options.input)
    table = table_of_keras(options.input, arrays)
    paths = [path for entry in table for path in entry.paths]
    check_complete(options.input, paths, arrays)
    note_rest(options.input, paths, arrays)
    tensors = {entry.name: entry.rule.to_tensor([arrays[path] for path in entry.paths]) for entry in table}
    write_model(options.output, tensors, config)


def heads_of(metadata: dict[str, str], template: Arrays) -> int:
    for path, values in template.items():
        if path.endswith("/query_dense/vars/1"):
            return values.shape[0]
    return json.loads(metadata.get("config", "{}")).get("heads", 1)


def check_shapes(path: str, arrays: Arrays, template: Arrays) -> None:
    for name, values in arrays.items():
        if name in template and template[name].shape != values.shape:
            fail(f"{path}: '{name}' is {list(values.shape)}; the template has {list(template[name].shape)}")


def to_keras(options: argparse.Namespace) -> None:
    if options.output.endswith(".keras") and not (options.template or "").endswith(".keras"):
        fail(f"{options.output}: a .keras file has the model's code too; --template needs one that Keras has saved")
    tensors, metadata = read_model(options.input)
    template = read_keras(options.template) if options.template else {}
    table = table_of_keras(options.template, template) if template else table_of_tensors(options.input, tensors)
    check_complete(options.input, [entry.name for entry in table], tensors)
    if left := sorted(set(tensors) - {entry.name for entry in table}):
        fail(f"{options.input}: '{left[0]}' has no counterpart in Keras' examples")
    arrays, heads = {}, heads_of(metadata, template)
    for entry in table:
        arrays.update(zip(entry.paths, entry.rule.to_keras(tensors[entry.name], heads)))
    check_shapes(options.input, arrays, template)
    write_keras(options.output, arrays, options.template)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function in (("from-keras", from_keras), ("to-keras", to_keras)):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        command.add_argument("input", metavar="IN")
        command.add_argument("output", metavar="OUT")
        if function == from_keras:
            command.add_argument("--config", metavar="FILE", help="a JSON object with the model's fields, or a run.json")
        else:
            command.add_argument("--template", metavar="FILE", help="a file that Keras has saved for this model")
    options = parser.parse_args()
    try:
        options.function(options)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        fail(f"{options.input}: {error}")


if __name__ == "__main__":
    main()
