# Turns the comments of a public header into comments that Doxygen reads: the one at the top of the file, one right
# above a declaration, and those behind fields and enumerators. In C++ a member without a comment gets one that names
# the function of the C interface that it calls.
# awk -f names.awk -f header.awk HEADER
{ lines[++count] = $0 }

END {
    header = FILENAME
    sub(/.*\//, "", header)
    for (i = 1; i <= count; i++)
        translate()
}

# escaped TEXT: the text without what is markup for Doxygen.
function escaped(text) {
    gsub(/@/, "\\@", text)
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    gsub(/#/, "\\#", text)
    gsub(/%/, "\\%", text)
    # The point of "et al." ends no sentence, and so not the brief description.
    gsub(/ al\. /, " al.\\ ", text)
    text = starred(text)
    text = linked(text)
    while (match(text, /docs\/[a-z-]+\.md/))
        text = substr(text, 1, RSTART - 1) reference(substr(text, RSTART + 5, RLENGTH - 8),
            label(substr(text, RSTART, RLENGTH))) substr(text, RSTART + RLENGTH)
    return text
}

# starred TEXT: names with a star, such as *out and SVIT_MODE_*, and with a backslash become code, and other stars
# their entity.
function starred(text,    result) {
    result = ""
    while (match(text, /\*+[a-z_]+|\\[A-Za-z]+|SVIT_[A-Z0-9_]*_\*|svit_[a-z0-9_]*\*/)) {
        result = result substr(text, 1, RSTART - 1) "`" substr(text, RSTART, RLENGTH) "`"
        text = substr(text, RSTART + RLENGTH)
    }
    text = result text
    gsub(/ \* /, " \\&lowast; ", text)
    return text
}

# marked TEXT: the text of a comment for Doxygen; what stands between backticks stays as it is.
function marked(text,    parts, k, n, result) {
    n = split(text, parts, "`")
    result = escaped(parts[1])
    for (k = 2; k <= n; k++)
        result = result (k % 2 ? escaped(parts[k]) : code(parts[k]))
    return result
}

# row TEXT: a line of a comment. An indented one that begins with a name or a number is an item of a list.
function row(text,    name) {
    if (text ~ /^ +("[a-z_.]+"|SVIT_[A-Z_]+) +[^ ]/) {
        match(text, /("[a-z_.]+"|SVIT_[A-Z_]+) +/)
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        sub(/ +$/, "", name)
        listing = 1
        return " - " marked(name) ": " marked(text)
    }
    if (text ~ /^ +[0-9]: /) {
        sub(/^ +/, "", text)
        listing = 1
        return " - " marked(text)
    }
    if (text ~ /^ +(-|[0-9]\.) /) {
        listing = 1
        return marked(text)
    }
    if (listing && text ~ /^  /) {
        sub(/^ +/, "", text)
        return "   " marked(text)
    }
    if (listing && text != "") {
        listing = 0
        return "\n" marked(text)
    }
    listing = listing && text != ""
    return marked(text)
}

# text_of FIRST: the text of the comment that begins on line `first`; `last` becomes its last line. One space
# behind the star is not part of a line.
function text_of(first,    line, k, text) {
    text = ""
    listing = 0
    for (k = first; k <= count; k++) {
        line = lines[k]
        last = k
        ended = sub(/ *\*\/ *$/, "", line)
        sub(/^ *\/?\* ?/, "", line)
        text = text (k > first ? "\n" : "") row(line)
        if (ended)
            break
    }
    return text
}

function translate(    line, text) {
    line = lines[i]
    if (class && line ~ /^  private:/)
        while (lines[i + 1] !~ /^};/)
            i++
    else if (line ~ /clang-format|using handle::handle|^inline namespace|^} \/\/ namespace SHIFTVIT_KIND/) {
        if (line ~ /^inline namespace/)
            i++
    } else if (line ~ /^ *\/\*/)
        comment(text_of(i))
    else if (conditional(line)) {
    } else if (type && line ~ /[^ ].*\/\*/)
        trailing()
    else
        declaration(line)
}

# conditional LINE: leaves out the conditions on exceptions, so that both kinds of C++ are documented.
function conditional(line) {
    if (line ~ /^#(ifdef|ifndef) (SHIFTVIT_NO_EXCEPTIONS|SVIT_API)/ || line ~ /^#if !defined\(SHIFTVIT/)
        return skipped = 1
    if (skipped && line ~ /^#endif/) {
        skipped = 0
        return 1
    }
    return line ~ /^#define (SVIT_API|SHIFTVIT_NO_EXCEPTIONS|SHIFTVIT_KIND)|^using result = void/ ||
           (skipped && line ~ /^#else/)
}

# comment TEXT: one that stands on lines of its own, from line i to line `last`.
function comment(text,    indent, following) {
    following = lines[last + 1]
    if (i == 1)
        print "/** @file " header "\n\n" text "\n*/"
    else if (type && header ~ /\.h$/) {
        print (grouped ? "/** @} */\n" : "") "/** @name " text "\n@{ */"
        grouped = 1
    } else if (following ~ /^#if|^$/)
        print ""
    else {
        print "/** " (above = text) " */"
        documented = 1
    }
    i = last
}

# trailing: a field or an enumerator with its comment behind it.
function trailing(    line, start) {
    line = lines[i]
    start = index(line, "/*")
    lines[i] = substr(line, start)
    print substr(line, 1, start - 1) "/**< " text_of(i) " */"
    i = last
}

# declaration LINE: any other line, of which the state is taken.
function declaration(line) {
    sub(/^SVIT_API /, "", line)
    if (line ~ /^(typedef )?(struct|enum).*\{$/)
        type = 1
    if (line ~ /^}/) {
        if (grouped)
            print "/** @} */"
        type = grouped = 0
    }
    if (line ~ /^(template <.*> )?class / && line !~ /;$/)
        class = 1
    if (line ~ /^};/)
        class = 0
    if (header ~ /\.hpp$/ && !documented)
        name_call(line)
    if (line ~ /^#define/ && lines[i - 1] ~ /^#define/)
        print "/** " above " */"
    print line
    documented = 0
}

# name_call LINE: a comment for a C++ function that has none: what it calls.
function name_call(line,    k, end, name) {
    if (!(class && line ~ /^    [a-z].*\(/ && line !~ /;$/) && line !~ /^inline [a-z_:]+ [a-z_]+\(|^inline .*\($/)
        return
    end = class ? "^    }" : "^}"
    for (k = i + 1; k <= count && lines[k] !~ end; k++)
        if (lines[k] ~ /(take|call|return|defaults|create|load).*\(|svit_/ && lines[k] !~ /^ +(const|std)/) {
            while (match(lines[k], /svit_[a-z0-9_]+/)) {
                name = substr(lines[k], RSTART, RLENGTH)
                if (name in functions) {
                    print "/** Calls " reference(name, name) ". */"
                    return
                }
                sub(/svit_[a-z0-9_]+/, "", lines[k])
            }
            if (match(lines[k], /^ +(create|load)\(/)) {
                print "/** Creates a handle by " (lines[k] ~ /create/ ? "create()" : "load()") ". */"
                return
            }
        }
}
