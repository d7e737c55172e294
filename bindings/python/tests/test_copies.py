"""Copies and pickles of every class: equal to the original, or refused with what to do instead."""

import copy
import inspect
import pickle
import subprocess
import sys
import unittest

import numpy as np
import shiftvit
from public_calls import Things
from shiftvit import _library, errors
from support import few, tiny

WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy}
WAYS.update({f"pickle {protocol}": lambda x, p=protocol: pickle.loads(pickle.dumps(x, p)) for protocol in range(6)})


class Named(shiftvit.Model):
    """A subclass with an attribute of its own."""

    notes: list


def described(model):
    """Everything that a program can ask a model for."""
    return {
        "bytes": model.to_bytes(),
        "config": model.config,
        "weights": [(name, value.tobytes()) for name, value in model.parameters().items()],
        "frozen": [name for name in model.parameters() if not model.is_trainable(name)],
        "rest": (model.classes, model.pipeline, model.output),
    }


def adapted(model):
    model.add_lora(2, 3.0, seed=5)
    for name, value in model.parameters().items():
        if "lora" in name:
            model.parameters()[name] = value + np.float32(1 / 3)
    return model


def dressed(model):
    model.classes = ["a", "b", "c"]
    model.output = "sigmoid"
    model.pipeline = Things().pipeline
    return model


CHANGES = {
    "plain": lambda model: model,
    "frozen": lambda model: model.set_trainable("blocks.*", False),
    "all frozen": lambda model: model.set_trainable("*", False),
    "adapters": adapted,
    "adapters and more frozen": lambda model: adapted(model).set_trainable("*lora_a", False),
    "adapters and all trainable": lambda model: adapted(model).set_trainable("*", True),
    "merged": lambda model: adapted(model).merge_lora(),
    "merged and all trainable": lambda model: adapted(model).merge_lora().set_trainable("*"),
    "another head": lambda model: model.replace_head(7, seed=2),
    "more classes": lambda model: adapted(model).add_classes(2),
    "head without adapters": lambda model: model.replace_head(4).set_trainable("*", False).set_trainable("head.*"),
    "names, output and pipeline": dressed,
    "names and adapters": lambda model: adapted(dressed(model)),
    "trained adapters": lambda model: (adapted(model).fit(*few(), epochs=1), model)[1],
}


class Copies(unittest.TestCase):
    def test_a_copy_of_a_model_equals_its_original(self):
        for change, apply in CHANGES.items():
            for way, duplicate in WAYS.items():
                with self.subTest(model=change, way=way):
                    model = apply(tiny())
                    other = duplicate(model)
                    self.assertEqual(described(other), described(model))
                    self.assertIs(type(other), shiftvit.Model)
                    np.testing.assert_array_equal(other.predict(few()[0]), model.predict(few()[0]))
                    before = described(model)
                    other.set_trainable("*", "frozen" not in change).parameters()["norm.bias"] = np.ones(8)
                    model.close()
                    self.assertNotEqual(described(other), before)

    def test_other_architectures(self):
        fields = {"blocks": [1], "dim": 24, "stem": "whitened", "patch_size": 2}
        whitened = shiftvit.create_model(architecture="shiftvit", **fields)
        whitened.whiten(np.random.default_rng(1).random((4, *whitened.input_shape), dtype=np.float32))
        mixer = shiftvit.create_model("mixer-cifar10", depth=1).set_trainable("*", False)
        for model in (whitened, mixer):
            for way, duplicate in WAYS.items():
                with self.subTest(model=model, way=way):
                    self.assertEqual(described(duplicate(model)), described(model))

    def test_a_copy_has_the_context_of_its_original_and_a_pickle_the_default_one(self):
        context = shiftvit.Context(threads=1)
        model = shiftvit.Model(tiny().config, context=context)
        self.assertIs(copy.copy(model).context, context)
        self.assertIs(copy.deepcopy(model).context, context)
        self.assertIs(pickle.loads(pickle.dumps(model)).context, shiftvit.default_context())
        context.close()
        for way in (copy.copy, copy.deepcopy):
            with self.assertRaisesRegex(errors.StateError, "Context is closed; pickle"):
                way(model)
        self.assertEqual(described(pickle.loads(pickle.dumps(model))), described(model))

    def test_subclasses_and_attributes_are_kept(self):
        model = Named(tiny().config)
        model.notes = [1, [2]]
        model.twin = model.notes[1]
        for way, duplicate in WAYS.items():
            with self.subTest(way=way):
                other = duplicate(model)
                self.assertEqual((type(other), other.notes), (Named, [1, [2]]))
                self.assertIs(other.notes is model.notes, way == "copy")
                self.assertIs(other.twin, other.notes[1])
        pair = copy.deepcopy([model, model])
        self.assertIs(pair[0], pair[1])

    def test_a_pickle_is_read_by_another_process(self):
        model = adapted(tiny())
        script = "import pickle, sys; m = pickle.load(sys.stdin.buffer); sys.stdout.buffer.write(pickle.dumps(m))"
        command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {script}"]
        done = subprocess.run(command, input=pickle.dumps(model), capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(described(pickle.loads(done.stdout)), described(model))

    def test_every_other_class_is_equal_or_refused_by_its_name(self):
        things = Things()
        event = things.trainer.step()
        records = {
            "Event": event,
            "History": shiftvit.History((event,), True),
            "LoadReport": shiftvit.LoadReport(1, ("a",), (), (), ()),
            "Error": shiftvit.Error("a message"),
        }
        tried = 0
        for name in shiftvit.__all__:
            kind = getattr(shiftvit, name)
            if not inspect.isclass(kind) or kind is shiftvit.Model:
                continue
            thing = records.get(name) or things.of_class(name)
            for way, duplicate in WAYS.items():
                with self.subTest(kind=name, way=way):
                    tried += 1
                    if issubclass(kind, _library.Handle):
                        with self.assertRaisesRegex(TypeError, f"an? {name} cannot be copied or pickled: ."):
                            duplicate(thing)
                        self.assertFalse(thing.closed)
                    elif name == "Parameters":
                        other = duplicate(thing)
                        np.testing.assert_equal(dict(other), dict(thing))
                    else:
                        self.assertEqual(repr(duplicate(thing)), repr(thing))
        self.assertGreaterEqual(tried, 14 * len(WAYS))
