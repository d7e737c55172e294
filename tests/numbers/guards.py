"""Checks that every public function that returns a status begins with SV_DEFAULT_FP_ENV, sets the environment of the
forwards, or has its reason in guards.txt: no result depends on the floating-point environment of the program, which
the test environments can only see where a scenario of it computes what another environment changes.
guards.py SOURCE_ROOT"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
FUNCTION = re.compile(r'^(?:SVIT_API )?(?:static )?(?:inline )?[\w ]+[ *](\w+)\(([^;{}]*)\)\n\{\n(.*?)^\}', re.M | re.S)
MACRO = re.compile(r'SVIT_API svit_status name##(_\w+)\([^{]*\)\s*\{(.*?)\n    \}', re.S)
GUARD = 'SV_DEFAULT_FP_ENV;'


def read_sources():
    """Returns {name: body} of all functions, the public ones that return a status, and the configurations."""
    bodies, public, configurations = {}, [], set()
    for path in sorted((root / 'lib').rglob('*.c')):
        if path.stem.endswith('_absent'):  # which fail, all of them
            continue
        text = path.read_text()
        configurations.update(re.findall(r'^SV_CONFIG_(?:INIT|FUNCTIONS)\((\w+),', text, re.M))
        for found in FUNCTION.finditer(text):
            bodies[found[1]] = found[3]
            if found[0].startswith('SVIT_API svit_status '):
                public.append(found[1])
    text = (root / 'lib/config/config.h').read_text().replace('\\\n', '\n')
    for found in MACRO.finditer(re.sub(r' +\n', '\n', text)):
        bodies['*' + found[1]] = found[2]
        public.append('*' + found[1])
    return bodies, public, configurations


def read_declared():
    """Returns the names that the public headers declare."""
    return {name for path in (root / 'include/shiftvit').glob('*.h')
            for name in re.findall(r'^SVIT_API svit_status (\w+)\(', path.read_text(), re.M)}


def read_list():
    """Returns {name: the function that computes for it, '' if nothing is computed}."""
    listed, inside = {}, ''
    for line in (root / 'tests/numbers/guards.txt').read_text().splitlines():
        if line.startswith('in '):
            inside = line[3:]
        elif line.startswith('  '):
            listed.update((name, inside) for name in line.split())
    return listed


def reaches(bodies, name, wanted):
    seen, todo = set(), [name]
    while todo:
        for called in re.findall(r'\b\w+(?=\()', bodies.get(todo.pop(), '')):
            if called == wanted:
                return True
            if called not in seen:
                seen.add(called)
                todo.append(called)
    return False


bodies, public, configurations = read_sources()
listed, faults = read_list(), []
guarded = {name for name, body in bodies.items() if GUARD in body or 'sv_fp_env_begin()' in body}
for name in public:
    if name not in guarded and name not in listed:
        faults.append(f'{name} lacks {GUARD} If it computes nothing, tests/numbers/guards.txt says so.')
    if GUARD in bodies[name] and not bodies[name].lstrip().startswith(GUARD):
        faults.append(f'{name} does not begin with {GUARD}')
for name, inside in listed.items():
    if name not in public or name in guarded:
        faults.append(f'{name} in guards.txt is no public function without {GUARD}')
    elif inside and (inside not in guarded or not reaches(bodies, name, inside)):
        faults.append(f'{name} does not call {inside}, or that has no environment of its own')
known = set(public) | {of + name[1:] for of in configurations for name in public if name[0] == '*'}
faults += [f'{name} has no definition that this test finds' for name in sorted(read_declared() - known)]
print('\n'.join(faults) or f'{len(public)} public functions, {len(listed)} of them in guards.txt')
sys.exit(bool(faults))
