"""Writes the enums and the plain configuration structs of the crate shiftvit."""

from __future__ import annotations

import re
import textwrap

import raw
from headers import Enumeration, Header, Struct, Variable

#: The Rust enum for the constants of a prefix. None: handwritten, or not in the crate.
ENUMS: dict[str, str | None] = {
    "SVIT_OK": None,
    "SVIT_E_": None,
    "SVIT_MAX_": None,
    "SVIT_AUGMENT_": None,
    "SVIT_LOAD_": None,
    "SVIT_EXCLUDE_": None,
    "SVIT_MATMUL_": None,
    "SVIT_LOG_": "LogLevel",
    "SVIT_ARCHITECTURE_": "Architecture",
    "SVIT_SHIFT_": "Shift",
    "SVIT_GROUPS_": "ShiftGroups",
    "SVIT_NORM_": "Norm",
    "SVIT_PADDING_": "Padding",
    "SVIT_DROP_PATH_": "DropPathRule",
    "SVIT_INIT_": "Init",
    "SVIT_TOKENIZER_": "Tokenizer",
    "SVIT_ATTENTION_": "Attention",
    "SVIT_TEMPERATURE_": "Temperature",
    "SVIT_STEM_": "Stem",
    "SVIT_MIXER_": "Mixer",
    "SVIT_POOL_": "Pool",
    "SVIT_POSITION_": "PositionTokens",
    "SVIT_CLASS_TOKEN_": "ClassToken",
    "SVIT_ROPE_": "Rope",
    "SVIT_ROPE_AXES_": "RopeAxes",
    "SVIT_ROPE_PAIRS_": "RopePairs",
    "SVIT_ACTIVATION_": "Activation",
    "SVIT_MLP_": "Mlp",
    "SVIT_BLOCK_": "Block",
    "SVIT_NAMES_": "Names",
    "SVIT_OUTPUT_": "Output",
    "SVIT_DTYPE_": "Dtype",
    "SVIT_PIXELS_": "PixelOrder",
    "SVIT_SPT_": "SptOrder",
    "SVIT_EVALUATE_": "Evaluation",
    "SVIT_SOURCE_": "Source",
    "SVIT_CROP_": "CropFill",
    "SVIT_FLIP_": "FlipRule",
    "SVIT_AUTOAUGMENT_": "AutoAugmentPolicy",
    "SVIT_RESIZE_": "ResizeFilter",
    "SVIT_SPLIT_": "Split",
    "SVIT_LABELS_": "Cifar100Labels",
    "SVIT_SAMPLING_": "Sampling",
    "SVIT_CLASS_WEIGHTING_": "ClassWeighting",
    "SVIT_MODE_": "Mode",
    "SVIT_COMPUTE_": "Compute",
    "SVIT_MEMORY_": "Memory",
    "SVIT_OPTIMIZER_": "UpdateRule",
    "SVIT_SGD_": "SgdForm",
    "SVIT_EPSILON_": "EpsilonForm",
    "SVIT_DECAY_": "DecayRule",
    "SVIT_SCHEDULE_": "Schedule",
    "SVIT_RULE_": "GroupRule",
    "SVIT_EMA_": "Ema",
    "SVIT_KEEP_": "Keep",
    "SVIT_EXISTING_": "Existing",
    "SVIT_LOSS_": "Loss",
    "SVIT_TTA_": "Tta",
    "SVIT_EVENT_": "EventKind",
    "SVIT_METRIC_": "Metric",
    "SVIT_TOKENS_": "Tokens",
    "SVIT_ONNX_": "OnnxOutput",
}

#: The Rust struct for a configuration, and its file.
CONFIGS = {
    "svit_model_config": ("ModelConfig", "model"),
    "svit_pipeline_config": ("PipelineConfig", "pipeline"),
    "svit_loader_config": ("LoaderConfig", "loader"),
    "svit_session_config": ("SessionConfig", "session"),
    "svit_optimizer_config": ("OptimizerConfig", "optimizer"),
    "svit_trainer_config": ("TrainerConfig", "trainer"),
    "svit_predictor_config": ("PredictorConfig", "predictor"),
    "svit_features_config": ("FeaturesConfig", "features"),
    "svit_head_config": ("HeadConfig", "head"),
    "svit_class_config": ("ClassConfig", "class"),
    "svit_onnx_options": ("OnnxOptions", "onnx"),
}

