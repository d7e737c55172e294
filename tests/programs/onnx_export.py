"""Exports models with random weights as ONNX files and compares ONNX Runtime with the library.
Usage: onnx_export.py LIBRARY [--presets] [--largest MEGABYTES] [--only WORD]
LIBRARY is libshiftvit.so. With --presets every preset of at most --largest megabytes of weights is
compared, too, and a table of Markdown is printed."""
import argparse
import ctypes
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy
import onnx
import onnxruntime

TOLERANCE = 1e-5  # of the largest logit
SIZE = 4096  # bytes for any configuration struct; the library clears what it does not know


class Library:
    """The functions of libshiftvit that the test calls. A failed call raises its message."""

    class Error(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("code", ctypes.c_int32), ("message", ctypes.c_char * 512)]

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        for name in "svit_model_preset_name", "svit_model_parameter_name":
            getattr(self.library, name).restype = ctypes.c_char_p
        self.library.svit_model_parameter_elements.restype = ctypes.c_uint64
        self.library.svit_model_parameter_count.restype = ctypes.c_size_t
        self.context = self.create("svit_context_create", None)

    def call(self, name: str, *arguments) -> None:
        error = self.Error(size=ctypes.sizeof(self.Error))
        if getattr(self.library, name)(*arguments, ctypes.byref(error)) != 0:
            raise RuntimeError(f"{name}: {error.message.decode()}")

    def create(self, name: str, *arguments) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def config(self, fields: dict) -> dict:
        """All fields of a configuration, of which some are given."""
        struct, text = (ctypes.c_uint8 * SIZE)(), ctypes.create_string_buffer(65536)
        self.call("svit_model_config_from_json", struct, ctypes.c_size_t(SIZE), json.dumps(fields).encode())
        self.call("svit_model_config_to_json", struct, text, ctypes.c_size_t(len(text)), None)
        return json.loads(text.value)

    def preset(self, name: str) -> dict:
        struct, text = (ctypes.c_uint8 * SIZE)(), ctypes.create_string_buffer(65536)
        self.call("svit_model_config_preset", struct, ctypes.c_size_t(SIZE), name.encode())
        self.call("svit_model_config_to_json", struct, text, ctypes.c_size_t(len(text)), None)
        return json.loads(text.value)

    def presets(self) -> list[str]:
        names = []
        while name := self.library.svit_model_preset_name(ctypes.c_size_t(len(names))):
            names.append(name.decode())
        return names


