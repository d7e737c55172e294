#!/bin/sh
# Builds and tests everything: gcc and clang with warnings as errors, all tests, then the sanitizers
# and valgrind. `--quick`: the gcc build and its tests only. Installs what is missing where it can.
# The last line of the output is "N passed, N failed, N skipped"; a check that the
# machine cannot run is reported as skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/runner/packages.sh
builds=build-tests
log=$builds/run.log
reports=$builds/failures
venv=$builds/venv
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
modules='openblas check jansson libjpeg libpng libwebp cairo'
packages='gcc g++ clang meson ninja-build pkg-config libc6-dev libopenblas-dev libblis-dev check
libjansson-dev libjpeg-dev libpng-dev libwebp-dev libcairo2-dev fonts-dejavu-core valgrind
abigail-tools cmake doxygen mandoc'
# The two MPIs: what module tells that one is there, and its packages. Without one its tests count as skipped.
mpi_modules='ompi-c mpich'
mpi_packages='libopenmpi-dev openmpi-bin libmpich-dev mpich'
# Their libraries leak, in the eyes of sanitizers.
no_mpi='-Dopenmpi=disabled -Dmpich=disabled'
# The tests of the bindings need these. Where they cannot be had, those tests are skipped.
optional='cargo python3-venv'
# What tests import, by the names of the modules.
python_modules='numpy sklearn mypy h5py onnx onnxruntime tensorboard PIL webdataset'
# The packages of PyPI and of Debian that have a module; none where Debian has none that the tests can use.
pypi_name() {
    case $1 in
    sklearn) echo scikit-learn ;;
    PIL) echo pillow ;;
    *) echo "$1" ;;
    esac
}
debian_name() {
    case $1 in
    numpy | sklearn | h5py) echo "python3-$1" ;;
    mypy) echo mypy ;;
    PIL) echo python3-pil ;;
    esac
}

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

# without PYTHON: the modules that it lacks.
without() {
    for module in $python_modules; do
        "$1" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$module') is None)" 2>/dev/null ||
            echo "$module"
    done
}

# pip_install PACKAGE...: installs packages of PyPI in build-tests/venv.
pip_install() {
    timeout 240 "$venv/bin/python" -m pip install -q --disable-pip-version-check --only-binary :all: --no-compile \
        --timeout 15 --retries 1 "$@"
}

# Adds to build-tests/venv what python3 lacks of the modules that tests import. SHIFTVIT_PYTHON is used as it is.
prepare_venv() {
    [ -z "${SHIFTVIT_PYTHON-}" ] && [ -n "$(without python3)" ] || return 0
    "$venv/bin/python" -c '' || python3 -m venv --clear --system-site-packages "$venv" || return 0
    # All at once, which is faster; if that fails, each that can be had. Without numpy there is no network.
    # shellcheck disable=SC2046
    pip_install $(for module in $(without "$venv/bin/python"); do pypi_name "$module"; done) ||
        for module in $(without "$venv/bin/python"); do
            pip_install "$(pypi_name "$module")" || [ "$module" != numpy ] || break
        done
}

# Gives the tests that run Python a Python with the modules that they import: the one of SHIFTVIT_PYTHON, that of
# build-tests/venv, or python3. A module that it lacks is reported, and the tests that need it count as skipped.
choose_python() {
    python=${SHIFTVIT_PYTHON:-python3}
    if [ -z "${SHIFTVIT_PYTHON-}" ] && "$venv/bin/python" -c '' 2>/dev/null; then
        python=$PWD/$venv/bin/python
    fi
    lacking=$(without "$python")
    [ -z "$lacking" ] || echo "$python lacks $(echo "$lacking" | tr '\n' ' ')and tests that need them are skipped"
    SHIFTVIT_PYTHON=$python
    TENSORBOARD_PYTHON=${TENSORBOARD_PYTHON:-$python}
    export SHIFTVIT_PYTHON TENSORBOARD_PYTHON
}

# Installs the optional packages that are missing, one after another, so that each works without the others. Debian's
# modules are for Debian's Python alone.
prepare_optional() {
    command -v apt-get >/dev/null 2>&1 || return 0
    if [ "$(command -v python3)" = /usr/bin/python3 ] && [ -z "${SHIFTVIT_PYTHON-}" ]; then
        for module in $(without python3); do
            package=$(debian_name "$module")
            [ -z "$package" ] || get "$package" 2>/dev/null
        done
    fi
    for package in $optional; do
        # cargo is a program, python3-venv the modules that python3 needs for a folder of packages.
        case $package in
        python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null && continue ;;
        *) command -v "$package" >/dev/null 2>&1 && continue ;;
        esac
        get "$package" 2>/dev/null || echo "the tests of the bindings may be skipped: no $package"
    done
}

