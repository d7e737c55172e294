"""Opens tiny models of timm, transformers and OpenCLIP in random configurations, and compares them with their own code.

    python3 tests/bench/compare_configurations.py --build build
    python3 tests/bench/compare_configurations.py --build build --only 'transformers/Dinov2*' --out table.md
    python3 tests/bench/compare_configurations.py --build build --seed 2 --count 500
    python3 tests/bench/compare_configurations.py --build build --repeat '{"library": "timm", ...}'

For each library --count models of 1 to 3 blocks are drawn: arguments of timm's models, members of the configurations
of transformers and of OpenCLIP's vision_cfg, usual and rare ones, null ones and strange mixtures. Each gets random
weights at which every part counts, in one of three formats, and is saved by its own library, some in several files.
Then some files get names with a prefix, a second encoder, or further tensors, and some configurations lose members or
have null in their place; the peer opens those again. svit_model_open opens the folder with no option, and the output
and the pooled features of one random image are compared with the peer in float64. A few are compared at another size of
the image, as an ONNX file in ONNX Runtime, and as what shiftvit-convert makes of the folder.

The limit is 1e-5 of the largest element. What the library refuses is counted by its message, with --examples with a
configuration for each, and so is what the peer fails at. The status is 1 if anything differs; --repeat takes the JSON
that is printed then. --only matches library/class. No weights are downloaded.

It is no part of the tests; without torch, timm, transformers and open_clip it says so and ends. It needs the packages
of compare_checkpoints.py and open_clip_torch.
"""

import copy
import json
import logging
import os
import random
import re
import subprocess
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
    from open_clip.push_to_hf_hub import save_for_hf as save_openclip
    from safetensors.torch import load_file, save_file
    from timm.models._hub import save_for_hf
except ImportError as error:
    print(f"left out: {error}")
    sys.exit(0)

from compare_checkpoints import onnx_output, written  # noqa: E402
from compare_pretrained import OUTPUT_LIMIT, fill, relative  # noqa: E402
from random_comparison import (Comparison, Draw, Row, draws, finish, import_library, message_of,  # noqa: E402
                               read_options, run_all, without_numbers)
from random_configurations import SIZES, TOWERS, draw_openclip, draw_timm, draw_transformers  # noqa: E402

#: An output of such models, whose largest one may be smaller by chance.
USUAL = 0.25
MOST_PATCHES = 400
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}


@dataclass
class Peer:
    """A model of another library in float64, what it makes of an image NCHW, and its pooled features or None."""
    model: Any
    run: Callable[[Any, torch.Tensor], torch.Tensor]
    features: Callable[[Any, torch.Tensor], torch.Tensor | None]
    sized: Callable[[Any, torch.Tensor], torch.Tensor] | None = None  #: of images of another size, if it takes them


@dataclass
class Errors(Row):
    output: float = 0.0
    features: float | None = None
    other: float | None = None


def weighed(model: Any, draw: Draw) -> tuple[Any, Any]:
    """The model with random weights that its format has, and a copy in that format, of which "mixed" takes vectors as
    they are. Buffers, such as the angles of rotary positions, stay float32: who opens the file makes them anew."""
    word = draw["save"].get("dtype", "f32")
    dtype = DTYPES.get(word, torch.bfloat16)
    fill(model, 1)
    model.eval()
    half = copy.deepcopy(model) if dtype != torch.float32 else model
    with torch.no_grad():
        for value, other in zip(model.parameters(), half.parameters()):
            if word != "mixed" or value.ndim > 1:
                other.data = value.to(dtype)
                value.copy_(other)
    return model, half


def edited(value: Any, rng: random.Random, kept: tuple[str, ...]) -> Any:
    """An object of a configuration without one of its members, or with null in its place."""
    keys = [key for key in value if key not in kept]
    if keys:
        key = rng.choice(keys)
        if rng.random() < 0.5:
            del value[key]
        else:
            value[key] = None
    return value


def change_tensors(draw: Draw, folder: Path) -> None:
    """Renames tensors and adds others."""
    save = draw["save"]
    paths = sorted(folder.glob("*.safetensors")) if "names" in save or "extra" in save else []
    for path in paths:
        tensors = load_file(path)
        if save.get("names") == "encoders":
            noise = {f"student.{name}": torch.randn_like(value) if value.is_floating_point() else value
                     for name, value in tensors.items()}
            tensors = {**noise, **{f"teacher.{name}": value for name, value in tensors.items()}}
        elif "names" in save:
            tensors = {save["names"] + name: value for name, value in tensors.items()}
        if save.get("extra") == "position_ids" and path == paths[0]:
            tensors["embeddings.position_ids"] = torch.arange(5)[None]
        elif "extra" in save and path == paths[0]:
            tensors["something.weight"] = torch.ones(3, 3)
        save_file(tensors, path, metadata={"format": "pt"})
    index = folder / "model.safetensors.index.json"
    if index.exists() and save.get("names", "encoders") != "encoders":
        content = json.loads(index.read_text())
        content["weight_map"] = {save["names"] + name: file for name, file in content["weight_map"].items()}
        index.write_text(json.dumps(content))