class Model:
    def __init__(self, library: Library, fields: dict, seed: int = 1) -> None:
        self.library = library
        self.config = library.config(fields)
        struct = (ctypes.c_uint8 * SIZE)()
        library.call("svit_model_config_from_json", struct, ctypes.c_size_t(SIZE), json.dumps(fields).encode())
        self.handle = library.create("svit_model_create", library.context, struct, ctypes.c_uint64(1))
        self.set_weights(numpy.random.default_rng(seed))
        self.answers = softmax

    def free(self) -> None:
        self.library.library.svit_model_free(self.handle)

    def megabytes(self) -> float:
        return self.library.library.svit_model_parameter_elements(self.handle) * 4 / 1e6

    def set_weights(self, random: numpy.random.Generator) -> None:
        """Every parameter gets values that tell its elements apart."""
        library = self.library
        for index in range(library.library.svit_model_parameter_count(self.handle)):
            name = library.library.svit_model_parameter_name(self.handle, ctypes.c_size_t(index))
            shape, rank = (ctypes.c_int64 * 8)(), ctypes.c_size_t()
            library.call("svit_model_parameter_shape", self.handle, name, shape, ctypes.byref(rank))
            values = self.random_values(name.decode(), list(shape)[:rank.value], random).astype(numpy.float32)
            if self.config.get("no_key_bias") and name.endswith(b"qkv.bias"):
                values[values.size // 3:2 * values.size // 3] = 0
            library.call("svit_model_set_parameter", self.handle, name,
                         values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.size))

    def random_values(self, name: str, shape: list[int], random: numpy.random.Generator) -> numpy.ndarray:
        values = random.standard_normal(shape)
        if name.endswith((".tau", ".fn.scale")):
            divides = self.config["temperature"] == "divide"
            return self.config["head_dim"] ** (0.5 if divides else -0.5) * (1 + 0.2 * values)
        if name.endswith(".weight") and len(shape) == 1:
            return 1 + 0.2 * values
        if name.endswith(".weight"):
            return values / numpy.sqrt(numpy.prod(shape[1:]))
        return 0.3 * values

    def set_pipeline(self, fields: dict) -> None:
        struct = (ctypes.c_uint8 * SIZE)()
        self.library.call("svit_pipeline_config_from_json", struct, ctypes.c_size_t(SIZE), json.dumps(fields).encode())
        self.library.call("svit_model_set_pipeline", self.handle, struct)
        self.pipeline = struct

    def answer_with_labels(self) -> None:
        """Each logit is that of a label by itself."""
        self.library.call("svit_model_set_output", self.handle, ctypes.c_int32(2))
        self.answers = lambda x: 1 / (1 + numpy.exp(-x))

    def answer_with_texts(self, classes: int, scale: float, bias: float) -> None:
        """The logits are embeddings of images, and the classes embeddings of texts."""
        channels = self.config["num_classes"]
        texts = numpy.random.default_rng(3).standard_normal((classes, channels)).astype(numpy.float32)
        names = (ctypes.c_char_p * classes)(*[f"text {k}".encode() for k in range(classes)])
        self.library.call("svit_model_set_text_head", self.handle, texts.ctypes.data_as(ctypes.c_void_p), names,
                          ctypes.c_size_t(classes), ctypes.c_size_t(channels), ctypes.c_double(scale),
                          ctypes.c_double(bias))
        texts = texts.astype(numpy.float64) / numpy.linalg.norm(texts.astype(numpy.float64), axis=1, keepdims=True)
        of_logits = self.answers

        def answers(x: numpy.ndarray) -> numpy.ndarray:
            x = x.astype(numpy.float64)
            return of_logits(scale * (x / numpy.linalg.norm(x, axis=1, keepdims=True)) @ texts.T + bias)

        self.answers = answers

    def scale_head(self, factor: float) -> None:
        """Makes embeddings of another length: the last parameters are the head's."""
        count = self.library.library.svit_model_parameter_count(self.handle)
        for index in count - 2, count - 1:
            name = self.library.library.svit_model_parameter_name(self.handle, ctypes.c_size_t(index))
            values = numpy.empty(self.elements(name), numpy.float32)
            arguments = (name, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.size))
            self.library.call("svit_model_get_parameter", self.handle, *arguments)
            values *= numpy.float32(factor)
            self.library.call("svit_model_set_parameter", self.handle, *arguments)

    def elements(self, name: bytes) -> int:
        shape, rank = (ctypes.c_int64 * 8)(), ctypes.c_size_t()
        self.library.call("svit_model_parameter_shape", self.handle, name, shape, ctypes.byref(rank))
        return int(numpy.prod(list(shape)[:rank.value]))

    def preprocess(self, pixels: numpy.ndarray) -> numpy.ndarray:
        height, width = ctypes.c_size_t(), ctypes.c_size_t()
        self.library.call("svit_pipeline_evaluation_size", self.pipeline, ctypes.byref(height), ctypes.byref(width))
        n, rows, columns, channels = pixels.shape
        out = numpy.empty((n, height.value, width.value, channels), numpy.float32)
        self.library.call("svit_pipeline_apply_evaluation", self.library.context, self.pipeline,
                          pixels.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(n), ctypes.c_size_t(rows),
                          ctypes.c_size_t(columns), out.ctypes.data_as(ctypes.c_void_p))
        return out

    def forward(self, images: numpy.ndarray) -> numpy.ndarray:
        struct, (height, width) = (ctypes.c_uint8 * SIZE)(), images.shape[1:3]
        fields = {"max_batch": len(images), "input_height": height, "input_width": width}
        self.library.call("svit_session_config_from_json", struct, ctypes.c_size_t(SIZE), json.dumps(fields).encode())
        session = self.library.create("svit_session_create", self.handle, struct)
        logits = numpy.empty((len(images), self.config["num_classes"]), numpy.float32)
        self.library.call("svit_forward", session, images.ctypes.data_as(ctypes.c_void_p),
                          ctypes.c_size_t(len(images)), logits.ctypes.data_as(ctypes.c_void_p))
        self.library.library.svit_session_free(session)
        return logits

    def export(self, path: Path, output: int = 0, preprocessing: int = 0) -> None:
        options = (ctypes.c_uint32 * 3)(12, output, preprocessing)
        self.library.call("svit_model_export_onnx", self.handle, str(path).encode(), options)


