"""Compares what becomes of images before a model, in random configurations of transformers, timm and OpenCLIP.

    python3 tests/bench/compare_preprocessing.py --build build
    python3 tests/bench/compare_preprocessing.py --build build --only 'transformers/CLIP*' --out table.md
    python3 tests/bench/compare_preprocessing.py --build build --seed 2 --count 500
    python3 tests/bench/compare_preprocessing.py --build build --repeat '{"library": "openclip", ...}'

For each library --count configurations are drawn of the members that its files have: image processors of transformers
in preprocessor_config.json and processor_config.json, pretrained_cfg of timm, preprocess_cfg of OpenCLIP, with forms
that are rare, null or wrong. A tiny model with random weights is saved with each and opened by svit_model_open with no
option. The peer opens the same folder: transformers with its Pillow backend, timm and OpenCLIP as local-dir. For every
image of odd_images.py, and for two of a pixel more than the input, the model's inputs are compared in steps of a byte:
the values times the deviation, divided by the factor of the bytes. An input of another size than ours differs, unless
the peer's model refuses some of these. In every fourth configuration the outputs of some files are compared, too, with
the peer's model in float64, as a part of the largest element.

The limits are 0.02 of a byte and 1e-5. DINOv3's image processor, which has no Pillow backend, resizes floats; these are
rounded to bytes twice here, so that a byte more is its limit, and its model gets our input. What the library refuses is
counted by its message, and so is what the peer fails at. The status is 1 if anything differs; --repeat takes the JSON
that is printed then. --only matches library/class. No weights are downloaded.

It is no part of the tests; without torch, timm, transformers and open_clip it says so and ends. Besides the packages of
requirements/torch.txt and requirements/onnx.txt, for compare_checkpoints.py, it needs torchvision, timm, transformers,
open_clip_torch, pillow and safetensors.
"""

import json
import logging
import os
import random
import re
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")
try:
    import numpy as np
    import open_clip
    import timm
    import torch
    import transformers
    from safetensors.torch import save_file
    from timm.models._hub import save_for_hf
except ImportError as error:
    print(f"left out: {error}")
    sys.exit(0)

from compare_checkpoints import transformers_output, written  # noqa: E402
from compare_pretrained import OUTPUT_LIMIT, fill, relative  # noqa: E402
from odd_images import Photo, of_size, photos  # noqa: E402
from random_comparison import (ABSENT, Comparison, Draw, Row, draws, finish, given, import_library,  # noqa: E402
                               message_of, one_of, read_options, run_all, without_numbers)

BYTE_LIMIT = 0.02
#: Of a processor that resizes floats, from bytes that are rounded by up to a half in each of the two directions.
FLOAT_LIMIT = 1 + BYTE_LIMIT
WHOLE_EVERY = 4
WHOLE_IMAGES = ("photo", "wide", "upright-of-6", "alpha-rgba")
PRE, PROC = "preprocessor_config.json", "processor_config.json"

Pixels = Callable[[Any], torch.Tensor]


@dataclass
class Peer:
    """What the other library makes of a folder: the input of an image of Pillow, NCHW, and the output of an input."""
    pixels: Pixels
    run: Callable[[torch.Tensor], torch.Tensor]
    limit: float = BYTE_LIMIT


@dataclass
class Errors(Row):
    bytes: float = 0.0
    output: float | None = None


class Heard(logging.Handler):
    """Keeps the library's warnings."""
    lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def flag(rng: random.Random, usual: bool, others: int) -> Any:
    return one_of(rng, (12, ABSENT), (8, usual), (others, not usual), (min(others, 1), None))


def seldom(rng: random.Random, *values: Any) -> Any:
    return rng.choice(values) if rng.random() < 0.015 * len(values) else ABSENT


def colour(rng: random.Random, low: float, high: float) -> Any:
    """A mean or a deviation in one of its forms."""
    three = [round(rng.uniform(low, high), 4) for _ in range(3)]
    return one_of(rng, (30, ABSENT), (30, three), (5, three[0]), (3, [max(1, round(value)) for value in three]),
                  (2, None), (2, three[:1]), (1, [*three, 0.5]), (1, []))


def box(height: int, width: int) -> dict[str, int]:
    return {"height": height, "width": width}


