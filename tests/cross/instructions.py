#!/usr/bin/env python3
"""Counts the instructions that an image takes on 64-bit Arm, in the emulator, by the library and by plain loops.

usage: instructions.py BUILD [PRESET...]

BUILD is a build for 64-bit Arm whose programs qemu-aarch64-static runs. The emulator logs each block of instructions when
it translates it and when it runs it; what two images take more than one is the count.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

# A CPU of the emulator and how to compute on it.
ROWS = [('plain loops', 'max', 'plain'), ('float32, NEON', 'cortex-a53', 'float32'), ('int8, NEON', 'cortex-a53', 'int8'),
        ('int8, SDOT', 'neoverse-n1', 'int8'), ('int8, SMMLA', 'max', 'int8'), ('bfloat16, BFMMLA', 'max', 'bfloat16')]


def instructions(program, cpu, arguments):
    """The instructions of one run of the program."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, 'log')
        os.mkfifo(log)
        command = ['qemu-aarch64-static', '-cpu', cpu, '-d', 'in_asm,exec,nochain', '-D', str(log), program, *arguments]
        with subprocess.Popen(command) as process:
            with open(log, encoding='utf-8', errors='replace') as lines:
                total = count(lines)
            if process.wait() != 0:
                sys.exit(f'{" ".join(command)}: status {process.returncode}')
    return total


def count(lines):
    """The sum of the lengths of all blocks that a log says have run."""
    lengths, block, total = {}, None, 0
    for line in lines:
        if line.startswith('Trace'):
            total += lengths[int(line.split('/')[1], 16)]
        elif line.startswith('0x'):
            address = int(line[:line.index(':')], 16)
            if block is None:
                block = address
                lengths[block] = 0
            lengths[block] += 1
        elif line.startswith('IN:'):
            block = None
    return total


def main(build, *presets):
    program = str(pathlib.Path(build, 'tests', 'cross', 'one_image'))
    presets = presets or ('shiftvit-cifar10', 'vit-cifar100')
    print(f'| kernels | {" | ".join(presets)} |\n|---|{"---|" * len(presets)}')
    plain = {}
    for title, cpu, compute in ROWS:
        cells = []
        for preset in presets:
            one, two = (instructions(program, cpu, [preset, compute, str(images)]) for images in (1, 2))
            plain.setdefault(preset, two - one)
            cells.append(f'{(two - one) / 1e6:.1f} M, 1 / {plain[preset] / (two - one):.1f}')
        print(f'| {title} | {" | ".join(cells)} |', flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
