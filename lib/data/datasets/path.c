/* Joins paths, checks names, and reads class names. */
#include "data/datasets/path.h"

#include "base/files/file.h"
#include "base/text/names.h"
#include "base/text/unique.h"
#include "base/text/utf8.h"

#include <stdio.h>
#include <string.h>

svit_status sv_path_join(char **out, const sv_allocator *allocator, const char *folder,
                         const char *name, svit_error *err)
{
    size_t front = strlen(folder);
    size_t back = strlen(name);
    char *path = sv_allocate(allocator, front + back + 2);
    if (!path)
        return sv_fail_memory(err, front + back + 2, "a file's name");
    memcpy(path, folder, front);
    path[front] = '/';
    memcpy(path + front + 1, name, back + 1);
    *out = path;
    return SVIT_OK;
}

/* Copies `name` with \xHH for invalid bytes, truncated to fit. sv_message_clean would take such a
 * byte before a quote for a truncated character and show an ellipsis. */
static void name_escape(char *out, size_t capacity, const char *name)
{
    size_t left = strlen(name);
    size_t used = 0;
    while (left > 0 && used + sizeof "\\xHH" <= capacity) {
        size_t length = sv_utf8_length(name, left);
        if (length > 0) {
            memcpy(out + used, name, length);
            used += length;
        } else {
            length = 1;
            used += (size_t)snprintf(out + used, capacity - used, "\\x%02X", (unsigned char)*name);
        }
        name += length;
        left -= length;
    }
    out[used] = '\0';
}

svit_status sv_name_check(const char *folder, const char *name, svit_error *err)
{
    if (sv_utf8_valid(name))
        return SVIT_OK;
    char text[120];
    name_escape(text, sizeof text, name);
    return sv_fail(err, SVIT_E_FORMAT, "the name '%s' in '%s' is not UTF-8; rename it", text,
                   folder);
}

/* Takes the next line that is not empty from the text, NUL-terminated. NULL at the end. */
static char *next_line(char **text)
{
    static const char BREAKS[] = "\r\n";
    char *line = *text + strspn(*text, BREAKS);
    if (!*line)
        return NULL;
    char *end = line + strcspn(line, BREAKS);
    *text = *end ? end + 1 : end;
    *end = '\0';
    return line;
}

size_t sv_mark_bytes(const char *text)
{
    static const char MARK[] = "\xEF\xBB\xBF";
    return strncmp(text, MARK, sizeof MARK - 1) == 0 ? sizeof MARK - 1 : 0;
}

static svit_status check_names(const char *const *names, size_t count, const char *path,
                               const sv_allocator *allocator, svit_error *err)
{
    size_t twice[2];
    SVIT_TRY(sv_texts_find_twice(twice, names, count, allocator, err));
    if (twice[1] == 0)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_FORMAT,
                   "'%s': classes %zu and %zu are both called '%.60s'; different names are needed",
                   path, twice[0], twice[1], names[twice[1]]);
}

static svit_status split_names(char **names, const sv_allocator *allocator, char *text,
                               const char *path, size_t count, svit_error *err)
{
    size_t found = 0;
    for (char *line; (line = next_line(&text)); found++) {
        if (found >= count)
            continue;
        if (!sv_utf8_valid(line))
            return sv_fail(err, SVIT_E_FORMAT, "'%s': class name %zu is not UTF-8", path, found);
        names[found] = sv_copy_text(allocator, line);
        if (!names[found])
            return sv_fail_memory(err, strlen(line) + 1, "a class name");
    }
    if (found != count)
        return sv_fail(err, SVIT_E_FORMAT, "'%s' has %zu class names; %zu are needed", path, found,
                       count);
    return SVIT_OK;
}

svit_status sv_class_names_read(char ***out, const sv_allocator *allocator, const char *path,
                                size_t count, svit_error *err)
{
    enum { LIMIT = 1 << 16 };
    void *text = NULL;
    size_t bytes = 0;
    *out = NULL;
    if (sv_is_absent(path))
        return SVIT_OK;
    SVIT_TRY(sv_file_read(&text, &bytes, allocator, path, LIMIT, err));
    void *names = NULL;
    svit_status status =
        sv_allocate_array(allocator, &names, count, sizeof **out, "class names", err);
    if (status == SVIT_OK)
        status =
            split_names(names, allocator, (char *)text + sv_mark_bytes(text), path, count, err);
    if (status == SVIT_OK)
        status = check_names(names, count, path, allocator, err);
    sv_release(allocator, text, bytes + 1);
    if (status != SVIT_OK) {
        sv_names_free(allocator, names, count);
        return status;
    }
    *out = names;
    return SVIT_OK;
}
