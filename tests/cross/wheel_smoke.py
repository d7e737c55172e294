"""Tries a wheel: the package must come from it, learn, save a model, and predict the same with what it has saved.

usage: wheel_smoke.py FOLDER, into which the wheel has been unpacked and which is in PYTHONPATH
"""
import pathlib
import sys
import tempfile

import numpy as np

import shiftvit

FIELDS = dict(num_classes=10, input_height=32, input_width=32, patch_size=8, dim=32, depth=2, head_dim=16, mlp_dim=64,
              head_units=[], pool="mean")


def step(what, holds):
    """Says how a step ended. A failed one ends the program."""
    print("ok" if holds else "FAILED", what, flush=True)
    if not holds:
        sys.exit(1)


def main(folder):
    folder = pathlib.Path(folder).resolve()
    step("the package and its library are the wheel's",
         all(folder in pathlib.Path(path).resolve().parents
             for path in (shiftvit.__file__, shiftvit._library.path_of_library)))
    data = shiftvit.Dataset.synthetic(60, seed=1)
    images = np.stack([image for image, _ in data])
    model = shiftvit.create_model("vit-cifar100", **FIELDS)
    losses = model.fit(images, data.labels, epochs=12, batch_size=20, learning_rate=2e-3).history["train_loss"]
    step(f"a training learns: {losses[0]:.3f} to {losses[-1]:.3f}", losses[-1] < losses[0])
    with tempfile.TemporaryDirectory() as run:
        path = str(pathlib.Path(run, "a model.safetensors"))
        model.save(path)
        again = shiftvit.load(path)
        step("a saved model predicts the same", np.array_equal(again.predict(images), model.predict(images)))
        shiftvit.write_png(str(pathlib.Path(run, "image.png")), images[0])
        step("a picture reads back", np.array_equal(shiftvit.read_image(str(pathlib.Path(run, "image.png"))), images[0]))
        try:
            shiftvit.load(str(pathlib.Path(run, "none")))
        except shiftvit.Error as error:
            step(f"a file that is not there is an error: {str(error)[-40:]}", "none" in str(error))
    step("8 bits predict", np.isfinite(model.predict(images, compute="int8")).all())


if __name__ == "__main__":
    main(sys.argv[1])
