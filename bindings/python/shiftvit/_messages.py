"""The names that Python has for what messages of the C library name."""

from __future__ import annotations

import re

#: What a program in Python calls in place of a function that messages recommend.
_FUNCTIONS = {
    "svit_binary_cross_entropy": "losses.binary_cross_entropy",
    "svit_checkpoint_restore": "Checkpoint.restore",
    "svit_dataset_concatenate": "Dataset.concatenate",
    "svit_dataset_custom": "Dataset.from_function",
    "svit_dataset_memory": "Dataset.from_arrays",
    "svit_dataset_memory_f32": "Dataset.from_arrays",
    "svit_dataset_memory_targets": "Dataset.from_arrays",
    "svit_dataset_select": "Dataset.select",
    "svit_dataset_slice": "Dataset.__getitem__",
    "svit_dataset_split": "Dataset.split",
    "svit_dataset_match_classes": "Dataset.match_classes",
    "svit_features_append": "FeatureSet.append",
    "svit_image_decode": "read_image",
    "svit_image_read": "read_image",
    "svit_mean_squared_error": "losses.mean_squared_error",
    "svit_model_add_classes": "Model.add_classes",
    "svit_model_add_lora": "Model.add_lora",
    "svit_model_fit_class": "Model.fit_class",
    "svit_model_fit_head": "Model.fit_head",
    "svit_model_load_into": "Model.load_weights",
    "svit_model_load_with_config": "load_pretrained",
    "svit_model_merge_lora": "Model.merge_lora",
    "svit_model_parameter_name": "Model.parameters()",
    "svit_model_preset_name": "presets()",
    "svit_model_replace_head": "Model.replace_head",
    "svit_model_save": "Model.save",
    "svit_model_set_classes": "assigning Model.classes",
    "svit_model_set_output": "assigning Model.output",
    "svit_model_set_parameter": "assigning Model.parameters",
    "svit_model_set_pipeline": "assigning Model.pipeline",
    "svit_model_set_text_head": "Model.set_text_head",
    "svit_model_set_threshold": "assigning Model.threshold",
    "svit_model_set_trainable": "Model.set_trainable",
    "svit_model_truncate": "Model.truncate",
    "svit_model_whiten": "Model.whiten",
    "svit_optimizer_swap_ema": "Optimizer.swap_average",
    "svit_predictor_create_from_model": "Predictor",
    "svit_session_layer_name": "Session.layers",
    "svit_step": "Optimizer.step",
    "svit_trainer_resume": "Trainer.resume",
    "svit_trainer_run": "Trainer.run",
}
#: Those of a training, which most programs never name: fit calls them.
_TRAINING = ("svit_trainer_create", "svit_trainer_resume", "svit_trainer_run", "svit_trainer_step")
#: Prefixes of constants that words stand for.
_WORDS = re.compile(r"SVIT_(?:COMPUTE|DTYPE|EMA|EXISTING|LABELS|METRIC|MODE|OUTPUT|SOURCE|SPLIT|SPT|STEM)_(\w+)")
#: What a message begins with: the function or the struct that it is about.
_PREFIX = re.compile(r"(?<![\w/'.])(svit_\w+): ")
#: A field of a configuration, and a function, which are no parts of a path.
_FIELD = re.compile(r"(?<![\w/'.])svit_\w+_(?:config|options)\.(\w+)")
_FUNCTION = re.compile(r"(?<![\w/'.])svit_\w+(?!\.\w)")
#: An element of the array of svit_dataset_concatenate.
_PARENT = re.compile(r"\bparents(?=\[\d+\])")
_FLAG = re.compile(r"(?<=create one with features) 1\b")
_EXISTING = re.compile(r"; set svit_trainer_config\.existing to .*")


def in_python(message: str) -> str:
    """A message of the C library with the names that its functions, fields and constants have in Python."""
    message = _EXISTING.sub(
        '; resume=True of fit(), or existing="resume" of a Trainer, goes on with it, and existing="overwrite" of a '
        "Trainer replaces it",
        message,
    )
    message = _WORDS.sub(lambda found: repr(found[1].lower().replace("_", "-")), message)
    message = _FIELD.sub(r"\1", message)
    message = _PARENT.sub("datasets", message)
    message = _FLAG.sub("=True", message)
    # A program in Python has called neither the functions without another name nor the structs.
    message = _PREFIX.sub(lambda found: f"{_FUNCTIONS[found[1]]}: " if found[1] in _FUNCTIONS else "", message)
    return _FUNCTION.sub(lambda found: _FUNCTIONS.get(found[0], found[0]), message)


def changing(function: str) -> str:
    """What a program in Python calls that uses a function which changes a model or a feature set."""
    return "Model.fit or a Trainer" if function in _TRAINING else _FUNCTIONS.get(function, function)
