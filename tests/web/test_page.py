"""Tests of the page in a headless Chromium: test_page.py BUILD NATIVE_FOLDER PREDICT [--many N] [--pictures FOLDER].

BUILD is the folder of bindings/wasm/build.sh, NATIVE_FOLDER that of native.py, PREDICT the native program. Prints a line
for each test, and fails if one fails.
"""

import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import browser
import images
import native
from model_files import READY, ModelFiles, tensors

# Runs before the page: the longest wait between two frames, and the longest task of the page's thread.
WATCH = """
window.stalls = {frame: 0, task: 0, last: 0};
new PerformanceObserver((list) => { for (const task of list.getEntries())
    window.stalls.task = Math.max(window.stalls.task, task.duration); }).observe({type: 'longtask', buffered: true});
requestAnimationFrame(function next(now) {
    if (window.stalls.last) window.stalls.frame = Math.max(window.stalls.frame, now - window.stalls.last);
    window.stalls.last = now;
    requestAnimationFrame(next);
});
"""
STALL = 100  # milliseconds
POLICY = ("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; connect-src 'self'; "
          "style-src 'self'; img-src 'self' blob: data:")  # as docs/browser.md has it


class Tests(ModelFiles):
    """The tests, in their order. Each takes a fresh page."""

    def __init__(self, options):
        self.options = options
        folder = pathlib.Path(options.build).resolve() / "web"
        said = (pathlib.Path(__file__).parents[2] / "docs/browser.md").read_text("utf-8")
        assert POLICY in " ".join(said.split()), "docs/browser.md has another policy"
        self.isolated = browser.serve(folder, browser.ISOLATION)
        self.strict = browser.serve(folder, {**browser.ISOLATION, "Content-Security-Policy": POLICY})
        self.native = json.loads((pathlib.Path(options.native) / "native.json").read_text("utf-8"))["images"]
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=options.native))
        self.page = None

    def answer(self, path):
        """Gives an image to the page, and returns the text of its answer."""
        self.page.evaluate("shown = null; document.getElementById('result').replaceChildren(); say(recognised, '')")
        self.page.choose_files("#file", [path])
        self.page.wait("shown !== null || recognised.classList.contains('wrong')")
        return self.page.evaluate("document.getElementById('result-status').textContent")

    def logits(self):
        """The logits of the answer, in the order of the classes."""
        return self.page.evaluate("[...shown.classes].sort((a, b) => a.label - b.label).map((one) => one.logit)")

    def name_classes(self, names):
        """Names the first classes."""
        for index, name in enumerate(names):
            self.page.evaluate(f"classes[{index}].name.value = {json.dumps(name)}; classes[{index}].name.oninput()")

    def wait_for_images(self, *counts):
        """Waits until the classes have so many images."""
        counts = json.dumps(counts).replace(" ", "")
        self.page.wait(f"JSON.stringify(classes.map((one) => one.count)) === '{counts}' && adding === 0", 900)

    def collect(self, paths):
        """Names the classes and gives them their images."""
        self.name_classes(paths)
        for index, files in enumerate(paths.values()):
            self.page.choose_files(".file", files, index)
        self.wait_for_images(*map(len, paths.values()))

    def learn(self):
        """Lets the page learn, and returns what it says."""
        self.page.evaluate("document.getElementById('learn').click()")
        self.page.wait("!isLearning", 900)
        return self.page.evaluate("document.getElementById('learn-status').textContent")

    def picture(self, name):
        """Takes pictures of the page, wide, narrow and dark, if they are wanted."""
        if not self.options.pictures:
            return
        for kind, size in (("wide", (1100, 900, "light")), ("narrow", (360, 800, "light")), ("dark", (1100, 900, "dark"))):
            self.page.size(*size)
            time.sleep(.3)
            self.page.picture(pathlib.Path(self.options.pictures) / f"{name}-{kind}.png")
        self.page.size(1100, 900)

    def test_first_class_from_an_empty_cache(self):
        """The time from the address to the classes of an image, which waits for the model."""
        self.page.wait("typeof requests !== 'undefined'")
        self.page.evaluate("""(async () => { const bytes = await (await fetch('first.png')).blob();
            await recognise(new File([bytes], 'first.png')); window.first = performance.now(); })()""", 120)
        assert self.page.evaluate("shown !== null"), self.page.evaluate("recognised.textContent")
        seconds = self.page.evaluate("window.first") / 1000
        assert seconds < self.options.seconds, f"{seconds:.2f} s"
        return f"{seconds:.2f} s"

    def test_logits_are_native(self):
        """Files that the browser decodes give the logits of the native program."""
        self.page.wait(READY)
        worst = 0
        for image in self.native[::3]:
            self.answer(image["png"])
            worst = max(worst, *(abs(a - b) for a, b in zip(self.logits(), image["logits"], strict=True)))
        assert worst < 1e-4, worst
        self.page.evaluate("document.getElementById('show-map').click()")
        assert self.page.evaluate("!document.getElementById('map').hidden")
        self.picture("before")
        return f"largest difference {worst:.1e}"

    def test_threads_have_the_bits_of_one(self):
        """A page that is isolated from other origins computes on two threads, with the same logits and learning."""
        answers = []
        self.page.wait(READY)
        assert self.page.evaluate("!crossOriginIsolated")
        for threads in ("one thread", "2 threads"):
            assert threads in self.page.evaluate("document.getElementById('version').textContent")
            logits = []
            for image in self.native[::4]:
                self.answer(image["png"])
                logits += self.logits()
            self.collect(images.write(self.folder / "few", 10))
            answers.append((logits, self.learn(), self.page.evaluate("document.querySelector('.line-held').outerHTML")))
            self.page.open(f"{self.isolated}/index.html?threads=2")
            self.page.wait(f"typeof crossOriginIsolated !== 'undefined' && crossOriginIsolated && {READY}")
        assert answers[0] == answers[1]
        return f"{len(answers[0][0])} logits"

    def test_learns_from_twenty_images(self):
        """Two classes of ten images, and the model's file in the native program."""
        self.page.wait(READY)
        assert self.page.evaluate("document.getElementById('learn').disabled")
        self.collect(images.write(self.folder / "few", 10))
        said = self.learn()
        new = images.write(self.folder / "new", 10, first=1000)
        right = 0
        for kind, paths in new.items():
            for path in paths:
                self.answer(path)
                right += self.page.evaluate("shown.classes[0].name") == kind
        self.picture("after")
        values = {path: None for paths in new.values() for path in paths}
        for path in values:
            self.answer(path)
            values[path] = self.logits()
        file = self.download()
        for row, path in zip(native.logits(self.options.predict, str(file), list(values)), values):
            assert max(abs(a - b) for a, b in zip(row, values[path], strict=True)) < 1e-4
        assert right >= 14, f"{right} of 20 right"
        return f"{right} of 20 new images right; {said}"

    def download(self):
        """Saves what was learnt, and returns its path."""
        downloads = self.folder / "downloads"
        file = downloads / "model.safetensors"
        file.unlink(missing_ok=True)
        self.page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        self.page.evaluate("document.getElementById('download').click()")
        end = time.monotonic() + 60
        while not file.exists() and time.monotonic() < end:
            time.sleep(.1)
        return file

    def extend(self):
        """Adds a third class to the two that are learnt, whose logits keep their bits. Returns what the page says."""
        image = self.native[3]["png"]
        self.answer(image)
        before = self.logits()
        assert self.page.evaluate("[...document.querySelectorAll('.extend')].every((button) => button.hidden)")
        self.page.evaluate("document.getElementById('add-class').click(); classes[2].name.value = 'plain'")
        assert self.page.evaluate("find(classes[2].card, '.extend').disabled && !find(classes[2].card, '.extend').hidden")
        self.page.choose_files(".file", images.write(self.folder / "few", 10, kinds=["plain"])["plain"], 2)
        self.page.wait("classes[2].count === 10 && adding === 0")
        self.picture("third-class")
        self.page.evaluate("find(classes[2].card, '.extend').click()")
        self.page.wait("!isLearning", 300)
        said = self.page.evaluate("document.getElementById('learn-status').textContent")
        assert said.startswith("Added plain from 8 images. Of 6 images held out of all classes"), said
        self.answer(image)
        assert self.logits()[:2] == before, (self.logits(), before)
        right = 0
        for path in images.write(self.folder / "new", 10, first=1000, kinds=["plain"])["plain"]:
            self.answer(path)
            right += self.page.evaluate("shown.classes[0].name") == "plain"
        assert right >= 7, f"{right} of 10 right"
        self.picture("added")
        assert self.page.evaluate("!document.getElementById('after').hidden && find(classes[2].card, '.extend').hidden")
        return f"{said} {right} of 10 new images right"

    def test_adds_a_class(self):
        """One more class after two were learnt; without one, the button is not there."""
        self.page.wait(READY)
        self.collect(images.write(self.folder / "few", 10))
        assert self.page.evaluate("[...document.querySelectorAll('.extend')].every((button) => button.hidden)")
        self.learn()
        said = self.extend()
        self.page.evaluate("document.getElementById('forget').click()")
        self.page.wait("document.getElementById('after').hidden && learnt.length === 0")
        assert self.page.evaluate("[...document.querySelectorAll('.extend')].every((button) => button.hidden)")
        return said

    def test_fine_tunes(self):
        """The last stage learns, too, and one more class comes on top of it."""
        self.page.wait(READY)
        self.collect(images.write(self.folder / "few", 10))
        self.learn()
        base = tensors(self.download())
        self.page.evaluate("document.getElementById('tune').click()")
        said = self.learn()
        assert said.startswith("Learnt from 16 images"), said
        tuned = tensors(self.download())
        changed = {name.split(".")[1] for name in tuned if name.startswith("layers.") and tuned[name] != base[name]}
        assert changed == {"2"}, f"stages {changed} have changed"
        return f"{said} {self.extend()}"

    def test_many_images_do_not_stall(self):
        """Two folders of thousands of images are dropped: no task of the page takes longer than STALL."""
        self.page.wait(READY)
        paths = images.write(self.folder / "many", self.options.many // 2, side=32)
        for _, (first, *_) in paths.items():
            (first.parent / "readme.txt").write_text("This is no image.", "utf-8")
        self.name_classes(paths)
        self.page.evaluate("window.stalls.task = window.stalls.frame = 0")
        is_quiet = os.getloadavg()[0] < (os.cpu_count() or 1)
        self.page.trace()
        begin = time.monotonic()
        for index, (first, *_) in enumerate(paths.values()):
            self.page.drop_files(".class", [first.parent], index)
        self.wait_for_images(*map(len, paths.values()))
        collected = time.monotonic() - begin
        said = self.learn()
        stalls = self.page.evaluate("window.stalls")
        cpu = self.page.longest_task()
        assert cpu < STALL, f"a task of the page took {cpu:.0f} ms of its CPU"
        # On a machine with other work, the page's thread waits for a CPU, while the clock goes on.
        assert max(stalls["task"], stalls["frame"]) < STALL or not is_quiet, stalls
        return (f"images {collected:.1f} s, learning {time.monotonic() - begin - collected:.1f} s, longest task "
                f"{cpu:.0f} ms of CPU; by the clock, on a machine with{'out' if is_quiet else ''} other work, "
                f"{stalls['task']:.0f} ms, longest wait for a frame {stalls['frame']:.0f} ms; {said}")

    def test_takes_handles_of_files(self):
        """The browser's picker gives handles, which a page without a reader takes from the browser's own files."""
        self.page.wait(READY)
        data = [base64.b64encode(pathlib.Path(image["png"]).read_bytes()).decode() for image in self.native[:3]]
        self.page.evaluate("""(async () => {
            const folder = await navigator.storage.getDirectory(), handles = [];
            for (const [i, text] of %s.entries()) {
                const handle = await folder.getFileHandle(`${i}.png`, {create: true}), out = await handle.createWritable();
                await out.write(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
                await out.close();
                handles.push(handle);
            }
            await folder.removeEntry('1.png');
            window.showOpenFilePicker = async (options) => { window.asked = options; return handles; };
            document.querySelector('.files').click();
        })()""" % json.dumps(data))
        self.wait_for_images(2, 0)
        assert self.page.evaluate("asked.multiple && learning.classList.contains('wrong')")
        self.page.evaluate("""window.showOpenFilePicker = async () => { throw new DOMException('', 'AbortError'); };
            document.querySelector('.files').click()""")
        self.wait_for_images(2, 0)

    def test_bad_files(self):
        """What is no image or no model is refused by name, and the page goes on."""
        self.page.wait(READY)
        bad = self.folder / "bad.png"
        bad.write_bytes(b"\x89PNG\r\n\x1a\nno image")
        assert "bad.png" in self.answer(bad), self.answer(bad)
        model = self.folder / "bad.safetensors"
        model.write_bytes(b"\x10\0\0\0\0\0\0\0{}")
        self.page.choose_files("#model-file", [model])
        said = self.page.wait("recognised.textContent.includes('bad.safetensors') && recognised.textContent")
        self.page.choose_files(".file", [bad, self.native[0]["png"]])
        self.page.wait("adding === 0 && classes[0].count === 1")
        assert "bad.png" in self.page.evaluate("learning.textContent")
        self.answer(self.native[0]["png"])
        assert self.page.evaluate("shown !== null")
        return said

    def test_reload_begins_anew(self):
        """After a reload, in the middle of learning, the page is as at first."""
        self.page.wait(READY)
        self.collect(images.write(self.folder / "few", 10))
        self.page.evaluate("document.getElementById('learn').click()")
        self.page.call("Page.reload")
        self.page.wait(f"typeof classes !== 'undefined' && classes.length === 2 && classes[0].count === 0 && {READY}")
        self.answer(self.native[0]["png"])
        assert self.page.evaluate("shown.classes.length") == 10

    def test_a_policy_without_eval(self):
        """With the policy of docs/browser.md the page computes on two threads and learns, and nothing is blocked."""
        self.page.open(f"{self.strict}/index.html?threads=2")
        self.page.wait(f"typeof crossOriginIsolated !== 'undefined' && crossOriginIsolated && {READY}")
        assert "2 threads" in self.page.evaluate("document.getElementById('version').textContent")
        self.answer(self.native[0]["png"])
        self.collect(images.write(self.folder / "few", 10))
        self.page.evaluate("shown = null")
        said = self.learn()
        self.page.wait("shown !== null && shown.classes.length === 2")
        return said

    def test_a_file_beside_the_places_for_files(self):
        """A file that is dropped elsewhere does not replace the page, and text can still be dragged."""
        self.page.wait(READY)
        self.page.evaluate("window.here = true")
        self.page.drop_files("footer", [self.native[0]["png"]])
        self.page.drop_files("#drop", [self.native[0]["png"]])
        self.page.wait("window.here && shown !== null")
        refused = self.page.evaluate("""[[], [new File(['x'], 'x.png')]].map((files) => {
            const dataTransfer = new DataTransfer();
            for (const file of files) dataTransfer.items.add(file);
            const event = (type) => new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer});
            return ['dragover', 'drop'].map((type) => !document.querySelector('footer').dispatchEvent(event(type))).join();
        })""")
        assert refused == ["false,false", "true,true"], refused

    def test_ends_at_once(self):
        """Learning that is cancelled while an image before it is still computed ends, too."""
        self.page.wait(READY)
        self.collect(images.write(self.folder / "few", 10))
        self.page.evaluate("""(async () => {
            const canvas = new OffscreenCanvas(4000, 4000); canvas.getContext('2d').fillRect(9, 9, 99, 99);
            recognise(await canvas.convertToBlob());
            document.getElementById('learn').click(); document.getElementById('cancel').click();
        })()""")
        self.page.wait("!isLearning", 300)
        assert self.page.evaluate("learning.textContent") == "Cancelled", self.page.evaluate("learning.textContent")

    def test_removes_a_class_that_collects(self):
        """For a class that is removed no more images are looked at."""
        self.page.wait(READY)
        asked = self.page.evaluate("""(async () => {
            const file = await (await fetch('first.png')).blob(), one = classes[0];
            let asked = 0, isGone = false;
            const post = worker.postMessage.bind(worker);
            worker.postMessage = (message, ...rest) => {
                if (isGone && message.type === 'add') asked += 1;
                isGone ||= message.type === 'remove';
                post(message, ...rest);
            };
            const added = addImages(one, Array(200).fill(file));
            await new Promise((resolve) => { setTimeout(resolve, 50); });
            find(one.card, '.remove').click();
            await added;
            return isGone ? asked : -1;
        })()""", 300)
        assert asked == 0, asked
        self.page.wait("adding === 0")

    def test_cancels(self):
        """Learning that is cancelled leaves the first model."""
        self.page.wait(READY)
        self.collect(images.write(self.folder / "few", 10))
        self.page.evaluate("""document.getElementById('tune').click(); document.getElementById('learn').click();
            setTimeout(() => document.getElementById('cancel').click(), 50)""")
        self.page.wait("!isLearning", 120)
        assert self.page.evaluate("learning.textContent") == "Cancelled"
        self.answer(self.native[0]["png"])
        assert self.page.evaluate("shown.classes.length") == 10

    def test_camera(self):
        """Chromium's fake camera is recognised, and recorded for a class."""
        self.page.wait(READY)
        self.page.evaluate("document.getElementById('camera').click()")
        self.page.wait("shown !== null && !video.hidden")
        self.page.evaluate("document.querySelector('.record').click()")
        self.page.wait("classes[0].count >= 3")
        self.page.evaluate("document.querySelector('.record').click()")
        self.page.evaluate("document.getElementById('camera').click()")
        self.page.wait("stream === null && recording === null && adding === 0")
        self.page.evaluate("""window.tracks = [];
            const get = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
            navigator.mediaDevices.getUserMedia = async (wanted) => {
                const got = await get(wanted); tracks.push(...got.getTracks()); return got; };
            document.getElementById('camera').click(); document.getElementById('camera').click();""")
        self.page.wait("stream !== null && !video.hidden")
        self.page.evaluate("stopCamera()")
        assert self.page.evaluate("tracks.map((track) => track.readyState).join()") == "ended"

    def test_keyboard_and_names(self):
        """Every control can be reached by the tabulator, and has a name; 360 pixels are wide enough."""
        self.page.wait(READY)
        seen = set()
        for _ in range(40):
            for kind in ("keyDown", "keyUp"):
                self.page.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            seen.add(self.page.evaluate("document.activeElement.id || document.activeElement.className"))
        wanted = {"choose", "camera", "add-class", "tune", "name", "remove quiet", "files", "record"}
        assert wanted <= seen, wanted - seen
        tree = self.page.call("Accessibility.getFullAXTree")["nodes"]
        nameless = [node["role"]["value"] for node in tree if node.get("role", {}).get("value") in
                    ("button", "textbox", "checkbox", "progressbar", "image") and not node.get("name", {}).get("value")]
        assert not nameless, nameless
        for width in (320, 360, 800):
            self.page.size(width, 800)
            assert self.page.evaluate("document.documentElement.scrollWidth") <= width

    def test_contrast(self):
        """Text has at least 4.5 to 1 on what is behind it, in both schemes."""
        self.page.wait(READY)
        self.answer(self.native[0]["png"])
        least = 21
        for scheme in ("light", "dark"):
            self.page.size(1100, 900, scheme)
            colours = self.page.evaluate("""(() => { const style = getComputedStyle(document.documentElement);
                return Object.fromEntries(['page', 'card', 'ink', 'soft', 'accent', 'on-accent', 'bar', 'wrong', 'control',
                    'held'].map((name) => [name, style.getPropertyValue('--' + name).trim()])); })()""")
            for text, behind, bound in (("ink", "page", 4.5), ("ink", "card", 4.5), ("soft", "page", 4.5),
                                        ("soft", "card", 4.5), ("ink", "bar", 4.5), ("on-accent", "accent", 4.5), ("accent", "card", 4.5),
                                        ("wrong", "card", 4.5), ("control", "card", 3), ("held", "card", 3)):
                ratio = contrast(colours[text], colours[behind])
                assert ratio >= bound, (scheme, text, behind, ratio)
                least = min(least, ratio)
        return f"at least {least:.1f} to 1"


def contrast(one, other):
    """The contrast of two colours (#rrggbb), as WCAG defines it."""
    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= .04045 else ((part + .055) / 1.055) ** 2.4 for part in parts)
        return .2126 * red + .7152 * green + .0722 * blue
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + .05) / (dark + .05)


