/* Reads the classes of samples in shards. */
#include "data/shards/shard_label.h"

#include "config/json.h"
#include "data/datasets/path.h"

#include <string.h>

/* Notes that the labels of the index are of this kind. */
static svit_status note_kind(sv_shard_index *index, sv_shard_labels kind, const char *where,
                             svit_error *err)
{
    if (index->labels != SV_LABELS_NONE && index->labels != kind)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s has a %s as its label, and the samples before it do not; numbers alone "
                       "or names alone are accepted",
                       where, kind == SV_LABELS_TEXT ? "name" : "number");
    index->labels = kind;
    return SVIT_OK;
}

static svit_status take_number(sv_shard_index *index, int32_t *label, uint64_t value,
                               const char *where, svit_error *err)
{
    if (value >= SV_SHARD_CLASSES)
        return sv_fail(err, SVIT_E_FORMAT, "%s has the class %llu; 0..%d are accepted", where,
                       (unsigned long long)value, SV_SHARD_CLASSES - 1);
    *label = (int32_t)value;
    return note_kind(index, SV_LABELS_NUMBER, where, err);
}

static svit_status take_name(sv_shard_index *index, const sv_allocator *allocator, int32_t *label,
                             const char *name, const char *where, svit_error *err)
{
    const size_t bytes = strlen(name) + 1;
    if (bytes == 1 || index->name_bytes > INT32_MAX)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s has an empty name as its label, or the names are "
                       "too long; a text is needed",
                       where);
    *label = (int32_t)index->name_bytes;
    SVIT_TRY(note_kind(index, SV_LABELS_TEXT, where, err));
    return sv_shard_add_name(index, allocator, name, bytes, err);
}

/* Reads decimal digits between white space. */
static svit_status read_number(sv_shard_index *index, int32_t *label, const char *text,
                               size_t bytes, const char *where, svit_error *err)
{
    static const char SPACES[] = " \t\r\n\v\f", DIGITS[] = "0123456789";
    const char *first = text + strspn(text, SPACES), *end = first + strspn(first, DIGITS);
    const bool is_number = end > first && end + strspn(end, SPACES) == text + bytes;
    uint64_t value = 0;
    for (; is_number && first < end && value < INT32_MAX; first++)
        value = value * 10 + (uint64_t)(*first - '0');
    if (!is_number)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s has '%.40s' in its member 'cls'; the number of a class is needed", where,
                       text);
    return take_number(index, label, value, where, err);
}

/* Reads a class as Python writes it, also as 2.0. Returns false if the value is none. */
static bool to_number(const sv_json_value *value, uint64_t *number)
{
    double real;
    if (sv_json_u64(value, number))
        return true;
    if (!sv_json_is(value, SV_JSON_REAL) || !sv_json_number(value, &real) || !(real >= 0) ||
        real >= INT32_MAX || real != (double)(int32_t)real)
        return false;
    *number = (uint64_t)real;
    return true;
}

static svit_status read_object(sv_shard_index *index, const sv_allocator *allocator, int32_t *label,
                               const sv_json_value *object, const char *where, svit_error *err)
{
    static const char *const KEYS[] = {"label", "cls", "class"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
        const sv_json_value *value = sv_json_get(object, KEYS[i]);
        const char *name = sv_json_text(value);
        uint64_t number;
        if (to_number(value, &number))
            return take_number(index, label, number, where, err);
        if (name)
            return take_name(index, allocator, label, name, where, err);
    }
    return sv_fail(err, SVIT_E_FORMAT,
                   "%s has no class in its member 'json'; a name or a number from 0 on at the key "
                   "\"label\", \"cls\" or \"class\" is needed",
                   where);
}

svit_status sv_shard_label_read(sv_shard_index *index, const sv_allocator *allocator,
                                int32_t *label, const char *text, size_t bytes, bool is_json,
                                const char *where, svit_error *err)
{
    const size_t mark = sv_mark_bytes(text);
    text += mark;
    bytes -= mark;
    if (!is_json)
        return read_number(index, label, text, bytes, where, err);
    sv_json *json = NULL;
    SVIT_TRY(sv_json_parse_python(&json, allocator, text, bytes, where, err));
    svit_status status = read_object(index, allocator, label, sv_json_root(json), where, err);
    sv_json_free(json);
    return status;
}
