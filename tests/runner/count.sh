#!/bin/sh
# tests/run.sh counts passed, failed and skipped checks, none twice, and tells what failed.
# count.sh SOURCE_ROOT
set -eu
runner=$1/tests/runner
log=$(mktemp)
trap 'rm -f "$log" "$log.expected"' EXIT
trap 'exit 1' HUP INT TERM

# counts EXPECTED: of the log on standard input.
counts() {
    cat >"$log"
    found=$(awk -f "$runner/count.awk" "$log")
    [ "$found" = "$1" ] || {
        echo "counted '$found', not '$1', in:" >&2
        cat "$log" >&2
        exit 1
    }
}

counts '0 0 0' </dev/null
counts '12 0 0' <<'END'
==================================== 1/2 =====================================
result:       exit status 0
100%: Checks: 11, Failures: 0, Errors: 0
==================================== 2/2 =====================================
result:       exit status 0
no counts of its own
END
counts '9 3 0' <<'END'
==================================== 1/2 =====================================
result:       exit status 1
81%: Checks: 11, Failures: 1, Errors: 1
==================================== 2/2 =====================================
result:       killed by signal 11 SIGSEGV
END
counts '2 0 3' <<'END'
==================================== 1/2 =====================================
result:       exit status 0
skipped check: avx512
skipped check: amx
100%: Checks: 4, Failures: 0, Errors: 0
==================================== 2/2 =====================================
result:       exit status 77
END

cat >"$log" <<'END'
==================================== 1/3 =====================================
test:         shiftvit:suite / works
result:       exit status 0
command:      works
----------------------------------- stdout -----------------------------------
test_works.c:1:F: not of a test that works
==================================== 2/3 =====================================
test:         shiftvit / breaks
start time:   11:14:30
result:       exit status 1
command:      breaks
----------------------------------- stdout -----------------------------------
test_breaks.c:7:F:all: not equal
left out
1
2
3
4
5
6
7
8
9
10
11
----------------------------------- stderr -----------------------------------
the last of it
===============================================================================
==================================== 3/3 =====================================
test:         suite - shiftvit:dies
result:       killed by signal 11 SIGSEGV
END
cat >"$log.expected" <<'END'
FAILED  breaks (exit status 1)
    test_breaks.c:7:F:all: not equal
    1
    2
    3
    4
    5
    6
    7
    8
    9
    10
    11
    the last of it
FAILED  dies (killed by signal 11 SIGSEGV)
END
awk -f "$runner/failures.awk" "$log" | diff "$log.expected" - || {
    echo 'the failures are told in another way' >&2
    exit 1
}
echo 'counted and told as they are'
