#!/bin/sh
# Makes the figures of docs/reliability.md: runs the campaigns and writes what they print into the page.
#
# usage: sh tests/reliability.sh [PART...]
#
# PART: fuzz faults kills proofs coverage mutation analysis soak; all if none is given, which takes about eight hours
# on two cores. Each part writes its own block of the page, so that they can be run one by one, on the same commit.
# `fuzz` takes FUZZ_SECONDS (600) for each target, and FUZZ_TARGETS to run some alone: the rows of others stay.
# The exit status is 1 if a part fails; its block then stays as it was.
set -u
cd "$(dirname "$0")/.." || exit 1
page=docs/reliability.md
kept=build-reliability
mkdir -p $kept
[ $# -gt 0 ] || set -- fuzz faults kills proofs coverage mutation analysis soak

# The build whose tests run.
build() {
    [ -f $kept/build/build.ninja ] ||
        meson setup $kept/build -Dexamples=true -Dtests=true >$kept/build.log 2>&1 || { cat $kept/build.log; exit 1; }
    ninja -C $kept/build "$@" >$kept/build.log 2>&1 || { tail -n 20 $kept/build.log; exit 1; }
}

# What each part runs. It prints what belongs into the page, and more to the file PART.log.
fuzz() {
    # Names, meant to be split.
    # shellcheck disable=SC2086
    sh tests/fuzz/run.sh "${FUZZ_SECONDS-600}" ${FUZZ_TARGETS-} >$kept/fuzz.log || { cat $kept/fuzz.log >&2; return 1; }
    # The rows of this run replace those of the same targets.
    { [ ! -f $kept/fuzz.txt ] || cat $kept/fuzz.txt; cat $kept/fuzz.log; } | awk '
        $1 == "target" { head = $0; next }
        { if (!($1 in row)) order[++count] = $1; row[$1] = $0; }
        END { print head; for (i = 1; i <= count; i++) print row[order[i]] }'
}
faults() {
    build tests/fault/test_faults
    meson test -C $kept/build --no-rebuild faults --verbose >$kept/faults.log 2>&1 || return 1
    grep '^faults:' $kept/faults.log
}
kills() {
    build tests/fault/test_kills tests/kill/libfailing_files.so examples/shiftvit-train examples/shiftvit-export
    meson test -C $kept/build --no-rebuild --verbose kills kill_shards kill_and_resume_shiftvit \
        kill_and_resume_slvit >$kept/kills.log 2>&1 || return 1
    grep -E '^kill[a-z_]*:' $kept/kills.log
}
proofs() {
    sh tests/proof/run.sh >$kept/proofs.log 2>&1 || return 1
    grep -E '^file |any size|all: ' $kept/proofs.log
}
coverage() {
    sh tests/coverage.sh build-coverage >$kept/coverage.log 2>&1 || return 1
    sed -n '/^Branches that are not reached/,$p' $kept/coverage.log
}
mutation() {
    sh tests/mutation.sh 230 >$kept/mutation.log 2>&1 || return 1
    sed -n '/^class .*mutants/,$p' $kept/mutation.log
}
analysis() {
    sh tests/analysis.sh >$kept/analysis.log 2>&1 || return 1
    cat $kept/analysis.log
}
soak() {
    build tests/soak/soak
    sh tests/soak/run.sh $kept/build/tests/soak/soak >$kept/soak.log 2>&1 || return 1
    sed -n '1,3p' $kept/soak.log
    grep -B1 'steps in' $kept/soak.log
    grep 'given' $kept/soak.log | sed -n '2p;$p'
    tail -n 1 $kept/soak.log
}

# put PART: writes $kept/PART.txt between the part's marks.
put() {
    awk -v part="$1" -v file="$kept/$1.txt" '
        $0 == "<!-- begin " part " -->" {
            print; print ""; print "```text"
            while ((getline line < file) > 0) print line
            print "```"
            inside = 1
        }
        $0 == "<!-- end " part " -->" { inside = 0 }
        !inside' $page >$kept/page && cat $kept/page >$page
}

status=0
for part in "$@"; do
    case $part in
    fuzz | faults | kills | proofs | coverage | mutation | analysis | soak) ;;
    *)
        sed -n 's/^# usage: /usage: /p' "$0" >&2
        exit 2
        ;;
    esac
    echo "$part"
    if "$part" >$kept/$part.new; then
        mv $kept/$part.new $kept/$part.txt
        put "$part"
    else
        echo "$part fails: $kept/$part.log" >&2
        status=1
    fi
done
exit $status
