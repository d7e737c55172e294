/* Name maps: from the caller's text to rules, and from a parameter to the tensors of a file. */
#include "models/load/name_map.h"

#include "base/pattern.h"
#include "base/size.h"

#include <stdio.h>
#include <string.h>

static const char *const NO_PREFIX[] = {"", NULL};
static const char *const NONE[] = {NULL};

/* {"tensor": NAME, "transpose": true or false}, the second may be absent. */
static bool read_object(sv_name_rule *rule, const sv_json_value *value)
{
    const sv_json_value *transpose = sv_json_get(value, "transpose");
    rule->tensors[0] = sv_json_text(sv_json_get(value, "tensor"));
    if (transpose && transpose->kind == SV_JSON_TRUE)
        rule->kind = SV_RULE_TRANSPOSED;
    else if (transpose && transpose->kind != SV_JSON_FALSE)
        return false;
    return rule->tensors[0] && value->count == (transpose ? 2 : 1);
}

static bool read_list(sv_name_rule *rule, const sv_json_value *value)
{
    const sv_json_value *name = value + 1;
    if (value->count == 0 || value->count > SV_RULE_TENSORS)
        return false;
    for (size_t i = 0; i < value->count; i++, name = name->after)
        if (!(rule->tensors[i] = sv_json_text(name)))
            return false;
    return true;
}

static size_t count_stars(const char *text)
{
    size_t count = 0;
    while ((text = strchr(text, '*'))) {
        count++;
        text++;
    }
    return count;
}

/* A name has at most one '*', and a tensor has one only where the parameter's name has. */
static svit_status check_stars(const sv_name_rule *rule, svit_error *err)
{
    const size_t most = count_stars(rule->name);
    bool fits = most <= 1;
    for (size_t i = 0; i < SV_RULE_TENSORS && rule->tensors[i]; i++)
        fits = fits && count_stars(rule->tensors[i]) <= most;
    if (fits)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "map: the rule of '%.80s' has too many '*'; a name has at most one, that of a "
                   "tensor only where the parameter's has",
                   rule->name);
}

/* One rule of a JSON object: a name, a list of names, null, or an object with "tensor" and
 * "transpose". */
static svit_status read_rule(sv_name_rule *rule, const sv_json_value *value, svit_error *err)
{
    bool fits = true;
    *rule = (sv_name_rule){.name = value->key};
    if (value->kind == SV_JSON_NULL)
        rule->kind = SV_RULE_ZERO;
    else if (value->kind == SV_JSON_OBJECT)
        fits = read_object(rule, value);
    else if (value->kind == SV_JSON_ARRAY)
        fits = read_list(rule, value);
    else
        fits = (rule->tensors[0] = sv_json_text(value)) != NULL;
    if (fits)
        return check_stars(rule, err);
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "map: the rule of '%.80s' is none of a tensor's name, a list of up to %d names, "
                   "{\"tensor\": name, \"transpose\": true} and null",
                   value->key, SV_RULE_TENSORS);
}

static svit_status read_rules(sv_name_map *map, const sv_allocator *allocator, svit_error *err)
{
    const sv_json_value *root = sv_json_root(map->json), *value = root + 1;
    sv_name_rule *rules = NULL;
    if (root->count > 0)
        SVIT_TRY(sv_allocate_array(allocator, &map->memory, root->count, sizeof *rules,
                                   "the rules of a name map", err));
    map->bytes = root->count * sizeof *rules;
    map->rules = rules = map->memory;
    map->rule_count = root->count;
    for (size_t i = 0; i < root->count; i++, value = value->after)
        SVIT_TRY(read_rule(&rules[i], value, err));
    return SVIT_OK;
}

svit_status sv_name_map_open(sv_name_map *out, const sv_allocator *allocator, const char *text,
                             svit_error *err)
{
    *out = (sv_name_map){.prefixes = NO_PREFIX, .ignored = NONE};
    if (!text)
        return SVIT_OK;
    const sv_name_map *map;
    for (size_t i = 0; (map = sv_builtin_name_map(i)); i++)
        if (strcmp(map->name, text) == 0) {
            *out = *map;
            return SVIT_OK;
        }
    if (!strchr(text, '{'))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "map is '%.60s'; 'timm', 'huggingface', 'openclip' and a JSON object are "
                       "accepted",
                       text);
    svit_status status =
        sv_json_parse_object(&out->json, allocator, text, strlen(text), "a name map", err);
    if (status == SVIT_OK)
        status = read_rules(out, allocator, err);
    if (status != SVIT_OK)
        sv_name_map_free(allocator, out);
    return status;
}

