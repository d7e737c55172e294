"""Compares every preset that timm has, cut to one block, with timm's model of random weights: the file of its
parameters is loaded, the logits of an image are compared, and the file that the library writes is read by timm. The
parameters of the whole model are counted.
Usage: timm_presets.py LIBRARY [WORD]
LIBRARY is libshiftvit.so; with WORD the presets that contain it are compared alone."""
import ctypes
import json
import sys
import tempfile
from pathlib import Path

import numpy
import timm
import torch
from safetensors.torch import load_file, save_file

TOLERANCE = 1e-5  # of the largest logit
SIZE = 4096  # bytes for any configuration struct


class Error(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("code", ctypes.c_int32), ("message", ctypes.c_char * 512)]


class Library:
    """The functions of libshiftvit that the test calls. A failed call raises its message."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self.library.svit_model_preset_name.restype = ctypes.c_char_p
        self.library.svit_model_parameter_elements.restype = ctypes.c_uint64
        self.context = self.create("svit_context_create", None)

    def call(self, name: str, *arguments) -> None:
        error = Error(size=ctypes.sizeof(Error))
        if getattr(self.library, name)(*arguments, ctypes.byref(error)) != 0:
            raise RuntimeError(f"{name}: {error.message.decode()}")

    def create(self, name: str, *arguments) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def presets(self) -> list[str]:
        names = []
        while name := self.library.svit_model_preset_name(ctypes.c_size_t(len(names))):
            names.append(name.decode())
        return names

    def preset(self, name: str) -> tuple[ctypes.Array, dict]:
        struct, text = (ctypes.c_uint8 * SIZE)(), ctypes.create_string_buffer(65536)
        self.call("svit_model_config_preset", struct, ctypes.c_size_t(SIZE), name.encode())
        self.call("svit_model_config_to_json", struct, text, ctypes.c_size_t(len(text)), None)
        return struct, json.loads(text.value)

    def parameters(self, struct: ctypes.Array) -> int:
        model = self.create("svit_model_create", self.context, struct, ctypes.c_uint64(1))
        elements = self.library.svit_model_parameter_elements(model)
        self.library.svit_model_free(model)
        return elements

    def forward(self, model: ctypes.c_void_p, image: numpy.ndarray, classes: int) -> numpy.ndarray:
        struct = (ctypes.c_uint8 * SIZE)()
        self.call("svit_session_config_from_json", struct, ctypes.c_size_t(SIZE), b'{"max_batch": 1}')
        session = self.create("svit_session_create", model, struct)
        logits = numpy.empty(classes, numpy.float32)
        self.call("svit_forward", session, image.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(1),
                  logits.ctypes.data_as(ctypes.c_void_p))
        self.library.svit_session_free(session)
        return logits


def timm_name(preset: str) -> str | None:
    """OpenAI's CLIP has an activation of its own in timm's names."""
    name = preset.replace("-", "_").replace("_clip_", "_clip_quickgelu_")
    return name if name in timm.list_models() else None


def fill(model: torch.nn.Module) -> None:
    """Random weights at which every part of the model counts."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            if "gamma" in name or ("norm" in name and name.endswith("weight")):
                value.copy_(0.7 + 0.1 * noise)
            elif value.ndim == 1 or any(word in name for word in ("pos_embed", "token", "latent")):
                value.copy_(0.3 * noise)
            elif "freqs" not in name:
                value.copy_(noise / value[0].numel() ** 0.5)


def compare(library: Library, preset: str, name: str, folder: Path) -> str:
    """What is wrong; '' if nothing is."""
    struct, config = library.preset(preset)
    config["depth"] = 1
    whole = timm.create_model(name, device="meta")
    wanted = sum(value.numel() for value in whole.parameters())
    counted = library.parameters(struct)
    model = timm.create_model(name, depth=1).eval()
    fill(model)
    save_file({key: value.contiguous() for key, value in model.state_dict().items()}, str(folder / "timm.safetensors"))
    library.call("svit_model_config_from_json", struct, ctypes.c_size_t(SIZE), json.dumps(config).encode())
    ours = library.create("svit_model_load_mapped", library.context, struct, str(folder / "timm.safetensors").encode(),
                          b"timm")
    size = config["input_height"]
    image = numpy.random.default_rng(5).standard_normal((1, size, size, 3)).astype(numpy.float32)
    with torch.no_grad():
        logits = model(torch.from_numpy(image.transpose(0, 3, 1, 2).copy())).numpy().ravel()
    found = library.forward(ours, image, config["num_classes"])
    off = float(numpy.abs(found - logits).max() / numpy.abs(logits).max()) if found.size == logits.size else numpy.inf
    try:
        library.call("svit_model_save_mapped", ours, str(folder / "ours.safetensors").encode(), b"timm")
        model.load_state_dict(load_file(str(folder / "ours.safetensors")))
    except RuntimeError as error:
        if "timm has no names" not in str(error):
            return f"timm does not read what is written: {error}"
    library.library.svit_model_free(ours)
    print(f"{preset}: {off:.1e} of the largest logit, {counted} parameters", flush=True)
    if not off <= TOLERANCE:
        return f"logits differ by {off:.2g} of the largest; at most {TOLERANCE} is wanted"
    return "" if counted == wanted or config["no_key_bias"] else f"{counted} parameters; timm's has {wanted}"


def main() -> int:
    torch.set_num_threads(1)
    library, count, failures = Library(sys.argv[1]), 0, 0
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as folder:
        for preset in library.presets():
            name = timm_name(preset)
            if name is None or word not in preset:
                continue
            wrong = compare(library, preset, name, Path(folder))
            count += 1
            if wrong:
                failures += 1
                print(f"{preset}: {wrong}")
    print(f"{count} presets, {failures} differ")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
