/* Parses JSON into one allocation. It holds the values in the order of the text, then pointers to
 * the members of each object in the order of their keys, then a copy of the text, in which strings
 * are unescaped in place. */
#include "config/json.h"

#include "base/size.h"
#include "config/json_scan.h"

#include <stdlib.h>
#include <string.h>

struct sv_json {
    sv_allocator allocator;
    size_t bytes;
    sv_json_value values[];
};

/* What builds the values of a text. There is room for all of them (max_values); that it suffices is
 * checked all the same, so that no write depends on that count. */
typedef struct parser {
    sv_json_scan scan;
    sv_json_value *next, *values_end;
    const sv_json_value **next_member, **members_end;
    size_t depth;
    const char *key; /* a duplicate key, or NULL */
} parser;

static bool fail(parser *in, const char *problem)
{
    return sv_json_scan_fail(&in->scan, problem);
}

static const char MORE_VALUES[] = "more values than commas and brackets";

static bool read_value(parser *in, const char *key);

static int by_key(const void *a, const void *b)
{
    const sv_json_value *const *x = a;
    const sv_json_value *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

/* Sorts pointers to an object's members by key and refuses duplicate keys. */
static bool sort_members(parser *in, sv_json_value *object)
{
    const sv_json_value **members = in->next_member;
    const sv_json_value *member = object + 1;
    if (object->count > (size_t)(in->members_end - members))
        return fail(in, MORE_VALUES);
    for (size_t i = 0; i < object->count; i++, member = member->after)
        members[i] = member;
    in->next_member += object->count;
    object->members = members;
    if (object->count > 1)
        qsort(members, object->count, sizeof(const sv_json_value *), by_key);
    for (size_t i = 1; i < object->count; i++)
        if (strcmp(members[i - 1]->key, members[i]->key) == 0) {
            in->key = members[i]->key;
            return fail(in, "an object with a key twice:");
        }
    return true;
}

static bool read_member(parser *in)
{
    const char *key;
    sv_json_scan_space(&in->scan);
    if (in->scan.text[in->scan.at] != '"')
        return fail(in, "no string for a key");
    if (!sv_json_scan_string(&in->scan, &key))
        return false;
    if (!sv_json_scan_skip(&in->scan, ':'))
        return fail(in, "no ':' after a key");
    return read_value(in, key);
}

static bool read_list(parser *in, sv_json_value *list, char end)
{
    bool is_object = end == '}';
    list->kind = is_object ? SV_JSON_OBJECT : SV_JSON_ARRAY;
    if (++in->depth > SV_JSON_DEPTH)
        return fail(in, "too many arrays and objects within each other");
    in->scan.at++;
    if (!sv_json_scan_skip(&in->scan, end)) {
        do {
            if (is_object ? !read_member(in) : !read_value(in, NULL))
                return false;
            list->count++;
        } while (sv_json_scan_skip(&in->scan, ','));
        if (!sv_json_scan_skip(&in->scan, end))
            return fail(in, is_object ? "no ',' or '}' after a member"
                                      : "no ',' or ']' after an element");
    }
    in->depth--;
    return is_object ? sort_members(in, list) : true;
}

static bool read_number(parser *in, sv_json_value *value)
{
    sv_json_numeral number;
    if (!sv_json_scan_number(&in->scan, &number))
        return false;
    value->kind = number.kind;
    if (number.kind == SV_JSON_INTEGER) {
        value->negative = number.negative;
        value->magnitude = number.magnitude;
    } else {
        value->real = number.real;
    }
    return true;
}

static bool read_value(parser *in, const char *key)
{
    if (in->next == in->values_end)
        return fail(in, MORE_VALUES);
    sv_json_value *value = in->next++;
    *value = (sv_json_value){.key = key};
    sv_json_scan_space(&in->scan);
    const char first = in->scan.text[in->scan.at];
    bool read;
    if (first == '{')
        read = read_list(in, value, '}');
    else if (first == '[')
        read = read_list(in, value, ']');
    else if (first == '"') {
        value->kind = SV_JSON_TEXT;
        read = sv_json_scan_string(&in->scan, &value->text);
    } else if ((first == '-' && !(in->scan.nan && in->scan.text[in->scan.at + 1] == 'I')) ||
               (first >= '0' && first <= '9'))
        read = read_number(in, value);
    else
        read = sv_json_scan_word(&in->scan, &value->kind);
    value->after = in->next;
    return read;
}

/* An upper bound of the number of values in a text: the first element of each array or object
 * follows a bracket, all others follow a comma. */
static size_t max_values(const char *text, size_t bytes)
{
    size_t count = 1;
    bool quoted = false;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        else if (quoted)
            i += text[i] == '\\';
        else
            count += text[i] == ',' || text[i] == '[' || text[i] == '{';
    }
    return count;
}

