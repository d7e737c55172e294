#!/bin/sh
# Checks the pages: every relative link and picture leads to a file, every anchor to a heading,
# and no line is wider than 120 columns outside code blocks, tables and lines with a link or picture.
# docs_links.sh SOURCE_ROOT
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
export LC_ALL=C

# prose PAGE: the page without its code, fenced, indented or in a line.
prose() {
    awk '/^```/ { fenced = !fenced; next } !fenced && !/^    / { gsub(/`[^`]*`/, ""); print }' "$1"
}

# targets PAGE: what it links to, one a line, without other hosts.
targets() {
    prose "$1" | awk '{
        while (match($0, /\]\([^)]*\)/)) {
            print substr($0, RSTART + 2, RLENGTH - 3)
            $0 = substr($0, RSTART + RLENGTH)
        }
        while (match($0, /(src|href)="[^"]*"/)) {
            target = substr($0, RSTART, RLENGTH - 1)
            sub(/^[a-z]*="/, "", target)
            print target
            $0 = substr($0, RSTART + RLENGTH)
        }
    }' | grep -Ev '^(https?|mailto):' || true
}

# anchors PAGE: of its headings, as GitHub makes them.
anchors() {
    awk '/^```/ { fenced = !fenced }
         !fenced && /^#+ / { sub(/^#+ +/, ""); $0 = tolower($0)
                             gsub(/[^a-z0-9 _-]/, ""); gsub(/ /, "-"); print }' "$1"
}

say() {
    printf '%s\n' "$1" >>"$work/wrong"
}

check_link() {
    file=${2%%#*}
    path=$(dirname "$1")/$file
    [ -n "$file" ] || path=$1
    if [ ! -e "$path" ]; then
        say "$1: '$2' leads to no file"
    elif [ "$file" != "$2" ]; then
        anchors "$path" | grep -qxF -e "${2#*#}" || say "$1: '$2' leads to no heading"
    fi
}

# Pages whose width is not checked.
unmeasured='CHANGELOG.md'

count=0
: >"$work/wrong"
for page in *.md docs/*.md docs/*/*.md; do
    targets "$page" >"$work/targets"
    while read -r target; do
        check_link "$page" "$target"
        count=$((count + 1))
    done <"$work/targets"
    case " $unmeasured " in *" $page "*) continue ;; esac
    awk -v page="$page" '
        /^```/ { fenced = !fenced }
        length > 120 && !fenced && !/^    / && !/^ *\|/ && !/\]\(/ && !/<(a|img) / {
            print page ":" FNR ": " length " columns"
        }' "$page" >>"$work/wrong"
done
cat "$work/wrong"
[ ! -s "$work/wrong" ] || exit 1
[ "$count" -ge 40 ] || { echo "only $count links were found"; exit 1; }
echo "$count links"
