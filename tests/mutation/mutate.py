#!/usr/bin/env python3
"""Plants faults into a copy of the library one at a time, and says which of them the tests catch.

mutate.py TREE BUILD COVERAGE RESULTS COUNT SEED [again]

TREE is a copy of the sources, whose files are changed and put back; BUILD its build. COVERAGE is a build of
tests/coverage.sh, whose counts of each test say which tests reach a line. Only those can catch a fault there, and they
run until the first that fails or takes too long. RESULTS gets a line for each mutant as it is judged, and mutants that
it has are not judged again, except those that survived with `again`. Mutants of which the compiler makes the same
library, and those in TREE/tests/mutation/equivalent.txt, change nothing that a caller can see.
"""
import collections
import concurrent.futures
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import mutants

# A test that takes this many times its usual seconds, and these more, has been caught in a loop.
TIMEOUT_FACTOR, TIMEOUT_SECONDS = 4, 10
# Seconds of tests for one mutant, after which only those of two seconds and less are run: the nearest by name come first.
# Those that survived get four times as many with `again`.
BUDGET = 60
# Tests that repeat what others run, in other amounts, threads or precision, as tests/coverage.sh says.
LEFT_OUT = re.compile('determinism|small_stack|many_threads|.*_double')
# So many tests run at a time.
PROCESSORS = os.cpu_count() or 1
# run() has the limits of time; Check's own are for a machine that does nothing else.
ENVIRONMENT = dict(os.environ, MALLOC_PERTURB_='165', CK_TIMEOUT_MULTIPLIER='20')


def introspect(build, what):
    return json.loads(subprocess.run(['meson', 'introspect', build, what], check=True, capture_output=True).stdout)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def write(path, text):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