# Counts the tests over an MPI as skipped that is not there and cannot be installed.
prepare_mpi() {
    for module in $mpi_modules; do
        pkg-config --exists "$module" && continue
        # Names of packages, meant to be split.
        # shellcheck disable=SC2086
        command -v apt-get >/dev/null 2>&1 && get $mpi_packages 2>/dev/null
        pkg-config --exists "$module" && continue
        echo "skipped: the 2 tests over MPI that need the module $module of pkg-config"
        skipped=$((skipped + 2))
    done
}

prepare() {
    [ -z "$(missing)" ] && return 0
    echo "missing: $(missing | tr '\n' ' ')"
    if command -v apt-get >/dev/null 2>&1; then
        as_root apt-get update -q >/dev/null
        # The list is meant to be split.
        # shellcheck disable=SC2086
        get $packages $mpi_packages || get $packages
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
    { echo "FAILED  $name" && tail -n 60 "$log"; } | tee -a "$reports"
    return 1
}

# configure NAME COMPILER [MESON OPTION...]: anew if the folder was configured with other options.
configure() {
    folder=$builds/$1
    compiler=$2
    shift 2
    echo "$compiler $*" >"$builds/options"
    [ -f "$folder/build.ninja" ] && cmp -s "$builds/options" "$folder/options" && return 0
    rm -rf "$folder"
    CC=$compiler meson setup "$folder" -Dwerror=true "$@" && mv "$builds/options" "$folder/options"
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

# read_programs COMPILER: the warnings of another compiler on the programs, without code.
read_programs() {
    mpi_program='' mpi_flags=''
    if pkg-config --exists ompi-c; then
        mpi_program=examples/train_mpi.c
        mpi_flags=$(pkg-config --cflags ompi-c | sed 's/-I/-isystem /g')
    fi
    # Options and names of files, meant to be split.
    # shellcheck disable=SC2046,SC2086
    "$1" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -I"$builds/gcc/include" \
        -Iexamples/common -Ibindings/mpi/include $(pkg-config --cflags cairo jansson) $mpi_flags $mpi_program \
        $(find examples -name '*.c' ! -name train_mpi.c ! -path '*/windows/*')
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
    [ "$word" = FAILED ] || return 0
    # Told where it happens and once more at the end, which is what is read first.
    report=$([ -z "$found" ] || awk -f tests/runner/failures.awk "$found")
    echo "${report:-$(tail -n 60 "$log")}" | tee -a "$reports"
}

# named PATTERN NAME FOLDER [MESON TEST OPTION...]: `tests` of those whose names match, without the checks of the tree as
# a whole. That none does is a failure.
named() {
    chosen=$(python3 tests/runner/names.py "$builds/$3" "$1" 2>"$log") || {
        failed=$((failed + 1))
        { echo "FAILED  $2" && cat "$log"; } | tee -a "$reports"
        return 0
    }
    shift
    # Names, meant to be split.
    # shellcheck disable=SC2086
    tests "$@" $chosen
}

# valgrind finds what no sanitizer here does, reads of uninitialised memory. So it runs the tests of what comes from
# outside, such as files, images, JSON and configurations, and of who manages memory: tensors, models, checkpoints,
# loaders, features. What computes on that memory is seen by the models that these tests run.
outside='.*json|channels|checkpoint|codec|data_(f32|list|match|memory|sets|walk)|events|exif'
outside="$outside|feature_(files|sets)|features|file|file_writers|fingerprint|folder_lock|image"
outside="$outside|library|lifetimes|load|load_maps|loader|loader_share|misuse|model_(dtypes|file)"
outside="$outside|model_memory|onnx|outputs|predictor|pretrained_.*|safetensors|segments|sequences|shards|shard_index|source|tensor|verify"

# Tests on the library in double precision, which have the formulas to check: in float the reference models go the same
# ways through the library.
formulas='gradients|layers|inference|.*_double'

# The instruction set whose kernels run where the tests ask for $1.
kernels_in_use() {
    SHIFTVIT_TEST_ISA=$1 "$builds/gcc/examples/shiftvit-info" --build |
        sed -n 's/^instruction_set *//p'
}

# Idle workers of a pool sleep at once instead of waiting for the next layer on a core that another test needs. Before
# they sleep they poll a few times, so that both ways to wait are tested. ThreadSanitizer and the tests of the pool run
# as programs do.
SHIFTVIT_TEST_SPIN=100
export SHIFTVIT_TEST_SPIN

# Reports of sanitizers need the lines of the debug information and no more, which takes less time and space.
lines_alone='-Dbuildtype=debugoptimized -Ddebug=false -Dc_args=-g1'

full() {
    # The second compiler, the second CBLAS and two sanitizers in one build. At -O1 clang compiles fast and inlines
    # what the kernels are made of.
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    export UBSAN_OPTIONS
    # Options, meant to be split.
    # shellcheck disable=SC2086
    if step 'clang builds without a warning, over BLIS, for AddressSanitizer and UndefinedBehaviorSanitizer' \
        build_tests "(?!($formulas)\$).*" sanitize clang $lines_alone -Doptimization=1 -Dblas=blis \
        -Db_sanitize=address,undefined -Db_lundef=false -Dexamples=false -Dtests=true $no_mpi; then
        # A sanitizer enlarges the stack, and a child of fork may inherit its allocator locked by a thread that is gone.
        # `blas` needs a process for each library that it makes up. Of the tests that compare numbers, of which there
        # are many for the same code, a part runs.
        CK_FORK=no SHIFTVIT_TEST_EVERY=4 named "(?!($formulas|determinism|small_stack|fork|many_threads|blas)\$).*" \
            'clang, BLIS, AddressSanitizer, UndefinedBehaviorSanitizer' sanitize -t 10
    fi
    step 'clang reads the programs without a warning' read_programs clang
    tests 'installed library' gcc --suite install
    # The copies of the kernels other than the one that this CPU chooses, which all tests ran on; some tests go through
    # all copies by themselves, such as those that compare with the plain models, gradients too.
    kernels='(?!.*(kernel_golden|images|orientations|resizes)).*(golden|compute).*'
    best=$(kernels_in_use '')
    for isa in avx512 avx2 baseline; do
        [ "$isa" = "$best" ] && continue
        if [ "$(kernels_in_use "$isa")" != "$isa" ]; then
            # Names, meant to be split.
            # shellcheck disable=SC2046
            set -- $(python3 tests/runner/names.py "$builds/gcc" "$kernels")
            skipped=$((skipped + $#))
            echo "skipped kernels for $isa: this CPU has no such instructions ($# programs)"
            continue
        fi
        SHIFTVIT_TEST_ISA=$isa named "$kernels" "kernels for $isa" gcc
    done

    # Threads meet outside the kernels, so those of one instruction set are enough.
    threaded='.*(pool|affinity|loader|shared_weights|shard_index).*'
    # Options, meant to be split.
    # shellcheck disable=SC2086
    if step 'build for ThreadSanitizer' build_tests "$threaded" thread gcc $lines_alone -Dinstruction_sets=avx2 \
        -Db_sanitize=thread -Dexamples=false -Dtests=true $no_mpi; then
        # Fixed addresses: ThreadSanitizer dislikes some random ones.
        if setarch "$(uname -m)" -R true 2>/dev/null; then
            SHIFTVIT_TEST_SPIN='' CK_FORK=no named "$threaded" ThreadSanitizer thread -t 10 --wrap "setarch $(uname -m) -R"
        else
            SHIFTVIT_TEST_SPIN='' CK_FORK=no named "$threaded" ThreadSanitizer thread -t 10
        fi
    fi
    # valgrind takes what libjpeg's SIMD code computes for uninitialised.
    CK_FORK=no JSIMD_FORCENONE=1 SHIFTVIT_TEST_EVERY=4 named "$outside" valgrind gcc -t 20 \
        --wrap 'valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite'
}

mkdir -p "$builds"
: >"$reports"
begun=$(date +%s)
if prepare; then
    prepare_mpi
    # What the tests alone need comes while gcc builds.
    { prepare_optional && prepare_venv >"$builds/venv.log" 2>&1; } &
    built=no
    step 'gcc builds without a warning' build gcc gcc -Dexamples=true -Dtests=true && built=yes
    wait
else
    built=no
fi
if [ "$built" = yes ]; then
    choose_python
    tests 'all tests' gcc --no-suite install --no-suite web
    [ "$quick" = yes ] || full
else
    failed=$((failed > 0 ? failed : 1))
fi
python3 tests/structure/lines.py .
cat "$reports"
echo "$(($(date +%s) - begun)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