static svit_status allocate(sv_json **out, const sv_allocator *allocator, size_t values,
                            size_t bytes, svit_error *err)
{
    size_t total;
    if (!sv_size_multiply(&total, values, sizeof(sv_json_value) + sizeof(sv_json_value *)) ||
        !sv_size_add(&total, total, sizeof(sv_json) + 1) || !sv_size_add(&total, total, bytes))
        return sv_fail_memory(err, SIZE_MAX, "a JSON text");
    sv_json *json = sv_allocate(allocator, total);
    if (!json)
        return sv_fail_memory(err, total, "a JSON text");
    json->allocator = *allocator;
    json->bytes = total;
    *out = json;
    return SVIT_OK;
}

/* Reads the whole text. A NUL byte before its end fails as an unknown character or a control
 * character. */
static bool read_all(parser *in)
{
    if (!read_value(in, NULL))
        return false;
    sv_json_scan_space(&in->scan);
    return in->scan.at == in->scan.bytes ? true : fail(in, "something after the end of the value");
}

/* Whose JSON a text is. */
typedef enum json_dialect { STRICT, TOLERANT, PYTHON } json_dialect;

static svit_status parse(sv_json **out, const sv_allocator *allocator, const char *text,
                         size_t bytes, json_dialect dialect, const char *what, svit_error *err)
{
    sv_json *json = NULL;
    size_t values = max_values(text, bytes);
    SVIT_TRY(allocate(&json, allocator, values, bytes, err));
    const sv_json_value **members = (const sv_json_value **)(void *)(json->values + values);
    char *copy = (char *)(members + values);
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    parser in = {.scan = {.text = copy,
                          .bytes = bytes,
                          .tolerant = dialect != STRICT,
                          .nan = dialect == PYTHON},
                 .next = json->values,
                 .values_end = json->values + values,
                 .next_member = members,
                 .members_end = members + values};
    if (read_all(&in)) {
        *out = json;
        return SVIT_OK;
    }
    const char *key = in.key ? in.key : "";
    svit_status status =
        sv_fail(err, SVIT_E_FORMAT, "%s is not JSON: %s%s%.40s%s at byte %zu", what,
                in.scan.problem, in.key ? " '" : "", key, in.key ? "'" : "", in.scan.at);
    sv_json_free(json);
    return status;
}

svit_status sv_json_parse(sv_json **out, const sv_allocator *allocator, const char *text,
                          size_t bytes, const char *what, svit_error *err)
{
    return parse(out, allocator, text, bytes, STRICT, what, err);
}

static svit_status parse_object(sv_json **out, const sv_allocator *allocator, const char *text,
                                size_t bytes, json_dialect dialect, const char *what,
                                svit_error *err)
{
    sv_json *json = NULL;
    SVIT_TRY(parse(&json, allocator, text, bytes, dialect, what, err));
    if (json->values->kind != SV_JSON_OBJECT) {
        sv_json_free(json);
        return sv_fail(err, SVIT_E_FORMAT, "%s is not a JSON object; one in {} is needed", what);
    }
    *out = json;
    return SVIT_OK;
}

svit_status sv_json_parse_object(sv_json **out, const sv_allocator *allocator, const char *text,
                                 size_t bytes, const char *what, svit_error *err)
{
    return parse_object(out, allocator, text, bytes, STRICT, what, err);
}

svit_status sv_json_parse_tolerant(sv_json **out, const sv_allocator *allocator, const char *text,
                                   size_t bytes, const char *what, svit_error *err)
{
    return parse_object(out, allocator, text, bytes, TOLERANT, what, err);
}

svit_status sv_json_parse_python(sv_json **out, const sv_allocator *allocator, const char *text,
                                 size_t bytes, const char *what, svit_error *err)
{
    return parse_object(out, allocator, text, bytes, PYTHON, what, err);
}

void sv_json_free(sv_json *json)
{
    if (!json)
        return;
    sv_allocator allocator = json->allocator;
    sv_release(&allocator, json, json->bytes);
}

const sv_json_value *sv_json_root(const sv_json *json)
{
    return json->values;
}

static int key_order(const void *key, const void *member)
{
    const sv_json_value *const *value = member;
    return strcmp(key, (*value)->key);
}

const sv_json_value *sv_json_get(const sv_json_value *object, const char *key)
{
    if (!object || object->kind != SV_JSON_OBJECT || object->count == 0)
        return NULL;
    const sv_json_value *const *found =
        bsearch(key, object->members, object->count, sizeof *object->members, key_order);
    return found ? *found : NULL;
}

bool sv_json_is(const sv_json_value *value, sv_json_kind kind)
{
    return value && value->kind == kind;
}

const char *sv_json_text(const sv_json_value *value)
{
    return value && value->kind == SV_JSON_TEXT ? value->text : NULL;
}

bool sv_json_u64(const sv_json_value *value, uint64_t *out)
{
    if (!value || value->kind != SV_JSON_INTEGER || (value->negative && value->magnitude))
        return false;
    *out = value->magnitude;
    return true;
}

bool sv_json_number(const sv_json_value *value, double *out)
{
    if (!value || (value->kind != SV_JSON_INTEGER && value->kind != SV_JSON_REAL))
        return false;
    if (value->kind == SV_JSON_REAL)
        *out = value->real;
    else
        *out = value->negative && value->magnitude ? -(double)value->magnitude
                                                   : (double)value->magnitude;
    return true;
}
