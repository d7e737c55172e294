"""Runs one runner once: the library's shiftvit-bench, or a peer in a virtual environment that has it."""
import json
import math
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import BinaryIO, Callable, NamedTuple

WORKS = ("train", "infer", "latency", "data", "startup", "predict")
ON_BATCHES = ("train", "infer", "latency")
RUN_ONLY = ("infer", "latency", "startup", "predict")
PRESETS = {"shiftvit": "shiftvit-cifar10", "vit": "vit-cifar100", "slvit": "slvit-cifar100"}
PEERS = Path(__file__).with_name("peers")
NOT_INSTALLED = 3
OURS = "shiftvit"


class RunError(Exception):
    """One run failed; the message says why."""


class NotInstalled(RunError):
    """No environment that was given has the peer."""


class Runner(NamedTuple):
    """The library has no script. Its forms are the types that it computes in; "" is float32."""
    peer: str
    script: str
    form: str
    works: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.peer}:{self.form}" if self.form else self.peer


RUNNERS = (
    Runner(OURS, "", "", WORKS),
    Runner(OURS, "", "bf16", ON_BATCHES),
    Runner(OURS, "", "int8", ("infer", "latency")),
    Runner("torch", "torch_peer.py", "stock", ON_BATCHES + ("data", "startup")),
    Runner("torch", "torch_peer.py", "fastdrop", ("train",)),
    Runner("torch", "torch_peer.py", "compile", ON_BATCHES),
    Runner("torch", "torch_peer.py", "bf16", ON_BATCHES),
    Runner("torch", "torch_peer.py", "compile-bf16", ON_BATCHES),
    Runner("onnxruntime", "onnx_peer.py", "stock", RUN_ONLY),
    Runner("onnxruntime", "onnx_peer.py", "int8", ("infer", "latency")),
    Runner("openvino", "openvino_peer.py", "stock", RUN_ONLY),
    Runner("openvino", "openvino_peer.py", "bf16", ("infer", "latency")),
    Runner("keras", "keras_peer.py", "stock", ON_BATCHES + ("data", "startup")),
    Runner("keras", "keras_peer.py", "xla", ON_BATCHES),
)


class Job(NamedTuple):
    model: str
    work: str
    batch: int
    threads: int
    seconds: float


class Done(NamedTuple):
    """A program that succeeded, as its parent measured it."""
    line: str  # the last that it printed
    seconds: float
    peak_mib: float


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and its child processes, which are in one session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def wait(process: subprocess.Popen[bytes], limit: float) -> float:
    """The peak memory of the ended process, MiB. Linux starts from the size of the parent process, here
    some 30 MiB, which is less than any runner uses."""
    timer = threading.Timer(limit, stop, (process,))
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        stop(process)
        process.wait()
        raise
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / 1024


def reason_in(complaint: str) -> str:
    """The last line that names an error, as Python's do. Without one, the last line that is not just a
    reference to a program's help."""
    lines = [line.strip() for line in complaint.splitlines()]
    lines = [line for line in lines if line and not line.startswith("Try `")]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)]
    return (errors or lines or ["no message"])[-1]


def text_of(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def run(command: list[str], limit: float) -> Done:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaint:
        begin = time.perf_counter()
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=complaint, start_new_session=True)
        except OSError as error:
            raise RunError(f"cannot run '{command[0]}': {error.strerror}") from error
        peak = wait(process, limit)
        seconds = time.perf_counter() - begin
        last = (text_of(output).strip().splitlines() or [""])[-1]
        if process.returncode == -signal.SIGKILL and seconds >= limit:
            raise RunError(f"not done after {limit:g} s")
        if process.returncode == NOT_INSTALLED and last.startswith("not installed:"):
            raise NotInstalled(last)
        if process.returncode != 0:
            reason = reason_in(text_of(complaint))
            raise RunError(f"exit status {process.returncode}: {reason}")
        return Done(last, seconds, peak)


def checked(line: str, wanted: dict[str, object], numbers: tuple[str, ...]) -> dict[str, object]:
    """Parses the output line, and checks that it has the wanted fields and positive numbers."""
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


def run_ours(bench: str, runner: Runner, job: Job, limit: float) -> dict[str, object]:
    """Start-up is measured with a batch of 1: the work `latency`, for the shortest time."""
    startup = job.work == "startup"
    work, preset = "latency" if startup else job.work, PRESETS[job.model]
    compute = runner.form or "f32"
    done = run([bench, f"--work={work}", f"--preset={preset}", f"--batch={job.batch}",
                f"--threads={job.threads}", f"--seconds={0 if startup else job.seconds}",
                f"--compute={compute}", "--repeat=1", "--quiet"], limit)
    numbers = ("images_per_second", "startup_ms", "peak_gflops", "peak_rss_mib")
    if work != "data":
        numbers += ("gflop_per_image",)
    asked = {"work": work, "preset": preset, "batch": job.batch, "threads": job.threads,
             "compute": compute}
    answer = checked(done.line, asked, numbers)
    result = {key: answer[key] for key in numbers if key != "startup_ms"}
    result["startup_s"] = answer["startup_ms"] / 1000
    result["details"] = f"{answer.get('gemm')} products, {answer.get('instruction_set')}"
    return result


def peer_command(python: str, runner: Runner, job: Job) -> list[str]:
    options = {**job._asdict(), "form": runner.form}
    return [python, str(PEERS / runner.script)] + [f"--{k}={v}" for k, v in options.items()]


def peer_result(line: str, runner: Runner, job: Job) -> dict[str, object]:
    numbers: tuple[str, ...] = ("startup_s", "peak_rss_mib")
    if job.work not in ("startup", "predict"):
        numbers += ("images_per_second",)
    asked = {"runner": runner.peer, **job._asdict(), "form": runner.form}
    answer = checked(line, asked, numbers)
    return {**{key: answer[key] for key in numbers}, "details": str(answer.get("details", ""))}


def run_peer(python: str, runner: Runner, job: Job, limit: float) -> dict[str, object]:
    return peer_result(run(peer_command(python, runner, job), limit).line, runner, job)


class Environments:
    """Which of the given Pythons has which peer, determined by the first run of each."""

    def __init__(self, pythons: list[str]) -> None:
        self.pythons = pythons
        self.found: dict[str, str] = {}
        self.missing: dict[str, NotInstalled] = {}

    def run(self, peer: str, run_with: Callable[[str], dict[str, object]]) -> dict[str, object]:
        """What run_with(python) returns for the Python that has the peer."""
        if peer in self.missing:
            raise self.missing[peer]
        if peer in self.found:
            return run_with(self.found[peer])
        for python in self.pythons:
            try:
                result = run_with(python)
            except NotInstalled as error:
                missing = error
            else:
                self.found[peer] = python
                return result
        self.missing[peer] = missing
        raise missing