def draw_size(rng: random.Random, low: int, sides: list[int]) -> Any:
    return one_of(rng, (20, box(low, low)), (20, {"shortest_edge": low}), (15, box(*sides)), (15, low), (5, sides),
                  (5, ABSENT), (2, [low, low]), (1, None), (1, {"shortest_edge": low, "longest_edge": 2 * low}),
                  (1, {"shortest_edge": low, "longest_edge": None}), (1, {"longest_edge": low}),
                  (1, {**box(*sides), "shortest_edge": low}), (1, {"max_height": low, "max_width": low}),
                  (1, {"shortest_edge": low, "height": None, "width": None}), (1, {"height": low}))


def draw_crop(rng: random.Random, low: int, sides: list[int]) -> Any:
    cut = [rng.randint(8, min(low, side)) for side in sides]
    return one_of(rng, (20, box(cut[0], cut[0])), (15, box(*cut)), (15, cut[0]), (9, ABSENT), (3, cut), (1, None),
                  (1, box(low + 5, low + 5)), (1, {"shortest_edge": cut[0]}))


def draw_processor(rng: random.Random, kind: str) -> dict[str, Any]:
    low, sides = rng.randint(16, 90), [rng.randint(16, 90), rng.randint(16, 90)]
    name = one_of(rng, (6, "ImageProcessor"), (3, "ImageProcessorFast"), (1, "ImageProcessorPil"),
                  (2, "FeatureExtractor")) if kind != "DINOv3ViT" else "ImageProcessorFast"
    key = "feature_extractor_type" if name == "FeatureExtractor" else "image_processor_type"
    return given(
        **({} if kind == "none" else {key: kind + name}), size=draw_size(rng, low, sides),
        crop_size=draw_crop(rng, low, sides), do_center_crop=flag(rng, True, 5),
        resample=one_of(rng, (20, ABSENT), (20, 2), (2 if kind == "DINOv3ViT" else 20, 3),
                        (3, rng.choice([0, 1, 4, 5])), (2, None)),
        default_to_square=one_of(rng, (8, ABSENT), (2, True), (2, False), (1, None)),
        rescale_factor=one_of(rng, (20, ABSENT), (5, 1 / 127.5), (5, 0.01), (3, 1.5), (2, 2), (1, None)),
        do_rescale=flag(rng, True, 2), do_normalize=flag(rng, True, 2), image_mean=colour(rng, -1, 1),
        image_std=colour(rng, 0.1, 2), do_resize=seldom(rng, True, False, None), do_pad=seldom(rng, True, False, None),
        do_convert_rgb=flag(rng, True, 2), use_square_size=seldom(rng, True, False),
        do_flip_channel_order=seldom(rng, True), rescale_offset=seldom(rng, True))


#: Classes of image processors, with how often they are drawn. "none": the files name no class.
KINDS = (*((4, kind) for kind in "ViT DeiT Beit CLIP Bit Siglip DINOv3ViT none".split()),
         (1, "ChineseCLIP"), (1, "ConvNext"))
SMALL = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 3, "patch_size": 8}
#: Classes of transformers by that of their configuration; those of BOXES take inputs that are no square.
MODELS = {"ViTConfig": ["ViTModel", "ViTForImageClassification"], "ViTMSNConfig": ["ViTMSNModel"],
          "IJepaConfig": ["IJepaModel"],
          "DeiTConfig": ["DeiTModel", "DeiTForImageClassificationWithTeacher"], "ViTMAEConfig": ["ViTMAEModel"],
          "Dinov2Config": ["Dinov2Model", "Dinov2ForImageClassification"],
          "Dinov2WithRegistersConfig": ["Dinov2WithRegistersModel"], "DINOv3ViTConfig": ["DINOv3ViTModel"],
          "CLIPVisionConfig": ["CLIPVisionModel", "CLIPVisionModelWithProjection"],
          "SiglipVisionConfig": ["SiglipVisionModel"]}
BOXES = ("ViTConfig", "ViTMSNConfig", "IJepaConfig", "DeiTConfig")


def draw_transformers(rng: random.Random) -> Draw:
    kind = one_of(rng, *KINDS)
    own, other = draw_processor(rng, kind), draw_processor(rng, "ViT")
    files = one_of(rng, (10, {PRE: own}), (4, {PROC: {"image_processor": own, "processor_class": "OwnProcessor"}}),
                   (2, {PROC: {"image_processor": own}, PRE: other}), (1, {PROC: {"image_processor": None}, PRE: own}),
                   (1, {PROC: {"processor_class": "OwnProcessor"}, PRE: own}))
    return {"library": "transformers", "class": kind, "model": rng.choice(sum(MODELS.values(), [])), "files": files}


