"""Puts the files of the page into one: one_file.py FOLDER OUT.html.

Browsers load neither modules nor workers from the files of a disk. In the one file the worker's source is text, one
script that is no module, from which the page makes a worker; what the worker would fetch is base64.
"""

import base64
import pathlib
import re
import sys

PAGE_SCRIPTS = ("ask.js", "recognise.js", "teach.js", "page.js")  # in the order of index.html
SCRIPTS = ("memory.js", "threads.js", "training.js", "shiftvit.js", "worker.js")  # each after those that it imports


def embedded(name, kind, text):
    """An element with data that the browser does not run."""
    if "</script" in text.lower():
        raise SystemExit(f"one_file.py: {name} has the end of a script")
    return f'<script id="{name}" type="{kind}">{text}</script>\n'


def main(folder, out):
    """Writes the one file."""
    folder = pathlib.Path(folder)
    text = {name: (folder / name).read_text("utf-8")
            for name in ("index.html", "style.css", *PAGE_SCRIPTS, *SCRIPTS)}
    worker = "'use strict';\n" + "".join(text[name] for name in SCRIPTS)
    worker = re.sub(r"^(import .*|export .* from .*)\n", "", worker, flags=re.M)
    worker = re.sub(r"^export ", "", worker, flags=re.M).replace("import.meta.url", "self.location.href")
    data = embedded("worker-source", "text/plain", worker)
    for name in ("shiftvit.wasm", "cifar10.safetensors"):
        data += embedded(name, "text/base64", base64.b64encode((folder / name).read_bytes()).decode("ascii"))
    scripts = [f"<script>\n{text[name]}</script>\n" for name in PAGE_SCRIPTS]
    page = text["index.html"]
    for old, new in (('<link rel="stylesheet" href="style.css">', f"<style>\n{text['style.css']}</style>"),
                     *((f'<script src="{name}" defer></script>\n', "") for name in PAGE_SCRIPTS),
                     ("</body>", f"{data}{''.join(scripts)}</body>")):
        if page.count(old) != 1:
            raise SystemExit(f"one_file.py: index.html has {page.count(old)} times {old}")
        page = page.replace(old, new)
    pathlib.Path(out).write_text(page, "utf-8")


main(*sys.argv[1:])
