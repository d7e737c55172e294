# Writes the new interface as a program of the old one sees it. A struct whose first field is
# struct_size may grow at its end, as the library reads and writes no more of it than the caller has:
# what lies behind the old size is left out, and the new size is replaced by the old one. svit_error
# must not grow. A field that was named "reserved" may get a name, and a type of the same 32 bits.
#     awk -f older.awk OLD_XML NEW_XML
function value_of(line, key)
{
    if (!match(line, key "='[^']*'"))
        return ""
    return substr(line, RSTART + length(key) + 2, RLENGTH - length(key) - 3)
}
FNR == 1 { file++ }
/<typedef-decl name='u?int32_t'/ || /<type-decl name='float'/ { is_word[value_of($0, " id")] = 1 }
/<class-decl / && /size-in-bits=/ {
    name = value_of($0, "name")
    bits = value_of($0, "size-in-bits")
    limit = 0
    if (file == 1)
        size[name] = bits
    else if ((name in growable) && bits + 0 > size[name] + 0) {
        limit = size[name]
        sub("size-in-bits='" bits "'", "size-in-bits='" limit "'")
    }
}
file == 1 && /<var-decl name='struct_size'/ && offset == 0 && name != "svit_error" { growable[name] = 1 }
/<data-member / { offset = value_of($0, "layout-offset-in-bits") + 0 }
file == 1 && /<var-decl name='reserved'/ { reserved[name, offset] = $0 }
file == 1 { next }
/<data-member / && limit && offset >= limit + 0 { behind = 1 }
/<var-decl / && ((name, offset) in reserved) && (value_of($0, "type-id") in is_word) { $0 = reserved[name, offset] }
!behind { print }
/<\/data-member>/ { behind = 0 }
