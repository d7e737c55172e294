# Prints the public functions of headers, one a line, and complains of one without a comment: a
# declaration stands under a comment, or right under another one that does.
/\*\/[ \t]*$/ { commented = 1; next }
/^[ \t]*$/ { commented = 0; next }
/^SVIT_API/ {
    declaration = $0
    while (declaration !~ /;/ && (getline line) > 0)
        declaration = declaration " " line
    name = declaration
    sub(/[ ]*\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    print name
    if (!commented) {
        print FILENAME ": " name " has no comment above it" > "/dev/stderr"
        failed = 1
    }
}
END { exit failed }
