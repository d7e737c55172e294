"""Every function, method and property setter of the package, found by inspection, and good arguments for each."""

from __future__ import annotations

import dataclasses
import inspect
import io
import itertools
import pathlib
import tarfile
import tempfile
from typing import Any, Callable

import numpy as np
import shiftvit
from shiftvit import _library, image
from support import few, synthetic, tiny

try:
    from shiftvit.sklearn import ViTClassifier
except ImportError:  # scikit-learn is optional.
    ViTClassifier = None


class Things:
    """Handles and arguments, each created when it is first asked for."""

    def __init__(self, context: shiftvit.Context | None = None) -> None:
        self._context = context
        self._holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._holder.name)
        self._made: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._made:
            self._made[name] = getattr(self, f"_make_{name}")()
        return self._made[name]

    def of_class(self, name: str) -> Any:
        """The handle of a class."""
        return getattr(self, {"FeatureSet": "features", "_Image": "image", "Handle": "model"}.get(name, name.lower()))

    def _make_context(self) -> Any:
        return self._context or shiftvit.Context(threads=1)

    def _make_model(self) -> Any:
        model = shiftvit.Model(tiny().config, seed=1, context=self.context)
        model.pipeline = self.pipeline
        return model

    def _make_whitened(self) -> Any:
        return shiftvit.create_model(architecture="shiftvit", dim=24, stem="whitened", patch_size=2, blocks=[1])

    def _make_merged(self) -> Any:
        return self.model.add_lora(1)

    def _make_pipeline(self) -> Any:
        return shiftvit._fit.plain_pipeline((32, 32), (32, 32), 3, 1 / 255)

    def _make_dataset(self) -> Any:
        return shiftvit.Dataset.from_arrays(*few(12), context=self.context)

    def _make_named(self) -> Any:
        return shiftvit.Dataset.synthetic(12, context=self.context)

    def _make_features(self) -> Any:
        labels = np.arange(12) % 3
        values = np.random.default_rng(1).random((12, 8), dtype=np.float32)
        return shiftvit.FeatureSet(values, labels, context=self.context)

    def _make_other(self) -> Any:
        return shiftvit.FeatureSet(self.features.values.copy(), self.features.labels.copy(), context=self.context)

    def _make_session(self) -> Any:
        return shiftvit.Session(self.model, mode="train", max_batch=12, input_gradient=True, features=True)

    def _make_optimizer(self) -> Any:
        return shiftvit.Optimizer(self.model)

    def _make_averaging(self) -> Any:
        optimizer = shiftvit.Optimizer(self.model, ema="plain")
        self._step(optimizer)
        return optimizer

    def _step(self, optimizer: Any) -> None:
        self.session.backward(shiftvit.cross_entropy(self.session.forward(few()[0]), few()[1])[1])
        optimizer.step(self.session)

    def _make_extractor(self) -> Any:
        return shiftvit.Extractor(self.model)

    def _make_predictor(self) -> Any:
        return shiftvit.Predictor(self.model)

    def _make_trainer(self) -> Any:
        options = {"pipeline": self.pipeline, "epochs": 1, "batch": 6, "folder": self.folder / "run"}
        return shiftvit.Trainer(self.model, self.dataset, **options)

    def _make_loader(self) -> Any:
        return shiftvit.Loader(self.dataset, self.pipeline, batch=6)

    def _make_checkpoint(self) -> Any:
        shiftvit.save_checkpoint(self.folder / "checkpoint.safetensors", self.model, notes={"a": "b"})
        return shiftvit.Checkpoint(self.folder / "checkpoint.safetensors", context=self.context)

    def _make_parameters(self) -> Any:
        return self.model.parameters()

    def _make_image(self) -> Any:
        handle = image._Image()
        shiftvit.write_png(self.folder / "image.png", synthetic(2)[0][0])
        _library.create("svit_image_read", self.context, self.folder / "image.png", 3, adopt=handle._adopt)
        return handle

    def _make_model_file(self) -> Any:
        self.model.save(self.folder / "model.safetensors")
        return self.folder / "model.safetensors"

    def _make_timm_file(self) -> Any:
        shiftvit.create_model("deit-tiny-patch16-224", depth=1, num_classes=5).save_timm(self.folder / "timm")
        return self.folder / "timm"

    def _make_feature_file(self) -> Any:
        self.features.save(self.folder / "features.safetensors")
        return self.folder / "features.safetensors"

    def _make_photos(self) -> Any:
        (self.folder / "photos" / "one").mkdir(parents=True)
        shiftvit.write_png(self.folder / "photos" / "one" / "1.png", synthetic(2)[0][0])
        return self.folder / "photos"

    def _make_datasets(self) -> Any:
        return [self.dataset, self.dataset]

    def _make_files(self) -> Any:
        return shiftvit.Dataset.folder(self.photos, 32)

    def _make_list(self) -> Any:
        (self.folder / "list.csv").write_text(f"path,label\n{self.photos / 'one' / '1.png'},one\n")
        return self.folder / "list.csv"

    def _make_shard(self) -> Any:
        with tarfile.open(self.folder / "shard.tar", "w") as tar:
            for name, data in (("1.png", (self.photos / "one" / "1.png").read_bytes()), ("1.cls", b"0")):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return self.folder / "shard.tar"

    def _make_cifar10(self) -> Any:
        (self.folder / "test_batch.bin").write_bytes(bytes(3073))
        return self.folder

    def _make_cifar100(self) -> Any:
        (self.folder / "test.bin").write_bytes(bytes(3074))
        return self.folder

    def _make_checkpoint_file(self) -> Any:
        return [self.checkpoint, self.folder / "checkpoint.safetensors"][1]

    def _make_model_bytes(self) -> Any:
        return self.model.to_bytes()

    def _make_config(self) -> Any:
        return self.model.config

    def _make_path(self) -> Any:
        return self.folder / "written"

    def _make_whitening(self) -> Any:
        return np.random.default_rng(1).random((4, *self.whitened.input_shape), dtype=np.float32)

    def _make_resuming(self) -> Any:
        options = {"pipeline": self.pipeline, "epochs": 1, "batch": 6, "folder": self.folder / "resumed"}
        with shiftvit.Trainer(self.model, self.dataset, **options) as trainer:
            trainer.step()
            trainer.checkpoint()
        return shiftvit.Trainer(self.model, self.dataset, existing="resume", **options)

    def _make_image_file(self) -> Any:
        shiftvit.write_png(self.folder / "image.png", self.rgb)
        return self.folder / "image.png"

    def _make_forwarded(self) -> Any:
        self.session.forward(X)
        return self.session

    def _make_plain_vit(self) -> Any:
        return tiny(mlp_last_gelu=False)

    def _make_event(self) -> Any:
        return self.trainer.step()

    def _make_vitclassifier(self) -> Any:
        return ViTClassifier(epochs=1).fit(X, Y)

    def _make_rgb(self) -> Any:
        return synthetic(2)[0][0]


