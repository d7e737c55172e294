# Prints the public functions that C++ has in its form: those with a handle among their arguments, and those that make,
# read or write a configuration.  awk -f wrapped.awk HEADER...
/^typedef struct svit_[a-z_]+ svit_[a-z_]+;/ { handles = handles " " substr($4, 1, length($4) - 1) }
/^SVIT_API/ {
    declaration = $0
    while (declaration !~ /;/ && (getline line) > 0)
        declaration = declaration " " line
    declarations[++count] = declaration
}
END {
    handle_count = split(handles, handle, " ")
    for (i = 1; i <= count; i++) {
        arguments = name = declarations[i]
        sub(/[ ]*\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        sub(/[^(]*\(/, "(", arguments)
        found = name ~ /_(init|preset|from_json|to_json)$/
        for (h = 1; h <= handle_count; h++)
            found = found || arguments ~ "[( ]" handle[h] " "
        if (found)
            print name
    }
    exit handle_count == 0
}
