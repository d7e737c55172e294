#!/usr/bin/env python3
"""Checks the man pages against the programs, the headers and the README, and by mandoc where it is there.

man_pages.py SOURCE_ROOT PROGRAM_FOLDER"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

root, programs = Path(sys.argv[1]), Path(sys.argv[2])
folder = root / 'docs' / 'man'
SECTIONS = ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'ENVIRONMENT', 'FILES', 'EXIT STATUS', 'EXAMPLES', 'SEE ALSO']
OPTIONAL = {'ENVIRONMENT'}
wrong = []


def compare(what, page, other):
    """Notes names that one of two sets lacks."""
    for name in sorted(set(page) - set(other)):
        wrong.append(f'{what}: {name} is only in the man pages')
    for name in sorted(set(other) - set(page)):
        wrong.append(f'{what}: {name} is not in the man pages')


def installed_programs():
    return [name for name in os.listdir(programs) if re.fullmatch(r'shiftvit-[a-z]+', name)]


def check_sections(path):
    """The sections of a program's page in their order, each with text."""
    parts = re.split(r'^\.Sh (.*)\n', path.read_text(encoding='utf-8'), flags=re.M)
    found = [name for name in parts[1::2] if name != 'SETTINGS']
    wanted = [name for name in SECTIONS if name in found or name not in OPTIONAL]
    if found != wanted:
        wrong.append(f'{path.name}: the sections are {found}, not {wanted}')
    for name, text in zip(parts[1::2], parts[2::2]):
        if not text.strip():
            wrong.append(f'{path.name}: {name} is empty')


def check_references(path, pages):
    for name, section in re.findall(r'^\.Xr (shiftvit\S*) (\d)', path.read_text(encoding='utf-8'), re.M):
        if f'{name}.{section}' not in pages:
            wrong.append(f'{path.name}: there is no page {name}({section})')


def check_library_page():
    """shiftvit(3) has the headers and status codes of the library, and the program of the README."""
    page = (folder / 'shiftvit.3').read_text(encoding='utf-8')
    umbrella = (root / 'include/shiftvit/shiftvit.h').read_text(encoding='utf-8')
    status = (root / 'include/shiftvit/status.h').read_text(encoding='utf-8')
    compare('headers', re.findall(r'^\.It In (\S+)', page, re.M), re.findall(r'#include <(shiftvit/\S+)>', umbrella))
    compare('status codes', re.findall(r'^\.It Dv (\S+)', page, re.M), re.findall(r'^    (SVIT_E_\w+) =', status, re.M))
    readme = (root / 'README.md').read_text(encoding='utf-8')
    program = re.search(r'<!-- program: begin -->\n```c\n(.*?)```', readme, re.S)
    if '.Bd -literal\n' + program[1].replace('\\', '\\e') + '.Ed\n' not in page:
        wrong.append('shiftvit.3: the program of EXAMPLES is not that of the README')


def lint(paths):
    if not shutil.which('mandoc'):
        print('mandoc is missing: its checks are left out')
        return
    done = subprocess.run(['mandoc', '-Tlint', '-W', 'warning', *paths], capture_output=True, text=True)
    if done.returncode or done.stdout:
        wrong.append(done.stdout + done.stderr)


def show(paths):
    """Formats the pages as readers see them, where man is the one that has --warnings."""
    version = subprocess.run(['man', '--version'], capture_output=True, text=True) if shutil.which('man') else None
    if not version or version.returncode:
        print('man-db is missing: its checks are left out')
        return
    environment = dict(os.environ, LC_ALL='C.UTF-8', MANWIDTH='100')
    for path in paths:
        done = subprocess.run(['man', '-P', 'cat', '-l', '--warnings', path], capture_output=True, text=True,
                              env=environment)
        if done.returncode or done.stderr or 'NAME' not in done.stdout:
            wrong.append(f'{path}: {done.stderr or done.stdout[:200]}')


paths = sorted(folder.glob('*.[135]'))
pages = [path.name for path in paths]
compare('programs', [name[:-2] for name in pages if name.endswith('.1')], installed_programs())
if not wrong:
    done = subprocess.run([sys.executable, str(folder / 'options.py'), 'check', str(programs),
                           *[str(path) for path in paths if path.suffix == '.1']], capture_output=True, text=True)
    if done.returncode:
        wrong.append(done.stdout + done.stderr)
for path in paths:
    check_references(path, pages)
    if path.suffix == '.1':
        check_sections(path)
check_library_page()
lint([str(path) for path in paths])
show([str(path) for path in paths])
names = re.search(r'foreach name : \[([^]]*)\]', (folder / 'meson.build').read_text())[1]
compare('installed pages', [name for name in pages if name.endswith('.1')],
        [f'shiftvit-{name}.1' for name in re.findall(r"'(.*?)'", names)])
print('\n'.join(wrong) or f'{len(pages)} pages')
sys.exit(bool(wrong))
