# Makes rows of a C table of the enumerators of headers: {"SVIT_OK", SVIT_OK}, ... With -v table=1 it
# makes the source file that defines sv_constants of constants.h.
BEGIN {
    if (table)
        print "#include \"base/constants.h\"\n\n#include <shiftvit/shiftvit.h>\n\nconst sv_constant sv_constants[] = {"
}
{
    text = text " " $0
}
END {
    while (match(text, /\/\*([^*]|\*+[^*\/])*\*+\//))
        text = substr(text, 1, RSTART - 1) " " substr(text, RSTART + RLENGTH)
    while (match(text, /enum[ ]*\{[^}]*\}/)) {
        body = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        sub(/enum[ ]*\{/, "", body)
        sub(/\}/, "", body)
        count = split(body, parts, ",")
        for (i = 1; i <= count; i++) {
            sub(/=.*/, "", parts[i])
            gsub(/[ \t]/, "", parts[i])
            if (length(parts[i]) >= 40) {
                print parts[i] " does not fit the names of lib/base/constants.h" >"/dev/stderr"
                exit 1
            }
            if (parts[i] != "")
                printf "{\"%s\", %s},\n", parts[i], parts[i]
        }
    }
    if (table)
        print "{\"\", 0}};"
}
