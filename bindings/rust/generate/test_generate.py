"""The declarations of the Rust crates follow from the headers, and a header that changes without them is seen."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import typed

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def check(root: pathlib.Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(HERE / "generate.py"), "--check", str(root)]
    return subprocess.run(command, capture_output=True, text=True)


class Generated(unittest.TestCase):
    def test_files_follow_from_the_headers(self) -> None:
        done = check(ROOT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_crate_has_every_file(self) -> None:
        source = ROOT / "bindings/rust/shiftvit-sys/src"
        crate = (source / "lib.rs").read_text()
        names = sorted(path.stem for path in source.glob("*.rs") if path.stem != "lib")
        self.assertGreater(len(names), 20)
        self.assertEqual([name for name in names if f"\nmod {name};" not in crate], [])
        self.assertEqual([name for name in names if name != "layout" and f"pub use crate::{name}::*;" not in crate], [])

    def test_comments_of_the_crate_have_its_names(self) -> None:
        source = ROOT / "bindings/rust/shiftvit/src"
        generated = [path.read_text() for folder in ("config", "enums") for path in (source / folder).glob("*.rs")]
        self.assertGreater(len(generated), 20)
        for text in generated:
            self.assertNotIn("Svit_", text)
            self.assertNotRegex(text, r"/// [01]: [^:]*\w+: bool;")
        crate = "".join(path.read_text() for path in source.rglob("*.rs"))
        for path in typed.NAMES.values():
            name = path.split("::")[-1]
            self.assertRegex(crate, rf"pub (fn|struct) {name}\b|pub {name}:", path)

    def test_changes_of_headers_are_seen(self) -> None:
        changes = [
            ("include/shiftvit/loader.h", "int32_t shuffle;", "uint32_t shuffle;", "shiftvit-sys/src/loader.rs"),
            ("include/shiftvit/loader.h", "uint64_t epoch, uint64_t batch", "uint64_t batch, uint64_t epoch", "loader.rs"),
            ("include/shiftvit/loader.h", "SVIT_SAMPLING_BALANCED = 1", "SVIT_SAMPLING_BALANCED = 2", "constants.txt"),
            ("include/shiftvit/loader.h", "svit_loader_seek(", "svit_loader_move(", "symbols.txt"),
            ("include/shiftvit/dataset.h", "(*svit_sample_callback)(size_t index", "(*svit_sample_callback)(uint32_t index", "dataset.rs"),
            ("include/shiftvit/loader.h", "before batch 0 of epoch 0", "before the first batch", "loader.rs"),
            ("tests/abi/test_layout.c", "LAYOUT(svit_loader_config, 48", "LAYOUT(svit_loader_config, 56", "layout.rs"),
            ("meson.build", "version: '0.", "version: '7.", "Cargo.toml"),
            ("bindings/rust/shiftvit/Cargo.toml", 'shiftvit-sys", version = "0.', 'shiftvit-sys", version = "7.', "Cargo.toml"),
            ("bindings/rust/Cargo.lock", 'name = "shiftvit"\nversion = "0.', 'name = "shiftvit"\nversion = "7.', "Cargo.lock"),
        ]
        for name, old, new, expected in changes:
            with self.subTest(change=new), tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder)
                shutil.copytree(ROOT / "include", copy / "include")
                shutil.copytree(ROOT / "tests/abi", copy / "tests/abi")
                shutil.copytree(ROOT / "bindings/rust", copy / "bindings/rust", ignore=shutil.ignore_patterns("target"))
                shutil.copy(ROOT / "meson.build", copy)
                self.assertEqual(check(copy).returncode, 0)
                text = (copy / name).read_text()
                self.assertIn(old, text)
                (copy / name).write_text(text.replace(old, new, 1))
                done = check(copy)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(expected, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
