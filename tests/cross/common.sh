# shellcheck shell=sh
# What the scripts of the machines share. A machine is a cross file, MACHINE.ini, and a script, MACHINE.sh, which sources
# this file and takes the name of a build folder, or makes one: build-cross. There MACHINE/sysroot has the libraries of
# the machine, MACHINE/build the build, and each file in `rows` a row that was printed last.
#
# SHIFTVIT_CROSS_ONLY=build only builds, and SHIFTVIT_CROSS_ONLY=test tests what has been built, which needs no compiler.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/runner/packages.sh
builds=$(mkdir -p "${1:-build-cross}" && cd "${1:-build-cross}" && pwd) || exit 1
# Two programs at a time, or as many as there are cores, if that is less.
jobs=$(nproc)
[ "$jobs" -le 2 ] || jobs=2
jobs=${SHIFTVIT_CROSS_JOBS:-$jobs}
# An emulator is slow. Tests that compare numbers in many cases of one kind run one of so many.
SHIFTVIT_TEST_EVERY=${SHIFTVIT_TEST_EVERY:-8}
CK_TIMEOUT_MULTIPLIER=${CK_TIMEOUT_MULTIPLIER:-100}
SHIFTVIT_TEST_SPIN=100
export SHIFTVIT_TEST_EVERY CK_TIMEOUT_MULTIPLIER SHIFTVIT_TEST_SPIN
only=${SHIFTVIT_CROSS_ONLY:-all}
# shellcheck disable=SC2034 # what sources this file reads it
machines='aarch64 s390x armhf i686 musl riscv64'
release=bookworm
bad=0

# What the library says about a CPU in few tests: kernels and matmuls against plain ones, models forward and in training
# against recorded values and their bits.
# shellcheck disable=SC2034 # what sources this file reads it
quick='kernels|gelu|convert|int8|one_result|reference_matmul|(kernel|model|optim|stem|tokens|loss)_golden|exchange'

form='%-24s %6s %7s %7s %8s %8s  %s'

# file_name ROW: the name of a row as one of a file.
file_name() {
    echo "$1" | tr ' =,' '---'
}

# row NAME PASSED FAILED SKIPPED SECONDS REMARKS: prints a row of the table and keeps it in place of the last one.
row() {
    # The form is the table's.
    # shellcheck disable=SC2059
    line=$(printf "$form" "$1" $(($2 + $3 + $4)) "$2" "$3" "$4" "$5" "$6")
    echo "$line"
    mkdir -p "$builds/rows"
    echo "$line" >"$builds/rows/$(file_name "$1")"
}

# give_up REASON: the machine cannot be built here, which is no failure of the library, but visible.
give_up() {
    row "$machine" 0 0 1 0 "not built: $1"
    exit 0
}

# begin MACHINE PACKAGE...: installs the compiler, the emulator and what builds need.
begin() {
    machine=$1
    shift
    folder=$builds/$machine
    sysroot=$folder/sysroot
    remarks=
    mkdir -p "$folder"
    if [ "$only" = test ]; then
        [ -f "$folder/built" ] || give_up 'there is no build'
        return 0
    fi
    wanted=
    for package in gcc meson ninja-build pkg-config python3 "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' && continue
        # Programs may come from elsewhere.
        command -v "${package%-build}" >/dev/null 2>&1 || wanted="$wanted $package"
    done
    # Names, meant to be split.
    # shellcheck disable=SC2086
    [ -z "$wanted" ] || { as_root apt-get update -q >/dev/null 2>&1 && get $wanted; } || give_up "needs root for$wanted"
}

# foreign ARCHITECTURE ARGUMENT...: apt-get for another architecture with lists of its own. It needs no root and changes
# nothing of what is installed.
foreign() {
    own=$builds/apt-$1
    architecture=$1
    shift
    mkdir -p "$own/state/lists/partial" "$own/cache/archives/partial"
    : >"$own/status"
    keys='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
    echo "${source:-deb} $keys http://deb.debian.org/debian $release main" >"$own/sources.list"
    apt-get -q -y -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o Dir::State="$own/state" \
        -o Dir::State::status="$own/status" -o Dir::Cache="$own/cache" -o Dir::Etc::SourceList="$own/sources.list" \
        -o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none "$@"
}

# libraries ARCHITECTURE PACKAGE...: unpacks the packages and what they depend on into the sysroot.
libraries() {
    { [ "$only" = test ] || [ -f "$folder/sysroot.done" ]; } && return 0
    debian=$1
    shift
    rm -rf "$sysroot"
    mkdir -p "$sysroot"
    { foreign "$debian" update && foreign "$debian" --no-install-recommends --download-only install "$@"; } \
        >"$folder/packages.log" 2>&1 || give_up "no packages for $debian, see $folder/packages.log"
    for package in "$builds/apt-$debian"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$sysroot" || give_up "cannot unpack $package"
    done
    # A script of the package, which does not run, would have made this link.
    find "$sysroot/usr/lib" -path '*/openblas-*/libopenblas.so.0' | while read -r library; do
        inner=$(dirname "$library")
        ln -sf "$(basename "$inner")/libopenblas.so.0" "$(dirname "$inner")/libopenblas.so.0"
    done
    # Absolute links would lead out of the folder.
    find "$sysroot" -type l -lname '/*' | while read -r link; do
        ln -sf "$sysroot$(readlink "$link")" "$link"
    done
    touch "$folder/sysroot.done"
}

