# Reads what the programs share, examples/common/, and reports includes of folders that come later.
BEGIN {
    split("program settings data models training outputs pictures results", words, " ")
    for (i = 1; i in words; i++)
        floor_of[words[i]] = i
}

function complain(what)
{
    print FILENAME ":" FNR ": " what
    failed = 1
}

FNR == 1 {
    own = FILENAME
    sub(/^examples\/common\//, "", own)
    sub(/\/.*/, "", own)
    if (!(own in floor_of))
        complain("examples/common/" own " is no folder of the programs")
}

/^#include "/ {
    target = $2
    gsub(/"/, "", target)
    folder = target
    if (!sub(/\/.*/, "", folder) || !(folder in floor_of))
        complain("\"" target "\" does not say its folder")
    else if (floor_of[folder] > floor_of[own])
        complain(own "/ may not look at " folder "/")
}

END { exit failed }