#: What comments call by its name in C, and the crate by another one. Other names are those of the raw declarations.
NAMES = {
    "svit_backward_input": "Session::backward_input",
    "svit_binary_cross_entropy": "loss::binary_cross_entropy",
    "svit_cross_entropy_weighted": "loss::cross_entropy",
    "svit_dataset_shards": "Dataset::shards",
    "svit_folder_lock": "FolderLock",
    "svit_forward": "Session::forward",
    "svit_forward_features": "Session::forward_features",
    "svit_mean_squared_error": "loss::mean_squared_error",
    "svit_model_add_lora": "Model::add_lora",
    "svit_model_export_onnx": "Model::export_onnx",
    "svit_model_fit_class": "Model::fit_class",
    "svit_model_fit_head": "Model::fit_head",
    "svit_model_whiten": "Model::whiten",
    "svit_session_layer_name": "Session::layers",
    "svit_trainer_create": "Trainer::new",
    "svit_trainer_event.best_epoch": "Event::best_epoch",
    "svit_trainer_resume": "Trainer::resume",
    "svit_trainer_step": "Trainer::step",
} | {name: struct for name, (struct, _) in CONFIGS.items()}

#: What the crate says of a field beside the header's comment.
MORE = {
    ("svit_loader_config", "ranks"): "Gradients of several ranks are added by raw calls (`svit_reducer` of [`sys`](crate::sys)).",
    ("svit_trainer_config", "leaves"): "A trainer of several processes, with its reducer, is one of raw calls: "
    "`svit_trainer_create` of [`sys`](crate::sys) on the handles of `as_ptr`.",
}

#: Fields whose Rust type does not follow from the header.
TYPES = {
    "decay_exclude": "DecayExclude",
    "preprocessing": "bool",
    "trainable": "bool",
    "input_layer": "String",
    "folder": "Option<PathBuf>",
    "description": "Option<String>",
    "layer": "Option<String>",
    "context": "Option<Context>",
}

#: Arrays with a field that counts their elements, which are vectors in Rust.
LISTS = {
    "blocks": ("stages", "u32"),
    "head_units": ("head_layers", "u32"),
    "augment": ("augment_count", "Augment"),
    "groups": ("group_count", "ParameterGroup"),
    "points": ("point_count", "SchedulePoint"),
    "class_weights": ("class_weight_count", "f64"),
}


def prefix_of(name: str) -> str:
    found = [prefix for prefix in ENUMS if name.startswith(prefix)]
    if not found:
        raise SystemExit(f"generate/typed.py does not say which enum has {name}")
    return max(found, key=len)


def variant(name: str) -> str:
    word = "".join(part.capitalize() for part in name[len(prefix_of(name)) :].split("_"))
    return {"Keras314": "Keras314", "Adamw": "AdamW", "Spt": "Spt"}.get(word, word)


def rust_words(text: str) -> str:
    """Constants and names in a comment as the crate has them."""

    def replace(match: re.Match[str]) -> str:
        name = match[0]
        if name.startswith("SVIT_E_"):
            return f"`Status::{name[7:].capitalize()}`"
        found = [prefix for prefix in ENUMS if name.startswith(prefix)]
        enum = ENUMS[max(found, key=len)] if found else None
        if not enum:
            return name
        return f"`{enum}`" if name.endswith("_*") else f"`{enum}::{variant(name)}`"

    text = re.sub(r"\bSVIT_[A-Z0-9_]*[A-Z0-9](?:_\*)?", replace, text)
    return re.sub(r"\bsvit_\w+(?:\.\w+)?", lambda match: f"`{NAMES.get(match[0], f'sys::{match[0]}')}`", text)


def sentence(text: str) -> str:
    """A comment behind a field as a sentence. One that begins with a name in backquotes keeps it."""
    text = re.sub(r"\bNULL\b", "`None`", rust_words(text)).strip()
    text = text[0].upper() + text[1:] if text and text[0].isalpha() else text
    return text if text.endswith(".") else text + "."


def flag(text: str) -> str:
    """The comment of a flag, which C calls 1 or 0."""
    words = {"1": "true", "0": "false"}

    def replace(match: re.Match[str]) -> str:
        word = words[match[2]]
        return f"{match[1]}{word if match[1].startswith(';') else word.capitalize()}:"

    return re.sub(r"(^|[.;]\s)([01]):", replace, text)


def enums(header: Header) -> str:
    """The enums of one header; "" if it has none."""
    parts = []
    for enumeration in header.enumerations:
        groups: dict[str, list] = {}
        for member in enumeration.members:
            groups.setdefault(prefix_of(member.name), []).append(member)
        parts += [enum(ENUMS[p], enumeration, members, len(groups)) for p, members in groups.items() if ENUMS[p]]
    if not parts:
        return ""
    uses = "use crate::field::enumeration;\nuse shiftvit_sys as sys;\n\n"
    return f"//! The choices of `{header.name}.h`.\n\n{raw.NOTE}\n{uses}" + "\n".join(parts)


