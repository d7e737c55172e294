#!/usr/bin/env python3
"""Prints the names of the tests of a build that match, one a line. That none does is an error: `meson test` without a
name runs all tests.

names.py BUILD PATTERN [SUITE...]

PATTERN is a regular expression for whole names; tests of the suites structure, install and packages, and of those that
are given, do not count. The list is that of the last configuration.
"""
import sys

import targets


def main():
    build, pattern, *left_out = sys.argv[1:]
    names = [test['name'] for test in targets.matching_tests(build, pattern, {'structure', 'install', 'packages', *left_out})]
    if not names:
        sys.exit(f'no test of {build} matches {pattern}')
    print(*names, sep='\n')


if __name__ == '__main__':
    main()
