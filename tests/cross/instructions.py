#!/usr/bin/env python3
"""Counts the instructions that an image takes on 64-bit Arm, by the library and by plain loops.

usage: instructions.py BUILD SYSROOT [PRESET...]

BUILD is a build for 64-bit Arm, with `ninja tests/cross/one_image`, and SYSROOT where its C library is, such as
/usr/aarch64-linux-gnu. qemu-aarch64 (Debian's qemu-user) runs the program with a plugin that counts; what two images take
more than one is the count.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

#: A CPU of the emulator and how to compute on it.
ROWS = [('plain loops', 'max', 'plain'), ('float32, NEON', 'cortex-a53', 'float32'), ('int8, NEON', 'cortex-a53', 'int8'),
        ('int8, SDOT', 'neoverse-n1', 'int8'), ('int8, SMMLA', 'max', 'int8'), ('bfloat16, BFMMLA', 'max', 'bfloat16')]


def instructions(command, images):
    """The instructions of one run."""
    run = subprocess.run([*command, str(images)], capture_output=True, text=True, check=True)
    return int(re.search(r'(\d+) instructions', run.stderr)[1])


def main(build, sysroot, *presets):
    program = str(pathlib.Path(build, 'tests', 'cross', 'one_image'))
    presets = presets or ('shiftvit-cifar10', 'vit-cifar100')
    plain = {}
    print(f'| kernels | {" | ".join(presets)} |\n|---|{"---|" * len(presets)}')
    with tempfile.TemporaryDirectory() as folder:
        plugin = str(pathlib.Path(folder, 'count.so'))
        source = pathlib.Path(__file__).with_name('count_plugin.c')
        subprocess.run(['gcc', '-O2', '-shared', '-fPIC', '-o', plugin, source], check=True)
        for title, cpu, compute in ROWS:
            cells = []
            for preset in presets:
                command = ['qemu-aarch64', '-L', sysroot, '-cpu', cpu, '-plugin', plugin, program, preset, compute]
                count = instructions(command, 2) - instructions(command, 1)
                plain.setdefault(preset, count)
                cells.append(f'{count / 1e6:.1f} million, {plain[preset] / count:.1f} times fewer')
            print(f'| {title} | {" | ".join(cells)} |', flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
