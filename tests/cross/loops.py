#!/usr/bin/env python3
"""Counts the instructions of the inner loops of the microkernels in a build for 64-bit Arm.

usage: loops.py BUILD [OBJDUMP]

For each full microkernel: the largest of the innermost loops that consist of multiply-adds to a quarter, and in it the multiply-adds, the
loads, the other instructions, and the accesses of the stack, which would be spilled registers. The exit status is 1 if a
loop accesses the stack for more than two pointers.
"""
import pathlib
import re
import subprocess
import sys

SOURCES = {'tile_driver.c.o': 'float32', 'int8_pairs.c.o': 'int8, NEON', 'bf16_neon.c.o': 'bfloat16, BFMMLA',
           'gemm_dotprod': 'int8, SDOT', 'gemm_i8mm': 'int8, SMMLA'}
MULTIPLY_ADDS = {'fmla', 'sdot', 'smmla', 'bfmmla', 'smull', 'smull2', 'smlal', 'smlal2'}
FULL = re.compile(r'(?:f32|int8|int8x2|bf16x4)_(?:full_[34]|columns_[34]|small_m_3)(?:\.\w+)*$')


def functions(objdump, path):
    """(name, [(address, mnemonic, operands)]) of each function of an object file."""
    text = subprocess.run([objdump, '-d', '--no-show-raw-insn', path], capture_output=True, text=True, check=True).stdout
    for block in re.split(r'\n(?=[0-9a-f]{16} <)', text):
        head = re.match(r'[0-9a-f]{16} <(\S+)>:', block)
        if head:
            rows = re.findall(r'^\s+([0-9a-f]+):\s+(\S+)\s*(.*)$', block, re.MULTILINE)
            yield head[1], [(int(address, 16), mnemonic, operands) for address, mnemonic, operands in rows]


def loops(code):
    """The bodies of the innermost loops: from the target of a backward branch to the branch."""
    addresses = {address: index for index, (address, _, _) in enumerate(code)}
    spans = []
    for index, (address, mnemonic, operands) in enumerate(code):
        target = re.search(r'\b([0-9a-f]+) <', operands)
        if mnemonic[0] == 'b' or mnemonic in ('cbz', 'cbnz', 'tbz', 'tbnz'):
            first = addresses.get(int(target[1], 16)) if target else None
            if first is not None and first <= index:
                spans.append((first, index))
    return [code[a:b + 1] for a, b in spans if not any((c, d) != (a, b) and a <= c and d <= b for c, d in spans)]


def count(loop):
    """Multiply-adds, loads of vectors, of these the stack's, and instructions of a loop."""
    adds = sum(mnemonic in MULTIPLY_ADDS for _, mnemonic, _ in loop)
    loads = sum(mnemonic.startswith('ld') for _, mnemonic, _ in loop)
    stack = sum('[sp' in operands and mnemonic.startswith(('ld', 'st')) for _, mnemonic, operands in loop)
    return adds, loads, stack, len(loop)


def main(build, objdump='aarch64-linux-gnu-objdump'):
    spilled = 0
    print('| kernel | microkernel | multiply-adds | loads | loads a multiply-add | instructions | of the stack |')
    print('|---|---|---|---|---|---|---|')
    for path in sorted(pathlib.Path(build, 'lib').rglob('*.o')):
        title = next((title for part, title in SOURCES.items() if part in str(path)), None)
        if not title or 'double' in str(path):
            continue
        for name, code in functions(objdump, path):
            if FULL.search(name):
                adds, loads, stack, length = max(row for row in map(count, loops(code)) if row[0] / row[3] > 0.25)
                spilled += stack > 2
                print(f'| {title} | `{name}` | {adds} | {loads} | {loads / max(adds, 1):.2f} | {length} | {stack} |')
    return 1 if spilled else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
