# Sums the checks of a meson test log, passed, failed and skipped: Check's own counts, or 1 for a
# program without them. A program with exit status 77 was skipped. A line "skipped check: REASON" is of
# one that Check counts as passed and that this machine cannot run.
function finish() {
    if (!open)
        return
    left += not_run
    if (skipped) {
        left++
        return
    }
    if (checks) {
        good += checks - bad_checks - not_run
        bad += bad_checks
    } else if (clean)
        good++
    if (!clean && bad_checks == 0)
        bad++
}
/^=+ [0-9]+\/[0-9]+ =+$/ {
    finish()
    open = 1
    checks = bad_checks = clean = skipped = not_run = 0
}
/^result: / {
    clean = /exit status 0$/
    skipped = /exit status 77$/
}
match($0, /Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+/) {
    split(substr($0, RSTART, RLENGTH), n, /[^0-9]+/)
    checks += n[2]
    bad_checks += n[3] + n[4]
}
/^skipped check: / {
    not_run++
}
END {
    finish()
    print good + 0, bad + 0, left + 0
}
