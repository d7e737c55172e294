/* Facts about a model: stating, finding and applying them. */
#include "models/open/facts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sv_facts_init(sv_facts *facts, const char *path)
{
    *facts = (sv_facts){.path = path};
}

/* The index of a field, which exists. */
static size_t index_of(const char *name)
{
    return (size_t)(sv_fields_find_member(&sv_vit_fields, name) - sv_vit_fields.fields);
}

static const char *value_text(char text[SV_FIELD_NUMBER_TEXT], const sv_field *field, double value)
{
    if (field->kind == SV_FIELD_WORD)
        snprintf(text, SV_FIELD_NUMBER_TEXT, "'%.30s'", field->words[(size_t)value]);
    else if (field->kind == SV_FIELD_FLAG)
        snprintf(text, SV_FIELD_NUMBER_TEXT, "%s", value != 0 ? "true" : "false");
    else
        sv_field_number_text(text, value);
    return text;
}

const char *sv_facts_value_text(char text[SV_FIELD_NUMBER_TEXT], const char *name, double value)
{
    return value_text(text, &sv_vit_fields.fields[index_of(name)], value);
}

const char *sv_facts_text(char text[SV_FIELD_NUMBER_TEXT], const sv_facts *facts, size_t index)
{
    return value_text(text, &sv_vit_fields.fields[index], facts->list[index].value);
}

/* The largest value of a field of whole numbers. */
static double largest(const sv_field *field)
{
    if (field->kind == SV_FIELD_U32)
        return field->max < UINT32_MAX ? field->max : UINT32_MAX;
    return field->kind == SV_FIELD_FLAG ? 1 : (double)sv_field_word_count(field) - 1;
}

/* Whether a field can hold a value that a file states. */
static bool can_hold(const sv_field *field, double value)
{
    if (field->kind == SV_FIELD_REAL)
        return sv_field_check_number(field, field->name, value, NULL) == SVIT_OK;
    return value >= 0 && value <= largest(field) && value == floor(value);
}

static const char *accepted_text(char text[SV_FIELD_RANGE_TEXT], const sv_field *field)
{
    if (field->kind == SV_FIELD_REAL)
        return sv_field_range_text(field, text);
    if (field->kind == SV_FIELD_FLAG)
        return "true and false are accepted";
    snprintf(text, SV_FIELD_RANGE_TEXT, "a whole number up to %.0f is accepted", largest(field));
    return text;
}

svit_status sv_facts_state(sv_facts *facts, const char *name, double value, svit_error *err,
                           const char *from, ...)
{
    const size_t index = index_of(name);
    sv_fact *fact = &facts->list[index];
    char text[SV_FACT_SOURCE];
    va_list arguments;
    va_start(arguments, from);
    vsnprintf(text, sizeof text, from, arguments);
    va_end(arguments);
    if (fact->is_final)
        return SVIT_OK;
    if (!can_hold(&sv_vit_fields.fields[index], value)) {
        char accepted[SV_FIELD_RANGE_TEXT];
        return sv_fail(err, SVIT_E_FORMAT, "%s: %s is %g by %s; %s", facts->path, name, value, text,
                       accepted_text(accepted, &sv_vit_fields.fields[index]));
    }
    const bool is_stated = fact->from[0] != '\0' && !fact->is_assumed;
    if (is_stated && fact->value == value)
        return SVIT_OK;
    if (is_stated) {
        char stated[SV_FIELD_NUMBER_TEXT], other[SV_FIELD_NUMBER_TEXT];
        return sv_fail(err, SVIT_E_FORMAT, "%s: %s is %s by %s, but %s by %s", facts->path, name,
                       sv_facts_text(stated, facts, index), fact->from,
                       value_text(other, &sv_vit_fields.fields[index], value), text);
    }
    *fact = (sv_fact){.value = value};
    memcpy(fact->from, text, sizeof text);
    return SVIT_OK;
}

void sv_facts_assume(sv_facts *facts, const char *name, double value, const char *from)
{
    const size_t index = index_of(name);
    sv_fact *fact = &facts->list[index];
    if (fact->from[0] != '\0' || !can_hold(&sv_vit_fields.fields[index], value))
        return;
    *fact = (sv_fact){.value = value, .is_assumed = true};
    snprintf(fact->from, sizeof fact->from, "%s", from);
}

void sv_facts_correct(sv_facts *facts, const char *name, double value, const char *why)
{
    sv_fact *fact = &facts->list[index_of(name)];
    const size_t length = strlen(fact->from);
    if (fact->is_final)
        return;
    fact->value = value;
    snprintf(fact->from + length, sizeof fact->from - length, "%s", why);
}

void sv_facts_forget_zero(sv_facts *facts, const char *name)
{
    sv_fact *fact = &facts->list[index_of(name)];
    if (fact->value == 0)
        *fact = (sv_fact){0};
}

const sv_fact *sv_facts_find(const sv_facts *facts, const char *name)
{
    const sv_fact *fact = &facts->list[index_of(name)];
    return fact->from[0] != '\0' ? fact : NULL;
}

double sv_facts_value(const sv_facts *facts, const char *name, double otherwise)
{
    const sv_fact *fact = sv_facts_find(facts, name);
    return fact ? fact->value : otherwise;
}

/* The value of a field of one number in a configuration. */
static double read_field(const sv_field *field, const svit_model_config *config)
{
    const char *at = (const char *)config + field->offset;
    if (field->kind == SV_FIELD_REAL)
        return *(const double *)(const void *)at;
    if (field->kind == SV_FIELD_U32)
        return *(const uint32_t *)(const void *)at;
    return *(const int32_t *)(const void *)at;
}

static void write_field(const sv_field *field, svit_model_config *config, double value)
{
    char *at = (char *)config + field->offset;
    if (field->kind == SV_FIELD_REAL)
        *(double *)(void *)at = value;
    else if (field->kind == SV_FIELD_U32)
        *(uint32_t *)(void *)at = (uint32_t)value;
    else
        *(int32_t *)(void *)at = (int32_t)value;
}

/* States one member of the caller's object. */
static svit_status state_member(sv_facts *facts, const sv_json_value *member, svit_error *err)
{
    const sv_field *field = sv_fields_find_key(&sv_vit_fields, member->key);
    svit_model_config config = {0};
    if (!field || sv_field_is_array(field) || strcmp(field->name, "architecture") == 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "fields: '%.60s' is not a field of one value of a ViT's configuration",
                       member->key);
    SVIT_TRY(sv_field_from_json(field, &config, member, err));
    sv_fact *fact = &facts->list[field - sv_vit_fields.fields];
    *fact = (sv_fact){.value = read_field(field, &config), .from = "the caller", .is_final = true};
    return SVIT_OK;
}

svit_status sv_facts_state_json(sv_facts *facts, const sv_allocator *allocator, const char *json,
                                svit_error *err)
{
    sv_json *parsed;
    SVIT_TRY(sv_json_parse_object(&parsed, allocator, json, strlen(json), "fields", err));
    const sv_json_value *root = sv_json_root(parsed), *member = root + 1;
    svit_status status = SVIT_OK;
    for (size_t i = 0; i < root->count && status == SVIT_OK; i++, member = member->after)
        status = state_member(facts, member, err);
    sv_json_free(parsed);
    return status;
}

void sv_facts_apply(const sv_facts *facts, svit_model_config *config)
{
    for (size_t i = 0; i < sv_vit_fields.count; i++)
        if (facts->list[i].from[0] != '\0')
            write_field(&sv_vit_fields.fields[i], config, facts->list[i].value);
}
