/* Checks and compares configuration structs by the tables of their fields. */
#include "config/fields.h"

#include "config/decimal.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABEL = 80 }; /* bytes of "name[index]" */

const char *sv_field_key(const sv_field *field)
{
    return field->key ? field->key : field->name;
}

const sv_field *sv_fields_find_key(const sv_field_table *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++) {
        const sv_field *field = &table->fields[i];
        if (strcmp(sv_field_key(field), key) == 0)
            return field;
    }
    return NULL;
}

const sv_field *sv_fields_find_member(const sv_field_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->fields[i].name, name) == 0)
            return &table->fields[i];
    return NULL;
}

bool sv_field_is_array(const sv_field *field)
{
    return field->count_name || field->kind == SV_FIELD_PAIR;
}

/* What the field that counts the array says. */
static uint32_t stated_count(const sv_field *field, const void *config)
{
    return *(const uint32_t *)(const void *)((const char *)config + field->count_offset);
}

bool sv_field_is_of_all(const sv_field *field, const void *config)
{
    return field->one_above && stated_count(field, config) > field->one_above;
}

uint32_t sv_field_count(const sv_field *field, const void *config)
{
    if (!field->count_name)
        return field->kind == SV_FIELD_PAIR ? 2 : 1;
    return sv_field_is_of_all(field, config) ? 1 : stated_count(field, config);
}

size_t sv_field_bytes(const sv_field *field)
{
    switch (field->kind) {
    case SV_FIELD_U64:
    case SV_FIELD_REAL:
    case SV_FIELD_PAIR:
    case SV_FIELD_REALS:
        return sizeof(double);
    case SV_FIELD_CHARS:
        return field->max_count;
    case SV_FIELD_ELEMENTS:
        return field->elements->bytes;
    case SV_FIELD_CONSTANT:
    case SV_FIELD_TEXT:
        return 0;
    default:
        return sizeof(uint32_t);
    }
}

/* Layers and optimisers compute in float32, so beside an open end come the numbers of that type.
 * Below the normal ones they would be 0. Next to 0 nextafterf would underflow, which may trap. */
void sv_field_bounds(const sv_field *field, double *min, double *max)
{
    *min = field->min;
    *max = field->max;
    if (field->min_is_open)
        *min = field->min == 0 ? (double)FLT_MIN : (double)nextafterf((float)field->min, FLT_MAX);
    if (field->max_is_open)
        *max = (double)nextafterf((float)field->max, -FLT_MAX);
}

/* NaN is in no range. */
static bool is_in_range(const sv_field *field, double value)
{
    double min, max;
    sv_field_bounds(field, &min, &max);
    return value >= min && value <= max;
}

const char *sv_field_number_text(char text[SV_FIELD_NUMBER_TEXT], double value)
{
    if (!isfinite(value)) {
        snprintf(text, SV_FIELD_NUMBER_TEXT, "%g", value);
        return text;
    }
    sv_decimal_text(text, value);
    size_t length = strlen(text);
    if (length > 2 && strcmp(text + length - 2, ".0") == 0)
        text[length - 2] = '\0';
    return text;
}

const char *sv_field_words_text(const sv_field *field, char text[SV_FIELD_RANGE_TEXT])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sv_field_word_count(field) && used < SV_FIELD_RANGE_TEXT; i++)
        used += (size_t)snprintf(text + used, SV_FIELD_RANGE_TEXT - used, i ? " or '%s'" : "'%s'",
                                 field->words[i]);
    return text;
}

const char *sv_field_range_text(const sv_field *field, char text[SV_FIELD_RANGE_TEXT])
{
    char min[SV_FIELD_NUMBER_TEXT], max[SV_FIELD_NUMBER_TEXT];
    sv_field_number_text(min, field->min);
    sv_field_number_text(max, field->max);
    if (field->min == -DBL_MAX)
        snprintf(text, SV_FIELD_RANGE_TEXT, "it is a finite number");
    else if (field->max == DBL_MAX)
        snprintf(text, SV_FIELD_RANGE_TEXT, "it is a finite number %s %s",
                 field->min_is_open ? "above" : "from", min);
    else
        snprintf(text, SV_FIELD_RANGE_TEXT, "it is in %c%s, %s%c", field->min_is_open ? '(' : '[',
                 min, max, field->max_is_open ? ')' : ']');
    return text;
}

uint32_t sv_field_word_count(const sv_field *field)
{
    uint32_t count = 0;
    while (field->words && field->words[count])
        count++;
    return count;
}

