"""Checks the site: every link and picture of its pages leads somewhere, every page of docs/ can be reached from the
front page, nothing comes from elsewhere, and every exported function and every enumerator has an entry with a text.

check_site.py SOURCE_ROOT FOLDER_OF_THE_SITE
"""

import pathlib
import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


CODE = ("code", "pre", "script", "style", "div")
# What is left of marks that Doxygen did not understand.
MARKS = re.compile(r".{0,30}(?:`|\]\(@ref|@(?:sub)?page|&#?\w+;|\{#).{0,30}")


class Page(HTMLParser):
    """The anchors, links and functions of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.texts = {}  # of each entry by its name
        self.title, self.capture, self.depth = "", None, 0
        self.enumerators, self.enumerator, self.cell = {}, "", None  # the text of each in its table
        self.open, self.prose = [], ""  # whether each open element of CODE is code, and the text outside of them
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.update(found[key] for key in ("id", "name") if found.get(key))
        if tag in CODE:
            self.open.append(tag != "div" or found.get("class") in ("line", "ttc"))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("img", "script", "link", "iframe"):
            target = found.get("src") or (found.get("href") if tag == "link" else None)
            if target:
                self.loads.append(target)
        if tag == "td":
            self.cell = found.get("class")
            if self.cell == "fieldname":
                self.enumerator = ""
        if tag == "h2" and found.get("class") == "memtitle":
            self.title, self.capture = "", "title"
        elif tag == "div" and found.get("class") == "memdoc":
            self.capture, self.depth = "text", 0
        elif tag == "div":
            self.depth += 1

    def handle_endtag(self, tag):
        if tag in CODE and self.open:
            self.open.pop()
        if tag == "td":
            self.cell = None
        if tag == "h2" and self.capture == "title":
            self.capture = None
        elif tag == "div" and self.depth == 0:
            self.capture = None
        elif tag == "div":
            self.depth -= 1

    def handle_data(self, data):
        if not any(self.open):
            self.prose += data
        if self.cell == "fieldname":
            self.enumerator += data.strip("\u00a0 \n")
        elif self.cell == "fielddoc":
            self.enumerators[self.enumerator] = self.enumerators.get(self.enumerator, "") + data.strip()
        if self.capture == "title":
            self.title += data
        elif self.capture == "text":
            name = self.title.strip("\u25c6\u00a0 ").removesuffix("()")
            self.texts[name] = self.texts.get(name, "") + data


def page_name(path):
    """The file of a page of the documents: docs/site/names.awk has the same rule."""
    if path.name == "README.md":
        path = path.parent if path.parent != pathlib.Path(".") else pathlib.Path("documents")
    return "-".join(path.with_suffix("").parts).lower() + ".html"


def headings(path):
    """The anchors of a page's headings below its title."""
    fenced, found = False, []
    for line in path.read_text(encoding="utf-8").splitlines():
        fenced ^= line.lstrip().startswith("```")
        if not fenced and line.startswith("##"):
            text = re.sub(r"[^a-z0-9 _-]", "", line.lstrip("# ").lower()).replace(" ", "-")
            found.append(text)
    return found


def main():
    root, site = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    pages = {path.name: Page(path) for path in sorted(site.glob("*.html"))}
    wrong, checked = [], 0

    for name, page in pages.items():
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme == "javascript":
                continue
            if parts.scheme or parts.netloc:
                if target in page.loads:
                    wrong.append(f"{name}: loads '{target}' from elsewhere")
                continue
            checked += 1
            file, anchor = unquote(parts.path) or name, unquote(parts.fragment)
            if not (site / file).is_file():
                wrong.append(f"{name}: '{target}' leads to no file")
            elif anchor and file in pages and anchor not in pages[file].anchors:
                wrong.append(f"{name}: '{target}' leads to no anchor")

    for name, page in pages.items():
        wrong += [f"{name}: a mark is left over: '{mark}'" for mark in MARKS.findall(page.prose)]

    reached, waiting = set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in pages:
            continue
        reached.add(name)
        waiting += [unquote(urlsplit(target).path) for target in pages[name].links if not urlsplit(target).scheme]
    documents = sorted((root / "docs").rglob("*.md"))
    for path in documents:
        name = page_name(path.relative_to(root / "docs"))
        for heading in headings(path):
            anchor = name.removesuffix(".html") + "-" + heading
            if name in pages and anchor not in pages[name].anchors:
                wrong.append(f"{path.relative_to(root)}: '{name}' has no heading '{heading}'")
        if name not in reached:
            wrong.append(f"{path.relative_to(root)}: '{name}' cannot be reached from the front page")

    texts = {name: text.strip() for page in pages.values() for name, text in page.texts.items()}
    functions = [line.split("@")[0] for line in (root / "tests/abi/symbols.txt").read_text().split()]
    for name in functions:
        if len(texts.get(name, "")) < 20:
            wrong.append(f"{name}: the site has no text of it, only '{texts.get(name, '')}'")
    described = {name for page in pages.values() for name, text in page.enumerators.items() if text}
    constants = [line.split()[0] for line in (root / "tests/abi/constants.txt").read_text().splitlines()]
    wrong += [f"{name}: the site has no text of it" for name in constants if name not in described]
    pictures = sum(target.endswith(".png") for page in pages.values() for target in page.loads)
    if len(functions) < 200 or checked < 2000 or len(documents) < 25 or pictures < 6:
        wrong.append(f"only {len(functions)} functions, {checked} links, {len(documents)} documents, {pictures} pictures")
    print("\n".join(wrong) or f"{len(pages)} pages, {checked} links, {len(functions)} functions, {pictures} pictures")
    sys.exit(1 if wrong else 0)


main()