class Tests:
    """The tests of the build, the seconds that each takes without a fault, and their programs' targets."""

    def __init__(self, build):
        self.build = build
        files = {target['id']: [os.path.relpath(file, os.path.realpath(build)) for file in target['filename']]
                 for target in introspect(build, '--targets')}
        self.by_name = {}
        for test in introspect(build, '--tests'):
            suites = {suite.split(':')[-1] for suite in test['suite']}
            if not suites & {'structure', 'install', 'packages'} and os.path.exists(test['cmd'][0]):
                test['files'] = [file for target in test['depends'] for file in files[target]]
                # Only tests of the library in double have it within them, and have to be linked again.
                test['shared'] = b'libshiftvit.so' in open(test['cmd'][0], 'rb').read()
                self.by_name[test['name']] = test
        self.seconds = {}

    def run(self, name, limit):
        """'passed', 'failed', or 'timeout'."""
        test = self.by_name[name]
        process = subprocess.Popen(test['cmd'], env={**ENVIRONMENT, **test['env']}, cwd=test['workdir'] or self.build,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            status = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            self.end(process)
            return 'timeout'
        # 77 is a skipped test.
        return 'passed' if status in (0, 77) else 'failed'

    @staticmethod
    def end(process):
        """Ends a test. Check has its cases in groups of their own, which it kills where it is asked to end."""
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def run_all(self, names, limit):
        """What run() says of each, with as many at a time as there are processors."""
        with concurrent.futures.ThreadPoolExecutor(PROCESSORS) as pool:
            return list(pool.map(lambda name: self.run(name, limit(name)), names))

    def usual_seconds(self, name):
        """None if it fails."""
        begun = time.time()
        return time.time() - begun if self.run(name, 600) == 'passed' else None

    def measure(self, cache):
        """Runs all without a fault. A test that fails then, such as one that wraps functions of the library, is left out."""
        known = {}
        if os.path.exists(cache):
            with open(cache, encoding='utf-8') as file:
                known = json.load(file)
        names = [name for name in sorted(self.by_name) if not LEFT_OUT.fullmatch(name)]
        new = [name for name in names if name not in known]
        with concurrent.futures.ThreadPoolExecutor(PROCESSORS) as pool:
            known.update(zip(new, pool.map(self.usual_seconds, new)))
        for name in names:
            if known[name] is None:
                print(f'left out, since it fails without a fault: {name}', flush=True)
            else:
                self.seconds[name] = known[name]
        with open(cache, 'w', encoding='utf-8') as file:
            json.dump(known, file, indent=0)


class Reach:
    """Which tests reach a line, by the counts of the coverage build."""

    def __init__(self, coverage, tests):
        self.coverage = coverage
        self.tests = tests
        self.of_file = {}
        # A test that was not counted may reach anything.
        self.unknown = [name for name in tests.seconds if not os.path.isdir(self.folder(name))]

    def folder(self, name):
        """Where tests/coverage/count.sh leaves the counts of a test."""
        command = self.tests.by_name[name]['cmd']
        return f'{self.coverage}/counts/{os.path.basename(command[0])}-{os.path.basename(command[-1])}'

    def objects(self, path):
        """The notes of the objects that have the lines of a file: of a header, those of its folder."""
        inside = path[len('lib/'):] if path.endswith('.c') else os.path.dirname(path)[len('lib/'):] + '/*.c'
        folders = {'lib/*': inside}
        if inside.startswith('gemm/'):
            folders['lib/gemm/*'] = inside[len('gemm/'):]
        return [os.path.relpath(note, self.coverage) for folder, name in folders.items()
                for note in glob.glob(f'{self.coverage}/{folder}/{name.replace("/", "_")}.gcno')]

    def counts(self, path):
        """{test: the lines of `path` that it runs}."""
        if path in self.of_file:
            return self.of_file[path]
        lines = collections.defaultdict(set)
        objects = self.objects(path)
        with tempfile.TemporaryDirectory() as folder:
            owners = {}
            for test in self.tests.seconds:
                for number, note in enumerate(objects):
                    data = f'{self.folder(test)}/{note[:-len("gcno")]}gcda'
                    if os.path.exists(data):
                        base = f'{len(owners)}_{number}'
                        owners[base] = test
                        os.symlink(os.path.join(self.coverage, note), f'{folder}/{base}.gcno')
                        os.symlink(data, f'{folder}/{base}.gcda')
            names = [f'{base}.gcda' for base in owners]
            for start in range(0, len(names), 50):
                for name in names[start:start + 50]:
                    done = subprocess.run(['gcov', '-i', '-t', name], cwd=folder, capture_output=True, check=False)
                    if b'mismatch' in done.stderr:
                        # gcov takes every line for one that never ran: every fault would survive 0 tests.
                        sys.exit(f'{path}: the coverage build is newer than its counts: run tests/coverage.sh again')
                    for document in done.stdout.decode(errors='replace').splitlines():
                        for file in json.loads(document)['files']:
                            if os.path.normpath(file['file']).endswith(path):
                                lines[owners[name[:-len('.gcda')]]].update(
                                    line['line_number'] for line in file['lines'] if line['count'] > 0)
        self.of_file[path] = lines
        return lines

    def of(self, path, numbers):
        return self.unknown + [test for test, lines in self.counts(path).items() if lines & numbers]


def words(name):
    return set(re.split(r'[_/.]', name)) - {'lib', 'c', 'h', 'test', 'golden'}


class Judge:
    def __init__(self, tree, build, tests, reach, budget):
        self.tree, self.build, self.tests, self.reach, self.budget = tree, build, tests, reach, budget
        # Where an earlier call was ended, its compiler may have finished the mutant behind it.
        self.planted = f'{build}/planted'
        if os.path.exists(self.planted):
            os.utime(f'{tree}/{read(self.planted)}')
        self.ninja(LIBRARY)
        self.original = self.library()
        with open(f'{tree}/tests/mutation/equivalent.txt', encoding='utf-8') as file:
            self.equivalent = [tuple(part.strip() for part in line.split(' @@ '))[:3]
                               for line in file if ' @@ ' in line and not line.startswith('#')]

    def library(self):
        with open(f'{self.build}/{LIBRARY}', 'rb') as file:
            return file.read()

    def ninja(self, *targets):
        return subprocess.run(['ninja', '-C', self.build, '-j', '1', *targets], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0

    def order(self, path, names):
        """Those of which it is unknown, the quick ones, and those whose names share a word with the file first."""
        near = words(path)
        return sorted(names, key=lambda name: (name not in self.reach.unknown,
                                               self.tests.seconds[name] * 0.2 ** len(near & words(name))))

    def affordable(self, names):
        """Those that are run: after the budget the quick ones alone."""
        spent = 0
        for name in names:
            usual = self.tests.seconds[name]
            if spent + usual <= self.budget or usual <= 2:
                spent += usual
                yield name

    def run_tests(self, names):
        wanted = list(self.affordable(names))
        for start in range(0, len(wanted), PROCESSORS):
            some = wanted[start:start + PROCESSORS]
            for name in some:
                test = self.tests.by_name[name]
                if not test['shared'] and not self.ninja(*test['files']):
                    return 'does not compile', ''
            results = self.tests.run_all(some, lambda name: TIMEOUT_FACTOR * self.tests.seconds[name] + TIMEOUT_SECONDS)
            for name, result in zip(some, results):
                if result != 'passed':
                    return 'caught', name + (' (timeout)' if result == 'timeout' else '')
        return 'survived', f'{len(names)} tests reach it'

    def lines(self, mutant):
        """(file:line, the line without the fault, the line with it)"""
        path, _, begin, end, new = mutant
        text = read(f'{self.tree}/{path}')
        first, last = text.rfind('\n', 0, begin) + 1, text.find('\n', end)
        return (f'{path}:{text.count(chr(10), 0, begin) + 1}', ' '.join(text[first:last].split()),
                ' '.join((text[first:begin] + new + text[end:last]).split()))

    def reaching(self, path, text, begin, end):
        """The tests that reach a place. gcov counts a statement of several lines at some of them."""
        number = text.count('\n', 0, begin) + 1
        names = self.reach.of(path, set(range(number, number + text.count('\n', begin, end) + 1)))
        if len(names) == len(self.reach.unknown):
            code = mutants.masked(text)
            statement = max(code.rfind(mark, 0, begin) for mark in ';{}') + 1
            names = self.reach.of(path, set(range(code.count('\n', 0, statement) + 1,
                                                  code.count('\n', 0, code.find(';', end)) + 2)))
        return names

    def judge(self, mutant):
        """(verdict, by whom)"""
        path, _, begin, end, new = mutant
        text = read(f'{self.tree}/{path}')
        _, old, changed = self.lines(mutant)
        if (path, old, changed) in self.equivalent:
            return 'equivalent', ''
        if old.startswith('assert('):
            return 'equivalent', 'an assertion, which a release leaves out'
        names = self.reaching(path, text, begin, end)
        try:
            write(self.planted, path)
            write(f'{self.tree}/{path}', text[:begin] + new + text[end:])
            if not self.ninja(LIBRARY):
                return 'does not compile', ''
            if self.library() == self.original:
                return 'equivalent', 'the same library'
            return self.run_tests(self.order(path, names))
        finally:
            write(f'{self.tree}/{path}', text)


LIBRARY = 'lib/libshiftvit.so.1.0.0'


def report(rows):
    table = collections.defaultdict(collections.Counter)
    operators = collections.defaultdict(collections.Counter)
    for row in rows:
        for name in (row['class'], 'all'):
            table[name][row['verdict']] += 1
        operators[row['operator']][row['verdict']] += 1
    verdicts = 'caught', 'equivalent', 'survived', 'does not compile'
    for heading, counts in (('class', table), ('operator', operators)):
        print(f'\n{heading:12} {"mutants":>8}' + ''.join(f'{verdict:>18}' for verdict in verdicts))
        for name, counter in counts.items():
            print(f'{name:12} {sum(counter.values()):8}' + ''.join(f'{counter[verdict]:18}' for verdict in verdicts))
    judged = table['all']['caught'] + table['all']['survived']
    if judged:
        print(f'\n{table["all"]["caught"]} of {judged} mutants that compile and change something are caught: '
              f'{100 * table["all"]["caught"] / judged:.1f} %')
    for row in rows:
        if row['verdict'] == 'survived':
            print(f'survived: {row["where"]} ({row["class"]}, {row["operator"]}; {row["by"]})\n  - {row["old"]}\n  + {row["new"]}')


def read_rows(path):
    """The rows by the mutant, of which the last counts."""
    rows = {}
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            for line in file:
                row = json.loads(line)
                rows[row['where'].split(':')[0], row['old'], row['new']] = row
    return rows


def find_again(judge, row):
    """The mutant of an earlier row: by its texts, of several the nearest, since lines may have moved. None: it is gone."""
    path, number = row['where'].split(':')
    same = [mutant for mutant in mutants.of_file(judge.tree, path)
            if mutant[1] == row['operator'] and judge.lines(mutant)[1:] == (row['old'], row['new'])]
    return min(same, key=lambda mutant: abs(int(judge.lines(mutant)[0].split(':')[1]) - int(number)), default=None)


def main():
    # So that the file that is changed is put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    tree, build, coverage, results = map(os.path.abspath, sys.argv[1:5])
    again = 'again' in sys.argv[7:]
    tests = Tests(build)
    tests.measure(os.path.join(os.path.dirname(build), 'seconds.json'))
    judge = Judge(tree, build, tests, Reach(coverage, tests), 4 * BUDGET if again else BUDGET)
    rows = read_rows(results)
    with open(results, 'a', encoding='utf-8') as log:
        if again:
            drawn = [(row['class'], find_again(judge, row)) for row in rows.values() if row['verdict'] == 'survived']
            drawn = [(name, mutant) for name, mutant in drawn if mutant]
        else:
            drawn = mutants.draw(tree, int(sys.argv[5]), int(sys.argv[6]))
        for name, mutant in drawn:
            where, old, new = judge.lines(mutant)
            key = mutant[0], old, new
            if key in rows and not again:
                continue
            begun = time.time()
            verdict, by = judge.judge(mutant)
            rows[key] = {'class': name, 'operator': mutant[1], 'where': where, 'old': old, 'new': new,
                         'verdict': verdict, 'by': by}
            log.write(json.dumps(rows[key]) + '\n')
            log.flush()
            print(f'{len(rows)} {verdict} ({by}; {time.time() - begun:.0f} s): {where}: {old}  ->  {new}', flush=True)
    report(list(rows.values()))


if __name__ == '__main__':
    main()