def softmax(x: numpy.ndarray) -> numpy.ndarray:
    e = numpy.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def largest_difference(model: Model, path: Path, output: int, preprocessing: int) -> float:
    """Of batches of 1 and 3, as a part of the largest value."""
    model.export(path, output, preprocessing)
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    source, worst = session.get_inputs()[0], 0.0
    random = numpy.random.default_rng(2)
    for n in (1, 3):
        if preprocessing:
            given = random.integers(0, 256, (n, *source.shape[1:]), numpy.uint8)
            images = model.preprocess(given)
        else:
            given = images = random.standard_normal((n, *source.shape[1:])).astype(numpy.float32)
        wanted = model.forward(images)
        if output:
            wanted = model.answers(wanted.astype(numpy.float64))
        found = session.run(None, {source.name: given})[0]
        if found.shape != wanted.shape or not numpy.isfinite(found).all():
            return numpy.inf
        worst = max(worst, float(abs(found - wanted).max() / abs(wanted).max()))
    return worst


VIT = {"architecture": "vit", "input_height": 12, "input_width": 16, "patch_size": 4, "dim": 16, "depth": 2,
       "heads": 2, "head_dim": 6, "mlp_dim": 24, "num_classes": 7, "head_units": []}
PAPER = VIT | {"names": "paper", "spt_order": "paper", "temperature": "multiply", "pool": "class_token",
               "qkv_bias": False, "mlp_last_gelu": False, "tokenizer": "spt", "attention": "lsa"}
