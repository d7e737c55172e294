# Makes a C table of the public functions, from the headers: {"svit_step", 1}, ... The number says
# whether the function takes an svit_error.
BEGIN {
    print "static const public_function public_functions[] = {"
}
/^SVIT_API/ {
    text = ""
    is_declaration = 1
}
is_declaration {
    text = text " " $0
    if ($0 ~ /;/) {
        is_declaration = 0
        match(text, /svit_[a-z0-9_]*\(/)
        printf "{\"%s\", %d},\n", substr(text, RSTART, RLENGTH - 1), text ~ /svit_error \*err\)/
    }
}
END {
    print "};"
}
