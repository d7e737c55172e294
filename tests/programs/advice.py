"""advice.py ROOT: messages of the library that name its functions or structs are replaced by the programs' own
words (ADVICE in examples/common/program/program.c), or are of mistakes that no program makes."""
import pathlib
import re
import sys

# What only a caller in C sees: pointers and sizes of structs, the order of calls, and names that no program passes.
OF_CALLERS = [
    "name is '%.100s'; svit_constant_name lists the constants that there are",
    "svit_augment_step",
    "reserved of svit_augment_step is %u; it is 0",
    "%s: the images are float; svit_dataset_sample_f32 reads them",
    "svit_custom_dataset",
    "svit_loader_config",
    "%s: the batches have targets instead of labels, from the dataset or by mixing; svit_loader_next_targets reads them",
    "svit_onnx_options",
    "svit_pipeline_config",
    "svit_model_config",
    "%s: errors[%zu].struct_size is %u; sizeof(svit_error), %zu, is accepted",
    "struct_size of svit_load_report is %u; it is %zu here",
    "svit_load_report",
    "map is 'timm'; it names a ViT with names 'seed', and this model has the names of its own code, which "
    "svit_model_save writes",
    "the model has adapters of rank %u already; svit_model_merge_lora merges them",
    "the model has no adapters; svit_model_add_lora gives it some",
    "svit_parameter_group",
    "the model holds the average of its weights; call svit_optimizer_swap_ema to get the weights back before training "
    "goes on",
    "parameter '%s' is frozen in the model (svit_model_set_trainable)",
    "a backward after those of all leaves of this rank, %u of %u; svit_step comes next",
    "the session has the gradients of %u of this rank's %u leaves; svit_step comes after a backward for each",
    "parameter '%s' is frozen (svit_model_set_trainable) and has no gradient",
    "'%.100s' holds a run (%s%s); set svit_trainer_config.existing to SVIT_EXISTING_RESUME to go on with it or "
    "SVIT_EXISTING_OVERWRITE to replace it",
    "'%.100s' holds a run and existing is SVIT_EXISTING_RESUME: no step is made before svit_trainer_resume has "
    "succeeded",
    "the trainer has no folder to resume from; set svit_trainer_config.folder",
    "the run has begun; svit_trainer_resume comes before the first step",
    "the trainer has no folder to write a checkpoint to; set svit_trainer_config.folder",
    "svit_trainer_create",
    "svit_trainer_event",
    "svit_trainer_step",
    "%s: the callback of svit_trainer_run is running; the run goes on when it returns",
    "functions in svit_trainer_set_loss (one NULL, one not)",
    "name is '', the file of the lock; svit_folder_lock_free removes it",
]

TEXT = r'"((?:[^"\\\n]|\\.)*)"'


def texts(path):
    """The string literals of a source, adjacent ones joined, also around a macro."""
    source = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    source = "\n".join(line for line in source.split("\n") if not line.startswith("#include"))
    for match in re.finditer(rf"{TEXT}(?:\s*(?:[A-Z_0-9]+\s*)?{TEXT})*", source):
        yield "".join(re.findall(TEXT, match.group()))


def advice_of(row):
    """The first of the two texts of a row."""
    return "".join(re.findall(TEXT, re.match(rf"{TEXT}(?:\s*{TEXT})*", row).group()))


def main(root):
    root = pathlib.Path(root)
    program = (root / "examples/common/program/program.c").read_text()
    table = re.search(r"ADVICE\[\]\[2\] = \{(.*?)\n\};", program, re.S).group(1)
    rows = [advice_of(row) for row in re.split(r"\n    \{", table)[1:]]
    sources = [path for ending in ("c", "h") for path in sorted((root / "lib").rglob(f"*.{ending}"))]
    everything = [(path, text) for path in sources for text in texts(path)]
    messages = [(path, text) for path, text in everything if "svit_" in text]
    failures = [f"{path}: '{text}' needs a row of ADVICE in examples/common/program/program.c"
                for path, text in messages if text not in OF_CALLERS and not any(row in text for row in rows)]
    known = {text for _, text in messages}
    # A struct's name before its field or its message is put there by the library.
    failures += [f"ADVICE: '{row}' is in no message" for row in rows
                 if not any(row in text for _, text in everything) and row.rstrip(":. ") not in known]
    failures += [f"advice.py: '{text}' is no message" for text in OF_CALLERS if text not in known]
    for failure in failures:
        print(failure)
    if failures or not messages:
        sys.exit(1)
    print(f"advice: {len(messages)} messages, passed")


main(sys.argv[1])
