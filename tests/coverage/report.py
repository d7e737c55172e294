#!/usr/bin/env python3
"""Prints the coverage of lib/ by folder, and what is not reached, from the JSON report of gcovr.

report.py COVERAGE.json UNREACHED.txt

A line of UNREACHED.txt is `FILES: CLASS: TEXT`: where lines of FILES, a pattern, contain TEXT, they have branches that no
test of this build takes, and CLASS is the reason, as the comments of that file define it. They count as not reached all the
same; the report only sorts them apart from those without a reason.
"""
import collections
import fnmatch
import json
import os
import re
import sys

# Code for instructions that this CPU lacks cannot run: the flag of /proc/cpuinfo, and whose folder or file it is.
INSTRUCTION_SETS = (('amx_tile', 'lib/gemm/amx/'), ('amx_tile', 'lib/gemm/low_precision/bf16_pack_impl.h'),
                    ('avx512_bf16', 'lib/gemm/low_precision/bf16_dot.c'),
                    ('avx512_vnni', 'lib/gemm/low_precision/int8_dot.c'),
                    ('avx512_vnni', 'lib/gemm/low_precision/int8_pack_impl.h'))


def cpu_flags():
    with open('/proc/cpuinfo', encoding='ascii', errors='replace') as file:
        return next((set(line.split()) for line in file if line.startswith('flags')), set())


def lacked():
    """The folders and files whose instructions this CPU lacks."""
    flags = cpu_flags()
    return tuple(path for flag, path in INSTRUCTION_SETS if flag not in flags)


def read_reasons(path):
    reasons = []
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            for line in file:
                if line.strip() and not line.startswith('#'):
                    reasons.append(tuple(line.rstrip('\n').split(': ', 2)))
    return reasons


DECISION = re.compile(r'\b(?:if|for|while|switch|case|do)\b|&&|\|\||\?|\b(?!SV_X86|SV_ISA\b)[A-Z][A-Z0-9_]+\(')
# Where the compiler copies code: for each instruction set and precision, each form of a microkernel, each caller.
COPIED = 'lib/kernels/', 'lib/gemm/'


def decisions(path):
    """The lines of a file in statements that decide something. gcov also gives branches to lines of vector code without
    any, where a function was inlined; they belong to the lines of that function."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    code = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                  lambda match: re.sub(r'[^\n]', ' ', match.group()), text, flags=re.S)
    deciding = set()
    number = 1
    # A statement ends at a semicolon outside of parentheses, or at a brace.
    start, depth = 0, 0
    for at, character in enumerate(code + ';'):
        depth += (character == '(') - (character == ')')
        if character in '{}' or (character == ';' and depth <= 0):
            statement = code[start:at + 1]
            if DECISION.search(statement):
                deciding.update(range(number, number + statement.count('\n') + 1))
            number += statement.count('\n')
            start, depth = at + 1, 0
    return deciding, text.split('\n')


def fold(branches, source):
    """The outcomes of a line's decisions, of which copies exist: one that some copy takes is taken."""
    wanted = 2 * max(1, len(DECISION.findall(source)))
    if len(branches) <= wanted:
        return branches
    period = wanted if len(branches) % wanted == 0 else 2
    return [any(branches[at::period]) for at in range(period)]


def percent(reached, total):
    return f'{100 * reached / total:6.2f} %' if total else '      - '


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        report = json.load(file)
    reasons = read_reasons(sys.argv[2])
    used = set()
    left_out = lacked()
    counts = collections.defaultdict(lambda: [0] * 6)
    missed = []
    classes = collections.Counter()
    for entry in sorted(report['files'], key=lambda entry: entry['file']):
        path = entry['file']
        if any(path.startswith(start) for start in left_out):
            continue
        deciding, text = decisions(path)
        for line in entry['lines']:
            if line.get('gcovr/noncode'):
                continue
            source = text[line['line_number'] - 1].strip()
            each = [branch['count'] > 0 for branch in line['branches']]
            if path.startswith(COPIED):
                branches = fold(each, source) if DECISION.search(source) else []
            else:
                branches = each if line['line_number'] in deciding else []
            taken = sum(branches)
            amounts = line['count'] > 0, 1, taken, len(branches), sum(each), len(each)
            for key in (os.path.dirname(path), 'total'):
                counts[key] = [a + b for a, b in zip(counts[key], amounts)]
            if line['count'] > 0 and taken == len(branches):
                continue
            found = next((reason for reason in reasons if fnmatch.fnmatch(path, reason[0]) and reason[2] in source), None)
            used.add(found)
            classes[found[1] if found else 'no reason given'] += len(branches) - taken
            missed.append((path, line['line_number'], line['count'] > 0, taken, len(branches), source, found))
    print('Not reached: file:line, branches taken of all (or that the line never ran), its text')
    for path, number, ran, taken, branches, source, found in missed:
        what = f'{taken}/{branches}' if ran else 'never'
        print(f'{path}:{number}: {what}: {source}' + (f'  [{found[1]}]' if found else ''))
    for reason in reasons:
        if reason not in used:
            print('reached after all, or gone:', ': '.join(reason))
    print('\nBranches that are not reached, by the reason in', sys.argv[2])
    for name, amount in classes.most_common():
        print(f'{amount:6} {name}')
    print()
    for path in left_out:
        print(f'not counted, since this CPU lacks the instructions: {path}')
    print('branches: outcomes of decisions in the source; each copy: all that gcov counts, where the compiler copied code')
    print(f'{"folder":26} {"lines":>24} {"branches":>24} {"each copy":>24}')
    for key in sorted(counts, key=lambda key: (key == 'total', key)):
        pairs = zip(counts[key][::2], counts[key][1::2])
        print(f'{key:26}' + ''.join(f' {reached:6} / {all_:5} {percent(reached, all_)}' for reached, all_ in pairs))


if __name__ == '__main__':
    main()
