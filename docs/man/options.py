#!/usr/bin/env python3
"""Writes the options of the programs into their man pages, from their --help, or checks them.

options.py write|check PROGRAM_FOLDER PAGE...
A page keeps what stands outside the marks `.\\" NAME: begin` and `.\\" NAME: end`. NAME is OPTIONS, or SETTINGS for the
fields of --set. `check` fails if a page and the help of its program differ in any word, or if the part that is written
by hand names an option that its program does not have."""
import functools
import os
import re
import subprocess
import sys
import textwrap

OPTION = re.compile(r'^  (?:-(?P<short>.), |    )--(?P<long>[a-z0-9-]+)(?:=(?P<value>[^\s\]]+)|\[=(?P<optional>\S+)\])?(?: +(?P<text>.*))?$')
FIELD = re.compile(r'^  (\S+) +(\S+) +default (\S+) +(.*)$')


def program_name(path):
    return os.path.basename(path).rsplit('.', 1)[0]


@functools.cache
def program_help(folder, name):
    """The text of --help with one line for each option: the margin is wide enough for any."""
    environment = dict(os.environ, SHIFTVIT_HELP_WIDTH='8000', LC_ALL='C')
    return subprocess.run([os.path.join(folder, name), '--help'], env=environment, check=True,
                          capture_output=True, text=True).stdout.splitlines()


def escape(text):
    return text.replace('\\', '\\e').replace('--', '\\-\\-')


def prose(text):
    """Lines of a paragraph, each sentence on lines of its own."""
    lines = []
    for sentence in re.split(r'(?<=[a-z0-9)\]][.]) (?=[A-Z0-9])', text):
        lines += textwrap.wrap(escape(sentence), 78, break_long_words=False, break_on_hyphens=False)
    return ['\\&' + line if line[0] in ".'" else line for line in lines]


def option_entry(match):
    # Of -?, --help the page gives the long form too, as of all others.
    flags = '.It Fl '
    if match['short']:
        flags += match['short'].replace('?', '\\&?') + ' , Fl '
    flags += '\\-' + match['long'].replace('-', '\\-')
    if match['value']:
        # A value such as FIELD=VALUE or FILE.png is one word of the page.
        flags += ' Ns = Ns Ar ' + match['value']
    if match['optional']:
        flags += ' Ns Op Ns = Ns Ar ' + match['optional']
    return [flags] + prose(match['text'])


def options(lines):
    """The part OPTIONS: a list for each group of options."""
    page, is_open = [], False
    for line in lines:
        match = OPTION.match(line)
        heading = re.match(r'^ (\S.*):$', line)
        if line.startswith('Mandatory or optional arguments'):
            break
        if match:
            page += [] if is_open else ['.Bl -tag -width Ds']
            page += option_entry(match)
            is_open = True
        elif heading:
            page += (['.El'] if is_open else []) + ['.Ss ' + escape(heading[1])]
            is_open = False
        elif line.startswith(' '):
            raise SystemExit(f"options.py: '{line}' of the help is neither an option nor a heading")
    return page + (['.El'] if is_open else [])


def settings(lines):
    """The part SETTINGS: a list for each kind of fields."""
    page = []
    for line in lines:
        match = FIELD.match(line)
        if line.startswith('Fields of '):
            title = re.sub(r' for --set and --config.*', '', line).rstrip(':')
            page += (['.El'] if page else []) + ['.Ss ' + title, '.Bl -tag -width label_smoothing_']
        elif match and page:
            name, kind, default, accepted = match.groups()
            page += ['.It Cm ' + name] + prose(f'{kind}, default {default}, {accepted}')
    return page + (['.El'] if page else [])


def with_part(page, name, lines):
    """The page with `lines` between the marks of the part `name`."""
    begin, end = f'.\\" {name}: begin\n', f'.\\" {name}: end\n'
    if begin not in page or end not in page:
        return page
    head, rest = page.split(begin, 1)
    return head + begin + ''.join(line + '\n' for line in lines) + end + rest.split(end, 1)[1]


def known_options(folder, name):
    return {match['long'] for match in map(OPTION.match, program_help(folder, name)) if match}


def unknown_options(page, folder, name):
    """Options in the prose and the examples of a page that the program there does not have."""
    plain = re.sub(r'\n\.\\" (\w+): begin\n.*?\n\.\\" \1: end\n', '\n', page, flags=re.S)
    named = [(name, option) for line in re.findall(r'^\.Fl .*|^\.Op Fl .*', plain, re.M)
             for option in re.findall(r'\\-([a-z0-9\\-]+)', line)]
    for command in re.findall(r'^(shiftvit-\w+ .*(?:\\e\n.*)*)', plain, re.M):
        named += [(command.split()[0], option) for option in re.findall(r' \\-\\-([a-z0-9\\-]+)', command)]
    return sorted({f'{program} --{option}' for program, option in
                   ((program, option.replace('\\', '')) for program, option in named)
                   if option not in known_options(folder, program)})


def renewed(path, folder):
    name = program_name(path)
    lines = program_help(folder, name)
    with open(path, encoding='utf-8') as file:
        page = file.read()
    if '.\\" OPTIONS: begin\n' not in page:
        raise SystemExit(f'{path}: the marks of the part OPTIONS are missing')
    if any(line.startswith('Fields of ') for line in lines) and '\n.Sh SETTINGS\n' not in page:
        raise SystemExit(f'{path}: {name} has settings, so the page needs a section SETTINGS')
    return page, with_part(with_part(page, 'OPTIONS', options(lines)), 'SETTINGS', settings(lines))


def option_words(page):
    return set(re.findall(r'\\-([a-z0-9\\-]+)', ' '.join(re.findall(r'^\.It Fl .*', page, re.M))))


def main():
    action, folder, *paths = sys.argv[1:]
    wrong = 0
    for path in paths:
        page, new = renewed(path, folder)
        for unknown in unknown_options(page, folder, program_name(path)):
            wrong += 1
            print(f'{path}: there is no option {unknown}')
        if action == 'write' and page != new:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(new)
        elif page != new:
            wrong += 1
            gone, missing = option_words(page) - option_words(new), option_words(new) - option_words(page)
            for what, words in (('does not have', gone), ('has too', missing)):
                for word in sorted(words):
                    print(f'{path}: the program {what}: --' + word.replace('\\', ''))
            for old_line, new_line in zip(page.splitlines(), new.splitlines()):
                if old_line != new_line:
                    print(f"{path}: '{old_line}' should be '{new_line}'")
                    break
    if wrong:
        print('the parts from --help are renewed by: python3 docs/man/options.py write BUILD/examples docs/man/*.1')
    return wrong > 0


sys.exit(main())
