"""What the comparisons of random configurations share: options, draws, and the counts of what was found."""

import argparse
import fnmatch
import json
import os
import random
import re
import sys
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Generic, Iterator, TypeVar

ABSENT = object()  #: the value of a member that is not written
Draw = dict[str, Any]  #: a configuration, with its `library` and its `class`


def one_of(rng: random.Random, *pairs: tuple[int, Any]) -> Any:
    """A value of pairs of a weight and a value."""
    return rng.choices([value for _, value in pairs], [weight for weight, _ in pairs])[0]


def given(**members: Any) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not ABSENT}


@dataclass
class Row:
    """A line of the table: the configurations of one class."""
    compared: int = 0
    refused: int = 0  #: by the library
    failed: int = 0  #: the peer's code


AnyRow = TypeVar("AnyRow", bound=Row)


def message_of(error: Exception) -> str:
    """A peer's message without its paths."""
    text = re.sub(r"/\S*", "FOLDER", " ".join(str(error).split()))
    return f"{type(error).__name__}: {text}"[:110]


def without_numbers(text: str) -> str:
    return re.sub(r"\b\d+(\.\d+)?(e-?\d+)?\b", "N", text)


class Comparison(ABC, Generic[AnyRow]):
    """What was found in the configurations that were run."""

    def __init__(self, row: type[AnyRow]) -> None:
        self.new_row = row
        self.rows: dict[str, AnyRow] = {}
        self.refusals: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.wrong = 0

    @abstractmethod
    def run(self, draw: Draw, whole: bool) -> None:
        """Compares a configuration, `whole` with what takes long."""

    def row_of(self, draw: Draw) -> AnyRow:
        return self.rows.setdefault(f"{draw['library']}/{draw['class']}", self.new_row())

    def note(self, counter: Counter[str], message: str, draw: Draw) -> None:
        """Counts a message of a library, and keeps its first configuration."""
        message = f"{draw['library']}: {message}"
        counter[message] += 1
        self.examples.setdefault(message, json.dumps(draw))

    def refuse(self, draw: Draw, message: str) -> None:
        self.row_of(draw).refused += 1
        self.note(self.refusals, message, draw)

    def fail(self, draw: Draw, message: str) -> None:
        self.row_of(draw).failed += 1
        self.note(self.failures, message, draw)

    def report(self, text: str, draw: Draw) -> None:
        """Prints what is wrong in a configuration."""
        self.wrong += 1
        print(f"{text}: {json.dumps(draw)}", flush=True)

    def messages(self, examples: bool) -> str:
        """The lines below the table."""
        text = ""
        for title, counter in (("refused", self.refusals), ("the peer fails", self.failures)):
            text += "\n"
            for message, count in counter.most_common():
                text += f"{title}: {count} {message}\n" + (f"    {self.examples[message]}\n" if examples else "")
        total = [sum(getattr(row, part) for row in self.rows.values()) for part in ("compared", "refused", "failed")]
        return text + f"\ncompared: {total[0]}; refused: {total[1]}; the peer fails: {total[2]}; wrong: {self.wrong}\n"


def read_options(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--only", default="*", help="library/class that match a pattern")
    parser.add_argument("--count", type=int, default=200, help="configurations of each library")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", help="one configuration, as JSON")
    parser.add_argument("--examples", action="store_true", help="prints a configuration of each refusal")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def import_library(build: Path) -> Any:
    """The Python binding, over the library of a build."""
    os.environ.setdefault("SHIFTVIT_LIBRARY", str(build.resolve() / "lib/libshiftvit.so"))
    sys.path.insert(0, str(Path(__file__).parents[2] / "bindings/python"))
    import shiftvit

    return shiftvit


def draws(options: argparse.Namespace, libraries: dict[str, Callable[[random.Random], Draw]],
          whole_every: int) -> Iterator[tuple[Draw, bool]]:
    """The configurations, and which are compared as a whole. Each has its own seed."""
    if options.repeat:
        yield json.loads(options.repeat), True
        return
    for library, draw_one in libraries.items():
        for index in range(options.count):
            draw = draw_one(random.Random(f"{options.seed} {library} {index}"))
            if fnmatch.fnmatch(f"{library}/{draw['class']}", options.only):
                yield draw, index % whole_every == 0


def run_all(comparison: Comparison[AnyRow], drawn: Iterator[tuple[Draw, bool]]) -> None:
    for draw, whole in drawn:
        try:
            comparison.run(draw, whole)
        except Exception as error:  # noqa: BLE001: one configuration must not end the others
            where = traceback.extract_tb(error.__traceback__)[-1].name
            comparison.report(f"{message_of(error)} in {where}", draw)


def finish(comparison: Comparison[AnyRow], text: str, options: argparse.Namespace) -> int:
    """Prints the table, and returns the exit status."""
    print(text)
    if options.out:
        options.out.write_text(text)
    return 1 if comparison.wrong else 0