#: Models of timm with a patch size.
TIMM = {"vit_tiny_patch16_224": 16, "deit_tiny_distilled_patch16_224": 16, "deit3_small_patch16_224": 16,
        "vit_small_patch16_dinov3": 16, "vit_small_patch14_reg4_dinov2": 14, "eva02_tiny_patch14_224": 14,
        "vit_wee_patch16_reg1_gap_256": 16, "vit_small_patch16_rope_224": 16}


def draw_timm(rng: random.Random) -> Draw:
    name = rng.choice(sorted(TIMM))
    sides = [TIMM[name] * rng.randint(1, 7), TIMM[name] * rng.randint(1, 7)]
    sides = sides if rng.random() < 0.5 else sides[:1] * 2
    members = {"input_size": one_of(rng, (16, [3, *sides]), (1, ABSENT), (1, [3, 64, 64])),
               "crop_pct": one_of(rng, (4, 1.0), (4, 0.875), (4, 0.9), (9, round(rng.uniform(0.4, 1), 3)), (1, 1),
                                  (1, ABSENT), (1, None), (1, rng.choice([0, 1.2]))),
               "crop_mode": one_of(rng, (8, "center"), (6, "squash"), (3, ABSENT), (1, None), (1, ""), (1, "border"),
                                   (1, "other")),
               "interpolation": one_of(rng, (10, "bicubic"), (10, "bilinear"), (2, ABSENT),
                                       (2, rng.choice(["", "random", "nearest", "lanczos", "box", "hamming"]))),
               "mean": colour(rng, -1, 1), "std": colour(rng, 0.1, 2),
               "test_input_size": one_of(rng, (8, ABSENT), (1, [3, 64, 64])),
               "test_crop_pct": one_of(rng, (8, ABSENT), (1, 1.0))}
    return {"library": "timm", "class": name, "sides": sides, "pretrained_cfg": given(**members),
            "without": [key for key, value in members.items() if value is ABSENT]}


def draw_openclip(rng: random.Random) -> Draw:
    sides = [8 * rng.randint(1, 10), 8 * rng.randint(1, 10)]
    side = one_of(rng, (1, sides), (1, sides[0]), (1, rng.randint(8, 80)))
    mode = one_of(rng, (6, "shortest"), (6, "squash"), (2, ABSENT), (1, "longest"), (1, None))
    members = given(
        size=one_of(rng, (16, side), (1, ABSENT), (1, None), (1, 64)), resize_mode=mode,
        interpolation=one_of(rng, (6, "bicubic"), (6, "bilinear"), (2, "random"), (2, ABSENT), (1, None)),
        mode=one_of(rng, (8, ABSENT), (8, "RGB"), (1, None)), mean=colour(rng, -1, 1), std=colour(rng, 0.1, 2),
        fill_color=one_of(rng, (8, ABSENT), (4, 0), (4, 128)), something=one_of(rng, (16, ABSENT), (1, 1)))
    content = one_of(rng, (16, members), (1, None), (1, {}))
    kind = (mode or "null") if content and mode is not ABSENT else "none"
    return {"library": "openclip", "class": kind, "side": side, "preprocess_cfg": content}


def processed(processor: Any) -> Pixels:
    return lambda image: torch.as_tensor(np.asarray(processor(images=image, return_tensors="pt")["pixel_values"]))


def open_processor(folder: Path) -> Any:
    return transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")


def left_sides(folder: Path) -> Any:
    """The height and width that the image processor leaves of a square; another size if it fails."""
    try:
        return processed(open_processor(folder))(of_size(64, 64).image).shape[-2:]
    except Exception:  # noqa: BLE001: it is counted when the peer opens it
        return 48, 48


def make_transformers(draw: Draw, folder: Path) -> None:
    for name, content in draw["files"].items():
        (folder / name).write_text(json.dumps(content))
    name = draw["model"]
    kind = next(kind for kind, names in MODELS.items() if name in names)
    arguments = dict(SMALL) if "Dinov2" in name else {**SMALL, "intermediate_size": 80}
    if "MAE" in name:
        arguments["mask_ratio"] = 0.0
    getattr(transformers, kind)(**arguments, image_size=48).save_pretrained(folder)
    height, width = left_sides(folder)
    # DINO takes a grid of any size, with positions of another one.
    side = 80 if kind.startswith("Dino") else [height, width] if kind in BOXES else height
    model = getattr(transformers, name)(getattr(transformers, kind)(**arguments, image_size=side))
    fill(model, 1)
    model.save_pretrained(folder)


