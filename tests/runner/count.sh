#!/bin/sh
# tests/run.sh counts passed, failed and skipped checks, and none twice.
# count.sh SOURCE_ROOT
set -eu
awk_file=$1/tests/runner/count.awk
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# counts EXPECTED: of the log on standard input.
counts() {
    cat >"$log"
    found=$(awk -f "$awk_file" "$log")
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
echo 'counted as they are'
