"""Opens models of timm and transformers without being told what they are, and compares them with their own code.

    python3 tests/bench/compare_checkpoints.py --build build
    python3 tests/bench/compare_checkpoints.py --build build --only 'vit_small*' --out table.md

Each model gets random weights, is saved by its own library (timm's save_for_hf, transformers' save_pretrained), opened
by svit_model_open with no option, and run on one random image. The same code in float64 tells what is right: for the
output, for ONNX Runtime on the exported file, and with --gradients for the gradients of the parameters and of the
image. Models of more than --largest parameters have two blocks instead of all, which their configuration records;
--depth 0 takes all blocks of every model. Refusals are counted by the family that they name. No weights are downloaded.
It is no part of the tests; without torch, timm, transformers, onnxruntime and safetensors it says so and ends.
"""

import argparse
import fnmatch
import gc
import json
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Iterator

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import numpy as np
    import onnxruntime
    import timm
    import torch
    import transformers
    from timm.models._hub import save_for_hf
except ImportError as error:
    print(f"left out: {error}")
    sys.exit(0)

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
from compare_pretrained import GRADIENT_LIMIT, OUTPUT_LIMIT, fill, one_gradient, relative  # noqa: E402

TIMM = ["vit_*", "deit*", "eva02*", "eva_*", "*dinov3*", "*siglip*", "flexivit*", "test_vit*", "beit3*"]
SMALL = {"hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 160}
#: A class of transformers, its configuration's class, and arguments.
CLASSES: list[tuple[str, str, dict[str, Any]]] = []


def add(classes: str, configuration: str, **arguments: Any) -> None:
    for name in classes.split():
        CLASSES.append((name, configuration, arguments))


GRID = {"image_size": 48, "patch_size": 8}
WITHOUT_MLP = {key: value for key, value in SMALL.items() if key != "intermediate_size"}
add("ViTModel ViTForImageClassification ViTForMaskedImageModeling", "ViTConfig", **SMALL, **GRID)
add("ViTForImageClassification", "ViTConfig", **SMALL, **GRID, hidden_act="gelu_new")
add("ViTModel", "ViTConfig", **SMALL, **GRID, qkv_bias=False)
add("DeiTModel DeiTForImageClassification DeiTForImageClassificationWithTeacher DeiTForMaskedImageModeling",
    "DeiTConfig", **SMALL, **GRID)
add("Dinov2Model Dinov2ForImageClassification Dinov2Backbone", "Dinov2Config", **WITHOUT_MLP, **GRID)
add("Dinov2Model", "Dinov2Config", **WITHOUT_MLP, **GRID, use_swiglu_ffn=True)
add("Dinov2WithRegistersModel Dinov2WithRegistersForImageClassification", "Dinov2WithRegistersConfig",
    **WITHOUT_MLP, **GRID)
add("DINOv3ViTModel", "DINOv3ViTConfig", **SMALL, **GRID)
add("DINOv3ViTModel", "DINOv3ViTConfig", **SMALL, **GRID, use_gated_mlp=True, hidden_act="silu",
    num_register_tokens=4)
add("DINOv3ViTModel", "DINOv3ViTConfig", **SMALL, **GRID, key_bias=True)
add("CLIPVisionModel CLIPVisionModelWithProjection", "CLIPVisionConfig", **SMALL, **GRID)
add("CLIPVisionModel", "CLIPVisionConfig", **SMALL, **GRID, hidden_act="gelu")
add("SiglipVisionModel", "SiglipVisionConfig", **SMALL, **GRID)
add("SiglipVisionModel", "SiglipVisionConfig", **SMALL, **GRID, vision_use_head=False)
add("Siglip2VisionModel", "Siglip2VisionConfig", **SMALL, num_patches=36, patch_size=8)
add("ViTMAEModel ViTMAEForPreTraining", "ViTMAEConfig", **SMALL, **GRID, mask_ratio=0.0, decoder_hidden_size=32,
    decoder_num_hidden_layers=1, decoder_num_attention_heads=2, decoder_intermediate_size=64)
add("ViTMSNModel ViTMSNForImageClassification", "ViTMSNConfig", **SMALL, **GRID)
TEXT = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64,
        "vocab_size": 100}
