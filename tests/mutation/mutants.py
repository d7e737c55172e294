"""The faults that mutate.py plants: which text of a C file becomes which, and which files belong to which class."""
import os
import platform
import random
import re
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'coverage'))
import report  # pylint: disable=wrong-import-position

# The classes, over which the drawn mutants are spread evenly, and their folders.
CLASSES = {
    'kernels': ('lib/kernels', 'lib/base/numbers'),
    'gemm': ('lib/gemm',),
    'layers': ('lib/layers', 'lib/session'),
    'optimisers': ('lib/optim',),
    'losses': ('lib/losses',),
    'loaders': ('lib/data/datasets', 'lib/data/loading', 'lib/data/augmentation', 'lib/data/resampling'),
    'parsers': ('lib/config', 'lib/io', 'lib/data/decoding', 'lib/data/shards'),
    'trainer': ('lib/trainer', 'lib/features'),
}

# Files that the builds of other CPUs alone compile.
FOREIGN = () if platform.machine() in ('aarch64', 'arm64') else ('_neon.c',)

# Pairs of what a binary operator becomes; the layout has one space on both sides of each.
OPERATORS = {
    'relation': {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='},
    'arithmetic': {'+': '-', '-': '+', '*': '/', '/': '*', '%': '/', '+=': '-=', '-=': '+=', '*=': '/='},
    'logic': {'&&': '||', '||': '&&'},
    'bits': {'<<': '>>', '>>': '<<', '&': '|', '|': '&', '|=': '&='},
}


def masked(text):
    """The text of a C file of the same length, where comments, strings, characters and preprocessor lines are blank."""
    def blank(match):
        return re.sub(r'[^\n]', ' ', match.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*',
                  blank, text, flags=re.S | re.M)


def functions(code):
    """The ranges of the bodies of functions: a brace in the first column opens one, as the layout has it."""
    start = None
    for match in re.finditer(r'^[{}]', code, re.M):
        if match.group() == '{':
            start = match.end()
        elif start is not None:
            yield start, match.start()
            start = None


def closing(code, at):
    """The index of the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] == '(') - (code[i] == ')')
        if depth == 0:
            return i
    return None


def found_in(text, code, start, end):
    """Yields (operator, begin, end, replacement) of the mutants of one function."""
    for kind, pairs in OPERATORS.items():
        for match in re.finditer(r'(?<= )([-+*/%<>=!&|]+)(?=[ \n])', code[start:end]):
            # A type in front makes it a pointer's declaration, which has no space behind the asterisk.
            if match.group() in pairs:
                yield kind, start + match.start(), start + match.end(), pairs[match.group()]
    for match in re.finditer(r'(?<![\w.\'])(\d+)(?![\w.])', code[start:end]):
        for step in (1, -1):
            yield 'constant', start + match.start(), start + match.end(), str(int(match.group()) + step).replace('-1', '(-1)')
    for match in re.finditer(r'(?<![\w.])(\d+\.\d*f?)(?![\w.])', code[start:end]):
        yield 'constant', start + match.start(), start + match.end(), f'({match.group()} + 1)'
    for match in re.finditer(r'\b(?:if|while) \(', code[start:end]):
        opened = start + match.end() - 1
        closed = closing(code, opened)
        if closed:
            yield 'condition', opened + 1, closed, f'!({text[opened + 1:closed]})'
    # A statement of one line: a call or an assignment, no declaration.
    for match in re.finditer(r'(?<=\n)[ \t]+((?:\*?\w[\w.>\[\]+*-]*|\(\*\w+\)[\w.\[\]>-]*) ?(?:[-+*/|&]?= |\()[^;{}\n]*;)(?=\n)', code[start:end]):
        if not re.match(r'(return|if|while|for|switch|assert|SV_)\b|else', match.group(1)):
            yield 'statement', start + match.start(1), start + match.end(1), ';'
    for match in re.finditer(r'(?<=[(=,?:] )-(?=[\w(])|(?<=[(\[])-(?=[a-z(])|(?<=return )-(?=[\w(])', code[start:end]):
        yield 'sign', start + match.start(), start + match.end(), ''
    for match in re.finditer(r'(?<=return )([a-z]\w*)(?=;)', code[start:end]):
        if match.group() not in ('true', 'false', 'status'):
            yield 'sign', start + match.start(), start + match.end(), f'-{match.group()}'
    for match in re.finditer(r'\btrue\b|\bfalse\b', code[start:end]):
        yield 'constant', start + match.start(), start + match.end(), 'false' if match.group() == 'true' else 'true'
    for match in re.finditer(r'(?<=\w)\[([a-z]\w*)\](?! ?= ?\{)', code[start:end]):
        yield 'index', start + match.start(1), start + match.end(1), f'{match.group(1)} + 1'
    # Two arguments that change places, such as those of a difference, and minimum for maximum.
    for match in re.finditer(r'(?<=[(, ])([a-z]\w*), ([a-z]\w*)(?=[,)])', code[start:end]):
        yield 'swap', start + match.start(), start + match.end(), f'{match.group(2)}, {match.group(1)}'
    for match in re.finditer(r'\bfmaxf?\b|\bfminf?\b', code[start:end]):
        word = match.group()
        yield 'swap', start + match.start(), start + match.end(), word.replace('max', 'MIN').replace('min', 'max').replace('MIN', 'min')


def of_file(root, path):
    """All mutants of a file: (path, operator, begin, end, replacement)."""
    with open(os.path.join(root, path), encoding='utf-8') as file:
        text = file.read()
    code = masked(text)
    return [(path, *mutant) for start, end in functions(code) for mutant in found_in(text, code, start, end)]


def candidates(root):
    """The mutants of each class by their operator: {class: {operator: [mutant]}}. Code that this CPU has no
    instructions for has none, since nothing runs it."""
    lacked = report.lacked()
    by_class = {}
    for name, folders in CLASSES.items():
        by_operator = by_class.setdefault(name, {})
        for folder in folders:
            for at, _, files in sorted(os.walk(os.path.join(root, folder))):
                for file in sorted(files):
                    path = os.path.relpath(os.path.join(at, file), root)
                    if path.startswith(lacked) or not file.endswith(('.c', '_impl.h')) or file.endswith(
                            ('_absent.c', *FOREIGN)):
                        continue
                    for mutant in of_file(root, path):
                        by_operator.setdefault(mutant[1], []).append(mutant)
    return by_class


def draw(root, count, seed):
    """`count` mutants, [(class, mutant)]: the classes in turn, in each an operator at random, of that a mutant at random.
    The first n of them do not depend on `count`."""
    by_class = candidates(root)
    generator = random.Random(seed)
    drawn = []
    taken = set()
    while len(drawn) < count:
        for name, by_operator in by_class.items():
            operator = generator.choice(sorted(by_operator))
            mutant = generator.choice(by_operator[operator])
            if mutant[:1] + mutant[2:] not in taken and len(drawn) < count:
                taken.add(mutant[:1] + mutant[2:])
                drawn.append((name, mutant))
    return drawn
