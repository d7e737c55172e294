# Prints, for each pointer argument of each public function of the headers that reports errors,
#     POINTER(function, argument, type, (arguments))
# where `arguments` has NULL for that argument, and for the others a name of test_null_arguments.c: HANDLE(svit_model),
# TEXT, MEMORY, or NUMBER.
function value_of(type, name) {
    if (type ~ /^svit_error \*$/)
        return "&error"
    if (type ~ /^(const )?char \*$/)
        return "TEXT"
    if (type ~ /^(const )?svit_(context|model|dataset|session|optimizer|predictor|loader|trainer|features|checkpoint|folder_lock) \*$/) {
        sub(/^const /, "", type)
        sub(/ \*$/, "", type)
        return "HANDLE(" type ")"
    }
    if (type ~ /\*/ || name ~ /\[/)
        return "MEMORY"
    return type ~ /_callback$|_function$/ ? "CALLBACK(" type ")" : "NUMBER"
}
/^SVIT_API svit_status/ {
    declaration = $0
    while (declaration !~ /;/ && (getline line) > 0)
        declaration = declaration " " line
    gsub(/[ \t]+/, " ", declaration)
    if (declaration !~ /svit_error \*/)
        next
    name = declaration
    sub(/ ?\(.*/, "", name)
    sub(/.* /, "", name)
    list = declaration
    sub(/^[^(]*\(/, "", list)
    sub(/\);.*/, "", list)
    count = split(list, parts, /, ?/)
    for (i = 1; i <= count; i++) {
        word[i] = parts[i]
        sub(/.*[ *]/, "", word[i])
        type[i] = substr(parts[i], 1, length(parts[i]) - length(word[i]))
        sub(/ $/, "", type[i])
        value[i] = value_of(type[i], word[i])
    }
    for (i = 1; i <= count; i++) {
        if (value[i] == "NUMBER" || value[i] == "&error")
            continue
        call = ""
        for (j = 1; j <= count; j++)
            call = call (j > 1 ? ", " : "") (j == i ? "NULL" : value[j])
        kind = type[i]
        gsub(/const | ?\*/, "", kind)
        plain = word[i]
        sub(/\[.*/, "", plain)
        print "POINTER(" name ", " plain ", " kind ", (" call "))"
    }
}