# check_from_source CC [CMAKE OPTION...]: builds Check, where Debian has no package of it for the machine.
check_from_source() {
    { [ "$only" = test ] || [ -f "$folder/sysroot.done" ]; } && return 0
    compiler=$1
    shift
    rm -rf "$sysroot" "$folder/check"
    mkdir -p "$sysroot" "$folder/check"
    {
        source=deb-src
        foreign amd64 update && (cd "$folder/check" && foreign amd64 --download-only source check) &&
            tar -C "$folder/check" --strip-components=1 -xf "$folder"/check/check_*.orig.tar.gz &&
            cmake -S "$folder/check" -B "$folder/check/build" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_SYSTEM_NAME=Linux \
                -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_TESTING=OFF -DCHECK_ENABLE_TESTS=OFF \
                -DCHECK_ENABLE_SUBUNIT=OFF "$@" &&
            cmake --build "$folder/check/build" --parallel "$jobs" &&
            DESTDIR=$sysroot cmake --install "$folder/check/build" && rm -f "$sysroot"/usr/lib/libcheck.so*
    } >"$folder/packages.log" 2>&1 || give_up "cannot build Check, see $folder/packages.log"
    touch "$folder/sysroot.done"
}

# left_out: the tests that the machine does not run, as a pattern for whole names.
left_out() {
    emulated=no
    case $emulator in qemu*) emulated=yes ;; esac
    awk -v machine="$machine" -v emulated="$emulated" '
        !/^#/ && NF && (index("," $2 ",", "," machine ",") ||
            (index("," $2 ",", ",emulated,") && emulated == "yes")) {
            printf "%s%s", found++ ? "|" : "", $1
        }
        END {
            if (!found)
                print "none"
        }' tests/cross/left_out.txt
}

# build [MESON OPTION...]: configures, and builds the tests, with the library's assertions. $emulator runs the programs.
build() {
    if [ "$only" = test ]; then
        emulator=$(cat "$folder/emulator")
        return 0
    fi
    rm -f "$folder/built"
    {
        printf "[constants]\nsysroot = '%s'\n" "$sysroot"
        [ -z "$emulator" ] || printf "[binaries]\nexe_wrapper = ['%s']\n" "$(echo "$emulator" | sed "s/ /', '/g")"
    } >"$folder/paths.new"
    # A newer file would be configured anew.
    cmp -s "$folder/paths.new" "$folder/paths.ini" || mv "$folder/paths.new" "$folder/paths.ini"
    echo "$emulator" >"$folder/emulator"
    begun=$(date +%s)
    # Names of files, meant to be split.
    # shellcheck disable=SC2086
    {
        [ -f "$folder/build/build.ninja" ] ||
            meson setup "$folder/build" --cross-file "$folder/paths.ini" --cross-file "tests/cross/$machine.ini" \
                -Dwerror=true -Db_ndebug=false -Dexamples=false -Dtests=true -Dopenmpi=disabled -Dmpich=disabled "$@"
    } >"$folder/build.log" 2>&1 &&
        needed=$(python3 tests/runner/targets.py "$folder/build" "(?!($(left_out))\$).*") &&
        ninja -C "$folder/build" -j "$jobs" $needed >>"$folder/build.log" 2>&1 && touch "$folder/built" && return 0
    tail -n 40 "$folder/build.log"
    row "$machine" 0 1 0 $(($(date +%s) - begun)) 'does not build'
    exit 1
}

# suite ROW PATTERN: runs the tests whose names match, and prints the row. Those that are left out count as skipped.
suite() {
    [ "$only" != build ] || return 0
    name=$1
    log=$folder/$(file_name "$name").log
    found=$folder/build/meson-logs/$(file_name "$name").txt
    begun=$(date +%s)
    rm -f "$found"
    less=$(python3 tests/runner/names.py "$folder/build" "(?=($(left_out))\$)($2)" mpi 2>/dev/null)
    chosen=$(python3 tests/runner/names.py "$folder/build" "(?!($(left_out))\$)($2)" mpi) || {
        row "$name" 0 1 0 0 'no tests'
        bad=1
        return 1
    }
    # Names, meant to be split.
    # shellcheck disable=SC2086
    meson test -C "$folder/build" --no-rebuild --logbase "$(file_name "$name")" \
        --num-processes "$jobs" -t 6 $chosen >"$log" 2>&1
    counts='0 1 0'
    [ -f "$found" ] && counts=$(awk -f tests/runner/count.awk "$found")
    # Three numbers, meant to be split.
    # shellcheck disable=SC2086
    set -- $counts
    row "$name" "$1" "$2" $(($3 + $(echo "$less" | grep -c .))) $(($(date +%s) - begun)) \
        "$remarks${less:+${remarks:+; }left out: $(echo "$less" | tr '\n' ' ')}"
    [ "$2" = 0 ] && return 0
    bad=1
    grep -E '(FAIL|TIMEOUT) ' "$log" | sort -u
    [ -f "$found" ] || return 1
    grep -aE ':[FE]:|runtime error' "$found" | head -n 40
    cp "$found" "$log"
    return 1
}

finish() {
    exit "$bad"
}