def enum(name: str, enumeration: Enumeration, members: list, groups: int) -> str:
    text = sentence(enumeration.doc) if enumeration.doc and groups == 1 else ""
    lines = "".join(
        raw.doc(sentence(m.doc) if m.doc else f"`{m.name}` in C.", "        ") + f"        {variant(m.name)} = {m.name},\n"
        for m in members
    )
    head = raw.doc(text or f"A choice among `{'`, `'.join(m.name for m in members)}` of C.", "    ")
    return f"enumeration! {{\n{head}    pub enum {name} {{\n{lines}    }}\n}}\n"


def field_type(item: Struct, field: Variable) -> str:
    if field.name in TYPES:
        return TYPES[field.name]
    kind = raw.rust_type(field.c_type)
    if field.length:
        return f"[{kind}; sys::{field.length} as usize]"
    if kind != "i32":
        return kind
    if re.match(r"1: ", field.doc):
        return "bool"
    named = re.search(r"SVIT_[A-Z0-9_]*[A-Z0-9]_(?=\*|[A-Z])[*A-Z0-9_]*", field.doc)
    prefixes = [p for p in ENUMS if named and named[0].rstrip("*").startswith(p)]
    if not prefixes:
        raise SystemExit(f"generate/typed.py does not know the type of {item.name}.{field.name}")
    return str(ENUMS[max(prefixes, key=len)])


def config(item: Struct, functions: set[str]) -> str:
    """The file of a configuration."""
    name, _ = CONFIGS[item.name]
    counts = {count: array for array, (count, _) in LISTS.items()}
    plain, lists, held, used = [], [], [], set()
    for field in item.fields:
        if field.name in ("struct_size", "reserved", "reducer") or field.name in counts:
            continue
        listed = field.name in LISTS and bool(field.length)
        kind = LISTS[field.name][1] if listed else field_type(item, field)
        text = sentence(field.doc) if field.doc else f"The `{field.name}` of C."
        doc = raw.doc(flag(text) if kind == "bool" else text, "        ")
        if (item.name, field.name) in MORE:
            doc += "".join(f"        /// {line}\n" for line in textwrap.wrap(MORE[item.name, field.name], 80))
        if listed:
            lists.append(f"{doc}        {field.name}: {kind}, {LISTS[field.name][0]};\n")
        else:
            section = held if kind in ("Option<PathBuf>", "Option<String>", "Option<Context>") else plain
            section.append(f"{doc}        {field.name}: {kind};\n")
        used.update(re.findall(r"\b[A-Z]\w+", kind))
    init = item.name.replace("_options", "_options_init") if item.name.endswith("options") else f"{item.name}_init"
    json = f"{item.name}_from_json" in functions
    places = {"PathBuf": "std::path::PathBuf", "Context": "crate::context::Context"}
    places |= {n: f"crate::parts::{n}" for n in ("Augment", "ParameterGroup", "SchedulePoint", "DecayExclude")}
    uses = sorted(
        places.get(kind, f"crate::enums::{kind}") for kind in used - {"Option", "String", "SVIT_MAX_CHANNELS"}
    )
    text = "".join(f"use {use};\n" for use in uses)
    first = rust_words(item.doc) or "Options of a file."
    result = (
        f"//! `{name}`.\n\n{raw.NOTE}\n{text}use crate::field::config;\nuse shiftvit_sys as sys;\n\n"
        f"config! {{\n{raw.doc(first, '    ')}    pub struct {name}: {item.name}, {init} {{\n{''.join(plain)}    }}\n"
        f"    lists {{\n{''.join(lists)}    }}\n    held {{\n{''.join(held)}    }}\n}}\n"
    )
    if json:
        result = result.replace("use crate::field::config;", "use crate::field::{config, json};")
        result += f"\njson!({name}, {item.name}_from_json, {item.name}_to_json);\n"
    return result


def files(headers: list[Header]) -> dict[str, str]:
    """All files by their paths below bindings/rust."""
    functions = {function.name for header in headers for function in header.functions}
    structs = {item.name: item for header in headers for item in header.structs}
    choices = {f"shiftvit/src/enums/{header.name}.rs": enums(header) for header in headers}
    found = {name: text for name, text in choices.items() if text}
    for name, (_, place) in CONFIGS.items():
        found[f"shiftvit/src/config/{place}.rs"] = config(structs[name], functions)
    return found