void sv_name_map_free(const sv_allocator *allocator, sv_name_map *map)
{
    if (map->memory)
        sv_release(allocator, map->memory, map->bytes);
    sv_json_free(map->json);
    *map = (sv_name_map){0};
}

/* The digits that the '*' of a rule stands for, and what follows the rule in the parameter's name.
 */
typedef struct rule_match {
    const char *digits;
    size_t digit_count;
    const char *rest;
} rule_match;

static bool match_rule(rule_match *match, const char *rule, const char *name)
{
    *match = (rule_match){.digits = name};
    for (; *rule; rule++) {
        if (*rule != '*') {
            if (*name++ != *rule)
                return false;
            continue;
        }
        match->digits = name;
        match->digit_count = strspn(name, "0123456789");
        if (match->digit_count == 0)
            return false;
        name += match->digit_count;
    }
    match->rest = name;
    return *name == '\0' || *name == '.';
}

/* Writes the whole name of a tensor. A name that is too long is cut and then not found. */
static void tensor_name(char out[160], const char *prefix, const char *pattern,
                        const rule_match *match)
{
    const char *star = strchr(pattern, '*');
    int before = star ? (int)(star - pattern) : (int)strlen(pattern);
    snprintf(out, 160, "%s%.*s%.*s%s%s", prefix, before, pattern,
             star ? (int)match->digit_count : 0, match->digits, star ? star + 1 : "", match->rest);
}

/* Looks for the tensors of a rule behind one prefix. Returns whether the rule applies, which its
 * first tensor tells; the others may be missing, where match->wanted names the first of them. */
static bool apply_rule(sv_name_match *match, const sv_name_rule *rule, const rule_match *at,
                       const sv_safetensors *file, const char *prefix)
{
    char name[160];
    rule_match whole = *at;
    if (rule->kind == SV_RULE_ZERO)
        whole.rest = "";
    *match = (sv_name_match){.kind = rule->kind};
    for (size_t i = 0; i < SV_RULE_TENSORS && rule->tensors[i]; i++) {
        tensor_name(name, prefix, rule->tensors[i], &whole);
        const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
        if (!entry) {
            memcpy(match->wanted, name, sizeof name);
            return i > 0;
        }
        match->entries[match->count++] = entry;
    }
    if (rule->kind == SV_RULE_ZERO)
        match->count = 0;
    return true;
}

bool sv_name_map_find(sv_name_match *match, const sv_name_map *map, const sv_safetensors *file,
                      const char *parameter)
{
    char wanted[sizeof match->wanted] = "";
    rule_match at;
    for (size_t r = 0; r < map->rule_count; r++) {
        if (!match_rule(&at, map->rules[r].name, parameter))
            continue;
        for (const char *const *prefix = map->prefixes; *prefix; prefix++) {
            if (apply_rule(match, &map->rules[r], &at, file, *prefix))
                return match->wanted[0] == '\0';
            if (wanted[0] == '\0')
                memcpy(wanted, match->wanted, sizeof wanted);
        }
    }
    const sv_name_rule same = {parameter, {parameter}, SV_RULE_PLAIN};
    at = (rule_match){.digits = "", .rest = ""};
    if (wanted[0] == '\0' && apply_rule(match, &same, &at, file, ""))
        return true;
    if (wanted[0] != '\0')
        memcpy(match->wanted, wanted, sizeof wanted);
    return false;
}

void sv_name_map_tensor(char out[160], const sv_name_map *map, const char *parameter)
{
    rule_match at;
    snprintf(out, 160, "%s", parameter);
    for (size_t r = 0; r < map->rule_count; r++)
        if (map->rules[r].kind == SV_RULE_PLAIN && !map->rules[r].tensors[1] &&
            match_rule(&at, map->rules[r].name, parameter)) {
            tensor_name(out, "", map->rules[r].tensors[0], &at);
            return;
        }
}

bool sv_name_map_ignores(const sv_name_map *map, const char *tensor)
{
    for (const char *const *pattern = map->ignored; *pattern; pattern++)
        if (sv_pattern_matches(*pattern, tensor))
            return true;
    return false;
}
