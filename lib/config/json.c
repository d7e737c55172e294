/* Parses JSON into one allocation. It holds the values in the order of the text, then pointers to
 * the members of each object in the order of their keys, then a copy of the text, in which strings
 * are unescaped in place. */
#include "config/json.h"

#include "base/size.h"
#include "base/text/utf8.h"
#include "config/decimal.h"

#include <stdlib.h>
#include <string.h>

struct sv_json {
    sv_allocator allocator;
    size_t bytes;
    sv_json_value values[];
};

typedef struct parser {
    char *text, *at, *end; /* *end is a NUL byte */
    sv_json_value *next;
    const sv_json_value **next_member;
    size_t depth;
    const char *problem; /* the first failure, found at `at` */
    const char *key;     /* a duplicate key, or NULL */
} parser;

static bool fail(parser *in, const char *problem)
{
    in->problem = problem;
    return false;
}

static void skip_space(parser *in)
{
    while (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')
        in->at++;
}

static bool skip(parser *in, char c)
{
    skip_space(in);
    if (*in->at != c)
        return false;
    in->at++;
    return true;
}

/* Reads the four hexadecimal digits after \u. Returns -1 if there are not four. */
static int32_t read_unit(const char *digits)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        char c = digits[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* Stores a character in UTF-8, which is never longer than its escape. Returns the end. */
static char *store_character(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
        return out;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char FIRST[] = {0, 0xC0, 0xE0, 0xF0};
    *out++ = (char)(FIRST[more] | c >> 6 * more);
    while (more--)
        *out++ = (char)(0x80 | (c >> 6 * more & 0x3F));
    return out;
}

/* Reads \uXXXX or a surrogate pair \uXXXX\uXXXX. `at` is after the first 'u'. */
static bool read_unicode(parser *in, char **out)
{
    int32_t unit = read_unit(in->at);
    if (unit < 0)
        return fail(in, "\\u without four hexadecimal digits");
    uint32_t c = (uint32_t)unit;
    if (c == 0)
        return fail(in, "a NUL character in a string");
    if (c >= 0xDC00 && c <= 0xDFFF)
        return fail(in, "half of a surrogate pair");
    in->at += 4;
    if (c >= 0xD800 && c <= 0xDBFF) {
        int32_t low = in->at[0] == '\\' && in->at[1] == 'u' ? read_unit(in->at + 2) : -1;
        if (low < 0xDC00 || low > 0xDFFF)
            return fail(in, "half of a surrogate pair");
        c = 0x10000 + ((c & 0x3FF) << 10 | ((uint32_t)low & 0x3FF));
        in->at += 6;
    }
    *out = store_character(*out, c);
    return true;
}

static bool read_escape(parser *in, char **out)
{
    static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
    char c = *++in->at;
    if (c == 'u') {
        in->at++;
        return read_unicode(in, out);
    }
    const char *from = c ? strchr(FROM, c) : NULL;
    if (!from)
        return fail(in, "an escape that JSON does not have");
    *(*out)++ = TO[from - FROM];
    in->at++;
    return true;
}

/* Reads a string and leaves it unescaped and NUL-terminated in the copy of the text. */
static bool read_string(parser *in, const char **string)
{
    char *out = ++in->at;
    *string = out;
    while (*in->at != '"') {
        if (in->at == in->end)
            return fail(in, "a string without its end");
        if ((unsigned char)*in->at < 0x20)
            return fail(in, "a control character in a string");
        if (*in->at == '\\') {
            if (!read_escape(in, &out))
                return false;
            continue;
        }
        size_t length = sv_utf8_length(in->at, (size_t)(in->end - in->at));
        if (length == 0)
            return fail(in, "a byte that is not UTF-8");
        memmove(out, in->at, length);
        out += length;
        in->at += length;
    }
    in->at++;
    *out = '\0';
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *at)
{
    while (is_digit(*at))
        at++;
    return at;
}

/* Returns the end of the number at `at` by JSON's grammar, NULL if there is none. *whole tells
 * whether it has neither a fraction nor an exponent. */
static const char *number_end(const char *at, bool *whole)
{
    *whole = true;
    at += *at == '-';
    if (!is_digit(*at))
        return NULL;
    at = *at == '0' ? at + 1 : skip_digits(at);
    if (*at == '.') {
        *whole = false;
        if (!is_digit(*++at))
            return NULL;
        at = skip_digits(at);
    }
    if (*at == 'e' || *at == 'E') {
        *whole = false;
        at++;
        at += *at == '+' || *at == '-';
        if (!is_digit(*at))
            return NULL;
        at = skip_digits(at);
    }
    return at;
}

static bool read_integer(parser *in, sv_json_value *value, const char *end)
{
    const char *at = in->at;
    value->kind = SV_JSON_INTEGER;
    value->negative = *at == '-';
    uint64_t max = value->negative ? (uint64_t)1 << 63 : UINT64_MAX, magnitude = 0;
    for (at += value->negative; at < end; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (magnitude > (max - digit) / 10)
            return fail(in, "an integer outside of 64 bits");
        magnitude = 10 * magnitude + digit;
    }
    value->magnitude = magnitude;
    return true;
}

static bool read_number(parser *in, sv_json_value *value)
{
    bool whole;
    const char *end = number_end(in->at, &whole);
    if (!end)
        return fail(in, "a number that is not JSON's");
    if (whole && !read_integer(in, value, end))
        return false;
    if (!whole) {
        value->kind = SV_JSON_REAL;
        if (!sv_decimal_read(&value->real, in->at, (size_t)(end - in->at)))
            return fail(in, "a number that no double holds");
    }
    in->at += end - in->at;
    return true;
}

static bool read_word(parser *in, sv_json_value *value)
{
    static const struct {
        const char *word;
        sv_json_kind kind;
    } WORDS[] = {{"true", SV_JSON_TRUE}, {"false", SV_JSON_FALSE}, {"null", SV_JSON_NULL}};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        size_t length = strlen(WORDS[i].word);
        if (strncmp(in->at, WORDS[i].word, length) == 0) {
            value->kind = WORDS[i].kind;
            in->at += length;
            return true;
        }
    }
    return fail(in, in->at == in->end ? "the end of the text instead of a value"
                                      : "a character that begins no value");
}

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
    skip_space(in);
    if (*in->at != '"')
        return fail(in, "no string for a key");
    if (!read_string(in, &key))
        return false;
    if (!skip(in, ':'))
        return fail(in, "no ':' after a key");
    return read_value(in, key);
}

