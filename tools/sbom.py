#!/usr/bin/env python3
"""Lists what a release is made of and what it needs, as SPDX 2.3 or CycloneDX 1.5.

usage: sbom.py spdx|cyclonedx [--tarball FILE] [--created SECONDS]     prints the list
       sbom.py check                                                    compares, prints what differs

The components are the rows of components.csv beside this file; the version is that of meson.build. `check`
fails if meson.build looks for a dependency that is no row, if the two lists name other components, or if they
say another version. Needs Python alone, and meson for `check`.
"""
import argparse
import csv
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
LICENCE = "MIT"


def version():
    with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as file:
        return re.search(r"version: '([0-9.]+)'", file.read()).group(1)


def rows():
    with open(os.path.join(HERE, "components.csv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def components():
    """The rows, one for each component."""
    return list({row["component"]: row for row in rows()}.values())


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def identifier(name):
    return re.sub(r"[^A-Za-z0-9.]+", "-", name)


def described(row):
    return f"used by: {row['used by']}; {row['how']}"


def time_of(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def identity(digest):
    """A UUID that is the same for the same release."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"shiftvit {version()} {digest}")


def spdx(digest, created):
    main = {"SPDXID": "SPDXRef-shiftvit", "name": "shiftvit", "versionInfo": version(), "licenseDeclared": LICENCE,
            "licenseConcluded": LICENCE, "copyrightText": "Copyright (c) 2026 The shiftvit authors",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "primaryPackagePurpose": "LIBRARY"}
    if digest:
        main["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    packages, relations = [main], [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                                    "relatedSpdxElement": "SPDXRef-shiftvit"}]
    kinds = {"tests": "TEST_DEPENDENCY_OF", "optional": "OPTIONAL_DEPENDENCY_OF"}
    for row in components():
        name = "SPDXRef-" + identifier(row["component"])
        packages.append({"SPDXID": name, "name": row["component"], "licenseDeclared": row["licence"],
                         "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
                         "downloadLocation": row["homepage"], "homepage": row["homepage"], "filesAnalyzed": False,
                         "comment": described(row)})
        kind = kinds.get(row["used by"]) or kinds.get(row["how"]) or "DEPENDENCY_OF"
        relations.append({"spdxElementId": name, "relationshipType": kind,
                          "relatedSpdxElement": "SPDXRef-shiftvit"})
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"shiftvit-{version()}", "documentNamespace": f"https://spdx.org/spdxdocs/shiftvit-{identity(digest)}",
            "creationInfo": {"created": time_of(created), "creators": ["Organization: The shiftvit authors",
                                                                       "Tool: sbom.py"]},
            "packages": packages, "relationships": relations}


def cyclonedx(digest, created):
    main = {"type": "library", "bom-ref": "shiftvit", "name": "shiftvit", "version": version(),
            "licenses": [{"license": {"id": LICENCE}}]}
    if digest:
        main["hashes"] = [{"alg": "SHA-256", "content": digest}]
    others = [{"type": "library", "bom-ref": identifier(row["component"]), "name": row["component"],
               "scope": "required" if row["how"] == "linked" and row["used by"] != "tests" else "optional",
               "licenses": [{"expression": row["licence"]}], "description": described(row),
               "externalReferences": [{"type": "website", "url": row["homepage"]}]} for row in components()]
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "serialNumber": f"urn:uuid:{identity(digest)}",
            "metadata": {"timestamp": time_of(created), "component": main}, "components": others,
            "dependencies": [{"ref": "shiftvit", "dependsOn": [other["bom-ref"] for other in others]}]}


def check():
    """Returns what differs, a line each."""
    scanned = subprocess.run(["meson", "introspect", "--scan-dependencies", os.path.join(ROOT, "meson.build")],
                             check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    wanted, listed = {entry["name"] for entry in json.loads(scanned)}, {row["dependency"] for row in rows()}
    faults = [f"meson.build needs {name}, which is no row of components.csv" for name in sorted(wanted - listed)]
    first, second = spdx("", 0), cyclonedx("", 0)
    names = {package["name"]: package["licenseDeclared"] for package in first["packages"]}
    others = {other["name"]: other["licenses"][0]["expression"] for other in second["components"]}
    others["shiftvit"] = second["metadata"]["component"]["licenses"][0]["license"]["id"]
    if names != others:
        faults.append(f"the lists differ in {sorted(set(names.items()) ^ set(others.items()))}")
    if not wanted:
        faults.append("meson found no dependency in meson.build")
    for row in rows():
        faults += [f"{row['dependency']}: no {key}" for key, value in row.items() if not value]
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("spdx", "cyclonedx", "check"))
    parser.add_argument("--tarball")
    parser.add_argument("--created", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.what == "check":
        faults = check()
        print("\n".join(faults) if faults else f"{len(components())} components")
        sys.exit(1 if faults else 0)
    digest = sha256(arguments.tarball) if arguments.tarball else ""
    make = {"spdx": spdx, "cyclonedx": cyclonedx}[arguments.what]
    json.dump(make(digest, arguments.created), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
