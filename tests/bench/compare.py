"""Compares the library's speed with its peers': runs shiftvit-bench and every installed peer in turn,
stores their output lines, and writes the tables of a page in docs/dev/.

    python3 tests/bench/compare.py --bench build/examples/shiftvit-bench --out results.jsonl \\
        --python ~/venv-torch/bin/python --python ~/venv-onnx/bin/python
    python3 tests/bench/compare.py --from results.jsonl
"""
import argparse
import json
import os
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Callable, Iterator, TextIO

from compare_predict import Inputs, predict_ours, predict_peer
from compare_runs import (OURS, PRESETS, RUNNERS, WORKS, Environments, Job, RunError, Runner,
                          run_ours, run_peer)
from compare_table import Record, make_tables, split_page, value_of, write_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "dev" / "comparison-avx512-bf16.md"


def list_of(*known: str) -> Callable[[str], list[str]]:
    """An argument's type: names from a list, separated by commas."""
    def parse(text: str) -> list[str]:
        names = text.split(",")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"'{unknown[0]}' is not among {', '.join(dict.fromkeys(known))}")
        return names
    return parse


def at_least(kind: type, least: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value = kind(text)
        if not least <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text} is not {least} or more")
        return value
    parse.__name__ = kind.__name__
    return parse


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    results = parser.add_mutually_exclusive_group(required=True)
    results.add_argument("--out", type=Path, metavar="FILE",
                         help="run, and write the raw results here; never over an old file")
    results.add_argument("--from", type=Path, metavar="FILE", dest="source",
                         help="run nothing; make the tables from these raw results")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE",
                        help="the page that has the two markers (default "
                             "docs/dev/comparison-avx512-bf16.md)")
    parser.add_argument("--bench", metavar="PATH", help="shiftvit-bench, with the other programs")
    parser.add_argument("--python", action="append", metavar="PATH",
                        help="Python of an environment with peers; may be repeated (default: this)")
    parser.add_argument("--rounds", type=at_least(int, 1), default=5)
    parser.add_argument("--seconds", type=at_least(float, 0.01), default=10.0, help="of each run")
    parser.add_argument("--limit", type=at_least(float, 1), default=900.0,
                        help="seconds after which a run is stopped (default 900)")
    parser.add_argument("--batch", type=at_least(int, 1), default=256,
                        help="but for latency, startup and predict, which have 1 (default 256)")
    parser.add_argument("--threads", type=at_least(int, 1), default=len(os.sched_getaffinity(0)))
    parser.add_argument("--works", type=list_of(*WORKS), default=list(WORKS), metavar="NAME,...")
    parser.add_argument("--models", type=list_of(*PRESETS), default=list(PRESETS),
                        metavar="NAME,...")
    parser.add_argument("--only", metavar="NAME,...", default=[r.name for r in RUNNERS],
                        type=list_of(*[r.peer for r in RUNNERS], *[r.name for r in RUNNERS]),
                        help="peers (torch) or forms (torch:stock, shiftvit:bf16), beside ours")
    arguments = parser.parse_args()
    if arguments.out and not arguments.bench:
        parser.error("--out needs --bench")
    return arguments


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    for model in arguments.models:
        for work in arguments.works:
            batch = 1 if work in ("latency", "startup", "predict") else arguments.batch
            yield Job(model, work, batch, arguments.threads, arguments.seconds)


def chosen(arguments: argparse.Namespace, work: str) -> list[Runner]:
    """The library in float32 is always included, since the speed of the others is relative to it."""
    return [runner for runner in RUNNERS if work in runner.works
            and (OURS == runner.name or runner.name in arguments.only
                 or runner.peer in arguments.only)]


class Runs:
    """What all runs need: the programs, the Pythons, and a folder that is removed at the end."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.bench, self.limit = arguments.bench, arguments.limit
        self.environments = Environments(arguments.python or [sys.executable])
        self.inputs = Inputs(arguments.bench, folder)

    def result(self, job: Job, runner: Runner) -> dict[str, object]:
        predict = job.work == "predict"
        if runner.peer == OURS:
            return (predict_ours(self.inputs, job, self.limit) if predict
                    else run_ours(self.bench, runner, job, self.limit))
        return self.environments.run(runner.peer, lambda python: (
            predict_peer(python, self.inputs, runner, job, self.limit) if predict
            else run_peer(python, runner, job, self.limit)))

    def record(self, job: Job, runner: Runner) -> Record:
        try:
            return {"result": self.result(job, runner)}
        except RunError as error:
            return {"error": str(error)}


def run_rounds(arguments: argparse.Namespace, runs: Runs) -> Iterator[Record]:
    """Every round runs every line, the library and its peers one after the other. The first one changes
    from round to round, so that no line always runs after the same other line."""
    for number in range(1, arguments.rounds + 1):
        for job in jobs(arguments):
            runners = chosen(arguments, job.work)
            first = (number - 1) % len(runners)
            for runner in runners[first:] + runners[:first]:
                begin = time.perf_counter()
                record = runs.record(job, runner)
                yield {"round": number, "model": job.model, "work": job.work,
                       "runner": runner.name, "took_s": round(time.perf_counter() - begin, 1),
                       **record}


def tell(record: Record) -> None:
    what = f"round {record['round']}: {record['model']} {record['work']} {record['runner']}: "
    if "error" in record:
        print(what + record["error"], file=sys.stderr)
    else:
        print(what + f"{value_of(record['work'], record['result']):.4g}, "
              f"took {record['took_s']:g} s", file=sys.stderr)


def put(file: TextIO, record: Record) -> None:
    """Writes the line at once, so that an interrupted comparison loses nothing."""
    file.write(json.dumps(record) + "\n")
    file.flush()


def measure(arguments: argparse.Namespace) -> None:
    header = {"date": date.today().isoformat(), "batch": arguments.batch,
              "threads": arguments.threads, "rounds": arguments.rounds,
              "seconds": arguments.seconds}
    with open(arguments.out, "x", encoding="utf-8") as file, \
            tempfile.TemporaryDirectory(prefix="shiftvit-bench-") as folder:
        # The code that torch's compiler generates in the first round is reused in the others.
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(folder, "inductor")))
        put(file, {"header": header})
        for record in run_rounds(arguments, Runs(arguments, Path(folder))):
            put(file, record)
            tell(record)


def load(path: Path) -> tuple[Record, list[Record]]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return lines[0]["header"], lines[1:]


def main() -> int:
    """Returns 1 if there is no table or the library failed. A peer that fails is named in the table."""
    arguments = parse_arguments()
    try:
        split_page(arguments.page.read_text(encoding="utf-8"))
        if arguments.out:
            measure(arguments)
        header, records = load(arguments.source or arguments.out)
        write_page(arguments.page, make_tables(header, records))
    except (OSError, ValueError, KeyError, IndexError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"compare.py: stopped; what was measured is in {arguments.out}", file=sys.stderr)
        return 130
    return 1 if any("error" in record for record in records if record["runner"] == OURS) else 0


if __name__ == "__main__":
    sys.exit(main())
