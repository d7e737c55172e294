"""Shared by the peers: their options, their clock, and the one JSON line that compare.py reads."""
import time

BEGIN = time.perf_counter()  # before any other import, all of which a program pays for

import argparse
import json
import os
import sys
from typing import Callable, NamedTuple, NoReturn

MODELS = ("shiftvit", "vit", "slvit")
WORKS = ("train", "infer", "latency", "data", "startup", "predict")
PARAMETERS = {"shiftvit": 11690602, "vit": 21759012, "slvit": 21787748}
SHAPES = {"shiftvit": (48, 48, 3), "vit": (72, 72, 3), "slvit": (72, 72, 3)}
CLASSES = {"shiftvit": 10, "vit": 100, "slvit": 100}
NOT_INSTALLED = 3


class Options(NamedTuple):
    model: str
    work: str
    batch: int
    threads: int
    seconds: float
    form: str
    image: str = ""


class Peer(NamedTuple):
    """One work of one peer, ready to run: call() does it once and waits for its result."""
    call: Callable[[], object]
    details: str
    untimed_seconds: float = 0.0  # spent on choosing a form: no part of the start-up


def parse_options(works: tuple[str, ...], forms: tuple[str, ...]) -> Options:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--work", choices=works, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--form", choices=forms, default=forms[0])
    parser.add_argument("--image", default="", help="the image of predict, as bare bytes")
    options = Options(**vars(parser.parse_args()))
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    return options


def not_installed(error: ImportError) -> NoReturn:
    print(f"not installed: {error.name or error}")
    sys.exit(NOT_INSTALLED)


def process_age() -> float:
    """Seconds since the kernel started this process, the interpreter's own start included."""
    with open("/proc/self/stat", encoding="ascii") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def peak_memory() -> float:
    """Peak memory, MiB. getrusage would start from the size of the parent process."""
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def check_parameters(model: str, count: int) -> None:
    if count != PARAMETERS[model]:
        raise AssertionError(f"{model} has {count} parameters, wanted {PARAMETERS[model]}")


def measure(options: Options, peer: Peer) -> dict[str, object]:
    """The first call ends the start-up; the second is untimed, for compilers and caches. Then calls
    are repeated for the wanted time, as in shiftvit-bench."""
    peer.call()
    if options.work == "predict":
        return {"startup_s": time.perf_counter() - BEGIN}
    result: dict[str, object] = {"startup_s": process_age() - peer.untimed_seconds}
    if options.work != "startup":
        peer.call()
        calls, begin, elapsed = 0, time.perf_counter(), 0.0
        while elapsed < options.seconds or calls == 0:
            peer.call()
            calls += 1
            elapsed = time.perf_counter() - begin
        result["calls"] = calls
        result["images_per_second"] = calls * options.batch / elapsed
    return result


def report(options: Options, runner: str, peer: Peer) -> None:
    result = measure(options, peer)
    print(json.dumps({"runner": runner, **options._asdict(), "details": peer.details, **result,
                      "peak_rss_mib": peak_memory()}), flush=True)