#: Calls that always refuse, which is what they are for.
REFUSING = ("Dataset.__init__", "Handle.__reduce_ex__", "Parameters.__delitem__")
X, Y = few()
LOGITS = np.random.default_rng(2).random((6, 3), dtype=np.float32)
#: What each parameter gets, by its name, or by the call and its name. A text that begins with @ is one of Things.
GOOD: dict[str, Any] = {
    "self": "@self", "x": X, "y": Y, "logits": LOGITS, "targets": LOGITS, "labels": Y, "predictions": LOGITS,
    "dlogits": LOGITS, "model": "@model", "context": "@context", "dataset": "@dataset", "training": "@dataset",
    "session": "@session", "optimizer": "@optimizer", "features": "@features", "pipeline": "@pipeline",
    "seed": 1, "count": 2, "num_classes": 3, "names": ["a", "b", "c"], "images": X, "queries": LOGITS[:, :1],
    "rgb": "@rgb", "name": "norm.weight", "value": np.ones(8, np.float32), "values": LOGITS, "key": "learning_rate",
    "pattern": "norm.*", "rank": 1, "epoch": 0, "index": 1, "indices": [0, 1], "mode": "infer", "step": 1, "k": 1,
    "Checkpoint.__init__.path": "@checkpoint_file", "data": "@model_bytes", "path": "@path", "config": "@config",
    "Checkpoint.note.key": "a", "Checkpoint.number.key": "optimizer.steps", "Model.output.fields": "softmax",
    "Dataset.cifar10.folder": "@cifar10", "Dataset.cifar10.split": "test", "Dataset.cifar100.folder": "@cifar100",
    "Dataset.cifar100.split": "test", "Dataset.folder.path": "@photos", "Dataset.folder.height": 32,
    "Dataset.shards.pattern": "@shard", "Dataset.match_classes.self": "@named",
    "Dataset.concatenate.datasets": "@datasets", "Dataset.path.self": "@files", "Dataset.path.index": 0,
    "Dataset.match_classes.names": [*shiftvit.Dataset.synthetic(1).classes, "one more"],
    "Dataset.csv.path": "@list", "Dataset.from_function.sample": lambda index: (np.zeros((4, 4, 3), np.uint8), 0),
    "Dataset.from_function.shape": (4, 4, 3), "Dataset.from_function.num_classes": 3,
    "Dataset.from_function.y": None, "Dataset.from_function.classes": ["a", "b", "c"],
    "FeatureSet.append.other": "@other",
    "FeatureSet.knn.queries": np.zeros((2, 8), np.float32),
    "FeatureSet.nearest.queries": np.zeros((2, 8), np.float32), "Model.set_text_head.self": "@plain_vit",
    "Model.set_text_head.embeddings": LOGITS[:2], "Model.set_text_head.classes": ["a", "b"],
    "Model.threshold.threshold": 0.5, "Predictor.labels.probabilities": LOGITS,
    "FeatureSet.load.path": "@feature_file",
    "Model.pipeline.fields": "@pipeline", "Model.output.output": "softmax", "Model.merge_lora.self": "@merged",
    "Model.whiten.self": "@whitened", "Model.whiten.images": "@whitening", "Model.load_weights.path": "@model_file",
    "Model.fit_class.name": None, "Model.fit.epochs": 1, "Model.fit.y": Y, "Optimizer.swap_average.self": "@averaging",
    "Model.truncate.layer": "blocks.0",
    "Optimizer.set.value": 0.5, "Optimizer.set_parameter.key": "lr_scale", "Optimizer.set_parameter.value": 1.0,
    "Parameters.__init__.model": "@model", "Predictor.__init__.model": "@model", "Predictor.predict.image": "@rgb",
    "Extractor.__init__.model": "@model", "Extractor.extract.image": "@rgb",
    "Predictor.predict_each.images": [b"no image"], "Predictor.top.image": "@rgb", "Session.counter.value": 3, "Session.gradient.name": "norm.weight",
    "Trainer.set.value": 0.5, "Trainer.resume.self": "@resuming", "load.path": "@model_file",
    "load_pretrained.path": "@timm_file", "load_pretrained.preset": "deit-tiny-patch16-224",
    "load_pretrained.fields": {"depth": 1, "num_classes": 5}, "read_image.source": "@image_file",
    "Handle.__exit__.kind": None, "Handle.__exit__.error": None, "Handle.__exit__.trace": None,
    "Handle.__reduce_ex__.protocol": 4, "Model.__reduce_ex__.protocol": 4, "Model.__deepcopy__.memo": {},
    "Model.evaluate.y": Y, "X": X, "Model.save_timm.self": "@plain_vit", "Session.backward.self": "@forwarded",
    "Session.backward_input.self": "@forwarded", "print_epoch.event": "@event",
    "Trainer.__init__.settings": {"epochs": 1},
    "Trainer.__init__.pipeline": "@pipeline", "Parameters.__setitem__.value": np.ones(8, np.float32),
    "Parameters.__eq__.other": {},
}


