"""Runs pairs of operations on one model or one feature set in two threads. A fault may end the process, so
test_threads.py runs this program.

    python3 thread_pairs.py ROUNDS

prints each pair before it runs, then counts of the results and of the exceptions.
"""

from __future__ import annotations

import collections
import copy
import itertools
import pathlib
import sys
import tempfile
import threading
from typing import Any, Callable

import numpy as np
import shiftvit
from support import few, tiny

X, Y = few()
DLOGITS = np.full((6, 3), 0.01, np.float32)


class Shared:
    """What both threads use."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.model = tiny()
        self.model.pipeline = shiftvit._fit.plain_pipeline((32, 32), (32, 32), 3, 1.0)
        self.data = shiftvit.Dataset.from_arrays(X, Y)
        rng = np.random.default_rng(1)
        self.features = shiftvit.FeatureSet(rng.random((300, 8)), np.arange(300) % 3, classes=["a", "b", "c"])
        self.more = shiftvit.FeatureSet(rng.random((300, 8)), np.arange(300) % 4, classes=["b", "c", "d", "e"])
        self.queries = rng.random((200, 8), dtype=np.float32)
        self.weights = folder / "weights.safetensors"
        if not self.weights.exists():
            self.model.save(self.weights)
            shiftvit.save_checkpoint(folder / "checkpoint.safetensors", self.model)

    def trained(self, model: Any) -> None:
        """One step of a loop."""
        with shiftvit.Session(model, mode="train", max_batch=6) as session, shiftvit.Optimizer(model) as optimizer:
            session.backward(np.zeros_like(session.forward(X)))
            optimizer.step(session)

    def trainer(self) -> Any:
        return shiftvit.Trainer(self.model, self.data, pipeline=self.model.pipeline, epochs=1, batch=3)


def run_trainer(s: Any) -> None:
    with s.trainer() as trainer:
        trainer.run()


def swap(s: Any) -> None:
    with shiftvit.Optimizer(s.model, ema="plain") as optimizer:
        with shiftvit.Session(s.model, mode="train", max_batch=6) as session:
            session.backward(np.zeros_like(session.forward(X)))
            optimizer.step(session)
        optimizer.swap_average()


def forward(s: Any) -> None:
    with shiftvit.Session(s.model, max_batch=6) as session:
        for _ in range(5):
            session.forward(X)


def predict_one(s: Any) -> None:
    with shiftvit.Predictor(s.model) as predictor:
        for _ in range(5):
            predictor.predict(X)


def extract_one(s: Any) -> None:
    with shiftvit.Extractor(s.model) as extractor:
        for _ in range(5):
            extractor.extract(X)


def restore(s: Any) -> None:
    with shiftvit.Checkpoint(s.folder / "checkpoint.safetensors") as checkpoint:
        checkpoint.restore(s.model)


def write_parameter(s: Any) -> None:
    parameters = s.model.parameters()
    parameters["head.fc1.bias"] = parameters["head.fc1.bias"] + 1


#: Operations that read the model of Shared, then those that change it, then those of feature sets.
READS: dict[str, Callable[[Any], Any]] = {
    "predict": lambda s: s.model.predict(X),
    "evaluate": lambda s: s.model.evaluate(s.data),
    "forward": forward,
    "predictor": predict_one,
    "extractor": extract_one,
    "features": lambda s: shiftvit.FeatureSet.compute(s.model, s.data),
    "optimizer": lambda s: shiftvit.Optimizer(s.model).close(),
    "parameters": lambda s: dict(s.model.parameters()),
    "attributes": lambda s: (s.model.classes, s.model.pipeline, s.model.output, s.model.config, repr(s.model)),
    "frozen": lambda s: [s.model.is_trainable(name) for name in s.model.parameters()],
    "bytes": lambda s: s.model.to_bytes(),
    "save": lambda s: s.model.save(s.folder / f"{threading.get_ident()}.safetensors"),
    "onnx": lambda s: s.model.export_onnx(s.folder / f"{threading.get_ident()}.onnx"),
    "checkpoint": lambda s: shiftvit.save_checkpoint(s.folder / f"{threading.get_ident()}.checkpoint", s.model),
    "copy": lambda s: copy.deepcopy(s.model),
}
CHANGES: dict[str, Callable[[Any], Any]] = {
    "step": lambda s: s.trained(s.model),
    "fit": lambda s: s.model.fit(X, Y, epochs=1, batch_size=3),
    "trainer": run_trainer,
    "swap average": swap,
    "restore": restore,
    "load weights": lambda s: s.model.load_weights(
        s.weights, skip_mismatched=True, ignore_extra=True, allow_missing=True
    ),
    "set parameter": write_parameter,
    "freeze": lambda s: s.model.set_trainable("blocks.*", False),
    "thaw": lambda s: s.model.set_trainable("*"),
    "replace head": lambda s: s.model.replace_head(5).replace_head(3),
    "add classes": lambda s: s.model.add_classes(2),
    "fit head": lambda s: s.model.fit_head(s.features, epochs=1),
    "fit class": lambda s: s.model.fit_class(None, s.features),
    "adapters": lambda s: s.model.add_lora(2).merge_lora(),
    "names": lambda s: setattr(s.model, "classes", [f"class {i}" for i in range(s.model.num_classes)]),
    "no names": lambda s: setattr(s.model, "classes", None),
    "pipeline": lambda s: setattr(s.model, "pipeline", s.model.pipeline),
    "output": lambda s: setattr(s.model, "output", "sigmoid"),
}
FEATURES: dict[str, Callable[[Any], Any]] = {
    "append": lambda s: s.features.append(s.more),
    "append the other way": lambda s: s.more.append(s.features),
    "knn": lambda s: s.features.knn(s.queries, k=3),
    "view": lambda s: float(s.features.values.sum()) + int(s.features.labels.sum()),
    "names of classes": lambda s: (s.features.classes, s.features.num_classes, len(s.features), repr(s.features)),
    "save features": lambda s: s.features.save(s.folder / f"{threading.get_ident()}.features"),
    "fit a head": lambda s: s.model.fit_head(s.features, epochs=1),
}
#: Those that change a feature set.
APPENDS = ("append", "append the other way")
#: How an operation may end otherwise than by StateError: the model may have got another head, adapters or frozen parts
#: between two calls of one operation.
ACCEPTED = (shiftvit.Error, BufferError, KeyError)


def together(shared: Any, operations: list[Callable[[Any], Any]], rounds: int) -> list[BaseException | None]:
    """Runs each operation some times on its own thread, all at once."""
    barrier = threading.Barrier(len(operations))
    ends: list[BaseException | None] = []

    def work(operation: Callable[[Any], Any]) -> None:
        barrier.wait()
        for _ in range(rounds):
            try:
                operation(shared)
                ends.append(None)
            except BaseException as error:
                ends.append(error)

    threads = [threading.Thread(target=work, args=(operation,)) for operation in operations]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ends


def main(rounds: int) -> None:
    sys.setswitchinterval(1e-5)
    ends: collections.Counter[str] = collections.Counter()
    pairs = list(itertools.combinations_with_replacement({**READS, **CHANGES}.items(), 2))
    pairs += itertools.combinations_with_replacement(FEATURES.items(), 2)
    with tempfile.TemporaryDirectory() as name:
        for first, second in pairs:
            print(f"{first[0]} beside {second[0]}", flush=True)
            shared = Shared(pathlib.Path(name))
            for error in together(shared, [first[1], second[1]], rounds):
                ends[type(error).__name__] += 1
                if error is not None and not isinstance(error, ACCEPTED):
                    raise error
            assert np.isfinite(shared.model.predict(X)).all()
            assert np.isfinite(shared.features.knn(shared.queries)).all()
    print(f"{len(pairs)} pairs", *(f"{count} {name}" for name, count in sorted(ends.items())), sep=", ")


if __name__ == "__main__":
    main(int(sys.argv[1]))