TOKENS = VIT | {"pool": "class_token", "register_tokens": 3, "mlp_last_gelu": False}
ROPE = TOKENS | {"head_dim": 8, "rope": "axial", "rope_theta": 10}
MIXED = ROPE | {"rope": "mixed"}
MAP = VIT | {"pool": "attention", "pool_heads": 4, "pool_mlp_dim": 20, "mlp_last_gelu": False}
VITS = [
    VIT, VIT | {"head_units": [9, 8]}, VIT | {"qkv_bias": False, "patch_bias": False},
    VIT | {"mlp_last_gelu": True}, VIT | {"tokenizer": "spt"}, VIT | {"tokenizer": "spt", "spt_order": "paper"},
    VIT | {"tokenizer": "spt", "patch_size": 1, "input_height": 3, "input_width": 2},
    VIT | {"tokenizer": "spt", "patch_size": 3, "input_height": 9, "input_width": 6},
    VIT | {"tokenizer": "conv"}, TOKENS | {"tokenizer": "conv", "patch_size": 2, "input_height": 6, "input_width": 4},
    VIT | {"attention": "lsa", "temperature": "divide"}, VIT | {"attention": "lsa", "temperature": "multiply"},
    VIT | {"attention": "lsa", "patch_size": 8, "input_height": 8, "input_width": 8},
    PAPER, PAPER | {"heads": 1, "head_dim": 16}, PAPER | {"tokenizer": "patch", "attention": "global"},
    VIT | {"pool": "mean"}, VIT | {"pool": "mean", "final_norm": False, "head_norm": True},
    VIT | {"input_height": 14, "input_width": 19, "patch_padding": "valid"},
    TOKENS | {"input_height": 15, "patch_padding": "valid"},
    TOKENS, TOKENS | {"position_tokens": "patches"}, TOKENS | {"position_tokens": "class-patches"},
    TOKENS | {"register_tokens": 0, "position_tokens": "patches"}, TOKENS | {"pool": "mean-patches"},
    TOKENS | {"pool": "class-mean"}, TOKENS | {"pool": "class-mean", "head_norm": True, "head_units": [5]},
    TOKENS | {"distilled": True}, TOKENS | {"distilled": True, "register_tokens": 0, "head_norm": True},
    TOKENS | {"distilled": True, "classifier": False}, TOKENS | {"classifier": False, "pool": "class-mean"},
    TOKENS | {"distilled": True, "position_tokens": "class-patches"},
    TOKENS | {"distilled": True, "layer_scale": True, "pre_norm": True, "final_norm": False},
    VIT | {"classifier": False}, TOKENS | {"pre_norm": True}, TOKENS | {"layer_scale": True},
    TOKENS | {"activation": "gelu-tanh"}, TOKENS | {"activation": "quick-gelu"}, TOKENS | {"mlp": "swiglu"},
    TOKENS | {"mlp": "swiglu", "layer_scale": True, "norm_eps": 0.01},
    ROPE, ROPE | {"rope_pairs": "halves", "rope_axes": "columns-first"}, ROPE | {"rope_offset": 1},
    ROPE | {"rope_height": 7, "rope_width": 9, "position_tokens": "none"}, ROPE | {"rope": "centred"},
    ROPE | {"rope": "centred", "rope_pairs": "halves", "position_tokens": "none"}, MIXED,
    MIXED | {"rope_axes": "columns-first", "pool": "mean", "register_tokens": 0}, TOKENS | {"qk_norm": True},
    TOKENS | {"attention_norm": True}, MIXED | {"qk_norm": True, "attention_norm": True, "no_key_bias": True},
    VIT | {"in_channels": 1}, VIT | {"in_channels": 5, "tokenizer": "spt"},
    MAP, MAP | {"pool_heads": 1, "activation": "gelu-tanh"}, MAP | {"pool_heads": 16, "head_norm": True},
    MAP | {"register_tokens": 2, "classifier": False, "class_token": "present", "final_norm": False},
    MAP | {"position_tokens": "none"}, MAP | {"position_tokens": "none", "register_tokens": 1},
    MAP | {"activation": "quick-gelu", "mlp": "swiglu", "head_units": [5]},
    TOKENS | {"class_token": "none", "pool": "mean-patches", "position_tokens": "patches"},
    TOKENS | {"class_token": "none", "pool": "mean"}, TOKENS | {"class_token": "present", "pool": "flatten"},
    TOKENS | {"class_token": "none", "pool": "flatten", "position_tokens": "none"},
    TOKENS | {"mlp_norm": True, "layer_scale": True}, TOKENS | {"mlp_norm": True, "mlp": "swiglu"},
    VIT | {"mlp_norm": True, "mlp_last_gelu": True, "norm_eps": 0.01},
    TOKENS | {"attention": "differential"}, TOKENS | {"attention": "differential", "depth": 3, "layer_scale": True},
    TOKENS | {"rms_norm": True, "qk_norm": True, "pre_norm": True}, VIT | {"rms_norm": True, "tokenizer": "spt"},
    TOKENS | {"block": "parallel", "layer_scale": True}, TOKENS | {"block": "parallel", "mlp": "swiglu"},
    TOKENS | {"attention": "differential", "block": "parallel-fused", "rms_norm": True},
    MIXED | {"block": "parallel-fused", "attention_norm": True},
]
for fields in VITS:
    if fields.get("classifier") is False:
        fields.pop("num_classes")