@dataclasses.dataclass(frozen=True)
class Call:
    """A function with its parameters. ``name`` is ``Model.fit`` or ``losses.softmax``."""

    name: str
    function: Callable[..., Any]
    owner: type | None
    parameters: tuple[inspect.Parameter, ...]

    def arguments(self, things: Things) -> dict[str, Any]:
        """Good values of all parameters that have no default, or that the table names in full."""
        found = {}
        for parameter in self.parameters:
            own = f"{self.name}.{parameter.name}"
            if own not in GOOD and parameter.default is not inspect.Parameter.empty:
                continue
            if own not in GOOD and parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            if own not in GOOD and parameter.name not in GOOD:
                raise LookupError(f"public_calls.GOOD has no value for {own}, a new parameter of the package")
            value = GOOD.get(own, GOOD.get(parameter.name))
            if isinstance(value, str) and value == "@self":
                value = things.of_class(self.owner.__name__)
            elif isinstance(value, str) and value.startswith("@"):
                value = getattr(things, value[1:])
            found[parameter.name] = value
        return found

    def run(self, arguments: dict[str, Any]) -> Any:
        """Calls the function, and iterates to the second item of what it yields."""
        given = dict(arguments)
        by_place, by_name = [], {}
        for parameter in self.parameters:
            if parameter.name not in given:
                continue
            value = given[parameter.name]
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                by_name.update(value)
            elif parameter.kind is inspect.Parameter.KEYWORD_ONLY or by_name:
                by_name[parameter.name] = value
            elif parameter.kind is inspect.Parameter.POSITIONAL_ONLY or len(by_place) == self._place(parameter):
                by_place.append(value)
            else:
                by_name[parameter.name] = value
        result = self.function(*by_place, **by_name)
        return list(itertools.islice(result, 2)) if inspect.isgenerator(result) else result

    def _place(self, parameter: inspect.Parameter) -> int:
        return self.parameters.index(parameter)


