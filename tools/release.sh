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
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Nothing of this clone and of the user's settings: a fresh repository, which has the commit from this one, reads no
# attributes but the commit's, no replaced objects and no configuration.
objects=$(cd "$(git rev-parse --git-path objects)" && pwd)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1
git init -q --bare --template= "$work/repository"
echo "$objects" >"$work/repository/objects/info/alternates"
export GIT_DIR="$work/repository"
# The commit alone is read, as a shallow clone has no others.
seconds=$(git cat-file commit "$commit" | sed -n '/^$/q; s/^committer .*> \([0-9]*\) .*/\1/p')
version=$(git show "$commit:meson.build" | sed -n "s/^  version: '\([0-9.]*\)'.*/\1/p")
name=shiftvit-$version

# Line ends and permissions are those of the commit, and so is the list of files.
git -c core.autocrlf=false -c core.eol=lf -c core.attributesFile=/dev/null -c tar.umask=0022 \
    archive --format=tar --prefix="$name/" "$commit" >"$work/tar"
tar -tf "$work/tar" | sed "s|^$name/||; /\/\$/d; /^\$/d" | sort >"$work/packed"
git ls-tree -r --name-only "$commit" | sort >"$work/committed"
diff "$work/committed" "$work/packed" >&2 || {
    echo "release.sh: the tarball (>) has other files than the commit (<)" >&2
    exit 1
}
gzip -9 -n <"$work/tar" >"$folder/$name.tar.gz"

# The lists come from the tarball's own tool, so that they describe that commit.
tar -xf "$work/tar" -C "$work"
for list in spdx cyclonedx; do
    python3 "$work/$name/tools/sbom.py" $list --tarball "$folder/$name.tar.gz" --created "$seconds" \
        >"$folder/$name.$list.json"
done
cd "$folder"
sha256sum "$name.tar.gz" "$name.spdx.json" "$name.cyclonedx.json" >"$name.sha256"
cat "$name.sha256"