TOWER = {**SMALL, **GRID}
add("CLIPModel CLIPForImageClassification", "CLIPConfig", vision_config=TOWER, text_config=TEXT)
add("SiglipModel SiglipForImageClassification", "SiglipConfig", vision_config=TOWER, text_config=TEXT)
add("AltCLIPVisionModel", "AltCLIPVisionConfig", **TOWER)
add("AltCLIPModel", "AltCLIPConfig", vision_config=TOWER, text_config=TEXT)
add("ChineseCLIPVisionModel", "ChineseCLIPVisionConfig", **TOWER)
add("ChineseCLIPModel", "ChineseCLIPConfig", vision_config=TOWER, text_config=TEXT)
add("MetaClip2VisionModel MetaClip2VisionModelWithProjection", "MetaClip2VisionConfig", **TOWER)
add("MetaClip2Model MetaClip2ForImageClassification", "MetaClip2Config", vision_config=TOWER, text_config=TEXT)
add("IJepaModel IJepaForImageClassification", "IJepaConfig", **TOWER)


def timm_models(only: str, largest: float, depth: int) -> Iterator[tuple[str, Any]]:
    names = sorted({name for pattern in TIMM for name in timm.list_models(pattern) if fnmatch.fnmatch(name, only)})
    for name in names:
        with torch.device("meta"):
            parameters = sum(value.numel() for value in timm.create_model(name).parameters())
        arguments = {"depth": depth} if depth and parameters > largest else {}
        try:
            yield name, timm.create_model(name, **arguments)
        except (TypeError, ValueError, AssertionError) as error:
            print(f"{name} is not made with {arguments}: {error}", file=sys.stderr)


def transformers_models(only: str) -> Iterator[tuple[str, Any]]:
    for name, configuration, arguments in CLASSES:
        if fnmatch.fnmatch(name, only):
            config = getattr(transformers, configuration)(**arguments)
            yield name, getattr(transformers, name)(config)