def reopens(draw: Draw) -> bool:
    return "edit" in draw["save"] and not {"names", "extra"} & draw["save"].keys()


def timm_features(model: Any, x: torch.Tensor) -> torch.Tensor:
    tokens = model.forward_features(x)
    return tokens[:, :2].flatten(1) if hasattr(model, "head_dist") else model.forward_head(tokens, True)


def make_timm(draw: Draw, folder: Path) -> Peer:
    name, save = draw["class"], draw["save"]
    model = timm.create_model(name, **draw["arguments"])
    if "resize" in draw:
        model.set_input_size(*draw["resize"])
    if "reset" in draw:
        model.reset_classifier(*draw["reset"])
    if "wrapper" in draw:
        arguments = {key: value for key, value in draw["arguments"].items() if key != "num_classes"}
        config = transformers.TimmWrapperConfig(architecture=name, model_args=arguments,
                                                num_labels=draw["arguments"].get("num_classes", 2))
        wrapper, half = weighed(getattr(transformers, draw["wrapper"])(config), draw)
        model = wrapper.timm_model
        half.save_pretrained(folder, max_shard_size=save.get("shards", "1GB"))
    else:
        model, half = weighed(model, draw)
        save_for_hf(half, folder, safe_serialization=True)
        if reopens(draw):
            path, rng = folder / "config.json", random.Random(save["edit"])
            content = json.loads(path.read_text())
            part = rng.choice([content, content.get("model_args", {}), content["pretrained_cfg"]])
            edited(part, rng, SIZES)
            path.write_text(json.dumps(content))
            model = timm.create_model(f"local-dir:{folder}", pretrained=True).eval()
    sized = (lambda net, x: net(x)) if getattr(model, "dynamic_img_size", False) else None
    return Peer(model.double(), lambda net, x: net(x), timm_features, sized)


