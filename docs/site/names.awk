# What both filters share: the public names, to which texts are linked.
# Reads the headers and the list of symbols below the root of the sources, in which Doxygen runs.
BEGIN {
    while ((getline line < "tests/abi/symbols.txt") > 0) {
        sub(/@.*/, "", line)
        known[line] = functions[line] = 1
    }
    while (("ls include/shiftvit/*.h" | getline header) > 0) {
        while ((getline line < header) > 0)
            learn(line)
        close(header)
    }
}

# learn LINE: the types and enumerators that it declares. A function's parameters declare nothing.
function learn(line) {
    if (match(line, /^typedef struct svit_[a-z0-9_]+/))
        known[substr(line, 16, RLENGTH - 15)] = 1
    else if (match(line, /^typedef .*\(\*svit_[a-z0-9_]+\)/)) {
        sub(/^.*\(\*/, "", line)
        sub(/\).*/, "", line)
        known[line] = 1
    } else if (match(line, /^typedef int32_t svit_[a-z]+/))
        known["svit_status"] = 1
    else if (match(line, /^    SVIT_[A-Z0-9_]+ = /) || match(line, /^    SVIT_[A-Z0-9_]+,/)) {
        sub(/^ +/, "", line)
        sub(/[ ,].*/, "", line)
        known[line] = 1
    }
}

# reference TEXT NAME: a link with this text to a public name.
function reference(text, name) {
    return "[" text "](@ref " name ")"
}

# linked TEXT: the text with links at the public names in it.
function linked(text,    result, name) {
    result = ""
    while (match(text, /(svit|SVIT)_[A-Za-z0-9_]+/)) {
        name = substr(text, RSTART, RLENGTH)
        result = result substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + RLENGTH)
        # Doxygen leaves a text in quotes as it is.
        if (result ~ /"$/ && text ~ /^"/) {
            result = result name
            continue
        }
        if (name in known && match(text, /^\.[a-z_]+/) && name ~ /^svit/) {
            result = result reference(name substr(text, 1, RLENGTH), name "::" substr(text, 2, RLENGTH - 1))
            text = substr(text, RLENGTH + 1)
        } else
            result = result (name in known ? reference(name, name) : name)
    }
    return result text
}

# code TEXT: a span of code. Doxygen takes an apostrophe for the end of one that begins with a single backtick.
function code(text) {
    return text ~ /\047/ ? "`` " text " ``" : "`" text "`"
}

# below_root PATH: an absolute path below the root of the sources, relative to it.
function below_root(path) {
    return index(path, ENVIRON["PWD"] "/") == 1 ? substr(path, length(ENVIRON["PWD"]) + 2) : path
}

# label PATH: the name of a page on the site, by its path below the root of the sources.
function label(path) {
    if (path == "README.md")
        return "index"
    if (path == "docs/README.md")
        return "documents"
    sub(/^docs\//, "", path)
    sub(/\/README\.md$/, "", path)
    sub(/\.md$/, "", path)
    gsub(/\//, "-", path)
    return tolower(path)
}
