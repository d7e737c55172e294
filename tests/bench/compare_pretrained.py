"""Compares the presets of pretrained families with the code that they come from: timm's, and Hugging Face
transformers' and OpenCLIP's where they have the architecture.

    python3 tests/bench/compare_pretrained.py --build build
    python3 tests/bench/compare_pretrained.py --build build --only deit-tiny-patch16-224 --out table.md

For each preset a model with random weights is made, at whose scales every block counts: norms and LayerScale
near 1, biases, positions and tokens of the size of the activations. Its safetensors file is converted by
shiftvit-convert and run on one random image by forward_file, whose loss is half the sum of squares of the logits.
The same code in float64 tells what is right. The table has the largest difference of the logits and of the pooled
features, of the largest element, and of the gradients, of each tensor's largest element. A gradient that is zero
but for rounding (the key biases', since a softmax does not see them; that of differential attention's lambda, whose
terms cancel to a millionth of their size) is measured by the largest gradient of all.

No weights are downloaded. DINOv2 runs at 518 x 518 for the outputs and at 112 x 112, with the positions interpolated,
for the gradients. It is no part of the tests; without torch, timm and safetensors it says so and ends.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import numpy as np
    import timm
    import torch
    from safetensors.torch import load_file, save_file
except ImportError as error:
    print(f"left out: {error}")
    sys.exit(0)
try:
    import transformers
except ImportError:
    transformers = None
try:
    import open_clip
except ImportError:
    open_clip = None

OUTPUT_LIMIT, GRADIENT_LIMIT = 1e-5, 5e-5
PRESETS = ["deit-tiny-patch16-224", "deit-small-patch16-224", "deit-base-patch16-224",
           "deit-tiny-distilled-patch16-224", "deit-small-distilled-patch16-224",
           "deit-base-distilled-patch16-224", "vit-tiny-patch16-224", "vit-small-patch16-224",
           "vit-base-patch16-224", "vit-small-patch32-224", "vit-base-patch32-224",
           "vit-small-patch14-dinov2", "vit-base-patch14-dinov2", "vit-small-patch14-reg4-dinov2",
           "vit-base-patch14-reg4-dinov2", "vit-base-patch32-clip-224", "vit-base-patch16-clip-224",
           "deit3-small-patch16-224", "deit3-small-patch16-384", "deit3-medium-patch16-224", "deit3-base-patch16-224",
           "deit3-base-patch16-384", "flexivit-small", "flexivit-base", "vit-base-patch16-siglip-224",
           "vit-base-patch16-siglip-256", "vit-base-patch16-siglip-384", "vit-base-patch32-siglip-256",
           "vit-wee-patch16-reg1-gap-256", "vit-dwee-patch16-reg1-gap-256", "vit-pwee-patch16-reg1-gap-256",
           "vit-dpwee-patch16-reg1-gap-256", "vit-little-patch16-reg1-gap-256", "vit-little-patch16-reg4-gap-256",
           "vit-medium-patch16-reg1-gap-256", "vit-medium-patch16-reg4-gap-256", "vit-mediumd-patch16-reg4-gap-256",
           "vit-betwixt-patch16-reg1-gap-256", "vit-betwixt-patch16-reg4-gap-256", "vit-base-patch16-reg4-gap-256",
           "vit-small-patch16-rope-224", "vit-base-patch16-rope-224", "vit-small-patch16-rope-mixed-224",
           "vit-base-patch16-rope-mixed-224", "vit-small-patch16-dinov3", "vit-small-plus-patch16-dinov3",
           "vit-base-patch16-dinov3", "vit-small-patch16-dinov3-qkvb", "vit-small-plus-patch16-dinov3-qkvb",
           "vit-base-patch16-dinov3-qkvb", "eva02-tiny-patch14-224", "eva02-small-patch14-224",
           "eva02-base-patch14-224"]


@dataclass
class Peer:
    """One model of another library. `run` gives logits and features of an image NCHW."""
    library: str
    model: torch.nn.Module
    run: Callable[[torch.nn.Module, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
    sets: tuple[str, ...] = ()   # --set of both conversions


def fill(model: torch.nn.Module, seed: int) -> None:
    """Random float32 weights at which every part of the model counts."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.ndim == 0:
                continue
            noise = torch.randn(value.shape, generator=generator)
            if name.endswith("rope.freqs"):
                continue
            if any(word in name for word in ("gamma", "lambda")):
                new = 0.5 + 0.1 * noise
            elif "norm" in name.lower() and name.endswith("weight"):
                new = 1 + 0.1 * noise
            elif value.ndim == 1 and name.endswith("bias"):
                new = 0.1 * noise
            elif any(word in name for word in ("pos_embed", "position_embed", "token", "class_embedding")):
                new = 0.5 * noise
            else:
                new = noise / value[0].numel() ** 0.5
            value.copy_(new)


