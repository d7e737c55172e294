/* Expands the patterns of shards. */
#include "data/shards/shard_pattern.h"

#include "base/files/path.h"
#include "base/text/pattern.h"
#include "data/shards/shard_index.h"

#include <stdio.h>
#include <string.h>

enum { SHARDS_MAX = 1000000, DIGITS_MAX = 9 };

/* A range {FIRST..LAST} in a pattern. */
typedef struct range {
    size_t begin, end; /* the place of '{', and that behind '}' */
    unsigned first, last;
    size_t digits; /* of the longer number */
    bool padded;   /* with zeros to as many digits */
} range;

/* Reads digits. Returns how many; 0 if there are none. Of more than DIGITS_MAX *out is 0. */
static size_t read_digits(unsigned *out, const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    *out = 0;
    for (size_t i = 0; i < digits && digits <= DIGITS_MAX; i++)
        *out = *out * 10 + (unsigned)(text[i] - '0');
    return digits;
}

/* Reads the range that begins with the brace pattern[at]. Returns 0 and leaves *out as it is if
 * the brace begins none, which is a character as any other; otherwise 1. */
static size_t read_range(range *out, const char *pattern, size_t at)
{
    range found = {.begin = at};
    const char *begin = pattern + at + 1;
    const size_t first = read_digits(&found.first, begin);
    const char *dots = begin + first;
    if (first == 0 || strncmp(dots, "..", 2) != 0)
        return 0;
    const size_t last = read_digits(&found.last, dots + 2);
    const char *end = dots + 2 + last;
    if (last == 0 || *end != '}')
        return 0;
    found.end = (size_t)(end + 1 - pattern);
    found.digits = first > last ? first : last;
    found.padded = (first > 1 && *begin == '0') || (last > 1 && dots[2] == '0');
    *out = found;
    return 1;
}

/* Finds the last range of a pattern and returns how many it has. */
static size_t find_range(range *out, const char *pattern)
{
    size_t count = 0;
    for (size_t at = 0; pattern[at]; at++)
        count += pattern[at] == '{' ? read_range(out, pattern, at) : 0;
    return count;
}

static svit_status check_range(const range *numbers, size_t count, const char *pattern,
                               svit_error *err)
{
    if (count > 1)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the pattern '%s' has %zu ranges; one range such as {000..127} is accepted",
                       pattern, count);
    if (numbers->digits > DIGITS_MAX || numbers->first > numbers->last ||
        numbers->last - numbers->first >= SHARDS_MAX)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the range of the pattern '%s' falls or is too long; one range such as "
                       "{000..127} of at most %d shards is accepted",
                       pattern, SHARDS_MAX);
    return SVIT_OK;
}

static svit_status add_range(sv_listing *out, const sv_allocator *allocator, const char *pattern,
                             const range *numbers, svit_error *err)
{
    const size_t bytes = strlen(pattern) + DIGITS_MAX + 1;
    char *path = sv_allocate(allocator, bytes);
    if (!path)
        return sv_fail_memory(err, bytes, "a file's name");
    svit_status status = SVIT_OK;
    for (unsigned i = numbers->first; i <= numbers->last && status == SVIT_OK; i++) {
        snprintf(path, bytes, "%.*s%0*u%s", (int)numbers->begin, pattern,
                 numbers->padded ? (int)numbers->digits : 1, i, pattern + numbers->end);
        status = sv_listing_add(out, allocator, "", path, false, err);
    }
    sv_release(allocator, path, bytes);
    return status;
}

/* The search for files whose names match. */
typedef struct search {
    sv_listing *out;
    const sv_allocator *allocator;
    const char *folder; /* "" for the current one */
    const char *names;  /* their pattern */
} search;

static svit_status take_match(void *user, const char *name, bool is_folder, svit_error *err)
{
    const search *self = user;
    const size_t length = strlen(name), ending = strlen(SV_SHARD_INDEX_ENDING);
    if (is_folder || name[0] == '.' || !sv_pattern_matches(self->names, name) ||
        (length >= ending && strcmp(name + length - ending, SV_SHARD_INDEX_ENDING) == 0))
        return SVIT_OK;
    return sv_listing_add(self->out, self->allocator, self->folder, name, false, err);
}

/* Adds the files that match; `names` is the part of the pattern behind the last slash. */
static svit_status add_matches(sv_listing *out, const sv_allocator *allocator, const char *pattern,
                               const char *names, svit_error *err)
{
    const size_t front = (size_t)(names - pattern);
    const size_t length = front > 1 ? front - 1 : front; /* the slash goes, unless it is the root */
    char *folder = sv_allocate(allocator, length + 1);
    if (!folder)
        return sv_fail_memory(err, length + 1, "a folder's name");
    memcpy(folder, pattern, length);
    folder[length] = '\0';
    search self = {out, allocator, folder, names};
    svit_status status = sv_folder_each(front ? folder : ".", take_match, &self, err);
    sv_release(allocator, folder, length + 1);
    SVIT_TRY(status);
    sv_listing_sort(out, 0);
    if (out->count == 0)
        return sv_fail(err, SVIT_E_IO, "no file matches '%s'", pattern);
    if (out->count > SHARDS_MAX)
        return sv_fail(err, SVIT_E_ARGUMENT, "%zu files match '%s'; at most %d are accepted",
                       out->count, pattern, SHARDS_MAX);
    return SVIT_OK;
}

svit_status sv_shard_paths(sv_listing *out, const sv_allocator *allocator, const char *pattern,
                           svit_error *err)
{
    const char *names = sv_path_name(pattern);
    range numbers = {0};
    const size_t ranges = find_range(&numbers, pattern);
    *out = (sv_listing){0};
    if (ranges > 0) {
        SVIT_TRY(check_range(&numbers, ranges, pattern, err));
        return add_range(out, allocator, pattern, &numbers, err);
    }
    if (strpbrk(names, "*?"))
        return add_matches(out, allocator, pattern, names, err);
    if (strchr(names, '{') && sv_is_absent(pattern))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "'%s' is not there, and its brace begins no range; one range such as "
                       "{000..127} is accepted",
                       pattern);
    return sv_listing_add(out, allocator, "", pattern, false, err);
}
