#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets, tests/fuzz/corpus/TARGET/, which are in the repository.

usage: make_corpus.py FUZZ_SEEDS     the program fuzz_seeds of a build: ninja -C build tests/fuzz/fuzz_seeds

Needs Python alone. Files that it did not write, those of defects that were found, stay as they are.
"""
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.path.join(HERE, "corpus")
GOLDEN = os.path.join(HERE, "..", "golden", "images")
# A seed of an image has at most these bytes.
IMAGE_LIMIT = 3000


def write(target, name, data):
    if isinstance(data, str):
        data = data.encode()
    folder = os.path.join(CORPUS, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def golden_files(name):
    """The image files in a safetensors file of the golden tests."""
    with open(os.path.join(GOLDEN, name), "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header, rest = json.loads(data[8:8 + length]), data[8 + length:]
    header.pop("__metadata__", None)
    for key, entry in sorted(header.items()):
        if entry["dtype"] == "U8" and len(entry["shape"]) == 1:
            yield key, rest[slice(*entry["data_offsets"])]


def images():
    kinds = {"jpeg": b"\xff\xd8", "png": b"\x89PNG", "webp": b"RIFF"}
    counts = dict.fromkeys(kinds, 0)
    png = None
    for source in ("images.safetensors", "orientations.safetensors"):
        for name, data in golden_files(source):
            for kind, start in kinds.items():
                if data.startswith(start) and len(data) <= IMAGE_LIMIT and counts[kind] < 60:
                    counts[kind] += 1
                    write(kind, name.replace("/", "-"), data)
                    if kind == "png" and len(data) < 120:
                        png = data
    return png


def exif(order, value, kind=3):
    end = "<" if order == "II" else ">"
    entry = struct.pack(end + "HHI", 0x0112, kind, 1) + struct.pack(end + ("HH" if kind == 3 else "I"),
                                                                    *((value, 0) if kind == 3 else (value,)))
    return order.encode() + struct.pack(end + "HIH", 42, 8, 1) + entry + bytes(4)


def metadata():
    for value in range(10):
        for order in ("II", "MM"):
            write("exif", f"{order}-{value}", b"\1" + exif(order, value))
    write("exif", "long", b"\1" + exif("II", 6, 4))
    attribute = b'<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
    write("exif", "attribute", b"\2" + attribute)
    write("exif", "element", b"\2<tiff:Orientation>8</tiff:Orientation>")
    write("exif", "both", b"\7" + exif("MM", 3).ljust(60, b"\0") + attribute[:60])


STRUCTS = {
    "model": ['{}', '{"architecture": "vit", "dim": 64, "heads": 2, "head_dim": 32, "head_units": [3, 4]}',
              '{"architecture": "mixer", "input_height": 32, "input_width": 32, "patch_size": 4}',
              '{"blocks": [2, 4, 4, 2], "mlp_ratio": 2.5, "norm_eps": 1e-5, "shift": "keras"}'],
    "optimizer": ['{"optimizer": "sgd", "momentum": 0.9, "nesterov": true, "sgd_form": "torch"}',
                  '{"optimizer": "muon", "groups": [{"pattern": "head*", "lr_scale": 0.5, "rule": "element"}]}',
                  '{"schedule": "piecewise", "points": [[0, 0], [0.5, 1], [1, 0]], "total_steps": 9}',
                  '{"ema": "swa", "swa_start": 0.75, "decay_exclude": ["bias", "norm"], "lookahead": 5}'],
    "pipeline": ['{"source_height": 32, "source_width": 32, "mean": [0.5, 0.5, 0.5], "variance": [1, 1, 1]}',
                 '{"channels": 1, "mean": [0], "variance": [1]}',
                 '{"resize_height": 40, "resize_width": 40, "output_height": 32, "output_width": 32, '
                 '"augment": [{"name": "crop", "padding": 4, "mode": "zero"}, {"name": "flip", "probability": 0.5}]}',
                 '{"augment": [{"name": "randaugment", "n": 2, "m": 9}, {"name": "erasing", "probability": 0.25}, '
                 '{"name": "mixup", "alpha": 0.8}, {"name": "cutmix", "alpha": 1.0}, {"name": "repeat", "n": 3}]}',
                 '{"augment": [{"name": "color-jitter", "brightness": 0.4, "hue": 0.1}, {"name": "resized-crop", '
                 '"scale": [0.08, 1], "ratio": [0.75, 1.333], "mode": "bicubic"}, {"name": "autoaugment", '
                 '"policy": "cifar10"}, {"name": "trivialaugment"}, {"name": "cutout", "size": 8}]}'],
    "session": ['{"max_batch": 4, "mode": "train", "compute": "bf16", "memory": "blocks"}'],
    "loader": ['{"batch": 32, "shuffle": true, "sampling": "balanced", "seed": 18446744073709551615}'],
    "trainer": ['{"epochs": 3, "batch": 64, "keep": "best", "class_weights": [1, 2.5], "tta": "flip-shift"}'],
    "head": ['{"epochs": 20, "learning_rate": 0.01, "balanced": true}'],
    "class": ['{"weight_decay": 0.1, "recall": 0.6}'],
}
BROKEN = ['', '{', '[]', '{"a": ', '{"dim": 1e999}', '{"dim": -0}', '{"x": "\\ud800"}', '{"x": "\\u00e9"}',
          '{"dim": 64, "dim": 65}', '[' * 300, '{"dim":0.1e-400}', 'null', '{"epochs": 1} x']


def texts():
    for number, (name, documents) in enumerate(STRUCTS.items()):
        for i, text in enumerate(documents + BROKEN[:3]):
            write("config_json", f"{name}-{i}", bytes([number]) + text.encode())
    for i, text in enumerate(STRUCTS["pipeline"] + BROKEN):
        write("pipeline_json", f"text-{i}", text)
    for i, text in enumerate(STRUCTS["optimizer"] + STRUCTS["pipeline"] + STRUCTS["trainer"] + BROKEN):
        write("training_json", f"text-{i}", bytes([i]) + text.encode())
    maps = ["timm", "huggingface", "openclip", "", "{}", '{"head.weight": "head.weight", "head.bias": null}',
            '{"blocks.*.mlp.fc1": "layers.*.fc1"}', '{"patch_embed.weight": {"tensor": "patch_embed.weight", '
            '"transpose": true}}', '{"blocks.*.attn.qkv.weight": ["q.*", "k.*", "v.*"]}', '{"head": []}', '{"*": "*"}']
    for i, text in enumerate(maps):
        for flags in (0, 71, 135):
            write("name_map", f"map-{i}-{flags}", bytes([flags]) + text.encode())
    lists = ["path,label\na.png,cat\nb.png,dog\n", 'path,label\r\n"a.png","c,\r\n""at"""\r\n', "path,x,y\na.png,1.5,-2e3\n",
             "path;label\na.png;1\n", "\ufeffpath,label\na.png,\u00e9\n", "path,label\n", "path,label\ra.png,1\r", "path,a,a\n",
             "path,x\na.png,nan\n", 'path,label\n"a.png,1\n', "path\na.png\n", "label,path\ncat,a.png\ncat,a.png\n"]
    for i, text in enumerate(lists):
        write("list", f"list-{i}", text)


