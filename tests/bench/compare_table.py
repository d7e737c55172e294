"""Writes the tables of a page in docs/dev/ from the output lines of a comparison."""
import os
import tempfile
import textwrap
from pathlib import Path
from statistics import median
from typing import NamedTuple

from compare_runs import OURS

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
MODELS = {"shiftvit": "ShiftViT", "vit": "ViT", "slvit": "SL-ViT"}
TITLES = {"train": "training", "infer": "inference", "latency": "one image",
          "data": "images augmented", "startup": "start to first result",
          "predict": "a program's start to an image's classes"}
UNITS = {"latency": "ms", "startup": "s", "predict": "s"}  # else images a second
Record = dict[str, object]


class Line(NamedTuple):
    """The results of one runner in one work: a value for each round that it finished."""
    runner: str
    values: list[float]
    ratios: list[float]     # its speed over ours of the same round
    fractions: list[float]  # of the same round's FMA peak
    memory: list[float]
    startups: list[float]
    errors: list[str]


def value_of(work: str, result: Record) -> float:
    if work == "startup":
        return result["startup_s"]
    if work == "predict":
        return result["process_s"]
    rate = result["images_per_second"]
    return 1000 / rate if work == "latency" else rate


def make_line(runner: str, work: str, records: list[Record], ours: dict[int, Record]) -> Line:
    line = Line(runner, [], [], [], [], [], [])
    for record in records:
        result = record.get("result")
        if result is None:
            line.errors.append(record["error"])
            continue
        value = value_of(work, result)
        line.values.append(value)
        line.memory.append(result["peak_rss_mib"])
        if "startup_s" in result:
            line.startups.append(result["startup_s"])
        reference = ours.get(record["round"])
        if reference is None:
            continue
        own = value_of(work, reference)
        line.ratios.append(own / value if work in UNITS else value / own)
        if "images_per_second" in result and "gflop_per_image" in reference and work != "startup":
            speed = result["images_per_second"] * reference["gflop_per_image"]
            line.fractions.append(speed / reference["peak_gflops"])
    return line


def make_lines(work: str, records: list[Record]) -> list[Line]:
    """The library first, then the peers by speed, with those without a value last."""
    runners = list(dict.fromkeys(record["runner"] for record in records))
    ours = {record["round"]: record["result"] for record in records
            if record["runner"] == OURS and "result" in record}
    lines = [make_line(runner, work, [r for r in records if r["runner"] == runner], ours)
             for runner in runners]
    sign = 1 if work in UNITS else -1
    return sorted(lines, key=lambda line: (line.runner != OURS, not line.values,
                                           sign * median(line.values or [0])))


def number(value: float) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def spread(values: list[float]) -> str:
    if not values:
        return ""
    text = number(median(values))
    return text if len(values) == 1 else f"{text} ({number(min(values))} to {number(max(values))})"


def plain(text: str) -> str:
    """A message without characters that would end a cell of a table."""
    return " ".join(text.replace("|", "/").split())[:200]


def row(line: Line) -> str:
    if not line.values:
        cells = [plain(line.errors[0]), "", "", "", "", "0"]
    else:
        rounds = len(line.values) + len(line.errors)
        count = f"{len(line.values)} of {rounds}" if line.errors else str(rounds)
        fraction = f"{100 * median(line.fractions):.0f} %" if line.fractions else ""
        cells = [spread(line.values), spread(line.ratios), fraction, f"{max(line.memory):,.0f}",
                 number(median(line.startups)) if line.startups else "", count]
    return "| " + " | ".join([line.runner] + cells) + " |"


def other_errors(line: Line) -> list[str]:
    """The distinct errors that the row does not show; a row without values shows the first one."""
    return list(dict.fromkeys(line.errors))[0 if line.values else 1:]


def section(model: str, work: str, records: list[Record]) -> list[str]:
    unit = UNITS.get(work, "images/s")
    lines = make_lines(work, records)
    startup = "by its own clock, s" if work == "predict" else "start-up, s"
    text = ["", f"### {MODELS[model]}, {TITLES[work]}", "",
            f"| runner | {unit} | speed to ours | of the FMA peak | peak memory, MiB | {startup} "
            "| n |", "|---|---|---|---|---|---|---|"]
    text += [row(line) for line in lines]
    failures = [f"- {line.runner} failed: {plain(error)}" for line in lines
                for error in other_errors(line)]
    return text + ([""] + failures if failures else [])


def heading(header: Record, records: list[Record]) -> str:
    peaks = [record["result"]["peak_gflops"] for record in records
             if record["runner"] == OURS and "peak_gflops" in record.get("result", {})]
    text = (f"Measured {header['date']}: batch {header['batch']}, {header['threads']} threads, "
            f"rounds of {header['seconds']:g} s: {header['rounds']}.")
    return text + (f" FMA peak {spread(peaks)} GFLOP/s." if peaks else "")


def forms(records: list[Record]) -> list[str]:
    """The distinct descriptions that each runner printed, one on each line."""
    said: dict[str, dict[str, None]] = {}
    for record in records:
        if "result" in record:
            details = said.setdefault(record["runner"], {})
            details[plain(record["result"]["details"])] = None
    return [textwrap.fill(f"- {runner}: {'; '.join(details)}", 110, subsequent_indent="  ",
                          break_long_words=False, break_on_hyphens=False) for runner, details in said.items()]


def make_tables(header: Record, records: list[Record]) -> str:
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record["model"], record["work"]), []).append(record)
    text = [heading(header, records)]
    for (model, work), group in groups.items():
        text += section(model, work, group)
    return "\n".join(text + ["", "### Forms", ""] + forms(records))


def split_page(text: str) -> tuple[str, str]:
    """The text before and after the tables, the markers included."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"'{BEGIN}' and then '{END}' are wanted, once each")
    return text[:text.index(BEGIN) + len(BEGIN)], text[text.index(END):]


def write_page(path: Path, tables: str) -> None:
    """Writes the tables between the markers. The page is replaced atomically."""
    before, after = split_page(path.read_text(encoding="utf-8"))
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent,
                                     delete=False) as file:
        file.write(f"{before}\n{tables}\n{after}")
    os.chmod(file.name, path.stat().st_mode)
    os.replace(file.name, path)
