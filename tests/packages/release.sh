#!/bin/sh
# Makes the release of a commit twice: in two folders, by two users where this one may become another, with other
# permissions, languages, time zones, times of the files and attributes of the clone. All bytes are equal;
# verify-release says so, and finds a byte that was changed.  release.sh SOURCE_ROOT [--build]
set -eu
root=$1 build=${2-}
command -v git >/dev/null && git -C "$root" rev-parse HEAD >/dev/null 2>&1 || {
    echo 'skipped: this is no git checkout'
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$folder"
git clone -q --no-hardlinks "$root" "$folder/first"
cp -R "$folder/first" "$folder/elsewhere"
printf '%s\n' 'COPYING export-ignore' '*.md text eol=crlf' >"$folder/elsewhere/.git/info/attributes"
find "$folder/elsewhere" -exec touch -h -d '2001-02-03 04:05:06' {} +
sh "$folder/first/tools/release.sh" "$folder/one" >"$folder/log"

cat >"$folder/other.sh" <<'END'
umask 077
export LANG=de_DE.UTF-8 LC_ALL=C.UTF-8 TZ=Asia/Kathmandu HOME=$1/home GZIP=-1
# The folder for temporary files may be one that the other user must not write to.
export TMPDIR=$1/other
mkdir -p "$HOME" "$TMPDIR"
git config --global core.autocrlf true
git config --global tar.umask user
git config --global safe.directory '*'
sh "$1/elsewhere/tools/release.sh" "$1/two"
END
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chown -R 65534:65534 "$folder/elsewhere"
    chmod 777 "$folder"
    setpriv --reuid 65534 --regid 65534 --clear-groups sh "$folder/other.sh" "$folder" >>"$folder/log"
else
    sh "$folder/other.sh" "$folder" >>"$folder/log"
fi
for file in "$folder"/one/*; do
    cmp "$file" "$folder/two/$(basename "$file")"
done
cat "$folder"/one/*.sha256

# shellcheck disable=SC2086 # --build, or nothing
sh "$root/tools/verify-release" "$folder/one" --source "$folder/first" HEAD $build

refuse() {
    if sh "$root/tools/verify-release" "$folder/bad" >"$folder/log" 2>&1; then
        echo "verify-release takes $1"
        exit 1
    fi
    grep -q "$2" "$folder/log" || { cat "$folder/log"; exit 1; }
}
cp -R "$folder/one" "$folder/bad"
printf x >>"$(echo "$folder"/bad/*.tar.gz)"
refuse 'a tarball with another byte' 'not the one that was released'
cp "$folder"/one/* "$folder/bad/"
sed -i 1d "$(echo "$folder"/bad/*.sha256)"
refuse 'sums without the tarball' 'does not list the three files'
cp "$folder"/one/* "$folder/bad/"
sed -i 's/"content": "./"content": "-/' "$(echo "$folder"/bad/*.cyclonedx.json)"
(cd "$folder/bad" && sha256sum -- *.tar.gz *.spdx.json *.cyclonedx.json >"$(echo ./*.sha256)")
refuse 'a list about another tarball' 'is about another tarball'
