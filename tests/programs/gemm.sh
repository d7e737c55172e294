#!/bin/sh
# --gemm: every program accepts the backends that the library names and refuses others; the bench
# measures each matmul with every backend that runs here. shiftvit-info names the image formats of the
# build.  gemm.sh FOLDER_OF_THE_PROGRAMS DECODERS
set -eu
programs=$1 decoders=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "$1" >&2
    exit 1
}

# A library that loads its BLAS is not linked with one.
if ldd "$programs/shiftvit-info" | grep -iE 'libopenblas|libblis'; then
    fail 'a program is linked with a BLAS'
fi

"$programs/shiftvit-info" --build >"$work/build"
grep -Eqx "decoders +$decoders" "$work/build" || fail "the decoders are not '$decoders': $(cat "$work/build")"

# field NAME: its text in the description of the build.
field() {
    sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$work/build"
}

# The names of the backends, one a line.
"$programs/shiftvit-info" --build --json >"$work/build"
sed -n 's/.*"gemms": *\[\([^]]*\)\].*/\1/p' "$work/build" | tr -d ' "' | tr , '\n' >"$work/gemms"
grep -q '^tile$' "$work/gemms" || fail 'no tiles among the backends'

while read -r gemm; do
    "$programs/shiftvit-info" --build --json --gemm "$gemm" >"$work/build"
    [ "$(field gemm)" = "$gemm" ] || fail "--gemm $gemm gives $(field gemm)"
done <"$work/gemms"

# refuses STATUS WORDS PROGRAM OPTION...
refuses() {
    wanted=$1 words=$2 program=$3
    shift 3
    status=0
    "$programs/$program" "$@" >/dev/null 2>"$work/said" || status=$?
    [ "$status" = "$wanted" ] || fail "$program $*: exit status $status, not $wanted"
    grep -qF "$words" "$work/said" || fail "$program $*: says $(cat "$work/said")"
}
accepted="'tile', 'cblas' and 'amx'"
refuses 2 "$accepted" shiftvit-info --build --gemm abacus
refuses 2 "$accepted" shiftvit-train --gemm abacus --out "$work/run"
refuses 2 "$accepted" shiftvit-eval --gemm abacus --model "$work/none" --data procedural
refuses 2 "$accepted" shiftvit-predict --gemm abacus --model "$work/none" "$work/none.png"
refuses 2 "$accepted" shiftvit-bench --gemm abacus
if [ -x "$programs/shiftvit-curves" ]; then
    refuses 2 "$accepted" shiftvit-curves --gemm abacus --out "$work/curves.png" "$work/none"
fi
refuses 2 'only f32 and bf16' shiftvit-bench --work gemm --compute int8
if ! grep -q '^amx$' "$work/gemms"; then
    refuses 1 "gemm is 'amx'" shiftvit-info --build --gemm amx
fi

small='--set dim=24 --set blocks=[1] --batch 1 --seconds 0 --repeat 1 --threads 1'
# measured COUNT OPTION...: the backends of the bench's first COUNT lines, sorted; the bench
# is ended after them.
measured() {
    count=$1
    shift
    # Options are meant to be split.
    # shellcheck disable=SC2086
    "$programs/shiftvit-bench" --work gemm $small "$@" | head -n "$count" >"$work/lines"
    sed -n 's/.*"backend": *"\([^"]*\)".*/\1/p' "$work/lines" | sort -u
}
all=$(measured "$(wc -l <"$work/gemms")")
[ "$all" = "$(sort "$work/gemms")" ] || fail "measured are $all"
[ "$(measured 2 --gemm tile)" = tile ] || fail '--gemm tile measures others, too'
[ "$(measured 2 --compute bf16)" = "$(field gemm_bf16)" ] || fail 'bf16 has another backend'
grep -q '"compute": *"bf16"' "$work/lines" || fail 'the lines do not say bf16'

# A resumed run keeps the GEMM backend that it began with.
"$programs/shiftvit-train" --data procedural:64 --limit-val 32 --limit-test 32 --set dim=24 \
    --set 'blocks=[1]' --epochs 1 --batch 32 --threads 1 --quiet --gemm tile --out "$work/run" >/dev/null
grep -q '"gemm": *"tile"' "$work/run/run.json" || fail 'run.json does not say --gemm'
"$programs/shiftvit-train" --resume "$work/run" --epochs 2 --quiet >/dev/null
[ "$(wc -l <"$work/run/history.csv")" = 3 ] || fail 'the run was not resumed'
grep -q '"gemm": *"tile"' "$work/run/run.json" || fail 'the resumed run has another backend'

# If the library uses AMX, the peak of AMX is measured.
"$programs/shiftvit-bench" --work limits --threads 1 >"$work/lines"
grep -q '"bf16_gflops": *{' "$work/lines" || fail 'limits has no bf16_gflops'
if grep -q '^amx$' "$work/gemms"; then
    grep -q '"bf16_gflops": *{"amx": *[1-9]' "$work/lines" || fail 'limits has no figure for amx'
fi