def open_transformers(draw: Draw, folder: Path) -> Peer:
    processor = open_processor(folder)
    model = getattr(transformers, draw["model"]).from_pretrained(folder).eval().double()
    limit = BYTE_LIMIT if processor.backend == "pil" else FLOAT_LIMIT
    return Peer(processed(processor), lambda x: transformers_output(model, x), limit)


def make_timm(draw: Draw, folder: Path) -> None:
    arguments = {"depth": 1, "num_classes": 5, "img_size": draw["sides"]}
    model = timm.create_model(draw["class"], **arguments)
    fill(model, 1)
    save_for_hf(model, folder, safe_serialization=True, model_args=arguments)
    content = json.loads((folder / "config.json").read_text())
    content["pretrained_cfg"].update(draw["pretrained_cfg"])
    for key in draw["without"]:
        content["pretrained_cfg"].pop(key, None)
    (folder / "config.json").write_text(json.dumps(content))


def open_timm(draw: Draw, folder: Path) -> Peer:
    model = timm.create_model(f"local-dir:{folder}", pretrained=True).eval()
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
    return Peer(lambda image: transform(image)[None], model.double())


def make_openclip(draw: Draw, folder: Path) -> None:
    config = {"embed_dim": 32, "vision_cfg": {"image_size": draw["side"], "layers": 2, "width": 64, "head_width": 32,
                                              "patch_size": 8},
              "text_cfg": {"context_length": 8, "vocab_size": 100, "width": 16, "heads": 2, "layers": 1}}
    model = open_clip.CLIP(**json.loads(json.dumps(config)))
    fill(model, 1)
    save_file({key: value.contiguous() for key, value in model.state_dict().items()},
              folder / "open_clip_model.safetensors")
    stated = {} if draw["preprocess_cfg"] is None else {"preprocess_cfg": draw["preprocess_cfg"]}
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, **stated}))


def open_openclip(draw: Draw, folder: Path) -> Peer:
    model, transform = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    return Peer(lambda image: transform(image)[None], model.eval().double().encode_image)


LIBRARIES: dict[str, tuple[Callable[[random.Random], Draw], Callable[[Draw, Path], None], Callable[..., Peer]]] = {
    "transformers": (draw_transformers, make_transformers, open_transformers),
    "timm": (draw_timm, make_timm, open_timm), "openclip": (draw_openclip, make_openclip, open_openclip)}


@torch.no_grad()
def runs(peer: Peer, pixels: torch.Tensor) -> bool:
    try:
        peer.run(pixels.double())
        return True
    except Exception:  # noqa: BLE001: models refuse sizes in many ways
        return False


def refusal_of(heard: list[str], error: Exception | None = None) -> str:
    """The library's message without the file and the numbers."""
    text = next((line for line in heard if "the model has no preprocessing" in line), str(error or heard))
    text = re.sub(r"^(\S*: )*(pretrained_cfg: |preprocess_cfg: )?|: the model has no preprocessing.*", "", text)
    return without_numbers(text)[:110]


def bytes_off(pipeline: dict[str, Any], ours: Any, right: torch.Tensor) -> float:
    """The largest difference of two inputs of a model in steps of a byte."""
    step = np.sqrt(np.asarray(pipeline["variance"])) / pipeline["scale"]
    off = float((np.abs(ours - right.numpy().transpose(0, 2, 3, 1)) * step).max())
    return off if np.isfinite(off) else float("inf")


