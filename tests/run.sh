#!/bin/sh
# Builds and tests everything: gcc and clang with warnings as errors, all tests, then the sanitizers
# and valgrind. `--quick`: the gcc build and its tests only. Installs what is missing where it can.
# The last line of the output is "N passed, N failed, N skipped"; a check that the
# machine cannot run is reported as skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
builds=build-tests
log=$builds/run.log
passed=0
failed=0
skipped=0
quick=no
case ${1-} in
'') ;;
--quick) quick=yes ;;
*)
    echo "usage: sh tests/run.sh [--quick]" >&2
    exit 2
    ;;
esac

commands='meson ninja pkg-config gcc g++ clang valgrind abidw abidiff cmake doxygen mandoc'
libraries='libblis.so'
modules='openblas check jansson libturbojpeg libpng cairo'
packages='gcc g++ clang meson ninja-build pkg-config libc6-dev libopenblas-dev libblis-dev check
libjansson-dev libturbojpeg0-dev libpng-dev libcairo2-dev fonts-dejavu-core valgrind
abigail-tools cmake doxygen mandoc'
# The tests of the bindings need these. Where they cannot be had, those tests are skipped.
optional='python3-numpy cargo'

missing() {
    for command in $commands; do
        command -v "$command" >/dev/null 2>&1 || echo "$command"
    done
    if command -v pkg-config >/dev/null 2>&1; then
        for module in $modules; do
            pkg-config --exists "$module" || echo "$module"
        done
    fi
    # Debian's BLIS has no pkg-config file.
    for library in $libraries; do
        [ -n "$(find /usr/lib /usr/local/lib -name "$library" 2>/dev/null | head -n 1)" ] ||
            echo "$library"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

prepare() {
    [ -z "$(missing)" ] && return 0
    echo "missing: $(missing | tr '\n' ' ')"
    if command -v apt-get >/dev/null 2>&1; then
        as_root apt-get update -q >/dev/null
        # The list is meant to be split.
        # shellcheck disable=SC2086
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
            $packages >/dev/null
        # shellcheck disable=SC2086
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
            $optional >/dev/null || echo "the tests of the bindings may be skipped: no $optional"
    fi
    [ -z "$(missing)" ] && return 0
    echo "still missing: $(missing | tr '\n' ' ')"
    echo "needed, by Debian's names: $packages" | tr "\n" " " && echo
    return 1
}

# step NAME COMMAND...: runs a command that counts as one check.
step() {
    name=$1
    shift
    begin=$(date +%s)
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name ($(($(date +%s) - begin)) s)"
        return 0
    fi
    failed=$((failed + 1))
    echo "FAILED  $name"
    tail -n 60 "$log"
    return 1
}

# configure NAME COMPILER [MESON OPTION...]
configure() {
    folder=$builds/$1
    compiler=$2
    shift 2
    [ -f "$folder/build.ninja" ] && return 0
    rm -rf "$folder"
    CC=$compiler meson setup "$folder" -Dwerror=true "$@"
}

# build NAME COMPILER [MESON OPTION...]
build() {
    configure "$@" && ninja -C "$builds/$1"
}

# build_tests PATTERN NAME COMPILER [MESON OPTION...]: only what the tests need whose names match.
build_tests() {
    pattern=$1
    shift
    configure "$@" || return 1
    needed=$(python3 tests/runner/targets.py "$builds/$1" "$pattern") || return 1
    # Names of files, meant to be split.
    # shellcheck disable=SC2086
    ninja -C "$builds/$1" $needed
}

# tests NAME FOLDER [MESON TEST OPTION...]
tests() {
    name=$1
    folder=$builds/$2
    shift 2
    begin=$(date +%s)
    rm -f "$folder"/meson-logs/testlog*.txt
    if meson test -C "$folder" --no-rebuild --logbase testlog "$@" >"$log" 2>&1; then
        word='ok     '
    else
        word=FAILED
    fi
    found=$(find "$folder/meson-logs" -name "testlog*.txt" | head -n 1)
    counts=$(if [ -n "$found" ]; then awk -f tests/runner/count.awk "$found"; else echo 0 1 0; fi)
    # Three numbers, meant to be split.
    # shellcheck disable=SC2086
    set -- $counts
    good=$1 bad=$2 left=$3
    [ "$word" = FAILED ] && [ "$bad" = 0 ] && bad=1
    passed=$((passed + good))
    failed=$((failed + bad))
    skipped=$((skipped + left))
    echo "$word $name: $good passed, $bad failed, $left skipped ($(($(date +%s) - begin)) s)"
    if [ "$word" = FAILED ]; then
        cat "$log"
        [ -n "$found" ] && grep -E ':[FE]:|ERROR|WARNING: Thread|runtime error|==[0-9]+==' "$found" |
            head -n 60
    fi
}

# The names of tests that match, without the checks of the tree as a whole.
names() {
    meson test -C "$builds/$1" --list --no-suite structure --no-suite install 2>/dev/null |
        sed 's/.* [/:] //' | grep -E "$2"
}

# Tests that take seconds without valgrind and minutes with it, and tests of fork, whose child leaves
# memory that valgrind reports as lost.
long='gradients|layers|determinism|matmul|matmul_double|epilogues|epilogues_double|zero_skipping'
long="$long|zero_skipping_double|reference_matmul|reference_matmul_double|reference_models"
long="$long|reference_models_double"
long="$long|data_pipeline|parameters|model_golden|memory|initial_weights|fit_memory|model_map_files"
long="$long|trainable|input_layer|input_gradient|shared_weights|model_map|evaluation_golden|small_stack"
long="$long|fault_allocations|compute|measure|inference|patches|message|trainer_folder|fork"

# The instruction set whose kernels run where the tests ask for $1.
kernels_in_use() {
    SHIFTVIT_TEST_ISA=$1 "$builds/gcc/examples/shiftvit-info" --build |
        sed -n 's/^instruction_set *//p'
}

full() {
    # The second compiler and the second CBLAS in one go.
    if step 'clang builds without a warning, over BLIS' build clang clang -Dblas=blis \
        -Dexamples=true -Dtests=true; then
        tests 'clang, BLIS' clang --no-suite structure --no-suite install
    fi
    tests 'installed library' gcc --suite install
    # The copies of the kernels other than the one that this CPU chooses, which all tests ran on; some
    # tests go through all copies by themselves.
    kernels=$(names gcc 'golden|gradients|determinism|compute' | grep -vx kernel_golden)
    chosen=$(kernels_in_use '')
    for isa in avx512 avx2 baseline; do
        [ "$isa" = "$chosen" ] && continue
        if [ "$(kernels_in_use "$isa")" != "$isa" ]; then
            # shellcheck disable=SC2086
            set -- $kernels
            skipped=$((skipped + $#))
            echo "skipped kernels for $isa: this CPU has no such instructions ($# programs)"
            continue
        fi
        # shellcheck disable=SC2086
        SHIFTVIT_TEST_ISA=$isa tests "kernels for $isa" gcc $kernels
    done

    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    export UBSAN_OPTIONS
    if step 'build for AddressSanitizer and UndefinedBehaviorSanitizer' build_tests '.*' sanitize gcc \
        -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Dexamples=false -Dtests=true; then
        CK_FORK=no tests 'AddressSanitizer, UndefinedBehaviorSanitizer' sanitize \
            --no-suite structure --no-suite install -t 10
    fi
    threaded='.*(pool|loader|shared_weights).*'
    if step 'build for ThreadSanitizer' build_tests "$threaded" thread gcc \
        -Dbuildtype=debugoptimized -Db_sanitize=thread -Dexamples=false -Dtests=true; then
        threaded=$(names thread "$threaded")
        # Names are meant to be split. Fixed addresses: ThreadSanitizer dislikes some random ones.
        # shellcheck disable=SC2086
        if setarch "$(uname -m)" -R true 2>/dev/null; then
            CK_FORK=no tests ThreadSanitizer thread --wrap "setarch $(uname -m) -R" -t 10 $threaded
        else
            CK_FORK=no tests ThreadSanitizer thread -t 10 $threaded
        fi
    fi
    short=$(names gcc . | grep -vxE "$long")
    # shellcheck disable=SC2086
    CK_FORK=no tests valgrind gcc -t 20 \
        --wrap 'valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite' \
        $short
}

mkdir -p "$builds"
begun=$(date +%s)
if prepare && step 'gcc builds without a warning' build gcc gcc \
    -Dexamples=true -Dtests=true; then
    tests 'all tests' gcc --no-suite install
    [ "$quick" = yes ] || full
else
    failed=$((failed > 0 ? failed : 1))
fi
echo "$(($(date +%s) - begun)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