static bool read_list(parser *in, sv_json_value *list, char end)
{
    bool is_object = end == '}';
    list->kind = is_object ? SV_JSON_OBJECT : SV_JSON_ARRAY;
    if (++in->depth > SV_JSON_DEPTH)
        return fail(in, "too many arrays and objects within each other");
    in->at++;
    if (!skip(in, end)) {
        do {
            if (is_object ? !read_member(in) : !read_value(in, NULL))
                return false;
            list->count++;
        } while (skip(in, ','));
        if (!skip(in, end))
            return fail(in, is_object ? "no ',' or '}' after a member"
                                      : "no ',' or ']' after an element");
    }
    in->depth--;
    return is_object ? sort_members(in, list) : true;
}

static bool read_value(parser *in, const char *key)
{
    sv_json_value *value = in->next++;
    *value = (sv_json_value){.key = key};
    skip_space(in);
    bool read;
    if (*in->at == '{')
        read = read_list(in, value, '}');
    else if (*in->at == '[')
        read = read_list(in, value, ']');
    else if (*in->at == '"') {
        value->kind = SV_JSON_TEXT;
        read = read_string(in, &value->text);
    } else if (*in->at == '-' || is_digit(*in->at))
        read = read_number(in, value);
    else
        read = read_word(in, value);
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
    skip_space(in);
    return in->at == in->end ? true : fail(in, "something after the end of the value");
}

svit_status sv_json_parse(sv_json **out, const sv_allocator *allocator, const char *text,
                          size_t bytes, const char *what, svit_error *err)
{
    sv_json *json = NULL;
    size_t values = max_values(text, bytes);
    SVIT_TRY(allocate(&json, allocator, values, bytes, err));
    const sv_json_value **members = (const sv_json_value **)(void *)(json->values + values);
    char *copy = (char *)(members + values);
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    parser in = {copy, copy, copy + bytes, json->values, members, 0, NULL, NULL};
    if (read_all(&in)) {
        *out = json;
        return SVIT_OK;
    }
    const char *key = in.key ? in.key : "";
    svit_status status =
        sv_fail(err, SVIT_E_FORMAT, "%s is not JSON: %s%s%.40s%s at byte %zu", what, in.problem,
                in.key ? " '" : "", key, in.key ? "'" : "", (size_t)(in.at - in.text));
    sv_json_free(json);
    return status;
}

svit_status sv_json_parse_object(sv_json **out, const sv_allocator *allocator, const char *text,
                                 size_t bytes, const char *what, svit_error *err)
{
    sv_json *json = NULL;
    SVIT_TRY(sv_json_parse(&json, allocator, text, bytes, what, err));
    if (json->values->kind != SV_JSON_OBJECT) {
        sv_json_free(json);
        return sv_fail(err, SVIT_E_FORMAT, "%s is not a JSON object; one in {} is needed", what);
    }
    *out = json;
    return SVIT_OK;
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

const char *sv_json_text(const sv_json_value *value)
{
    return value && value->kind == SV_JSON_TEXT ? value->text : NULL;
}

bool sv_json_i64(const sv_json_value *value, int64_t *out)
{
    if (!value || value->kind != SV_JSON_INTEGER)
        return false;
    if (!value->negative && value->magnitude > INT64_MAX)
        return false;
    *out = value->negative ? (int64_t)(0 - value->magnitude) : (int64_t)value->magnitude;
    return true;
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
        *out = value->negative ? -(double)value->magnitude : (double)value->magnitude;
    return true;
}