def patches_of(x: torch.Tensor, patch: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Flat patches, their mask and their grid, as SigLIP 2 takes them."""
    flat = x.unfold(2, patch, patch).unfold(3, patch, patch).permute(0, 2, 3, 4, 5, 1).flatten(3).flatten(1, 2)
    grid = torch.tensor([[x.shape[2] // patch, x.shape[3] // patch]])
    return flat, torch.ones(1, flat.shape[1], dtype=torch.long), grid


def transformers_run(model: Any, x: torch.Tensor, **more: Any) -> torch.Tensor:
    """The logits; of a model without them what it makes of an image."""
    name, vision = type(model).__name__, getattr(model.config, "vision_config", model.config)
    patch = vision.patch_size if isinstance(vision.patch_size, int) else vision.patch_size[0]
    inner = getattr(model, model.base_model_prefix, model) if "Masked" in name or "PreTraining" in name else model
    if name.startswith("Siglip2"):
        pixels, mask, grid = patches_of(x, patch)
        more = {"pixel_values": pixels, "pixel_attention_mask": mask, "spatial_shapes": grid}
    elif "MAE" in name:
        count = (x.shape[2] // patch) * (x.shape[3] // patch)
        more = {**more, "pixel_values": x, "noise": torch.arange(count, dtype=x.dtype)[None]}
    else:
        more = {**more, "pixel_values": x}
    if name.replace("Model", "Config") in TOWERS:
        output = model.get_image_features(**more)
        return output if isinstance(output, torch.Tensor) else output.pooler_output
    if "Backbone" in name:
        last = model(**more, output_hidden_states=True).hidden_states[-1]
        return (model.norm if hasattr(model, "norm") else model.layernorm)(last)[:, 0]
    output = inner(**more)
    for part in ("logits", "image_embeds"):
        if getattr(output, part, None) is not None:
            return getattr(output, part)
    pooled = getattr(output, "pooler_output", None)
    if name.startswith("IJepa") or name.startswith("Siglip") and not vision.vision_use_head:
        return output.last_hidden_state.mean(1)
    return output.last_hidden_state[:, 0] if pooled is None or name.startswith(("ViT", "DeiT")) else pooled


def transformers_features(model: Any, x: torch.Tensor) -> torch.Tensor | None:
    """What the classifier or the projection of a model gets."""
    head = next((getattr(model, name) for name in ("classifier", "visual_projection") if hasattr(model, name)), None)
    if head is None:
        return None
    seen: list[torch.Tensor] = []
    handle = head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    transformers_run(model, x)
    handle.remove()
    return seen[0]


def make_transformers(draw: Draw, folder: Path) -> Peer:
    kind, save = getattr(transformers, draw["class"]), draw["save"]
    config = getattr(transformers, draw["configuration"])(**json.loads(json.dumps(draw["arguments"])))
    model, half = weighed(kind(config), draw)
    half.save_pretrained(folder, max_shard_size=save.get("shards", "1GB"))
    if reopens(draw):
        path, rng = folder / "config.json", random.Random(save["edit"])
        content = json.loads(path.read_text())
        edited(content.get("vision_config", content), rng, SIZES)
        path.write_text(json.dumps(content))
        model = kind.from_pretrained(folder, dtype=torch.float32).eval()
    elif "lost" in save:
        content = json.loads((folder / "config.json").read_text())
        del content[save["lost"]]
        (folder / "config.json").write_text(json.dumps(content))
        model = transformers.AutoModelForImageClassification.from_pretrained(folder, dtype=torch.float32).eval()
    name = draw["class"]
    if name.startswith(("DINOv3", "Siglip2", "Dinov2")):
        sized: Any = transformers_run
    else:
        sized = lambda net, x: transformers_run(net, x, interpolate_pos_encoding=True)  # noqa: E731
    return Peer(model.double(), transformers_run, transformers_features, None if "Masked" in name else sized)


class NoTokenizer:
    def save_pretrained(self, folder: Path) -> None:
        """Writes nothing."""


def openclip_features(model: Any, x: torch.Tensor) -> torch.Tensor | None:
    visual = model.visual
    if hasattr(visual, "trunk"):
        return visual.trunk(x) if visual.head and "proj" in dict(visual.head.named_children()) else None
    projection, visual.proj = visual.proj, None
    features = visual(x)
    visual.proj = projection
    return features


def make_openclip(draw: Draw, folder: Path) -> Peer:
    arguments = json.loads(json.dumps(draw["arguments"]))
    kind = open_clip.CustomTextCLIP if arguments.pop("custom_text", False) else open_clip.CLIP
    model, half = weighed(kind(**arguments), draw)
    open_clip.set_model_preprocess_cfg(half, {"mean": [0.5] * 3, "std": [0.5] * 3})
    save_openclip(half, NoTokenizer(), draw["arguments"], str(folder), safe_serialization=True)
    if reopens(draw):
        path, rng = folder / "open_clip_config.json", random.Random(draw["save"]["edit"])
        content = json.loads(path.read_text())
        edited(content["model_cfg"]["vision_cfg"], rng, SIZES)
        path.write_text(json.dumps(content))
        model = open_clip.create_model_from_pretrained(f"local-dir:{folder}", return_transform=False).eval()
    return Peer(model.double(), lambda net, x: net.encode_image(x), openclip_features)


LIBRARIES: dict[str, tuple[Callable[[random.Random], Draw], Callable[[Draw, Path], Peer]]] = {
    "timm": (draw_timm, make_timm), "transformers": (draw_transformers, make_transformers),
    "openclip": (draw_openclip, make_openclip)}


def refusal_of(error: Exception) -> str:
    """The library's message without the file and the numbers."""
    text = re.sub(r"^(/\S*: )+|/\S*/", "", str(error))
    return f"{type(error).__name__}: {without_numbers(text)[:180]}"


def size_of(peer: Peer, draw: Draw, ours: tuple[int, int, int]) -> tuple[int, int]:
    """The size of the peer's images, which may have more pixels than whole patches."""
    timms = getattr(getattr(peer.model, "patch_embed", None), "img_size", None)
    return tuple(timms) if timms and not getattr(peer.model, "dynamic_img_size", False) else ours[:2]


class Models(Comparison[Errors]):
    """Compares the models."""

    def __init__(self, shiftvit: Any, build: Path) -> None:
        super().__init__(Errors)
        self.shiftvit, self.build, self.context = shiftvit, build, shiftvit.Context(1)

    def load(self, path: Path, **fields: Any) -> Any:
        return self.shiftvit.load(path, context=self.context, **fields)

    def opened(self, folder: Path, peer: Peer) -> Any:
        """The model. One that timm made for images of any size has a large input: it gets another one."""
        opened = self.load(folder)
        height, width, _ = opened.input_shape
        patch = opened.config["patch_size"]
        if (height // patch) * (width // patch) <= MOST_PATCHES or peer.sized is None:
            return opened
        return self.load(folder, input_height=5 * patch, input_width=4 * patch)

    def run(self, draw: Draw, whole: bool) -> None:
        row = self.row_of(draw)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            torch.manual_seed(1)
            try:
                peer = LIBRARIES[draw["library"]][1](draw, folder)
            except Exception as error:  # noqa: BLE001: the peer may refuse what it likes
                self.fail(draw, message_of(error))
                return
            change_tensors(draw, folder)
            try:
                opened = self.opened(folder, peer)
            except self.shiftvit.errors.Error as error:
                self.refuse(draw, refusal_of(error))
                return
            self.compare(draw, row, opened, peer)
            self.compare_sized(draw, row, folder, opened, peer)
            if whole:
                self.compare_files(draw, folder, opened)

    @torch.no_grad()
    def compare(self, draw: Draw, row: Errors, opened: Any, peer: Peer) -> None:
        height, width, channels = opened.input_shape
        whole = size_of(peer, draw, opened.input_shape)
        image = np.random.default_rng(7).standard_normal((1, *whole, channels)).astype(np.float32)
        chw = torch.from_numpy(image.transpose(0, 3, 1, 2).copy()).double()
        try:
            right = peer.run(peer.model, chw).numpy()
        except Exception as error:  # noqa: BLE001
            self.fail(draw, f"its model: {message_of(error)}")
            return
        row.compared += 1
        x = np.ascontiguousarray(image[:, :height, :width])
        with self.shiftvit.Session(opened, max_batch=1, features=True) as session:
            row.output = max(row.output, self.judge(draw, "outputs", session.forward(x), right))
            features = peer.features(peer.model, chw)
            if features is not None:
                ours = session.features(x).reshape(1, -1)
                row.features = max(row.features or 0, self.judge(draw, "features", ours, features.numpy()))

    @torch.no_grad()
    def compare_sized(self, draw: Draw, row: Errors, folder: Path, opened: Any, peer: Peer) -> None:
        """The output of another size of the image, for which positions are interpolated."""
        if "sides" not in draw["save"] or peer.sized is None:
            return
        height, width = (side * opened.config["patch_size"] for side in draw["save"]["sides"])
        image = np.random.default_rng(8).standard_normal((1, height, width, opened.input_shape[2])).astype(np.float32)
        try:
            right = peer.sized(peer.model, torch.from_numpy(image.transpose(0, 3, 1, 2).copy()).double()).numpy()
        except Exception as error:  # noqa: BLE001
            self.note(self.failures, f"at another size: {message_of(error)}", draw)
            return
        try:
            other = self.load(folder, input_height=height, input_width=width)
        except self.shiftvit.errors.Error as error:
            self.note(self.refusals, f"at another size: {refusal_of(error)}", draw)
            return
        with self.shiftvit.Session(other, max_batch=1) as session:
            ours = session.forward(image)
        row.other = max(row.other or 0, self.judge(draw, f"outputs at {height} x {width}", ours, right))

    def compare_files(self, draw: Draw, folder: Path, opened: Any) -> None:
        """The output of the exported ONNX file, and of the file that shiftvit-convert writes."""
        x = np.random.default_rng(7).standard_normal((1, *opened.input_shape)).astype(np.float32)
        with self.shiftvit.Session(opened, max_batch=1) as session:
            right = session.forward(x)
        self.judge(draw, "ONNX Runtime's outputs", onnx_output(opened, x), right)
        path = folder / "converted.safetensors"
        height, width, _ = opened.input_shape
        sides = ["--set", f"input_height={height}", "--set", f"input_width={width}"]
        command = [str(self.build / "examples/shiftvit-convert"), str(folder), str(path), *sides]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            self.report(f"shiftvit-convert: {done.stderr.strip()[:200]}", draw)
            return
        with self.shiftvit.Session(self.load(path), max_batch=1) as session:
            self.judge(draw, "converted outputs", session.forward(x), right)

    def judge(self, draw: Draw, what: str, ours: Any, right: Any) -> float:
        """The difference, which is printed if it is too large."""
        off = float("inf")
        if ours.shape == right.shape:
            off = relative(ours, right) * min(1.0, float(np.abs(right).max()) / USUAL)
        if not off <= OUTPUT_LIMIT:
            self.report(f"{what} differ by {off:.3g}, {ours.shape} {right.shape}", draw)
        return off


def table(found: Models, examples: bool) -> str:
    text = "| library | class | compared | refused | the peer fails | output | features | other size |\n"
    text += "|---" * 8 + "|\n"
    for name, row in sorted(found.rows.items()):
        library, kind = name.split("/")
        values = (row.output if row.compared else None, row.features, row.other)
        text += (f"| {library} | {kind} | {row.compared} | {row.refused} | {row.failed} | "
                 f"{' | '.join(map(written, values))} |\n")
    return text + found.messages(examples)


def main() -> int:
    options = read_options(__doc__)
    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    models = Models(import_library(options.build), options.build.resolve())
    run_all(models, draws(options, {name: draw for name, (draw, _) in LIBRARIES.items()}, whole_every=8))
    return finish(models, table(models, options.examples), options)


if __name__ == "__main__":
    sys.exit(main())
