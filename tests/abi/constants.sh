#!/bin/sh
# Every recorded enumerator still has its value. New ones are accepted.
# constants.sh SOURCE_ROOT CC CONSTANTS_TXT.  After a deliberate addition:
# constants.sh SOURCE_ROOT CC - > constants.txt
set -eu
LC_ALL=C
export LC_ALL
root=$1 cc=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
{
    echo '#include <shiftvit/shiftvit.h>'
    echo '#include <stdio.h>'
    echo 'static const struct { const char *name; long long value; } enumerators[] = {'
    awk -f "$root/lib/base/constants.awk" "$root"/include/shiftvit/*.h
    echo '};'
    cat <<'END'
int main(void) {
    for (size_t i = 0; i < sizeof enumerators / sizeof enumerators[0]; i++)
        printf("%s %lld\n", enumerators[i].name, enumerators[i].value);
}
END
} >"$folder/print.c"
# The compiler may be a command with arguments.
# shellcheck disable=SC2086
$cc -std=c11 -I"$root/include" "$folder/print.c" -o "$folder/print"
"$folder/print" | sort >"$folder/found"
if [ "$3" = - ]; then
    cat "$folder/found"
    exit
fi
test -s "$3"
comm -23 "$3" "$folder/found" >"$folder/broken"
if [ -s "$folder/broken" ]; then
    echo "these enumerators are gone or have another value: see docs/abi.md"
    cat "$folder/broken"
    exit 1
fi
