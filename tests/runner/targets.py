#!/usr/bin/env python3
"""Prints the files of a build that its tests need, for ninja: without what only the checks of the tree need.

targets.py BUILD PATTERN

PATTERN is a regular expression for whole names of tests; those of the suites structure and install do not count.
"""
import json
import os
import re
import subprocess
import sys


def introspect(build, what):
    return json.loads(subprocess.run(['meson', 'introspect', build, what], check=True, capture_output=True).stdout)


def matching_tests(build, pattern, left_out):
    """The tests whose whole names match the pattern, without those of the suites in `left_out`."""
    whole = re.compile(pattern)
    return [test for test in introspect(build, '--tests')
            if whole.fullmatch(test['name']) and not left_out & {suite.split(':')[-1] for suite in test['suite']}]


def main():
    build, pattern = sys.argv[1:]
    # Tests that came or went since the build was configured.
    configured = subprocess.run(['ninja', '-C', build, 'build.ninja'], capture_output=True, text=True)
    if configured.returncode:
        sys.exit(configured.stdout + configured.stderr)
    files = {target['id']: target['filename'] for target in introspect(build, '--targets')}
    needed = {file
              for test in matching_tests(build, pattern, {'structure', 'install'})
              for target in test['depends']
              for file in files[target]}
    folder = os.path.realpath(build)
    print(*sorted(os.path.relpath(file, folder) for file in needed))


if __name__ == '__main__':
    main()