def checkpoints():
    vit = {"model_type": "vit", "num_attention_heads": 2, "patch_size": 4, "image_size": 8, "hidden_size": 8}
    timm = {"architecture": "vit_tiny_patch16_224", "model_args": {"num_heads": 2, "img_size": [8, 8]}}
    configs = [
        timm, timm | {"global_pool": "avg"}, timm | {"label_names": ["a", "b", "c"]},
        timm | {"pretrained_cfg": {"input_size": [3, 8, 8], "crop_pct": 0.9, "interpolation": "bicubic",
                                   "mean": [0.5, 0.4, 0.3], "std": [0.5, 0.5, 0.5], "crop_mode": "squash"}},
        {"architecture": "vit_base_patch16_rpn_224"}, {"architecture": "vit_small_patch16_dinov3"}, vit,
        vit | {"architectures": ["ViTForImageClassification"], "id2label": {"0": "a", "1": "b", "2": "LABEL_2"}},
        vit | {"hidden_act": "gelu_new", "layer_norm_eps": 1e-6}, {"model_type": "clip", "vision_config": vit},
        {"model_type": "dinov3_vit", "use_gated_mlp": True, "hidden_act": "silu"}, {"model_type": "swin"}]
    sizes = [{"size": 8, "resample": 3}, {"size": {"height": 8, "width": 8}, "image_mean": [0.5], "image_std": [0.5]},
             {"size": {"shortest_edge": 9}, "do_rescale": False, "do_normalize": False}, {"do_resize": False}]
    towers = [{"model_cfg": {"vision_cfg": {"width": 8, "layers": 1, "patch_size": 4, "image_size": 8, "head_width": 4}},
               "preprocess_cfg": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "resize_mode": "squash"}},
              {"model_cfg": {"vision_cfg": {"timm_model_name": "vit_tiny_patch16_224", "timm_pool": "token"}}}]
    indices = [{"weight_map": {"pos_embed": "part.safetensors"}}, {"weight_map": {"a": "../x.safetensors"}}]
    fields = [{"heads": 2, "norm_eps": 1e-6}, {"in_channels": 1}, {"pool": "mean"}, {"wings": 2}]
    for kind, documents in enumerate((configs, sizes, towers, indices)):
        for i, document in enumerate(documents + [{}]):
            write("open", f"kind-{kind}-{i}", bytes([kind]) + json.dumps(document).encode())
    for i, document in enumerate(fields):
        write("open", f"fields-{i}", bytes([5 + 64 * (i % 2)]) + json.dumps(document).encode())
    write("open", "named", bytes([2 + 66]) + b"{}")


