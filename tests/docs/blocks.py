"""Takes stock of every block of code in README.md and docs/*.md: each is run or compiled by a test, or is no code.

- Indented blocks are commands. Those that begin with build/examples/ are run by the tests of RUN_PAGES; the others
  begin with a command of COMMANDS, whose reason says where they are run, or why they are not.
- Fences say their language. Whole programs stand between marks that PROGRAMS has, with the test that runs them. Other
  blocks of C are compiled here, JSON is parsed, and Python, but for docs/python.md, is compiled. Those of docs/rust.md are doc tests
  of the crate, and those of JavaScript in docs/browser.md are run by the test web. Text is no code.

blocks.py SOURCE_ROOT CC
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Pages whose commands below build/examples are run, with the test.
RUN_PAGES = {
    "README.md": "pages", "building": "pages", "onnx": "pages", "performance": "pages", "reproduction": "pages",
    "training": "pages", "fine-tuning": "guides", "own-loop": "guides", "pretrained": "guides", "beyond": "guides", "browser": "web",
    "tutorial-shiftvit": "tutorials", "tutorial-slvit": "tutorials",
}

# What other commands begin with. The second text is why no test runs them as they stand.
COMMANDS = {
    "apt install": "needs root",
    "cd shiftvit": "the folder of the reader",
    "cc": "the tests install_and_link, install_static and pages",
    "sed": "goes on with cc",
    "meson": "the tests are run by such a build",
    "ninja": "the tests are run by such a build",
    "sh tools/": "the test release",
    "sh tests/": "the command that runs the tests, and abi_symbols, abi_types, abi_constants",
    "sh bindings/wasm/build.sh": "the test web",
    "python3 -m http.server": "runs until it is stopped; the test web serves the same folder",
    "sh examples/quickstart.sh": "needs root and the network",
    "sh examples/fetch-cifar.sh": "needs the network",
    "./host": "the test pages",
    "pip": "needs the network",
    "mpirun": "the tests mpi_jobs_openmpi and mpi_jobs_mpich, where there is an MPI",
    "auditwheel": "needs the network",
    "python3 examples/keras-weights.py": "needs h5py; the test keras_weights runs it where it is installed",
    "python3 tests/programs/onnx_export.py": "the test onnx_runtime",
    "python3 docs/man/options.py": "the test man_pages compares what it would write",
    "export SHIFTVIT_LIBRARY": "goes on with python3",
    "python3 tests/reference/compare_keras_steps.py": "needs Keras with TensorFlow",
    "python3 tests/reference/compare_keras_augmentation.py": "needs Keras with TensorFlow",
    "python3 tests/bench/compare_finetune.py": "needs PyTorch",
    "python3 tests/bench/compare_features.py": "needs PyTorch",
    "python3 tests/bench/compare_checkpoints.py --build build --largest 30e6 --gradients '*' --out table.md": "needs PyTorch",
    "--set": "settings for any training: the test pages",
    "for": "a loop around commands of build/examples",
    "done": "a loop around commands of build/examples",
}

# Whole programs by their mark, with the file that has the test.
PROGRAMS = {
    "program": "tests/install/program.sh",
    "program: embedding": "tests/programs/pages.sh",
    "program: exceptions": "tests/cpp/cpp.sh",
    "program: status": "tests/cpp/cpp.sh",
    "train_minimal": "tests/programs/minimal.sh",
    "predict_minimal": "tests/programs/minimal.sh",
    "finetune_minimal": "tests/programs/minimal.sh",
    "own_loop": "tests/programs/own_loop.sh",
}

# Languages of blocks that no compiler of this library reads; those of build files are tested by tests/install, jobs like
# those of scripts for clusters by tests/mpi.
TEXT = {"text", "cmake", "meson", "ini", "toml", "sh", "yaml"}

PRELUDE = """
#include <shiftvit/shiftvit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern svit_error err;
extern svit_context *context;
extern svit_model *model;
extern svit_session *session;
extern svit_dataset *data, *good, *images;
extern size_t *indices;
extern float *distances;
extern const uint8_t *pixels;
extern size_t height, width;
extern svit_pipeline_config pipeline;
extern const char *path;
"""


class Block:
    """A block of a page: its text, the language of its fence, the mark above it, and where it is."""

    def __init__(self, page, line, language, text, mark):
        self.page, self.line, self.language, self.text, self.mark = page, line, language, text, mark
        self.where = f"{page}:{line}"


def blocks(root, path):
    lines = path.read_text(encoding="utf-8").split("\n")
    page, i = str(path.relative_to(root)), 0
    while i < len(lines):
        if lines[i].startswith("```"):
            end = lines.index("```", i + 1)
            mark = re.fullmatch(r"<!-- (.*?)(?:: begin)? -->", lines[i - 1])
            yield Block(page, i + 1, lines[i][3:], lines[i + 1:end], mark and mark[1])
            i = end
        elif lines[i].startswith("    ") and not lines[i - 1].strip():
            end = i
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            yield Block(page, i + 1, None, [line[4:] for line in lines[i:end] if line.strip()], None)
            i = end - 1
        i += 1


def check_commands(block, root):
    """Each command of an indented block is run by a test, or has its reason."""
    found = []
    for line in re.sub(r"\\\n", " ", "\n".join(block.text)).split("\n"):
        line = line.strip()
        if line.startswith("build/examples/"):
            if pathlib.Path(block.page).stem not in RUN_PAGES and block.page not in RUN_PAGES:
                found.append(f"{block.where}: no test runs the commands of this page: {line}")
            continue
        if not any(line == start or line.startswith((start + " ", start + "=")) or start.endswith("/") and
                   line.startswith(start) for start in COMMANDS):
            found.append(f"{block.where}: neither a command that is run nor one with a reason: {line}")
        for word in re.findall(r"(?<![\w/])(?:docs|examples|tests)/[\w/.-]+\.(?:sh|py)", line):
            if not (root / word).exists():
                found.append(f"{block.where}: there is no '{word}'")
    return found


def check_c(block, root, cc, folder):
    """Compiles a part of a program: declarations as they are, statements in a function."""
    text = "\n".join(block.text)
    top = re.search(r"^(static|struct|#include|typedef|enum|int)\b.*[^;]$", text, re.M)
    source = folder / "block.c"
    source.write_text(PRELUDE + (text if top else f"void block(void);\nvoid block(void)\n{{\n{text}\n}}\n") + "\n")
    done = subprocess.run(
        [*shlex.split(cc), "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-unknown-pragmas",
         "-fsyntax-only", f"-I{root / 'include'}", str(source)], capture_output=True, text=True)
    return [f"{block.where}: {done.stderr}"] if done.returncode else []


def check_fence(block, root, cc, folder):
    text = "\n".join(block.text)
    if block.mark:
        test = PROGRAMS.get(block.mark)
        name = block.mark.split(": ")[-1]
        if not test:
            return [f"{block.where}: PROGRAMS does not have the mark '{block.mark}'"]
        return [] if name in (root / test).read_text() else [f"{block.where}: {test} does not run '{name}'"]
    if block.language == "c":
        return check_c(block, root, cc, folder)
    if block.language == "json":
        json.loads(text)
        return []
    if block.language == "python":
        if block.page != "docs/python.md":
            compile(text, block.where, "exec")
        return []
    if block.language == "js" and block.page == "docs/browser.md":
        return []
    if block.language == "rust" and block.page == "docs/rust.md":
        return []
    return [] if block.language in TEXT else [f"{block.where}: no test knows the language '{block.language}'"]


def main():
    root, cc = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    wrong, counts, used = [], {}, set()
    with tempfile.TemporaryDirectory() as folder:
        for path in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
            for block in blocks(root, path):
                kind = block.language or "commands"
                counts[kind] = counts.get(kind, 0) + 1
                used.add(block.mark)
                used.update(start for start in COMMANDS if not block.language
                            for line in block.text if line.strip().startswith(start))
                try:
                    wrong += check_fence(block, root, cc, pathlib.Path(folder)) if block.language is not None \
                        else check_commands(block, root)
                except (ValueError, SyntaxError) as error:
                    wrong.append(f"{block.where}: {error}")
    wrong += [f"no page has '{name}' any more: take it out of {os.path.basename(__file__)}"
              for name in [*PROGRAMS, *COMMANDS] if name not in used]
    print("\n".join(wrong) or ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    sys.exit(1 if wrong else 0)


main()
