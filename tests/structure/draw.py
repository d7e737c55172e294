#!/usr/bin/env python3
"""Draws comments of lib/ and include/ and functions of lib/ at random, for somebody who reads them without the rest of the code.

draw.py [--comments N] [--header-comments N] [--functions N] [--seed TEXT] ROOT

The seed is the commit's hash unless one is given, so that the draw is repeatable and not chosen. Each line of the
output names a file and a line.
"""
import argparse
import pathlib
import random
import re
import subprocess

COMMENT = re.compile(r'/\*.*?\*/', re.S)
FUNCTION = re.compile(r'^(?!typedef|struct|enum|#)[A-Za-z_][^;{}()=]*\b(\w+)\([^;{}]*\)\n\{', re.M)


def found(root, folder, pattern):
    """(file, line, first words) of each match in a folder, in the order of the files."""
    for path in sorted((root / folder).rglob('*.[ch]')):
        text = path.read_text()
        for match in pattern.finditer(text):
            words = ' '.join(match.group(0).split())[:60]
            yield path.relative_to(root), text.count('\n', 0, match.start()) + 1, words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--comments', type=int, default=80)
    parser.add_argument('--header-comments', type=int, default=20, help='of include/, beside the others of lib/')
    parser.add_argument('--functions', type=int, default=20)
    parser.add_argument('--seed')
    parser.add_argument('root', type=pathlib.Path)
    options = parser.parse_args()
    seed = options.seed or subprocess.run(['git', '-C', options.root, 'rev-parse', 'HEAD'], check=True,
                                          capture_output=True, text=True).stdout.strip()
    draw = random.Random(seed)
    print(f'seed {seed}')
    for kind, folder, pattern, count in (('comment', 'lib', COMMENT, options.comments),
                                         ('comment', 'include', COMMENT, options.header_comments),
                                         ('function', 'lib', FUNCTION, options.functions)):
        everything = list(found(options.root, folder, pattern))
        for path, line, words in sorted(draw.sample(everything, min(count, len(everything)))):
            print(f'{kind} {path}:{line}: {words}')


if __name__ == '__main__':
    main()