def archive(members, form=tarfile.USTAR_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    # Without the padding to 10240 bytes.
    return out.getvalue().rstrip(b"\0").ljust(512, b"\0") + bytes(1024)


def archives(png):
    write("shards", "numbers", archive([("a.png", png), ("a.cls", b"1"), ("b.png", png), ("b.cls", b"0")]))
    write("shards", "names", archive([("a.png", png), ("a.json", b'{"label": "cat"}')]))
    write("shards", "json-number", archive([("a.json", b'{"x": [1, {}], "cls": 3}'), ("a.png", png)]))
    for name, form in (("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
        long = "d" * 90 + "/" + "e" * 90 + "/k"
        write("shards", name, archive([(long + ".png", png), (long + ".cls", b"2")], form))
    write("shards", "no-label", archive([("a.png", png)]))
    write("shards", "cut", archive([("a.png", png), ("a.cls", b"1")])[:700])
    write("shards", "empty", bytes(1024))
    sample = struct.pack("<QIi", 512, 100, 0)
    write("shard_index", "numbers", b"\0\1\0\1" + sample)
    write("shard_index", "two", b"\0\1\0\2" + sample + struct.pack("<QIi", 4000, 96, 5))
    write("shard_index", "names", b"\0\2\2\2" + sample + struct.pack("<QIi", 512, 1, 1) + b"cat\0dog\0")
    write("shard_index", "none", b"\0\0\0\0")
    write("shard_index", "count", b"\374\1\0\1" + sample)


def noise(target, count, size):
    """Bytes that are the same each time."""
    for i in range(count):
        data = b"".join(hashlib.sha256(f"{target} {i} {j}".encode()).digest() for j in range(size // 32 + 1))
        write(target, f"noise-{i}", data[:size])


def main():
    png = images()
    metadata()
    texts()
    checkpoints()
    archives(png)
    for target, count, size in (("augment", 12, 200), ("resample", 8, 120), ("losses", 8, 120), ("metrics", 8, 120),
                                ("onnx", 12, 80), ("session", 16, 120), ("matmul", 8, 60), ("calls", 16, 400), ("run", 8, 20)):
        noise(target, count, size)
    for number in range(9):
        for cut in (0, 1, 9):
            write("run", f"file-{number}-{cut}", bytes([number, 0, 3, 0, cut]) + b'": 1')
            write("run", f"whole-{number}-{cut}", bytes([number, 1]) + b'{"epoch": 1}'[:12 - cut] + bytes(3))
    write("folder", "classes", b"\4a/b.png\0\4c/d.JPG\0\4a/e/f.webp\0\0empty\0\1a/loop\0\2c/link.png\0\4.hidden.png\0")
    write("folder", "names", b"\4\xc3\xa9/\xe2\x82\xac.png\0\4\xff/a.png\0\4x.png\0\3a/fifo.png\0")
    record = bytes([7]) + bytes(range(256)) * 12
    write("cifar", "ten", b"\0\0" + record * 2)
    write("cifar", "ten-names", b"\0\7cat\ndog" + record)
    write("cifar", "hundred", b"\1\0" + bytes([3]) + record)
    write("cifar", "cut", b"\0\0" + record[:-1])
    for target in ("model_file", "model_memory", "model_map", "checkpoint", "features"):
        os.makedirs(os.path.join(CORPUS, target), exist_ok=True)
    subprocess.run([sys.argv[1], CORPUS], check=True)


main()