svit_status sv_field_check_number(const sv_field *field, const char *label, double value,
                                  svit_error *err)
{
    if (is_in_range(field, value))
        return SVIT_OK;
    char number[SV_FIELD_NUMBER_TEXT], range[SV_FIELD_RANGE_TEXT];
    /* Between an open end and the float beside it. */
    const bool is_rounded = value > field->min && value < field->max;
    const bool is_tiny = is_rounded && fabs(value) < (double)FLT_MIN;
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is %s; %s%s", label,
                   sv_field_number_text(number, value), sv_field_range_text(field, range),
                   is_tiny      ? " as a normal float32"
                   : is_rounded ? " as a float32"
                                : "");
}

static svit_status check_word(const sv_field *field, uint32_t value, svit_error *err)
{
    const uint32_t known = sv_field_word_count(field);
    uint32_t accepted = field->kind == SV_FIELD_SET ? 1u << known : known;
    if (field->kind == SV_FIELD_FLAG)
        accepted = 2;
    if (value < accepted)
        return SVIT_OK;
    char words[SV_FIELD_RANGE_TEXT];
    sv_field_words_text(field, words);
    return sv_fail(err, SVIT_E_ARGUMENT, "%s is %" PRId32 "; it is 0..%" PRIu32 "%s%s", field->name,
                   (int32_t)value, accepted - 1, words[0] ? ": " : "", words);
}

/* The caller may have written the array without a terminating NUL. */
static svit_status check_chars(const sv_field *field, const char *text, svit_error *err)
{
    if (memchr(text, '\0', field->max_count))
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "%s has no end; it is a text of at most %" PRIu32 " bytes",
                   field->name, field->max_count - 1);
}

/* Puts the label of an element that is refused before the message: "groups[2]: ...". */
static svit_status check_element(const sv_field *field, const char *label, const void *element,
                                 svit_error *err)
{
    svit_status status = field->elements->check(element, err);
    return status == SVIT_OK ? SVIT_OK : sv_fail_in(err, status, label);
}

static svit_status check_value(const sv_field *field, const char *label, const void *value,
                               svit_error *err)
{
    switch (field->kind) {
    case SV_FIELD_U32:
    case SV_FIELD_LIST:
        return sv_field_check_number(field, label, *(const uint32_t *)value, err);
    case SV_FIELD_REAL:
    case SV_FIELD_PAIR:
    case SV_FIELD_REALS:
        return sv_field_check_number(field, label, *(const double *)value, err);
    case SV_FIELD_WORD:
    case SV_FIELD_FLAG:
    case SV_FIELD_SET:
        return check_word(field, *(const uint32_t *)value, err);
    case SV_FIELD_CHARS:
        return check_chars(field, value, err);
    case SV_FIELD_ELEMENTS:
        return check_element(field, label, value, err);
    case SV_FIELD_U64:
    case SV_FIELD_CONSTANT:
    case SV_FIELD_TEXT:
        break;
    }
    return SVIT_OK;
}

/* Checks element i of an array by its own name, which is only needed to name a failure. */
static svit_status check_nth(const sv_field *field, const char *value, uint32_t i, svit_error *err)
{
    char label[LABEL];
    if (check_value(field, field->name, value, NULL) == SVIT_OK)
        return SVIT_OK;
    snprintf(label, sizeof label, "%s[%" PRIu32 "]", field->name, i);
    return check_value(field, label, value, err);
}

static svit_status check_field(const sv_field *field, const void *config, svit_error *err)
{
    const char *value = (const char *)config + field->offset;
    const uint32_t count = sv_field_count(field, config);
    if (field->count_name && field->max_count > 0 &&
        (count < field->min_count || count > field->max_count))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is %" PRIu32 "; it is %" PRIu32 "..%" PRIu32,
                       field->count_name, count, field->min_count, field->max_count);
    if (!sv_field_is_array(field))
        return check_value(field, field->name, value, err);
    for (uint32_t i = 0; i < count; i++)
        SVIT_TRY(check_nth(field, value + i * sv_field_bytes(field), i, err));
    return SVIT_OK;
}

svit_status sv_fields_check(const sv_field_table *table, const void *config, svit_error *err)
{
    svit_status status = SVIT_OK;
    for (size_t i = 0; i < table->count && status == SVIT_OK; i++)
        status = check_field(&table->fields[i], config, err);
    if (status != SVIT_OK && table->prefix)
        return sv_fail_in(err, status, table->prefix);
    return status;
}

const char *sv_fields_difference(const sv_field_table *table, const void *a, const void *b)
{
    for (size_t i = 0; i < table->count; i++) {
        const sv_field *field = &table->fields[i];
        const uint32_t count = sv_field_count(field, a);
        if (count != sv_field_count(field, b) ||
            memcmp((const char *)a + field->offset, (const char *)b + field->offset,
                   count * sv_field_bytes(field)) != 0)
            return field->name;
    }
    return NULL;
}