class Preprocessings(Comparison[Errors]):
    """Compares the inputs that images become."""

    def __init__(self, shiftvit: Any, folder: Path) -> None:
        super().__init__(Errors)
        self.shiftvit = shiftvit
        self.heard = Heard()
        logging.getLogger("shiftvit").addHandler(self.heard)
        logging.getLogger("shiftvit").propagate = False
        self.photos = photos(folder, shiftvit.read_image)

    def run(self, draw: Draw, whole: bool) -> None:
        _, make, open_peer = LIBRARIES[draw["library"]]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make(draw, folder)
            opened = self.opened(folder, draw)
            if opened is None:
                return
            try:
                peer = open_peer(draw, folder)
            except Exception as error:  # noqa: BLE001: the peer may refuse what it likes
                self.fail(draw, message_of(error))
            else:
                self.compare(draw, opened, peer, whole)

    def opened(self, folder: Path, draw: Draw) -> Any:
        """The model, or None, counted, if it is refused or has no preprocessing."""
        self.heard.lines.clear()
        try:
            model = self.shiftvit.load(folder)
            if model.pipeline is not None:
                return model
            refusal = refusal_of(self.heard.lines)
        except self.shiftvit.errors.Error as error:
            refusal = refusal_of([], error)
        self.refuse(draw, refusal)
        return None

    def compare(self, draw: Draw, opened: Any, peer: Peer, whole: bool) -> None:
        off, failure = self.bytes_of_images(draw, opened, peer)
        if not off:
            self.fail(draw, failure or "its model takes none of its sizes")
            return
        row, worst = self.row_of(draw), max(off, key=off.__getitem__)
        row.compared += 1
        row.bytes = max(row.bytes, off[worst])
        self.judge(draw, "bytes", off[worst], peer.limit, worst)
        if whole:
            self.compare_outputs(draw, row, opened, peer, [name for name in WHOLE_IMAGES if name in off])

    def bytes_of_images(self, draw: Draw, opened: Any, peer: Peer) -> tuple[dict[str, float], str]:
        """The difference of each image that both make an input of, and the peer's first failure."""
        height, width, _ = opened.input_shape
        off, taken, failure = {}, {}, ""
        for photo in (*self.photos.values(), of_size(width + 1, height), of_size(width, height + 1)):
            try:
                right = peer.pixels(photo.image)
            except Exception as error:  # noqa: BLE001
                failure = failure or message_of(error)
                continue
            ours = opened.prepare(photo.ours[None])
            if (height, width) == tuple(right.shape[2:]):
                off[photo.name] = bytes_off(opened.pipeline, ours, right)
            else:
                taken[photo.name] = runs(peer, right)
        if taken and all(taken.values()):
            off.update(dict.fromkeys(taken, float("inf")))
        elif any(taken.values()):
            self.note(self.failures, "its model takes some of its sizes alone", draw)
        return off, failure

    @torch.no_grad()
    def compare_outputs(self, draw: Draw, row: Errors, opened: Any, peer: Peer, names: list[str]) -> None:
        predictor = self.shiftvit.Predictor(opened, max_batch=1, output="logits")
        for name in names:
            photo = self.photos[name]
            pixels = peer.pixels(photo.image)
            if peer.limit > BYTE_LIMIT:
                pixels = torch.from_numpy(opened.prepare(photo.ours[None]).transpose(0, 3, 1, 2).copy())
            if not runs(peer, pixels):
                continue
            off = relative(predictor.predict(str(photo.path))[None], peer.run(pixels.double()).numpy())
            row.output = max(row.output or 0.0, off)
            self.judge(draw, "output", off, OUTPUT_LIMIT, name)

    def judge(self, draw: Draw, what: str, off: float, limit: float, image: str) -> None:
        if not off <= limit:
            self.report(f"{what} differ by {off:.3g} of the image {image}", draw)


def table(found: Preprocessings, examples: bool) -> str:
    text = "| library | class | compared | refused | the peer fails | bytes | outputs |\n" + "|---" * 7 + "|\n"
    for name, row in sorted(found.rows.items()):
        library, kind = name.split("/")
        text += (f"| {library} | {kind} | {row.compared} | {row.refused} | {row.failed} | "
                 f"{row.bytes:.4f} | {written(row.output)} |\n")
    return text + found.messages(examples)


def main() -> int:
    options = read_options(__doc__)
    torch.set_num_threads(1)
    transformers.logging.set_verbosity(50)
    transformers.logging.disable_progress_bar()
    drawn = draws(options, {name: draw for name, (draw, *_) in LIBRARIES.items()}, WHOLE_EVERY)
    with tempfile.TemporaryDirectory() as folder:
        found = Preprocessings(import_library(options.build), Path(folder))
        run_all(found, drawn)
    return finish(found, table(found, options.examples), options)


if __name__ == "__main__":
    sys.exit(main())
