# Shared by the tests of the programs; sourced with the folder of the programs as $programs. Creates
# $work, a folder that is removed at the end.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
export LC_ALL=C

fail() {
    printf "%s\n" "$1" >&2
    exit 1
}

# run STATUS PROGRAM OPTION...: the program ends with that status; what it printed is in $work/out and
# $work/err.
run() {
    wanted=$1 program=$2
    shift 2
    status=0
    "$programs/$program" "$@" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" = "$wanted" ] ||
        fail "$program $*: exit status $status, not $wanted: $(cat "$work/out" "$work/err")"
}

# prints PATTERN, says PATTERN: a line of standard output, of standard error, is of that form (an
# extended regular expression).
prints() {
    grep -Eq -e "$1" "$work/out" || fail "$program: no line of '$(cat "$work/out")' is of the form '$1'"
}
says() {
    grep -Eq -e "$1" "$work/err" || fail "$program: no line of '$(cat "$work/err")' is of the form '$1'"
}

# lasts PATTERN: the last line of standard output is of that form.
lasts() {
    tail -n 1 "$work/out" | grep -Eq -e "$1" || fail "$program: the last line is '$(tail -n 1 "$work/out")'"
}

# is_png FILE: the file exists and begins with the PNG signature.
is_png() {
    [ "$(od -An -tx1 -N8 "$1" | tr -d ' ')" = 89504e470d0a1a0a ] || fail "$1 is no PNG file"
}

there() {
    for file in "$@"; do
        [ -e "$file" ] || fail "'$file' is not there"
    done
}

absent() {
    for file in "$@"; do
        [ ! -e "$file" ] || fail "'$file' is there"
    done
}

# The commands of a page, one a line: indented lines that begin with a program, continued ones joined.
commands() {
    awk '/^    build\/examples\// { line = substr($0, 5); open = 1 }
         open && !/^    build\/examples\// { line = line substr($0, 5) }
         open && line ~ /\\$/ { sub(/\\$/, "", line); next }
         open { print line; open = 0 }' "$1"
}

# option NAME COMMAND: the value of an option.
option() {
    echo "$2" | sed -n "s/.* --$1 \\([^ ]*\\).*/\\1/p"
}

percent='(100|[0-9]{1,2})\.[0-9]{2} %'
result="loss [0-9]+\\.[0-9]{4} top-1 $percent top-5 $percent"

# A model that trains in a second, and data to train it.
small='--set dim=24 --set blocks=[1,1] --epochs 1 --batch 32 --threads 2 --limit-val 20 --limit-test 20'

# needs_decoders: skips the test where the library cannot read JPEG or PNG.
needs_decoders() {
    if ! "$programs/shiftvit-info" --build | grep -Eqx 'decoders *jpeg png( webp)?'; then
        echo 'skipped: this build has no JPEG or no PNG'
        exit 77
    fi
}
