"""Checks examples/keras-weights.py without Keras: the arrays of a Keras file against the tensors of a model, element
by element, and that what comes back is the same.
Usage: keras_weights.py CONVERTER MODEL.safetensors FOLDER"""
import importlib.util
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import h5py
import numpy


def load_converter(path: str):
    spec = importlib.util.spec_from_file_location("keras_weights", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["keras_weights"] = module
    spec.loader.exec_module(module)
    return module


def same(name: str, found: numpy.ndarray, wanted: numpy.ndarray) -> None:
    assert found.shape == wanted.shape and (found == wanted).all(), f"{name}: {found.shape} and {wanted.shape}"


def check_dense(file: h5py.File, layer: str, tensors: dict, name: str) -> None:
    kernel, weight = file[f"{layer}/vars/0"][()], tensors[f"{name}.weight"]
    same(name, kernel, weight.reshape(weight.shape[:2]).T)
    same(name, file[f"{layer}/vars/1"][()], tensors[f"{name}.bias"])


def check_convolution(file: h5py.File, layer: str, weight: numpy.ndarray) -> None:
    """kernel[i, j, in, out] = weight[out, in, i, j]"""
    kernel = file[f"{layer}/vars/0"][()]
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            same(layer, kernel[i, j], weight[:, :, i, j].T)


def check_shiftvit(file: h5py.File, tensors: dict) -> None:
    check_convolution(file, "layers/conv2d", tensors["patch_embed.proj.weight"])
    check_dense(file, "classifier", tensors, "head")
    stage = "layers/stacked_shift_blocks"
    check_convolution(file, f"{stage}/patch_merge/reduction", tensors["layers.0.downsample.reduction.weight"])
    same("norm", file[f"{stage}/patch_merge/layer_norm/vars/0"][()], tensors["layers.0.downsample.norm.weight"])
    block = f"{stage}_1/shift_blocks/shift_vi_t_block_1"
    check_dense(file, f"{block}/mlp/mlp/layers/dense", tensors, "layers.1.blocks.1.mlp.fc1")
    check_dense(file, f"{block}/mlp/mlp/layers/dense_1", tensors, "layers.1.blocks.1.mlp.fc2")
    same("bias", file[f"{block}/layer_norm/vars/1"][()], tensors["layers.1.blocks.1.norm2.bias"])


def check_heads(file: h5py.File, layer: str, tensors: dict, name: str) -> None:
    """Row which * heads * d + head * d + k of qkv is kernel_which[:, head, k]."""
    for which, part in enumerate(("query", "key", "value")):
        kernel, bias = file[f"{layer}/{part}_dense/vars/0"][()], file[f"{layer}/{part}_dense/vars/1"][()]
        heads, d = 2, 6
        assert kernel.shape[1:] == (heads, d), kernel.shape
        for head in range(heads):
            for k in range(d):
                row = which * heads * d + head * d + k
                same(part, kernel[:, head, k], tensors[f"{name}.qkv.weight"][row])
                assert bias[head, k] == tensors[f"{name}.qkv.bias"][row]
    kernel = file[f"{layer}/output_dense/vars/0"][()]
    for head in range(kernel.shape[0]):
        for k in range(kernel.shape[1]):
            same("output", kernel[head, k], tensors[f"{name}.proj.weight"][:, head * kernel.shape[1] + k])


def check_vit(file: h5py.File, tensors: dict) -> None:
    is_local = "blocks.0.attn.tau" in tensors
    attention = "layers/multi_head_attention" + ("_lsa" if is_local else "")
    check_heads(file, attention, tensors, "blocks.0.attn")
    check_heads(file, attention + "_1", tensors, "blocks.1.attn")
    if is_local:
        same("tau", file[f"{attention}_1/vars/0"][()], tensors["blocks.1.attn.tau"].reshape(()))
        same("norm", file["layers/shifted_patch_tokenization/layer_norm/vars/0"][()],
             tensors["patch_embed.norm.weight"])
    check_dense(file, "layers/shifted_patch_tokenization/projection", tensors, "patch_embed.proj")
    check_dense(file, "layers/dense_2", tensors, "blocks.1.mlp.fc1")
    check_dense(file, "layers/dense_5", tensors, "head.fc2")
    same("norm", file["layers/layer_normalization_3/vars/0"][()], tensors["blocks.1.norm2.weight"])
    same("norm", file["layers/layer_normalization_4/vars/1"][()], tensors["norm.bias"])
    same("position", file["layers/patch_encoder/position_embedding/vars/0"][()], tensors["pos_embed"])


def clear(name: str, item: h5py.Dataset | h5py.Group) -> None:
    if isinstance(item, h5py.Dataset):
        item[...] = 0


def make_template(source: Path, folder: Path) -> Path:
    """As Keras writes a .keras file: other weights, and an array that is no parameter."""
    memory, path = io.BytesIO(), folder / "template.keras"
    with h5py.File(source, "r") as old, h5py.File(memory, "w") as new:
        old.copy("layers", new)
        if "classifier" in old:
            old.copy("classifier", new)
        new.visititems(clear)
        new["layers/normalization/vars/0"] = numpy.ones(3, numpy.float32)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("model.weights.h5", memory.getvalue())
    return path


def main() -> None:
    converter, model, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    module = load_converter(converter)
    tensors, metadata = module.read_model(model)

    def run(*arguments, status: int = 0) -> str:
        done = subprocess.run([sys.executable, converter, *map(str, arguments)], capture_output=True, text=True,
                              check=False)
        assert (done.returncode != 0) == (status != 0), f"{arguments}: {done.returncode}, {done.stderr}"
        return done.stderr

    weights, config, back = folder / "a.weights.h5", folder / "config.json", folder / "back.safetensors"
    config.write_text(metadata["config"])
    run("to-keras", model, weights)
    with h5py.File(weights, "r") as file:
        (check_vit if "pos_embed" in tensors else check_shiftvit)(file, tensors)
    template = make_template(weights, folder)
    run("to-keras", model, folder / "b.keras", "--template", template)
    for source in (weights, folder / "b.keras"):
        said = run("from-keras", source, back, "--config", config)
        assert ("normalization/vars/0' is not converted" in said) == (source != weights), said
        found, new = module.read_model(back)
        assert set(found) == set(tensors) and json.loads(new["config"]) == json.loads(metadata["config"])
        for name, values in tensors.items():
            same(name, found[name], values)
    run_json = folder / "run.json"
    run_json.write_text(json.dumps({"version": "1.0.0", "config": json.loads(metadata["config"]), "training": {}}))
    run("from-keras", weights, back, "--config", run_json)
    assert json.loads(module.read_model(back)[1]["config"]) == json.loads(metadata["config"])
    for text in ("{", "[]", "{}", '{"version": "1.0.0"}', '{"training": {"epochs": 1}}'):
        run_json.write_text(text)
        assert "run.json" in run("from-keras", weights, folder / "none.safetensors", "--config", run_json, status=1)
    assert not (folder / "none.safetensors").exists()
    assert "--template" in run("to-keras", model, folder / "c.keras", status=1)
    assert "config.json" in run("from-keras", config, back, status=1)
    with h5py.File(weights, "a") as file:
        del file["layers/conv2d/vars/1" if "layers/conv2d" in file else "layers/dense/vars/1"]
    assert "vars/1', which the model needs" in run("from-keras", weights, back, status=1)


if __name__ == "__main__":
    main()