SHIFT = {"input_height": 20, "input_width": 28, "dim": 16, "blocks": [1, 2], "num_div": 4, "num_classes": 7}
ODD = SHIFT | {"input_height": 23, "input_width": 30, "blocks": [1, 1, 1]}
SHIFTS = [
    SHIFT, SHIFT | {"shift": "keras"}, SHIFT | {"shift": "keras", "groups": "sections", "num_div": 2},
    SHIFT | {"num_div": 5}, SHIFT | {"num_div": 7, "shift": "keras"}, SHIFT | {"num_div": 64},
    SHIFT | {"groups": "sections", "num_div": 2},
    SHIFT | {"shift_pixel": 0}, SHIFT | {"shift_pixel": 2}, SHIFT | {"shift_pixel": 5, "num_div": 5},
    SHIFT | {"shift_pixel": 9, "num_div": 5}, SHIFT | {"shift_pixel": 6, "num_div": 5, "shift": "keras"},
    SHIFT | {"norm": "group", "patch_norm": True, "final_norm": True}, SHIFT | {"patch_norm": True},
    SHIFT | {"final_norm": True}, ODD, ODD | {"patch_padding": "valid"}, ODD | {"merge_padding": "valid"},
    ODD | {"patch_padding": "valid", "merge_padding": "valid", "norm": "group"}, ODD | {"patch_size": 5},
    SHIFT | {"stem": "whitened"}, ODD | {"stem": "whitened", "patch_padding": "valid", "patch_norm": True},
    SHIFT | {"stem": "conv"}, ODD | {"stem": "conv", "patch_size": 2, "patch_norm": True},
    SHIFT | {"mixer": "depthwise"}, ODD | {"mixer": "depthwise", "stem": "conv"},
    SHIFT | {"classifier": False, "num_classes": 32}, SHIFT | {"in_channels": 4}, SHIFT | {"blocks": [0, 1]},
    SHIFT | {"blocks": [1, 0]}, SHIFT | {"mlp_ratio": 1.37}, SHIFT | {"norm_eps": 0.01},
]

MIX = {"architecture": "mixer", "input_height": 12, "input_width": 16, "patch_size": 4, "dim": 16, "depth": 2,
       "token_mlp_dim": 10, "mlp_dim": 24, "num_classes": 7}
MIXERS = [MIX, MIX | {"classifier": False, "num_classes": 16}, MIX | {"in_channels": 1, "norm_eps": 0.01}]

KEEP = {"source_height": 20, "source_width": 28, "resize_height": 20, "resize_width": 28, "output_height": 20,
        "output_width": 28}
COLOURS = {"mean": [0.4, 0.5, 0.6], "variance": [0.04, 0.05, 0.06]}
LARGER = {"resize_height": 32, "resize_width": 37}
PIPELINES = [
    (SHIFT, KEEP), (SHIFT, KEEP | COLOURS), (SHIFT, KEEP | {"source_height": 13, "source_width": 40}),
    (SHIFT, KEEP | LARGER | COLOURS), (SHIFT, KEEP | LARGER | COLOURS | {"evaluation": "crop"}),
    (SHIFT, KEEP | LARGER | {"evaluation": "keep"}),
    (SHIFT, KEEP | {"source_height": 23, "source_width": 30, "resize_height": 23, "resize_width": 30,
                    "evaluation": "crop", "source_filter": "bicubic"}),
    (SHIFT, KEEP | {"source_height": 23, "source_width": 31, "resize_height": 23, "resize_width": 31,
                    "evaluation": "crop-floor", "source_filter": "bicubic"}),
    (SHIFT | {"in_channels": 1}, KEEP | {"channels": 1, "mean": [0.5], "variance": [0.1]}),
    (SHIFT | {"in_channels": 4}, KEEP | {"channels": 4, "mean": [0.1, 0.2, 0.3, 0.4], "variance": [1, 2, 3, 4]}),
    (SHIFT | {"in_channels": 2}, KEEP | {"channels": 2, "mean": [0.1, 0.2], "variance": [1, 2]}),
    (SHIFT | {"in_channels": 7}, KEEP | LARGER | {"channels": 7, "mean": [0.3], "variance": [0.2]}),
    (ROPE | {"position_tokens": "none"},
     {"source_height": 20, "source_width": 12, "resize_height": 20, "resize_width": 12, "output_height": 20,
      "output_width": 12}),
    (VIT, {"source_height": 10, "source_width": 10, "resize_height": 12, "resize_width": 16, "output_height": 12,
           "output_width": 16}),
]