def run(tests, url, chromium, names):
    """Runs the tests on the page at `url`, each in a browser of its own. Returns how many failed."""
    failed = 0
    for name in names:
        with browser.Browser(chromium) as page:
            tests.page = page
            page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
            page.size(1100, 900)
            page.open(url)
            try:
                note = getattr(tests, name)()
                problems = page.problems()
                assert not problems, problems
                print(f"ok    {name[5:].replace('_', ' ')}{f': {note}' if note else ''}", flush=True)
            except (AssertionError, browser.Failure, subprocess.CalledProcessError) as error:
                failed += 1
                print(f"FAIL  {name[5:].replace('_', ' ')}: {type(error).__name__} {error}", flush=True)
    return failed


def main():
    """Runs all tests on the served page, and some on the file that needs no server."""
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("native")
    parser.add_argument("predict")
    parser.add_argument("--many", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--pictures")
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    build = pathlib.Path(options.build).resolve()
    names = options.only or [name for name in (*vars(Tests), *vars(ModelFiles)) if name.startswith("test_")]
    url = browser.serve(build / "web")
    tests = Tests(options)
    first = build / "web" / "first.png"
    first.write_bytes(pathlib.Path(tests.native[0]["png"]).read_bytes())
    failed = run(tests, f"{url}/index.html", browser.find(), names)
    first.unlink()
    if not options.only:
        print("The page as one file, from the disk:")
        options.pictures = None
        failed += run(tests, (build / "shiftvit.html").as_uri(), browser.find(),
                      ["test_logits_are_native", "test_learns_from_twenty_images", "test_bad_files"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