def timm_peer(preset: str) -> Peer:
    name = preset.replace("-", "_")
    if "clip" in name:  # OpenAI's weights need timm's model with the activation of OpenAI
        name = name.replace("_clip_", "_clip_quickgelu_") + ".openai"
    model = timm.create_model(name, pretrained=False).eval()

    def run(net: torch.nn.Module, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        tokens = net.forward_features(image)
        return net.forward_head(tokens), features_of(net, tokens)
    return Peer("timm", model, run)


def features_of(net: torch.nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    if hasattr(net, "head_dist"):
        return (tokens[:, 0] + tokens[:, 1]) / 2
    return net.forward_head(tokens, pre_logits=True)


def huggingface_peer(preset: str, config: dict[str, Any]) -> Peer | None:
    """The same architecture in transformers, where the class token has a position beside registers too."""
    absent = ("deit3", "flexivit", "-gap-", "-rope-", "dinov3", "eva02")
    if transformers is None or any(word in preset for word in absent):
        return None
    common = dict(hidden_size=config["dim"], num_hidden_layers=config["depth"], image_size=config["input_height"],
                  num_attention_heads=config["heads"], patch_size=config["patch_size"], attn_implementation="sdpa")
    if "clip" in preset:
        model = transformers.CLIPVisionModelWithProjection(transformers.CLIPVisionConfig(
            intermediate_size=config["mlp_dim"], projection_dim=config["num_classes"], **common))
        return Peer("transformers", model.eval(), run_clip)
    if "siglip" in preset:
        model = transformers.SiglipVisionModel(transformers.SiglipVisionConfig(
            intermediate_size=config["mlp_dim"], **common))
        return Peer("transformers", model.eval(), run_siglip)
    if config["register_tokens"]:
        model = transformers.Dinov2WithRegistersModel(transformers.Dinov2WithRegistersConfig(
            num_register_tokens=config["register_tokens"], **common))
        return Peer("transformers", model.eval(), run_dinov2)
    if "dinov2" in preset:
        model = transformers.Dinov2Model(transformers.Dinov2Config(**common))
        return Peer("transformers", model.eval(), run_dinov2)
    kind = ("DeiTForImageClassificationWithTeacher", "DeiTConfig") if config["distilled"] else (
        "ViTForImageClassification", "ViTConfig")
    model = getattr(transformers, kind[0])(getattr(transformers, kind[1])(
        intermediate_size=config["mlp_dim"], num_labels=config["num_classes"], layer_norm_eps=1e-12, **common))
    return Peer("transformers", model.eval(), run_distilled if config["distilled"] else run_vit)


def openclip_peer(preset: str) -> Peer | None:
    """The image tower of OpenCLIP's model of the same name, with the activation of OpenAI's weights."""
    if open_clip is None or "clip" not in preset:
        return None
    size = "B-32" if "patch32" in preset else "B-16"
    tower = open_clip.create_model(f"ViT-{size}-quickgelu", pretrained=None).visual
    tower.output_tokens = False
    return Peer("openclip", tower.eval(), run_openclip)


def run_openclip(net: torch.nn.Module, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The logits; the features are what the projection reads."""
    seen: list[torch.Tensor] = []
    hook = net.ln_post.register_forward_hook(lambda module, arguments, output: seen.append(output))
    logits = net(image)
    hook.remove()
    return logits, seen[0] if seen[0].ndim == 2 else seen[0][:, 0]


def run_clip(net: torch.nn.Module, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    pooled = net.vision_model(pixel_values=image).pooler_output
    return net.visual_projection(pooled), pooled


def run_siglip(net: torch.nn.Module, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    pooled = net(pixel_values=image).pooler_output
    return pooled, pooled


def run_dinov2(net: torch.nn.Module, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    pooled = net(pixel_values=image).last_hidden_state[:, 0]
    return pooled, pooled


def run_vit(net: torch.nn.Module, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    pooled = net.vit(pixel_values=image).last_hidden_state[:, 0]
    return net.classifier(pooled), pooled


def run_distilled(net: torch.nn.Module, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = net.deit(pixel_values=image).last_hidden_state
    return net(pixel_values=image).logits, (tokens[:, 0] + tokens[:, 1]) / 2


class Ours:
    """The library's programs, and a folder for their files."""

    def __init__(self, build: Path, folder: Path) -> None:
        self.convert_program = build / "examples" / "shiftvit-convert"
        self.forward_program = build / "tests" / "bench" / "forward_file"
        self.folder = folder

    def convert(self, peer: Peer, preset: str, source: Path, sets: tuple[str, ...], *options: str) -> Path:
        out = self.folder / "ours.safetensors"
        family = "huggingface" if peer.library == "transformers" else peer.library
        run_program([str(self.convert_program), "--quiet", "--from", family, "--preset", preset, *options,
                     *(word for text in sets for word in ("--set", text)), str(source), str(out)])
        return out

    def run(self, model: Path, image: np.ndarray) -> Path:
        """Returns the folder of logits and gradients of an image NHWC."""
        results = self.folder / "results"
        results.mkdir(exist_ok=True)
        for old in results.iterdir():
            old.unlink()
        image.astype("<f4").tofile(self.folder / "input")
        run_program([str(self.forward_program), str(model), str(self.folder / "input"), str(results)])
        return results


def run_program(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")


def config_of(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return json.loads(json.loads(file.read(length))["__metadata__"]["config"])


def floats(path: Path) -> np.ndarray:
    return np.fromfile(path, "<f4").astype(np.float64)


def relative(got: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def save_peer(peer: Peer, folder: Path, name: str = "peer.safetensors") -> Path:
    path = folder / name
    if peer.library != "transformers":
        save_file({key: value.contiguous() for key, value in peer.model.state_dict().items()}, str(path))
    else:
        peer.model.save_pretrained(str(folder), safe_serialization=True)
        (folder / "model.safetensors").replace(path)
    return path


def reference(peer: Peer, image: torch.Tensor, gradients: bool) -> tuple[np.ndarray, np.ndarray, torch.nn.Module]:
    """Logits and features in float64, and the model, whose gradients are those of the loss."""
    model = peer.model.double()
    model.zero_grad()
    with torch.set_grad_enabled(gradients):
        logits, features = peer.run(model, image.double())
        if gradients:
            (logits ** 2).sum().mul(0.5).backward()
    return logits.detach().numpy().ravel(), features.detach().numpy().ravel(), model


def gradient_differences(ours: Ours, peer: Peer, preset: str, results: Path, sets: tuple[str, ...]) -> float:
    """The peer's gradients are converted as if they were weights, so each is compared under our name."""
    saved = {name: parameter.detach().clone() for name, parameter in peer.model.named_parameters()}
    with torch.no_grad():
        for parameter in peer.model.parameters():
            parameter.copy_(parameter.grad if parameter.grad is not None else torch.zeros_like(parameter))
    peer.model.float()
    as_weights = save_peer(peer, ours.folder, "gradients.safetensors")
    wanted = load_file(str(ours.convert(peer, preset, as_weights, sets)))
    peer.model.double()
    with torch.no_grad():
        for name, parameter in peer.model.named_parameters():
            parameter.copy_(saved[name])
    largest = max(float(value.abs().max()) for value in wanted.values())
    worst = 0.0
    for name, value in wanted.items():
        if not value.abs().max():
            continue  # the bias that the peer's projection has not
        got, right = floats(results / name).reshape(value.shape), value.double().numpy()
        cancels = "lambda_" in name
        worst = max(worst, float(np.abs(got - right).max() / largest) if cancels
                    else one_gradient(name, got, right, largest))
    return worst


def one_gradient(name: str, got: np.ndarray, wanted: np.ndarray, largest: float) -> float:
    """The biases of keys are the second third of "qkv.bias" and the first half of "kv.bias"."""
    parts, keys = (3, 1) if name.endswith("qkv.bias") else (2, 0) if name.endswith("kv.bias") else (1, None)
    worst = 0.0
    for index, (a, b) in enumerate(zip(np.split(got, parts), np.split(wanted, parts))):
        worst = max(worst, float(np.abs(a - b).max() / largest) if index == keys else relative(a, b))
    return worst


def compare(ours: Ours, preset: str, peer: Peer, config: dict[str, Any], small: int) -> tuple[float, float, float]:
    """The differences of logits, features and gradients. `small`: the input for the gradients; 0: the preset's."""
    size, dim = config["input_height"], config["dim"]
    generator = torch.Generator().manual_seed(5)
    image = torch.randn((1, 3, size, size), generator=generator)
    pixels = image.permute(0, 2, 3, 1).contiguous().numpy()
    fill(peer.model, 3)
    source = save_peer(peer, ours.folder)
    results = ours.run(ours.convert(peer, preset, source, peer.sets), pixels)
    logits, features, _ = reference(peer, image, not small)
    logits_off = relative(floats(results / "logits"), logits)
    gradients_off = 0.0 if small else gradient_differences(ours, peer, preset, results, peer.sets)
    features_off = logits_off
    if config["classifier"]:
        headless = ours.convert(peer, preset, source, (*peer.sets, "classifier=false", f"num_classes={dim}"),
                                "--skip-head")
        features_off = relative(floats(ours.run(headless, pixels) / "logits"), features)
    if small:
        gradients_off = compare_small(ours, preset, peer, small)
    return logits_off, features_off, gradients_off


def compare_small(ours: Ours, preset: str, peer: Peer, size: int) -> float:
    """The gradients at another input size, for which both interpolate the positions."""
    sets = (*peer.sets, f"input_height={size}", f"input_width={size}")
    peer.model.float()
    peer.model.set_input_size((size, size))
    source = save_peer(peer, ours.folder)
    image = torch.randn((1, 3, size, size), generator=torch.Generator().manual_seed(6))
    results = ours.run(ours.convert(peer, preset, source, sets), image.permute(0, 2, 3, 1).contiguous().numpy())
    reference(peer, image, True)
    return gradient_differences(ours, peer, preset, results, sets)


def preset_config(ours: Ours, preset: str) -> dict[str, Any]:
    """The configuration of the preset, out of a converted file of timm's."""
    peer = timm_peer(preset)
    return config_of(ours.convert(peer, preset, save_peer(peer, ours.folder), ()))


def rows_of(ours: Ours, preset: str) -> list[tuple[str, str, float, float, float]]:
    config = preset_config(ours, preset)
    small = 112 if config["input_height"] > 224 else 0
    rows = []
    for peer in (timm_peer(preset), huggingface_peer(preset, config), openclip_peer(preset)):
        if peer is None:
            continue
        only_native = small and peer.library != "timm"
        if only_native:  # transformers interpolates otherwise, so its DINOv2 is made at the small size
            config_small = dict(config, input_height=small)
            peer = huggingface_peer(preset, config_small)
            assert peer is not None
            peer.sets = (f"input_height={small}", f"input_width={small}")
            rows.append((preset, peer.library, *compare(ours, preset, peer, config_small, 0)))
        else:
            rows.append((preset, peer.library, *compare(ours, preset, peer, config, small)))
        print("%-34s %-13s logits %.1e features %.1e gradients %.1e" % rows[-1], flush=True)
    return rows


def table(rows: list[tuple[str, str, float, float, float]]) -> str:
    lines = ["| preset | compared with | logits | features | gradients |", "|---|---|---|---|---|"]
    lines += ["| `%s` | %s | %.1e | %.1e | %.1e |" % row for row in rows]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="the folder of the build, with its programs")
    parser.add_argument("--only", action="append", choices=PRESETS, help="this preset alone; may be repeated")
    parser.add_argument("--out", type=Path, help="write the table as Markdown")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if transformers is None:
        print("transformers is left out: it is not installed")
    else:
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for preset in arguments.only or PRESETS:
            rows += rows_of(Ours(arguments.build, Path(folder)), preset)
    if arguments.out:
        arguments.out.write_text(table(rows))
    bad = [row for row in rows if not (max(row[2:4]) <= OUTPUT_LIMIT and row[4] <= GRADIENT_LIMIT)]
    for row in bad:
        print(f"{row[0]}, {row[1]}: beyond {OUTPUT_LIMIT:g} (outputs) or {GRADIENT_LIMIT:g} (gradients)")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