def describe(fields: dict, base: dict) -> str:
    return json.dumps({key: value for key, value in fields.items() if base.get(key) != value})


class Run:
    """Compares one model after the other and counts what is not equal."""

    def __init__(self, library: Library, folder: Path) -> None:
        self.library, self.path, self.count, self.failures = library, folder / "model.onnx", 0, 0

    def compare(self, name: str, fields: dict, output: int = 0, pipeline: dict | None = None,
                prepare: Callable[[Model], None] = lambda model: None) -> float:
        model = Model(self.library, fields)
        prepare(model)
        if pipeline:
            model.set_pipeline(pipeline)
        worst = largest_difference(model, self.path, output, pipeline is not None)
        model.free()
        self.count += 1
        if not worst <= TOLERANCE:
            self.failures += 1
            print(f"{name}: {worst:.2g} of the largest value; at most {TOLERANCE} is wanted")
        return worst

    def small(self) -> None:
        for base, models in (VIT, VITS), (SHIFT, SHIFTS), (MIX, MIXERS):
            for fields in models:
                self.compare(base.get("architecture", "shiftvit") + " " + describe(fields, base), fields)
            self.compare("probabilities", base, output=1)
        self.compare("labels", VIT, output=1, prepare=Model.answer_with_labels)
        self.compare("texts", VIT, output=1, prepare=lambda model: model.answer_with_texts(11, 5, 0))
        self.compare("embeddings", VIT, prepare=lambda model: model.answer_with_texts(11, 5, 0))

        for factor in 1e-25, 1e21:
            def of_other_length(model: Model) -> None:
                model.scale_head(factor)
                model.answer_with_texts(11, 5, 0)
            self.compare(f"texts, embeddings of {factor}", VIT, output=1, prepare=of_other_length)

        def labels_of_texts(model: Model) -> None:
            model.answer_with_labels()
            model.answer_with_texts(4, 3, -2)
        self.compare("labels of texts", VIT, output=1, prepare=labels_of_texts)
        for fields, pipeline in PIPELINES:
            self.compare(f"pipeline {describe(pipeline, KEEP)}", fields, pipeline=pipeline)

    def presets(self, largest: float, only: str) -> None:
        print("| preset | megabytes | largest difference |\n|---|---|---|")
        for name in self.library.presets():
            if only not in name or self.library.preset(name).get("mask_ratio"):
                continue
            model = Model(self.library, self.library.preset(name))
            megabytes = model.megabytes()
            model.free()
            if megabytes > largest:
                print(f"| `{name}` | {megabytes:.0f} | larger than {largest:.0f}: not compared |")
                continue
            worst = self.compare(name, self.library.preset(name))
            print(f"| `{name}` | {megabytes:.0f} | {worst:.1e} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--presets", action="store_true")
    parser.add_argument("--largest", type=float, default=1e9)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Library(options.library), Path(folder))
        if options.presets:
            run.presets(options.largest, options.only)
        else:
            run.small()
    print(f"{run.count} models, {run.failures} differ")
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
