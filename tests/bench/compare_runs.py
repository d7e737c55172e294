"""Runs one runner once: the library's shiftvit-bench, or a peer in a virtual environment that has it."""
import json
import math
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

WORKS = ("train", "infer", "latency", "data", "startup")
RUN_ONLY = ("infer", "latency", "startup")
PRESETS = {"shiftvit": "shiftvit-cifar10", "vit": "vit-cifar100", "slvit": "slvit-cifar100"}
PEERS = Path(__file__).with_name("peers")
NOT_INSTALLED = 3
OURS = "shiftvit"


class RunError(Exception):
    """One run failed; the message says why."""


class NotInstalled(RunError):
    """No environment that was given has the peer."""


class Runner(NamedTuple):
    peer: str
    script: str
    form: str
    works: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.peer}:{self.form}"


RUNNERS = (
    Runner("torch", "torch_peer.py", "stock", WORKS),
    Runner("torch", "torch_peer.py", "fastdrop", ("train",)),
    Runner("torch", "torch_peer.py", "compile", ("train", "infer", "latency")),
    Runner("onnxruntime", "onnx_peer.py", "stock", RUN_ONLY),
    Runner("openvino", "openvino_peer.py", "stock", RUN_ONLY),
    Runner("keras", "keras_peer.py", "stock", WORKS),
    Runner("keras", "keras_peer.py", "xla", ("train", "infer", "latency")),
)


class Job(NamedTuple):
    model: str
    work: str
    batch: int
    threads: int
    seconds: float


def stop(process: subprocess.Popen[str]) -> None:
    """Ends the program and what it started, all of which is in its own session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()


def reason_in(complaint: str) -> str:
    """The last line that names an error, as Python's do, or else the last of all."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)]
    return (errors or lines or ["no message"])[-1]


def run(command: list[str], limit: float) -> str:
    """The last line that the program prints."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace",
                                   start_new_session=True)
    except OSError as error:
        raise RunError(f"cannot run '{command[0]}': {error.strerror}") from error
    try:
        output, complaint = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        stop(process)
        raise RunError(f"not done after {limit:g} s") from None
    except BaseException:
        stop(process)
        raise
    last = (output.strip().splitlines() or [""])[-1]
    if process.returncode == NOT_INSTALLED and last.startswith("not installed:"):
        raise NotInstalled(last)
    if process.returncode != 0:
        raise RunError(f"exit status {process.returncode}: {reason_in(complaint)}")
    return last


def checked(line: str, wanted: dict[str, object], numbers: tuple[str, ...]) -> dict[str, object]:
    """The line's object: the answer to what was asked, with numbers above 0 where numbers belong."""
    try:
        answer = json.loads(line)
    except ValueError:
        raise RunError(f"its last line is not JSON: '{line[:80]}'") from None
    if not isinstance(answer, dict):
        raise RunError(f"its last line is not a JSON object: '{line[:80]}'")
    for key, value in wanted.items():
        if answer.get(key) != value:
            raise RunError(f"asked for {key} {value}, its answer has {answer.get(key)}")
    for key in numbers:
        value = answer.get(key)
        if type(value) not in (int, float) or not math.isfinite(value) or value <= 0:
            raise RunError(f"{key} is {value}; a number above 0 is wanted")
    return answer


def run_ours(bench: str, job: Job, limit: float) -> dict[str, object]:
    """Start-up is that of a batch of 1: latency, for as short as can be."""
    startup = job.work == "startup"
    work, preset = "latency" if startup else job.work, PRESETS[job.model]
    line = run([bench, f"--work={work}", f"--preset={preset}", f"--batch={job.batch}",
                f"--threads={job.threads}", f"--seconds={0 if startup else job.seconds}",
                "--repeat=1", "--quiet"], limit)
    numbers = ("images_per_second", "startup_ms", "peak_gflops", "peak_rss_mib")
    if work != "data":
        numbers += ("gflop_per_image",)
    asked = {"work": work, "preset": preset, "batch": job.batch, "threads": job.threads}
    answer = checked(line, asked, numbers)
    result = {key: answer[key] for key in numbers if key != "startup_ms"}
    result["startup_s"] = answer["startup_ms"] / 1000
    result["details"] = f"{answer.get('gemm')} products, {answer.get('instruction_set')}"
    return result


def run_peer(python: str, runner: Runner, job: Job, limit: float) -> dict[str, object]:
    asked = {**job._asdict(), "form": runner.form}
    line = run([python, str(PEERS / runner.script)]
               + [f"--{key}={value}" for key, value in asked.items()], limit)
    numbers: tuple[str, ...] = ("startup_s", "peak_rss_mib")
    if job.work != "startup":
        numbers += ("images_per_second",)
    answer = checked(line, {"runner": runner.peer, **asked}, numbers)
    return {**{key: answer[key] for key in numbers}, "details": str(answer.get("details", ""))}


class Environments:
    """Which of the given Pythons has which peer; found out by the first run of each."""

    def __init__(self, pythons: list[str]) -> None:
        self.pythons = pythons
        self.found: dict[str, str] = {}
        self.missing: dict[str, NotInstalled] = {}

    def run(self, runner: Runner, job: Job, limit: float) -> dict[str, object]:
        if runner.peer in self.missing:
            raise self.missing[runner.peer]
        if runner.peer in self.found:
            return run_peer(self.found[runner.peer], runner, job, limit)
        for python in self.pythons:
            try:
                result = run_peer(python, runner, job, limit)
            except NotInstalled as error:
                missing = error
            else:
                self.found[runner.peer] = python
                return result
        self.missing[runner.peer] = missing
        raise missing
