#!/bin/sh
# The C++ headers compile alone without a warning, with and without exceptions, and lack no function; the programs of
# docs/cpp.md run, and so do the two tests, also with AddressSanitizer, which finds lost handles.
# cpp.sh SOURCE_ROOT LIBRARY CXX
set -eu
root=$1 library=$2 cxx=$3
command -v "$cxx" >/dev/null 2>&1 || {
    echo "skipped: $cxx is missing"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
flags="-std=c++17 -O1 -Wall -Wextra -Wconversion -Wshadow -pedantic -Werror"

# The words of flags are meant to be split.
# shellcheck disable=SC2086
compile() {
    source=$1 program=$2
    shift 2
    $cxx $flags -I"$root/include" "$@" "$source" -o "$program" "$library" -Wl,-rpath,"$(dirname "$library")"
}
for header in "$root"/include/shiftvit/*.hpp; do
    for mode in -fexceptions -fno-exceptions; do
        # shellcheck disable=SC2086
        printf '#include <shiftvit/%s>\nint header_is_alone;\n' "$(basename "$header")" |
            $cxx $flags -I"$root/include" $mode -fsyntax-only -x c++ - || {
            echo "$header fails with $mode"
            exit 1
        }
    done
done

# The handle of mpi.h has an owner.
printf '#define SVIT_MPI_WITHOUT_MPI_H\n#include <shiftvit/mpi.h>\n#include <shiftvit/handle.hpp>\n%s\n' \
    'void own(svit_mpi *mpi) { shiftvit::handle<svit_mpi, svit_mpi_free>{mpi}; }' |
    "$cxx" -std=c++17 -I"$root/include" -I"$root/bindings/mpi/include" -fsyntax-only -x c++ - || exit 1

# An older language is named.
printf '#include <shiftvit/shiftvit.hpp>\n' | "$cxx" -std=c++14 -I"$root/include" -fsyntax-only -x c++ - 2>"$folder/old" &&
    {
        echo "the headers take C++14"
        exit 1
    }
grep -q 'need C++17 or later' "$folder/old" || {
    echo "C++14 is refused without the reason"
    exit 1
}

# A function of events whose value would be cut, or that returns none, is refused with the reason.
for value in 'return 1ul << 32' 'return 1.5' 'return'; do
    printf '#include <shiftvit/shiftvit.hpp>\nvoid run(shiftvit::trainer &trainer)\n{\n    %s %s; });\n}\n' \
        '(void)trainer.run([](const svit_trainer_event &) {' "$value" >"$folder/value.cc"
    "$cxx" -std=c++17 -I"$root/include" -fsyntax-only "$folder/value.cc" 2>"$folder/value" && {
        echo "trainer.run takes a function with '$value'"
        exit 1
    }
    grep -q 'returns bool, int or std::int32_t' "$folder/value" || {
        echo "a function with '$value' is refused without the reason"
        exit 1
    }
done

# A function that the classes lack; C++ has the newer form of svit_evaluate.
awk -f "$root/tests/cpp/wrapped.awk" "$root"/include/shiftvit/*.h >"$folder/wrapped"
cat "$root"/include/shiftvit/*.hpp >"$folder/classes"
while read -r function; do
    [ "$function" = svit_evaluate ] || grep -qw "$function" "$folder/classes" || {
        echo "the C++ headers lack $function"
        exit 1
    }
done <"$folder/wrapped"

# program NAME: of docs/cpp.md.
program() {
    sed -n "/program: $1/,/program: end/p" "$root/docs/cpp.md" | sed '/^```/d; /^<!--/d' >"$folder/$1.cc"
    test -s "$folder/$1.cc"
}
program exceptions
program status
compile "$folder/exceptions.cc" "$folder/exceptions"
compile "$folder/status.cc" "$folder/status" -fno-exceptions -fno-rtti
"$folder/exceptions" >"$folder/said"
cat "$folder/said"
grep -q '^epoch 2: loss [0-9.]*$' "$folder/said"
[ "$(tail -n 1 "$folder/said" | wc -w)" = 10 ]
[ "$("$folder/status")" = '4 steps: ok' ]
if compile "$folder/status.cc" "$folder/mixed" 2>/dev/null; then
    echo 'the program without exceptions compiles with them, so it does not test them'
    exit 1
fi

# The tests without exceptions, with them, and with a macro in place of the compiler's option.
# AddressSanitizer fails on a handle that is freed twice or never; it needs to look at its own process.
echo 'int main() { return 0; }' >"$folder/empty.cc"
sanitizer='-fsanitize=address,undefined -O0'
# shellcheck disable=SC2086
{ $cxx $sanitizer "$folder/empty.cc" -o "$folder/empty" && "$folder/empty"; } >/dev/null 2>&1 || {
    sanitizer=-O1
    echo 'skipped check: AddressSanitizer does not run here'
}
for mode in -fexceptions -fno-exceptions -DSHIFTVIT_NO_EXCEPTIONS; do
    for test in test_handles test_functions; do
        # shellcheck disable=SC2086
        compile "$root/tests/cpp/$test.cc" "$folder/$test" $mode $sanitizer
        mkdir "$folder/files"
        "$folder/$test" "$folder/files" || {
            echo "$test fails with $mode"
            exit 1
        }
        rm -r "$folder/files"
    done
done