def _call(name: str, function: Any, owner: type | None) -> Call:
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "cls"]
    return Call(name, function, owner, tuple(parameters))


def _of_class(kind: type) -> list[Call]:
    calls = []
    for member, value in vars(kind).items():
        name = f"{kind.__name__}.{member}"
        if member == "__init__":
            parameters = list(inspect.signature(value).parameters.values())[1:]
            calls.append(Call(name, kind, None, tuple(parameters)))
        elif member.startswith("_") and not (member.startswith("__") and member.endswith("__")):
            continue
        elif isinstance(value, classmethod):
            calls.append(_call(name, getattr(kind, member), None))
        elif isinstance(value, property):
            calls += [_call(name, accessor, kind) for accessor in (value.fget, value.fset) if accessor]
        elif inspect.isfunction(value):
            calls.append(_call(name, value, kind))
    return calls


def public_calls() -> list[Call]:
    """All of them, by name. Plain records and exceptions, which call nothing, are left out."""
    calls = []
    for name in shiftvit.__all__:
        thing = getattr(shiftvit, name)
        if inspect.isclass(thing):
            if not dataclasses.is_dataclass(thing) and not issubclass(thing, Exception):
                calls += _of_class(thing)
        elif inspect.ismodule(thing):
            functions = inspect.getmembers(thing, inspect.isfunction)
            calls += [
                _call(f"{name}.{key}", value, None)
                for key, value in functions
                if value.__module__ == thing.__name__ and not key.startswith("_") and key not in shiftvit.__all__
            ]
        else:
            calls.append(_call(name, thing, None))
    calls += _of_class(_library.Handle)
    if ViTClassifier is not None:
        # Its parameters are checked by fit, as all of scikit-learn's are.
        calls += [call for call in _of_class(ViTClassifier) if not call.name.endswith("__init__")]
    return sorted(calls, key=lambda call: (call.name, len(call.parameters)))