def transformers_output(model: Any, x: torch.Tensor) -> torch.Tensor:
    """The logits; of a model without them what it makes of an image."""
    name = type(model).__name__
    inner = getattr(model, model.base_model_prefix, model)
    if hasattr(model, "get_image_features"):
        output = model.get_image_features(pixel_values=x)
        return output if isinstance(output, torch.Tensor) else output.pooler_output
    if name.startswith("Siglip2"):
        patches = x.unfold(2, 8, 8).unfold(3, 8, 8).permute(0, 2, 3, 4, 5, 1).flatten(3).flatten(1, 2)
        shape = torch.tensor([[x.shape[2] // 8, x.shape[3] // 8]])
        mask = torch.ones(1, patches.shape[1], dtype=torch.long)
        return model(pixel_values=patches, pixel_attention_mask=mask, spatial_shapes=shape).pooler_output
    if "MAE" in name:
        encoder = inner if name != "ViTMAEModel" else model
        count = (x.shape[2] // 8) * (x.shape[3] // 8)
        return encoder(pixel_values=x, noise=torch.arange(count, dtype=x.dtype)[None]).last_hidden_state[:, 0]
    if "Backbone" in name or "Masked" in name:
        last = (inner if "Masked" in name else model)(pixel_values=x, output_hidden_states=True)
        hidden = last.last_hidden_state if "Masked" in name else model.layernorm(last.hidden_states[-1])
        return hidden[:, 0]
    output = model(pixel_values=x)
    for part in ("logits", "image_embeds"):
        if getattr(output, part, None) is not None:
            return getattr(output, part)
    if name == "IJepaModel" or name == "SiglipVisionModel" and not model.config.vision_use_head:
        return output.last_hidden_state.mean(1)
    pooled = getattr(output, "pooler_output", None)
    has_own_pooler = name in ("ViTModel", "DeiTModel")
    return output.last_hidden_state[:, 0] if pooled is None or has_own_pooler else pooled


def saved(shiftvit: Any, library: str, model: Any) -> Any:
    """What the library opens of the model as its own library saves it."""
    with tempfile.TemporaryDirectory() as folder:
        if library == "timm":
            save_for_hf(model, folder, safe_serialization=True)
        else:
            model.save_pretrained(folder)
        return shiftvit.load(folder)


def onnx_output(opened: Any, x: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        opened.export_onnx(path)
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return session.run(None, {"images": x})[0]


def lambda_error(model: Any, x: np.ndarray, dlogits: Any) -> float:
    """The largest relative error of PyTorch itself in float32 in gradients of differential attention's lambda, whose
    terms cancel to a millionth of their size; 0 without such parameters. `model` has the right gradients."""
    vectors = [value for name, value in model.named_parameters() if "lambda_" in name]
    right = [value.grad.double().clone() for value in vectors]
    if not vectors:
        return 0.0
    model.float()
    found = torch.autograd.grad(model(torch.from_numpy(x.transpose(0, 3, 1, 2).copy())), vectors,
                                torch.from_numpy(dlogits))
    model.double()
    return max(relative(a.numpy(), b.numpy()) for a, b in zip(found, right))


def gradient_difference(shiftvit: Any, library: str, model: Any, opened: Any, x: np.ndarray, dlogits: Any,
                        dimage: Any) -> float:
    """The largest difference of a gradient, of its tensor's largest element. The gradients of `model` are saved as if
    they were its weights, so that they are opened under our names. What got none, such as a decoder, is zero. Those of
    lambda are taken to be as good as PyTorch's own in float32 if they are no further off."""
    cancelled = lambda_error(model, x, dlogits)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
            parameter.grad = None
    wanted = saved(shiftvit, library, model.float()).parameters()
    right = {name: wanted[name].astype(np.float64) for name in wanted}
    largest = max(float(np.abs(value).max()) for value in right.values())
    with shiftvit.Session(opened, mode="train", max_batch=1, input_gradient=True) as session:
        session.forward(x)
        worst = relative(session.backward_input(dlogits), dimage)
        for name, value in right.items():
            if np.abs(value).max() > 0:
                error = one_gradient(name, session.gradient(name), value, largest)
                worst = max(worst, 0.0 if "lambda_" in name and error <= cancelled else error)
    return worst


def compare(shiftvit: Any, library: str, model: Any, gradients: bool) -> tuple[float, float, float | None]:
    """The differences of the output, of ONNX Runtime's and of the gradients, of the largest element."""
    fill(model, 1)
    model.eval()
    opened = saved(shiftvit, library, model)
    height, width, channels = opened.input_shape
    # What no patch covers, at the bottom and on the right, is no part of our input.
    whole = getattr(getattr(model, "patch_embed", None), "img_size", None) or (height, width)
    image = np.random.default_rng(7).standard_normal((1, *whole, channels)).astype(np.float32)
    x = np.ascontiguousarray(image[:, :height, :width])
    model.double()
    chw = torch.from_numpy(image.transpose(0, 3, 1, 2).copy()).double().requires_grad_(gradients)
    with torch.set_grad_enabled(gradients):
        output = model(chw) if library == "timm" else transformers_output(model, chw)
    right = output.detach().numpy()
    with shiftvit.Session(opened, max_batch=1) as session:
        ours = session.forward(x)
    if ours.shape != right.shape:
        raise AssertionError(f"the output is {ours.shape}, it should be {right.shape}")
    exported = relative(onnx_output(opened, x), right)
    if not gradients:
        return relative(ours, right), exported, None
    output.backward(output.detach())
    dimage = chw.grad.numpy().transpose(0, 2, 3, 1)[:, :height, :width]
    return relative(ours, right), exported, gradient_difference(shiftvit, library, model, opened, x,
                                                                right.astype(np.float32), dimage)


def family_of(message: str) -> str:
    found = re.search(r"is one of the (.*), which this library|model_type is '([^']*)'", message)
    return (found.group(1) or found.group(2)) if found else re.sub(r"^\S*: ", "", message)[:70]


def written(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--only", default="*", help="names that match a pattern")
    parser.add_argument("--largest", type=float, default=90e6)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--gradients", default="", help="compares the gradients of names that match a pattern")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("SHIFTVIT_LIBRARY", str(options.build.resolve() / "lib/libshiftvit.so"))
    sys.path.insert(0, str(Path(__file__).parents[2] / "bindings/python"))
    import shiftvit

    rows, refused, wrong = [], Counter(), []
    sources = [("transformers", pair) for pair in transformers_models(options.only)]
    for library, models in (("transformers", [pair for _, pair in sources]),
                            ("timm", timm_models(options.only, options.largest, options.depth))):
        for name, model in models:
            try:
                row = compare(shiftvit, library, model, fnmatch.fnmatch(name, options.gradients))
            except shiftvit.errors.UnsupportedError as error:
                refused[family_of(str(error))] += 1
                print(f"{library} {name}: refused: {error}", flush=True)
                continue
            except Exception as error:  # noqa: BLE001: one model must not end the others
                wrong.append(name)
                print(f"{library} {name}: {type(error).__name__}: {str(error)[:240]}", flush=True)
                continue
            rows.append((library, name, *row))
            if max(row[:2]) > OUTPUT_LIMIT or (row[2] or 0) > GRADIENT_LIMIT:
                wrong.append(name)
            print(f"{library} {name}: " + " ".join(written(value) for value in row), flush=True)
            gc.collect()
    text = "| model | of | output | ONNX Runtime | gradients |\n|---|---|---|---|---|\n"
    text += "".join(f"| `{name}` | {library} | {' | '.join(map(written, row))} |\n" for library, name, *row in rows)
    text += "\n" + "".join(f"refused: {count} {family}\n" for family, count in refused.most_common())
    opened = Counter(library for library, *_ in rows)
    text += f"\nopened: {dict(opened)}; wrong: {wrong}\n"
    print(text)
    if options.out:
        options.out.write_text(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
