#!/usr/bin/env python3
"""Prints the lines of code of lib/ and include/ by folder, beside those of the last release or of a revision.

lines.py ROOT [REVISION]
lines.py --record ROOT > tests/structure/lines.txt    # at a release

A line of code is neither empty nor a comment. It is a figure, not a limit: what a change adds should be worth its lines.
"""
import argparse
import collections
import pathlib
import re
import subprocess

FOLDERS = ('lib', 'include')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\])*")', re.S)


def code_lines(text):
    """The lines of a C file that are left without its comments; texts may look like comments."""
    return sum(1 for line in COMMENT.sub(lambda match: match.group(1) or '', text).splitlines() if line.strip())


def of_files(files):
    """{folder: lines} of pairs (path, text)."""
    counts = collections.Counter()
    for path, text in files:
        counts[str(pathlib.PurePosixPath(path).parent)] += code_lines(text)
    return counts


def of_tree(root):
    return of_files((path.relative_to(root).as_posix(), path.read_text())
                    for folder in FOLDERS for path in (root / folder).rglob('*.[ch]'))


def of_revision(root, revision):
    git = ['git', '-C', str(root)]
    names = subprocess.run([*git, 'ls-tree', '-r', '--name-only', revision, *FOLDERS], check=True, capture_output=True,
                           text=True).stdout.split()
    return of_files((name, subprocess.run([*git, 'show', f'{revision}:{name}'], check=True, capture_output=True,
                                          text=True).stdout) for name in names if name.endswith(('.c', '.h')))


def of_record(path):
    """The name of the release and its counts."""
    head, *lines = path.read_text().splitlines()
    return head, collections.Counter({folder: int(count) for folder, count in map(str.split, lines)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--record', action='store_true')
    parser.add_argument('root', type=pathlib.Path)
    parser.add_argument('revision', nargs='?')
    options = parser.parse_args()
    now = of_tree(options.root)
    if options.record:
        print(re.search(r"version: '([^']+)'", (options.root / 'meson.build').read_text()).group(1))
        for folder in sorted(now):
            print(folder, now[folder])
        return
    name, before = ((options.revision, of_revision(options.root, options.revision)) if options.revision else
                    of_record(options.root / 'tests/structure/lines.txt'))
    print(f'{"lines of code":32}{name:>10}{"now":>10}{"change":>10}')
    for folder in sorted({*now, *before}):
        if now[folder] != before[folder]:
            print(f'{folder:32}{before[folder]:10}{now[folder]:10}{now[folder] - before[folder]:+10}')
    all_before, all_now = sum(before.values()), sum(now.values())
    print(f'{"all":32}{all_before:10}{all_now:10}{all_now - all_before:+10}')


if __name__ == '__main__':
    main()
