"""Writes images, and what the native programs say of them: native.py PREDICT MODEL FOLDER. FOLDER gets 20 images of two
classes as PNG files and as bare pixels, and native.json for test_module.mjs."""

import json
import pathlib
import shutil
import subprocess
import sys

import images


def logits(predict, model, paths):
    """The logits of image files, by shiftvit-predict."""
    lines = subprocess.run([predict, "--model", model, "--output", "logits", "--top", "1000", "--json", "--threads", "1",
                            *map(str, paths)], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = {}
    for line in lines:
        one = json.loads(line)
        if "outputs" in one:
            rows[one["image"]] = [output["value"] for output in sorted(one["outputs"], key=lambda output: output["label"])]
    return [rows[str(path)] for path in paths]


def train_vit(train, folder):
    """Trains a small ViT for some steps, and returns its file. An earlier one is trained anew, not resumed."""
    shutil.rmtree(folder / "vit", ignore_errors=True)
    subprocess.run([train, "--preset", "slvit-cifar100", "--data", "procedural:40", "--limit-val", "8", "--limit-test", "8",
                    "--epochs", "1", "--set", "depth=2", "--set", "dim=32", "--set", "batch=10", "--threads", "1",
                    "--quiet", "--out", str(folder / "vit")], check=True, capture_output=True)
    return folder / "vit" / "model.safetensors"


def main(predict, model, folder):
    """Writes the folder."""
    folder = pathlib.Path(folder)
    rows = []
    for label, (kind, paths) in enumerate(images.write(folder, 10, side=61).items()):
        for number, (path, row) in enumerate(zip(paths, logits(predict, model, paths))):
            path.with_suffix(".rgb").write_bytes(images.pixels(kind, number, 61))
            rows.append({"file": str(path.with_suffix(".rgb")), "png": str(path), "width": 61, "height": 61, "label": label,
                         "logits": row})
    version = subprocess.run([predict, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    vit = train_vit(pathlib.Path(predict).with_name("shiftvit-train"), folder)
    data = {"version": version, "images": rows,
            "vit": {"file": str(vit), "logits": logits(predict, str(vit), [rows[0]["png"]])[0]}}
    (folder / "native.json").write_text(json.dumps(data), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
