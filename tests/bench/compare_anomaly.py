"""Compares shiftvit-anomaly with the same method in PyTorch, on photographs with defects drawn in.

    python3 tests/bench/compare_anomaly.py --build build
    python3 tests/bench/compare_anomaly.py --build build --weights vit.safetensors --name vit_small_patch16_224

Brick, grass and gravel of scikit-image are cut into squares: the upper half of each photograph gives the good images
that are remembered, the lower half good ones and ones with a defect (a scratch, a stain, a blurred part, a piece of
another photograph). The model is a ViT of timm, with random weights unless --weights names a file in timm's names.
AUROC tells how often an image with a defect has a higher score than one without. It is no part of the tests; without
torch, timm, safetensors and scikit-image it says so and ends.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

try:
    import numpy as np
    import skimage.data
    import timm
    import torch
    from PIL import Image, ImageDraw, ImageFilter
    from timm.models._hub import save_for_hf
except ImportError as error:
    print(f"left out: {error}")
    sys.exit(0)

PHOTOS = ("brick", "grass", "gravel")
SIDE = 96
GOOD, TESTED = 60, 60  # images that are remembered, and images of each kind that are scored, of a photograph
KEEP = 0.1
BLOCK = 7


def square(photo: Image.Image, rng: np.random.Generator, upper: bool) -> Image.Image:
    half = photo.height // 2
    x = int(rng.integers(0, photo.width - SIDE + 1))
    y = int(rng.integers(0, half - SIDE + 1)) + (0 if upper else half)
    return photo.crop((x, y, x + SIDE, y + SIDE))


def with_defect(image: Image.Image, other: Image.Image, rng: np.random.Generator) -> Image.Image:
    size = int(rng.integers(14, 27))
    x, y = (int(value) for value in rng.integers(4, SIDE - size - 4, 2))
    box = (x, y, x + size, y + size)
    mask = Image.new("L", image.size, 0)
    ImageDraw.Draw(mask).ellipse(box, fill=255)
    mask = mask.filter(ImageFilter.GaussianBlur(1))
    kind = rng.integers(4)
    if kind == 0:
        ImageDraw.Draw(image).line((x, y, x + size, y + size // 2), fill=(30, 30, 30), width=2)
    elif kind == 1:
        stain = Image.blend(image, Image.new("RGB", image.size, (210, 200, 120)), 0.5)
        image.paste(stain, mask=mask)
    elif kind == 2:
        image.paste(image.filter(ImageFilter.GaussianBlur(3)), mask=mask)
    else:
        image.paste(square(other, rng, False), mask=mask)
    return image


def write_images(folder: Path, photo: str) -> None:
    rng = np.random.default_rng(PHOTOS.index(photo))
    pictures = {name: Image.fromarray(getattr(skimage.data, name)()).convert("RGB") for name in PHOTOS}
    other = pictures[PHOTOS[(PHOTOS.index(photo) + 1) % len(PHOTOS)]]
    for name in ("memory", "tested"):
        (folder / name).mkdir(parents=True)
    for i in range(GOOD):
        square(pictures[photo], rng, True).save(folder / "memory" / f"{i:03}.png")
    for i in range(TESTED):
        square(pictures[photo], rng, False).save(folder / "tested" / f"good-{i:03}.png")
        with_defect(square(pictures[photo], rng, False), other, rng).save(folder / "tested" / f"odd-{i:03}.png")


def reference(model: Any, folder: Path) -> dict[str, float]:
    """The method in PyTorch: the score of each image in `tested`."""
    mean, std = (torch.tensor(model.pretrained_cfg[key])[:, None, None] for key in ("mean", "std"))

    def patches(paths: list[Path]) -> torch.Tensor:  # [images, tokens, dim]
        pixels = [torch.from_numpy(np.array(Image.open(path))).permute(2, 0, 1) / 255 for path in paths]
        with torch.no_grad():
            images = torch.stack([(image - mean) / std for image in pixels])
            maps = model.forward_intermediates(images, indices=[BLOCK], intermediates_only=True)[0]
        near = torch.nn.functional.avg_pool2d(maps, 3, stride=1, padding=1, count_include_pad=False)
        return near.flatten(2).transpose(1, 2)

    good = patches(sorted((folder / "memory").iterdir())).flatten(0, 1)
    chosen = [0]
    nearest = torch.full((len(good),), torch.inf)
    while len(chosen) < int(np.ceil(KEEP * len(good))):
        nearest = torch.minimum(nearest, ((good - good[chosen[-1]]) ** 2).sum(1))
        chosen.append(int(nearest.argmax()))
    paths = sorted((folder / "tested").iterdir())
    distances = torch.cdist(patches(paths).double(), good[chosen].double()[None])
    return {path.name: float(score) for path, score in zip(paths, distances.amin(2).amax(1))}


def ours(build: Path, model: Path, folder: Path) -> dict[str, float]:
    program = str(build / "examples" / "shiftvit-anomaly")
    memory = str(folder / "memory.safetensors")
    common = [program, "--quiet", "--model", str(model)]
    subprocess.run([*common, "--fit", str(folder / "memory"), "--layer", f"blocks.{BLOCK}", "--keep", str(KEEP),
                    "--out", memory], check=True)
    lines = subprocess.run([*common, "--memory", memory, str(folder / "tested")], check=True, text=True,
                           capture_output=True).stdout.splitlines()
    scores = {}
    for line in lines:
        words = line.split()
        path = next(word for word in words if word.endswith(".png"))
        scores[Path(path).name] = float(next(word for word in words if word != path))
    return scores


def auroc(scores: dict[str, float]) -> float:
    odd = np.array([score for name, score in scores.items() if name.startswith("odd")])
    good = np.array([score for name, score in scores.items() if name.startswith("good")])
    return float((odd[:, None] > good).mean() + (odd[:, None] == good).mean() / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--name", default="vit_tiny_patch16_224")
    parser.add_argument("--patch", type=int, default=8)
    parser.add_argument("--weights", type=Path)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    model = timm.create_model(arguments.name, img_size=SIDE, patch_size=arguments.patch, num_classes=0).eval()
    model.pretrained_cfg["crop_pct"] = 1.0  # the images have the size of the model's input
    if arguments.weights:
        from safetensors.torch import load_file

        model.load_state_dict(load_file(arguments.weights), strict=False)
    print("| photograph | AUROC, shiftvit-anomaly | the same in PyTorch | largest relative difference of scores |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        save_for_hf(model, folder / "model", safe_serialization=True)
        converted = folder / "model.safetensors"
        subprocess.run([str(arguments.build / "examples" / "shiftvit-convert"), "--quiet", str(folder / "model"),
                        str(converted)], check=True)
        for photo in PHOTOS:
            write_images(folder / photo, photo)
            theirs, scores = reference(model, folder / photo), ours(arguments.build, converted, folder / photo)
            assert scores.keys() == theirs.keys(), "other images"
            difference = max(abs(scores[name] / theirs[name] - 1) for name in theirs)
            print(f"| {photo} | {auroc(scores):.4f} | {auroc(theirs):.4f} | {difference:.1e} |")


if __name__ == "__main__":
    main()
