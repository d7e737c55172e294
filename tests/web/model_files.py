"""Tests of the page with other model files: a part of test_page.py."""

import json
import pathlib

import images
import native

READY = "document.documentElement?.dataset.ready === 'yes'"
MODEL = pathlib.Path(__file__).parents[2] / "examples/models/cifar10.safetensors"


def write(path, change):
    """Writes the model in the box with its metadata as `change` leaves them."""
    data = MODEL.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    change(header["__metadata__"])
    text = json.dumps(header).encode("utf-8")
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[end:])
    return path


def tensors(path):
    """The bytes of each tensor of a model file, by its name."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    return {name: data[end + of["data_offsets"][0]:end + of["data_offsets"][1]]
            for name, of in header.items() if name != "__metadata__"}


class ModelFiles:
    """Tests for the class Tests, whose members they use."""

    def open_model(self, path):
        """Opens a model file, and returns what the page says."""
        self.page.choose_files("#model-file", [path])
        return self.page.wait(f"recognised.textContent.includes({json.dumps(path.name)}) && recognised.textContent")

    def test_models_without_preprocessing(self):
        """A model that gives no sizes of images is refused, and the page goes on."""
        self.page.wait(READY)
        said = self.open_model(write(self.folder / "bare.safetensors", lambda metadata: metadata.pop("preprocessing")))
        assert self.page.evaluate("recognised.classList.contains('wrong')"), said
        self.answer(self.native[0]["png"])
        assert self.page.evaluate("shown.classes.length") == 10
        return said

    def test_models_of_other_channels(self):
        """A model whose preprocessing has other channels than it reads is refused, and the page goes on."""
        def change(metadata):
            pipeline = json.loads(metadata["preprocessing"])
            pipeline.update(channels=4, mean=[.5] * 4, variance=[1] * 4, augment=[])
            metadata["preprocessing"] = json.dumps(pipeline)

        self.page.wait(READY)
        said = self.open_model(write(self.folder / "four.safetensors", change))
        assert "the preprocessing has 4 channels, and the model reads images of 3" in said, said
        self.answer(self.native[0]["png"])
        assert self.page.evaluate("shown.classes.length") == 10

    def test_models_of_numbers(self):
        """The logits of a model of numbers are shown as they are: no per cent, nothing likely."""
        self.page.wait(READY)
        self.open_model(write(self.folder / "numbers.safetensors", lambda metadata: metadata.update(output="logits")))
        said = self.answer(self.native[0]["png"])
        shown = self.page.evaluate("[...document.querySelectorAll('#result .share')].map((one) => one.textContent)")
        largest = sorted(self.native[0]["logits"], reverse=True)[:5]
        assert not any("%" in text for text in shown), shown
        assert all(abs(float(text) - value) < 1e-3 for text, value in zip(shown, largest, strict=True)), shown
        assert said == "This model gives numbers, no confidences.", said
        shares = "[...document.querySelectorAll('#result li')].map((one) => one.style.getPropertyValue('--share'))"
        assert self.page.evaluate(shares) == ["0"] * 5
        return ", ".join(shown)

    def test_adds_no_class_to_a_model_that_is_replaced(self):
        """A class that is added while a model file is opened, which ends what was learnt, is refused."""
        self.page.wait(READY)
        self.collect(images.write(self.folder / "few", 10))
        self.learn()
        self.page.evaluate("document.getElementById('add-class').click(); classes[2].name.value = 'plain'")
        self.page.choose_files(".file", images.write(self.folder / "few", 10, kinds=["plain"])["plain"], 2)
        self.page.wait("classes[2].count === 10 && adding === 0")
        self.page.evaluate("""(async () => {
            const files = new DataTransfer(), bytes = await (await fetch('cifar10.safetensors')).blob();
            files.items.add(new File([bytes], 'other.safetensors'));
            element('model-file').files = files.files;
            element('model-file').onchange();
            find(classes[2].card, '.extend').click();
        })()""")
        self.page.wait("!isLearning", 300)
        said = self.page.evaluate("learning.textContent")
        assert said == "There is no model to add to", said
        self.answer(self.native[0]["png"])
        assert self.page.evaluate("shown.classes.length") == 10

    def test_transparent_images_are_native(self):
        """A model of 3 channels sees a transparent image over black, as by the decoders of the library."""
        self.page.wait(READY)
        side, colours = 61, images.pixels("discs", 3, 61)
        data = b"".join(colours[3 * i:3 * i + 3] + bytes([255 if i % 3 == 0 else i % 256]) for i in range(side * side))
        path = self.folder / "transparent.png"
        images.png(path, side, side, data, channels=4)
        self.answer(path)
        expected = native.logits(self.options.predict, str(MODEL), [path])[0]
        worst = max(abs(a - b) for a, b in zip(self.logits(), expected, strict=True))
        assert worst < 1e-4, worst
        return f"largest difference {worst:.1e}"
