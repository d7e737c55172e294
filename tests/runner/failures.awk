# Of each test that failed in a meson test log: its name, its result, the lines that tell why (Check's failures, errors
# of sanitizers and of Python), and the last lines of its output.
function finish(    i, shown) {
    if (!failed)
        return
    print "FAILED  " name " (" result ")"
    for (i = 1; i <= count && shown < 20; i++)
        if (line[i] ~ telling && i <= count - last) {
            print "    " line[i]
            shown++
        }
    for (i = count > last ? count - last + 1 : 1; i <= count; i++)
        print "    " line[i]
}
BEGIN {
    last = 12
    telling = ":[FE]:|SUMMARY|    #[0-3] |ERROR|FAIL|Error:|WARNING: Thread|runtime error|==[0-9]+=="
}
/^=+ [0-9]+\/[0-9]+ =+$/ {
    finish()
    failed = count = 0
    next
}
/^test: / && count == 0 {
    name = $NF
    sub(/.*:/, "", name)
}
/^result: / {
    result = $0
    sub(/^result: */, "", result)
    failed = result !~ /exit status (0|77)$/
}
/^command: / {
    next
}
/^(start time|duration|result|test): / || /^-+ std(out|err) -+$/ || /^$/ || /^=+$/ {
    next
}
{
    line[++count] = substr($0, 1, 300)
}
END {
    finish()
}
