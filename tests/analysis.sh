#!/bin/sh
# Reads the library with other eyes: clang-tidy, cppcheck, gcc's analyser, clang's sanitizers of integers and
# conversions, and ThreadSanitizer on a long training beside predictions.
#
# usage: sh tests/analysis.sh [PART...]      PART: tidy cppcheck analyzer integers threads; all if none is given
#
# Each part prints a line with what it found; what was read and is no fault is listed in tests/analysis with its
# reason, or in .clang-tidy. The exit status is 1 if a part found anything else, 77 if a tool is missing.
set -u
cd "$(dirname "$0")/.." || exit 1
build=build-analysis
mkdir -p $build
status=0
[ $# -gt 0 ] || set -- tidy cppcheck analyzer integers threads

# report PART COUNT WHAT LOG
report() {
    printf '%-10s %4s %s\n' "$1" "$2" "$3"
    [ "$2" = 0 ] && return
    status=1
    head -n 40 "$4"
}

need() {
    command -v "$1" >/dev/null 2>&1 && return 0
    echo "skipped: $1 is missing (Debian: apt install $2)"
    [ $status = 1 ] || status=77
    return 1
}

# configure NAME COMPILER [OPTION...]
configure() {
    folder=$build/$1 compiler=$2
    shift 2
    [ -f "$folder/build.ninja" ] ||
        CC=$compiler meson setup "$folder" -Dbuildtype=debugoptimized -Dexamples=false -Dopenmpi=disabled \
            -Dmpich=disabled "$@" >"$build/log" 2>&1 || { cat "$build/log"; exit 1; }
}

# What clang-tidy says of every source but the kernels', which are compiled by instruction set, and those of Windows.
tidy() {
    need clang-tidy clang-tidy || return
    configure tidy clang -Dtests=false
    find lib -name '*.c' ! -path 'lib/kernels/*' ! -path 'lib/gemm/*' ! -path '*/windows/*' >$build/tidy.files
    xargs -n 8 -P 2 clang-tidy --quiet -p $build/tidy <$build/tidy.files >$build/tidy.log 2>$build/tidy.errors ||
        { cat $build/tidy.errors; status=1; }
    sed 's/\x1b\[[0-9;]*m//g' $build/tidy.log | grep -E '(warning|error):' | sort -u >$build/tidy.found
    report tidy "$(wc -l <$build/tidy.found)" "warnings of clang-tidy in $(wc -l <$build/tidy.files) files" \
        $build/tidy.found
}

cppcheck_part() {
    need cppcheck cppcheck || return
    cppcheck --quiet --enable=warning,portability,performance --std=c11 --error-exitcode=0 -Iinclude -Ilib \
        -DSV_ISA_SUFFIX=_x -DSVIT_API= --suppress=missingIncludeSystem \
        --suppressions-list=tests/analysis/cppcheck.txt lib 2>$build/cppcheck.log ||
        { cat $build/cppcheck.log; status=1; }
    grep -E ': (error|warning|portability|performance):' $build/cppcheck.log >$build/cppcheck.found
    report cppcheck "$(wc -l <$build/cppcheck.found)" 'findings of cppcheck' $build/cppcheck.found
}

# gcc 12's analyser takes the lanes of its own vectors for shorter numbers, so its check of shifts is off.
analyzer() {
    need gcc gcc || return
    configure analyzer gcc -Dtests=false '-Dc_args=-fanalyzer -Wno-analyzer-shift-count-overflow -DSV_ANALYZER'
    # Only a file that is compiled says what was found in it.
    ninja -C $build/analyzer -t clean >$build/analyzer.log
    CCACHE_DISABLE=1 ninja -C $build/analyzer -j 2 >$build/analyzer.log 2>&1 ||
        { tail -n 20 $build/analyzer.log; status=1; return; }
    grep 'Wanalyzer' $build/analyzer.log | sed -n 's#^.*\(lib/.*\):[0-9]*:[0-9]*: warning: #\1: #p' | sort -u \
        >$build/analyzer.all
    grep -vFf tests/analysis/analyzer.txt $build/analyzer.all >$build/analyzer.found
    report analyzer "$(wc -l <$build/analyzer.found)" "findings of gcc -fanalyzer, $(wc -l <$build/analyzer.all) before \
those that were read" $build/analyzer.found
}

# The tests of what reads numbers from outside, and the fuzz corpora, with every wrap and lost bit reported.
integers() {
    need clang clang || return
    # The shared runtime, since clang links the other one into no shared library.
    runtime=$(dirname "$(clang -print-file-name="libclang_rt.ubsan_standalone-$(uname -m).so")")
    configure integers clang -Dtests=true -Db_lundef=false -Doptimization=1 \
        "-Dc_args=-fsanitize=integer,implicit-conversion -fno-sanitize=unsigned-shift-base \
-fsanitize-ignorelist=$PWD/tests/analysis/integer.txt" \
        "-Dc_link_args=-fsanitize=integer,implicit-conversion -shared-libsan -Wl,-rpath,$runtime"
    ninja -C $build/integers -j 2 >$build/integers.log 2>&1 ||
        { tail -n 20 $build/integers.log; status=1; return; }
    : >$build/integers.log
    programs=0
    for program in $build/integers/tests/fuzz/fuzz_*; do
        [ -f "$program" ] && [ -x "$program" ] || continue
        programs=$((programs + 1))
        "$program" "tests/fuzz/corpus/${program##*fuzz_}" >>$build/integers.log 2>&1 ||
            echo "runtime error: $program fails" >>$build/integers.log
    done
    # `blas` needs a process for each library that it makes up.
    for program in $build/integers/tests/test_*; do
        [ -f "$program" ] && [ -x "$program" ] || continue
        case ${program##*/test_} in
        *_double | blas | determinism | gradients | layers | many_threads | matmul | memory | reducer | reference_* | \
            small_stack | input_gradient | faults | kills) continue ;;
        esac
        programs=$((programs + 1))
        CK_FORK=no timeout 600 "$program" >>$build/integers.log 2>&1 || [ $? = 77 ] ||
            echo "runtime error: $program fails" >>$build/integers.log
    done
    grep 'runtime error' $build/integers.log | grep -v '^/usr/' | sort -u >$build/integers.found
    report integers "$(wc -l <$build/integers.found)" "wraps or lost bits in $programs programs" $build/integers.found
}

# Loader, pool, shared weights and predictors in 8 threads, trainings beside them, the reducer of leaves.
threads() {
    need setarch util-linux || return
    configure threads gcc -Dtests=true -Db_sanitize=thread
    ninja -C $build/threads -j 2 tests/soak/soak tests/test_reducer tests/test_lifetimes >$build/threads.log 2>&1 ||
        { tail -n 20 $build/threads.log; status=1; return; }
    : >$build/threads.log
    for command in "sh tests/soak/run.sh $build/threads/tests/soak/soak 640 20 8" \
        "$build/threads/tests/test_reducer" "$build/threads/tests/test_lifetimes"; do
        # A command with its arguments, meant to be split.
        # shellcheck disable=SC2086
        CK_FORK=no setarch "$(uname -m)" -R $command >>$build/threads.log 2>&1 || echo "WARNING: $command fails" >>$build/threads.log
    done
    grep 'WARNING:' $build/threads.log >$build/threads.found
    report threads "$(wc -l <$build/threads.found)" 'races' $build/threads.found
}

for part in "$@"; do
    case $part in
    cppcheck) cppcheck_part ;;
    tidy | analyzer | integers | threads) "$part" ;;
    *)
        echo "usage: sh tests/analysis.sh [tidy|cppcheck|analyzer|integers|threads]..." >&2
        exit 2
        ;;
    esac
done
exit $status
