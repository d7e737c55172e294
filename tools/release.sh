#!/bin/sh
# Makes a release of a commit: the tarball, what it is made of as SPDX and CycloneDX, and SHA-256 sums.
#
# usage: sh tools/release.sh FOLDER [COMMIT]      COMMIT: HEAD if it is not given
#
# The files are the same byte for byte wherever and whenever they are made of that commit: the tarball has the
# files of the commit, its time, no user and fixed permissions. Needs git, gzip and Python.
set -eu
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: sh tools/release.sh FOLDER [COMMIT]" >&2
    exit 2
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC
unset GZIP
commit=$(git rev-parse --verify "${2-HEAD}^{commit}")
seconds=$(git log -1 --format=%ct "$commit")
version=$(git show "$commit:meson.build" | sed -n "s/^  version: '\([0-9.]*\)'.*/\1/p")
name=shiftvit-$version

# Nothing of the user's settings: line ends, attributes and permissions are those of the repository.
git -c core.autocrlf=false -c core.eol=lf -c core.attributesFile=/dev/null -c tar.umask=0022 \
    archive --format=tar --prefix="$name/" "$commit" | gzip -9 -n >"$folder/$name.tar.gz"

# The lists come from the tarball's own tool, so that they describe that commit.
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
tar -xzf "$folder/$name.tar.gz" -C "$tools"
for list in spdx cyclonedx; do
    python3 "$tools/$name/tools/sbom.py" $list --tarball "$folder/$name.tar.gz" --created "$seconds" \
        >"$folder/$name.$list.json"
done
cd "$folder"
sha256sum "$name.tar.gz" "$name.spdx.json" "$name.cyclonedx.json" >"$name.sha256"
cat "$name.sha256"
