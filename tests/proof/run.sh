#!/bin/sh
# Proves that the functions which read bytes from outside have no run-time error: run.sh [NAME...]
# prints a table and exits 1 if a goal is not proved or an alarm is left. NAME is the name of a file
# without its ending, or `eva_NAME`; without names all are proved. SOUNDNESS.md says what that means.
# PROOF_SECONDS is the time that a prover has for a goal, PROOF_JOBS how many run at once, and
# PROOF_CACHE a folder in which their answers are kept for the next run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.." || exit 1
for tool in frama-c why3 z3 cvc4; do
    command -v "$tool" >/dev/null && continue
    echo "skipped: $tool is missing (Debian: frama-c-base why3 z3 cvc4)"
    exit 77
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
WHY3CONFIG=$work/why3.conf
export WHY3CONFIG
why3 config detect >"$work/why3.log" 2>&1 || { cat "$work/why3.log"; exit 1; }
share=$(frama-c -print-share-path)
seconds=${PROOF_SECONDS:-20}
cache=${PROOF_CACHE:+-wp-cache update -wp-cache-dir $PROOF_CACHE}
failed=0

includes="-nostdinc -Itests/proof/libc -I$share/libc -Ilib -Iinclude -idirafter /usr/include"
flags="-DNDEBUG -D_GNU_SOURCE"

# The lines of the functions $2 of the file $1.
count_lines() {
    awk -v names=",$2," '
        !inside && /^[a-z].*\(/ {
            name = $0
            sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
            inside = index(names, "," name ",") > 0
            count = 0
        }
        inside { count++; if (/;$/ && count == 1) inside = 0 }
        inside && /^}/ { total += count; inside = 0 }
        END { print total + 0 }' "$1"
}

row() {
    printf '%-22s %5s  %-4s %13s  %s\n' "$1" "$2" "$3" "$4" "$5"
}

# wp FILE FUNCTIONS [PROPERTIES [HEADER]]: proves the contracts of functions for all sizes.
wp() {
    name=$(basename "$1" .c)
    wanted "$name" || return 0
    lines=$(count_lines "$1" "$2")
    frama-c -machdep gcc_x86_64 -c11 -no-frama-c-stdlib \
        -cpp-extra-args="$includes $flags -include tests/proof/assumed.h ${4:+-include tests/proof/$4}" \
        -warn-special-float none -wp -wp-rte -wp-model Typed+Cast -wp-literals -wp-prover z3,cvc4 \
        $cache -wp-timeout "$seconds" -wp-par "${PROOF_JOBS:-2}" -wp-prop="${3:--@terminates}" \
        -wp-fct "$2" "$1" >"$work/log" 2>&1
    status=$?
    goals=$(sed -n 's/.*Proved goals: *\([0-9]*\) *\/ *\([0-9]*\).*/\1\/\2/p' "$work/log")
    row "$name" "$lines" WP "${goals:-none}" "any size"
    [ "$status" -eq 0 ] && [ -n "$goals" ] && [ "${goals%/*}" = "${goals#*/}" ] && [ "${goals#*/}" != 0 ] &&
        [ "$lines" -gt 0 ] && return 0
    failed=1
    sed -n 's/^\[wp\] \[\(Failed\|Timeout\|Unknown\|Stepout\)\] Goal typed_cast_/    not proved: /p' "$work/log"
    grep 'User Error' "$work/log"
}

# eva NAME FILE FUNCTIONS BOUND [OPTION...]: runs eva_NAME.c on every input within the bound.
eva() {
    name=eva_$1 file=$2 functions=$3 bound=$4
    shift 4
    wanted "$name" || return 0
    lines=$(count_lines "$file" "$functions")
    frama-c -machdep gcc_x86_64 -c11 -cpp-extra-args="-Ilib -Iinclude $flags" -warn-special-float none \
        -eva -eva-no-show-progress -eva-slevel 1000 "$@" "tests/proof/$name.c" >"$work/log" 2>&1
    status=$?
    alarms=
    grep -q 'ANALYSIS SUMMARY' "$work/log" && alarms=$(grep -c '\[eva:alarm\]' "$work/log")
    row "$name" "$lines" Eva "${alarms:-no} alarms" "$bound"
    [ "$status" -eq 0 ] && [ "$alarms" = 0 ] && [ "$lines" -gt 0 ] &&
        grep -q '100% of the logical properties reached have been proven' "$work/log" && return 0
    failed=1
    grep '\[eva:alarm\]' -A2 "$work/log" | head -40
    [ -n "$alarms" ] || tail -20 "$work/log"
}

# Whether the caller asks for this name.
wanted() {
    case " $names " in "  " | *" $1 "*) rows=$((rows + 1)) ;; *) return 1 ;; esac
}

names=$*
rows=0
row file lines tool "proved" bound
. "$here/targets.sh"
[ "$rows" -gt 0 ] || { echo "no file is called so: $names"; exit 1; }
[ -n "$names" ] || [ "$rows" -eq "$(grep -c '^[a-z]' "$here/targets.sh")" ] || failed=1
[ "$failed" -eq 0 ] && echo "all proved" || echo "NOT PROVED"
exit "$failed"
