# Prepares a page of the documents for Doxygen: headings get the anchors that GitHub gives them, links to pages and
# headers become references, links to other files become their text, and public names in code style become links.
# awk -f names.awk -f page.awk PAGE
FNR == 1 {
    page = below_root(FILENAME)
    level = 1
    folder = page ~ /\// ? page : ""
    sub(/[^\/]*$/, "", folder)
}
/^ *```/ { fenced = !fenced; print; next }
fenced || /^    / { print; next }
/^#+ / { print heading($0); next }
{
    # A span of code or the text of a link may begin on one line and end on the next.
    line = $0
    while (open_ended(line) && (getline following) > 0)
        line = line "\n" following
    print prose(line)
}

function open_ended(text) {
    return text !~ /\n$/ && (gsub(/`/, "`", text) % 2 || text ~ /\[[^]()]*$/)
}

# anchor TEXT: of a heading, as GitHub makes it.
function anchor(text) {
    text = tolower(text)
    gsub(/[^a-z0-9 _-]/, "", text)
    gsub(/ /, "-", text)
    return text
}

# heading LINE: with its label. The title has the name of the page. Doxygen refuses a level that is skipped.
function heading(line,    text) {
    text = line
    sub(/^#+ +/, "", text)
    if (line ~ /^# /)
        return line " {#" (page == "README.md" ? "mainpage" : label(page)) "}"
    depth = match(line, / /) - 1
    if (depth > level + 1)
        line = substr(line, depth - level)
    level = depth > level + 1 ? level + 1 : depth
    return line " {#" label(page) "-" anchor(text) "}"
}

# resolved TARGET: the path below the root of the sources of what a page links to.
function resolved(target) {
    target = folder target
    while (sub(/[^\/]+\/\.\.\//, "", target))
        ;
    return target
}

# link TEXT TARGET: as Doxygen writes it.
function link(text, target,    path, fragment) {
    gsub(/`/, "", text)
    if (target ~ /^(https?|mailto):/)
        return "[" text "](" target ")"
    path = fragment = target
    sub(/#.*/, "", path)
    fragment = target ~ /#/ ? substr(target, index(target, "#") + 1) : ""
    path = path == "" ? page : resolved(path)
    if (path ~ /^include\/shiftvit\/[a-z]+\.h(pp)?$/) {
        sub(/.*\//, "", path)
        return "[" text "](@ref " path ")"
    }
    if (path !~ /\.md$/)
        return text
    if (page == "docs/README.md" && fragment == "" && !(path in listed) && path != "README.md") {
        listed[path] = 1
        return "@subpage " label(path) " \"" text "\""
    }
    return "[" text "](@ref " label(path) (fragment == "" ? "" : "-" fragment) ")"
}

# spans TEXT: text outside links, in which code that is a public name becomes a link.
function spans(text,    parts, k, n, result) {
    n = split(text, parts, "`")
    result = parts[1]
    for (k = 2; k <= n; k++)
        if (k % 2)
            result = result parts[k]
        else if (parts[k] in known)
            result = result reference(parts[k], parts[k])
        else
            result = result code(parts[k])
    return result
}

# prose LINE: with its links and names. Pictures keep their file names.
function prose(line,    result, text, target) {
    result = ""
    while (match(line, /!?\[[^]]*\]\([^)]*\)/)) {
        target = text = substr(line, RSTART, RLENGTH)
        result = result spans(substr(line, 1, RSTART - 1))
        line = substr(line, RSTART + RLENGTH)
        sub(/^!?\[/, "", text)
        sub(/\]\(.*/, "", text)
        gsub(/\n/, " ", text)
        if (target ~ /^!/)
            result = result "![" text substr(target, index(target, "]("))
        else {
            sub(/.*\]\(/, "", target)
            sub(/\)$/, "", target)
            result = result link(text, target)
        }
    }
    return result spans(line)
}
