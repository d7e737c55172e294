/* Name maps: from the caller's text to rules, and from a parameter to the tensors of a file. */
#include "models/load/name_map.h"

#include "base/size.h"
#include "base/text/pattern.h"

#include <stdio.h>
#include <string.h>

static const char *const NO_PREFIX[] = {"", NULL};
static const char *const NONE[] = {NULL};

/* The most that a number of a rule may be. */
enum { RULE_NUMBER_MAX = 1 << 20 };

static bool read_number(size_t *out, const sv_json_value *value)
{
    double number;
    if (!value || !sv_json_number(value, &number) || !(number >= 0 && number <= RULE_NUMBER_MAX) ||
        number != (double)(size_t)number)
        return false;
    *out = (size_t)number;
    return true;
}

/* [first, end, of] with first < end <= of. */
static bool read_part(sv_rule_part *part, const sv_json_value *value)
{
    if (value->kind != SV_JSON_ARRAY || value->count != 3)
        return false;
    const sv_json_value *first = value + 1, *end = first->after;
    return read_number(&part->first, first) && read_number(&part->end, end) &&
           read_number(&part->of, end->after) && part->first < part->end && part->end <= part->of;
}

/* {"tensor": NAME} and at most one of "transpose", true or false, "part" and "block_axis". */
static bool read_object(sv_name_rule *rule, const char **names, const sv_json_value *value)
{
    const sv_json_value *transpose = sv_json_get(value, "transpose");
    const sv_json_value *part = sv_json_get(value, "part");
    const sv_json_value *block_axis = sv_json_get(value, "block_axis");
    names[0] = sv_json_text(sv_json_get(value, "tensor"));
    rule->count = 1;
    if (part)
        rule->kind = SV_RULE_PART;
    else if (block_axis)
        rule->kind = SV_RULE_BLOCK;
    else if (sv_json_is(transpose, SV_JSON_TRUE))
        rule->kind = SV_RULE_TRANSPOSED;
    else if (transpose && transpose->kind != SV_JSON_FALSE)
        return false;
    if ((part && !read_part(&rule->part, part)) ||
        (block_axis && (!read_number(&rule->part.axis, block_axis) || !strchr(rule->name, '*'))))
        return false;
    return names[0] && value->count == (transpose || part || block_axis ? 2 : 1);
}

static bool read_list(sv_name_rule *rule, const char **names, const sv_json_value *value)
{
    const sv_json_value *name = value + 1;
    for (size_t i = 0; i < value->count; i++, name = name->after)
        if (!(names[i] = sv_json_text(name)))
            return false;
    rule->count = value->count;
    return value->count > 0;
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
    for (size_t i = 0; i < rule->count; i++)
        fits = fits && count_stars(rule->tensors[i]) <= most;
    if (fits)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "map: the rule of '%.80s' has too many '*'; a name has at most one, that of a "
                   "tensor only where the parameter's has",
                   rule->name);
}

/* One rule of a JSON object: a name, a list of names, null, or an object with "tensor" and
 * "transpose". Its names go to `names`. */
static svit_status read_rule(sv_name_rule *rule, const char **names, const sv_json_value *value,
                             svit_error *err)
{
    bool fits = true;
    *rule = (sv_name_rule){.name = value->key, .tensors = names};
    if (value->kind == SV_JSON_NULL)
        rule->kind = SV_RULE_ZERO;
    else if (value->kind == SV_JSON_OBJECT)
        fits = read_object(rule, names, value);
    else if (value->kind == SV_JSON_ARRAY)
        fits = read_list(rule, names, value);
    else
        rule->count = fits = (names[0] = sv_json_text(value)) != NULL;
    if (fits && !(rule->count > 0 && names[0][0] == SV_OPTIONAL_TENSOR))
        return check_stars(rule, err);
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "map: the rule of '%.80s' is none of a tensor's name, a list of such names, of "
                   "which others than the first may begin with '?', null, and {\"tensor\": name} "
                   "with \"transpose\": true, \"part\": [first, end, of] or, with a '*', "
                   "\"block_axis\": axis",
                   value->key);
}

/* Room for the names of a rule. */
static size_t names_of(const sv_json_value *value)
{
    return value->kind == SV_JSON_ARRAY ? value->count : 1;
}

/* The memory holds the rules and, behind them, the names of all their tensors. */
static svit_status read_rules(sv_name_map *map, const sv_allocator *allocator, svit_error *err)
{
    const sv_json_value *root = sv_json_root(map->json), *value = root + 1;
    size_t names = 0;
    /* A map of no rules has no memory, from which no pointer follows. */
    if (root->count == 0)
        return SVIT_OK;
    for (size_t i = 0; i < root->count; i++, value = value->after)
        names += names_of(value);
    const size_t bytes = root->count * sizeof(sv_name_rule) + names * sizeof(const char *);
    SVIT_TRY(sv_allocate_array(allocator, &map->memory, bytes, 1, "the rules of a name map", err));
    sv_name_rule *rules = map->memory;
    const char **next = (const char **)(rules + root->count);
    map->bytes = bytes;
    map->rules = rules;
    map->rule_count = root->count;
    value = root + 1;
    for (size_t i = 0; i < root->count; i++, next += names_of(value), value = value->after)
        SVIT_TRY(read_rule(&rules[i], next, value, err));
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

static bool match_rule(sv_rule_place *match, const char *rule, const char *name)
{
    *match = (sv_rule_place){.digits = name};
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

static bool begins_with_layer(const char *pattern)
{
    return pattern[*pattern == SV_OPTIONAL_TENSOR] == SV_ANY_LAYER;
}

/* Writes the whole name of a tensor. A name that is too long is cut and then not found. */
static void tensor_name(char out[SV_TENSOR_NAME], const char *prefix, const char *layer,
                        const char *name, const sv_rule_place *match)
{
    char pattern[SV_TENSOR_NAME];
    const bool in_layer = begins_with_layer(name);
    name += (*name == SV_OPTIONAL_TENSOR) + in_layer;
    snprintf(pattern, sizeof pattern, "%s%s", in_layer ? layer : "", name);
    const char *star = strchr(pattern, '*');
    int before = star ? (int)(star - pattern) : (int)strlen(pattern);
    snprintf(out, SV_TENSOR_NAME, "%s%.*s%.*s%s%s", prefix, before, pattern,
             star ? (int)match->digit_count : 0, match->digits, star ? star + 1 : "", match->rest);
}

static const sv_safetensors_entry *find_tensor(char name[SV_TENSOR_NAME],
                                               const sv_name_match *match, size_t i)
{
    tensor_name(name, match->prefix, match->layer, match->tensors[i], &match->place);
    return sv_safetensors_find(match->file, name);
}

const sv_safetensors_entry *sv_name_match_at(const sv_name_match *match, size_t i)
{
    char name[SV_TENSOR_NAME];
    return find_tensor(name, match, i);
}

bool sv_name_match_shape(sv_tensor_desc *out, const sv_name_match *match)
{
    if (match->count == 0)
        return false;
    *out = sv_name_match_at(match, 0)->desc;
    for (size_t i = 1; i < match->count; i++) {
        const sv_safetensors_entry *entry = sv_name_match_at(match, i);
        const sv_tensor_desc *next = &(entry ? entry : sv_name_match_at(match, 0))->desc;
        if (next->rank != out->rank || out->rank == 0 ||
            memcmp(next->shape + 1, out->shape + 1, (out->rank - 1) * sizeof *out->shape) != 0 ||
            next->shape[0] == SV_LENGTH_NOT_HELD || out->shape[0] == SV_LENGTH_NOT_HELD ||
            next->shape[0] > INT64_MAX - out->shape[0] ||
            !sv_size_add(&out->elements, out->elements, next->elements))
            return false;
        out->shape[0] += next->shape[0];
    }
    return true;
}

bool sv_name_match_has_zeros(const sv_name_match *match)
{
    for (size_t i = 0; i < match->count; i++)
        if (!sv_name_match_at(match, i))
            return true;
    return match->count == 0;
}

/* The number of the '*'; SIZE_MAX if it is larger. */
static size_t number_of(const sv_rule_place *place)
{
    size_t number = 0;
    for (size_t i = 0; i < place->digit_count; i++) {
        if (number > (SIZE_MAX - 9) / 10)
            return SIZE_MAX;
        number = 10 * number + (size_t)(place->digits[i] - '0');
    }
    return number;
}

/* Looks for the tensors of `rule`; match->place says where the rule meets the parameter's name.
 * Returns whether the rule applies: it has no tensors, or the file has its first one. If a tensor
 * is missing, match->wanted is the name of the first that is. */
static bool apply_rule(sv_name_match *match, const sv_name_rule *rule, const char *prefix,
                       const char *layer)
{
    char name[SV_TENSOR_NAME];
    const bool is_zero = rule->kind == SV_RULE_ZERO;
    match->layer = layer;
    match->tensors = rule->tensors;
    match->kind = rule->kind;
    match->prefix = prefix;
    match->count = is_zero ? 0 : rule->count;
    match->wanted[0] = '\0';
    /* The tensor of a zero rule is a condition: the rest of the parameter's name is not added. */
    if (is_zero)
        match->place.rest = "";
    match->part = rule->part;
    if (rule->kind == SV_RULE_BLOCK)
        match->part.first = number_of(&match->place);
    for (size_t i = 0; i < rule->count; i++)
        if (!find_tensor(name, match, i) && rule->tensors[i][0] != SV_OPTIONAL_TENSOR) {
            memcpy(match->wanted, name, sizeof name);
            return i > 0;
        }
    return true;
}

/* What SV_ANY_LAYER may stand for in a rule: one empty text if the rule does not have it. */
static const char *const *layers_of(const sv_name_map *map, const sv_name_rule *rule)
{
    static const char *const NO_LAYER[] = {"", NULL};
    const bool in_layer = rule->count > 0 && begins_with_layer(rule->tensors[0]) && map->layers;
    return in_layer ? map->layers : NO_LAYER;
}

/* Tries a rule with every prefix and every name of a block. Returns whether it applies; `wanted`
 * keeps the first name that was looked for in vain. */
static bool try_rule(sv_name_match *match, const sv_name_map *map, const sv_name_rule *rule,
                     char wanted[SV_TENSOR_NAME])
{
    for (const char *const *prefix = map->prefixes; *prefix; prefix++)
        for (const char *const *layer = layers_of(map, rule); *layer; layer++) {
            if (apply_rule(match, rule, *prefix, *layer))
                return true;
            if (wanted[0] == '\0')
                memcpy(wanted, match->wanted, sizeof match->wanted);
        }
    return false;
}

bool sv_name_map_find(sv_name_match *match, const sv_name_map *map, const sv_safetensors *file,
                      const char *const *parameter)
{
    char wanted[sizeof match->wanted] = "";
    *match = (sv_name_match){.file = file};
    for (size_t r = 0; r < map->rule_count; r++)
        if (match_rule(&match->place, map->rules[r].name, *parameter) &&
            try_rule(match, map, &map->rules[r], wanted))
            return match->wanted[0] == '\0';
    const sv_name_rule same = {.tensors = parameter, .count = 1};
    match->place = (sv_rule_place){.digits = "", .rest = ""};
    if (wanted[0] == '\0' && try_rule(match, map, &same, wanted))
        return true;
    memcpy(match->wanted, wanted, sizeof wanted);
    return false;
}

/* Puts `ending` in the place of ".weight" at the end of a name. Returns false if the name does
 * not end with that, or becomes too long. */
static bool replace_ending(char name[SV_TENSOR_NAME], const char *ending)
{
    static const char weight[] = ".weight";
    const size_t length = strlen(name), end = sizeof weight - 1;
    const size_t kept = length - (length < end ? length : end);
    return strcmp(name + kept, weight) == 0 && snprintf(name + kept, SV_TENSOR_NAME - kept, "%s",
                                                        ending) < (int)(SV_TENSOR_NAME - kept);
}

/* Finds what stands beside tensor `i` of a rule, with every prefix and every name of a block. */
static const sv_safetensors_entry *find_beside(const sv_name_map *map, const sv_safetensors *file,
                                               const sv_name_rule *rule, const sv_rule_place *place,
                                               size_t i, const char *ending)
{
    char name[SV_TENSOR_NAME];
    for (const char *const *prefix = map->prefixes; *prefix; prefix++)
        for (const char *const *layer = layers_of(map, rule); *layer; layer++) {
            tensor_name(name, *prefix, *layer, rule->tensors[i], place);
            const sv_safetensors_entry *entry =
                replace_ending(name, ending) ? sv_safetensors_find(file, name) : NULL;
            if (entry)
                return entry;
        }
    return NULL;
}

const sv_safetensors_entry *sv_name_map_beside(const sv_name_map *map, const sv_safetensors *file,
                                               const char *parameter, const sv_name_match *match,
                                               size_t i, const char *ending)
{
    const sv_name_rule same = {.tensors = &parameter, .count = 1};
    for (size_t r = 0; r <= map->rule_count; r++) {
        const sv_name_rule *rule = r < map->rule_count ? &map->rules[r] : &same;
        sv_rule_place place = {.digits = "", .rest = ""};
        if (rule->kind != match->kind || rule->count != match->count ||
            (rule != &same && !match_rule(&place, rule->name, parameter)))
            continue;
        const sv_safetensors_entry *entry = find_beside(map, file, rule, &place, i, ending);
        if (entry)
            return entry;
    }
    return NULL;
}

void sv_name_map_tensor(char out[SV_TENSOR_NAME], const sv_name_map *map, const char *parameter)
{
    sv_rule_place at;
    snprintf(out, SV_TENSOR_NAME, "%s", parameter);
    for (size_t r = 0; r < map->rule_count; r++)
        if (map->rules[r].kind == SV_RULE_PLAIN && map->rules[r].count == 1 &&
            match_rule(&at, map->rules[r].name, parameter)) {
            tensor_name(out, "", map->layers ? map->layers[0] : "", map->rules[r].tensors[0], &at);
            return;
        }
}

static bool matches_any(const char *const *patterns, const char *name)
{
    for (; patterns && *patterns; patterns++)
        if (sv_pattern_matches(*patterns, name))
            return true;
    return false;
}

bool sv_name_map_ignores(const sv_name_map *map, const char *tensor)
{
    bool is_inside = false;
    for (const char *const *prefix = map->prefixes; *prefix; prefix++) {
        const size_t bytes = strlen(*prefix);
        if (strncmp(tensor, *prefix, bytes) != 0)
            continue;
        is_inside = is_inside || prefix == map->prefixes;
        if (matches_any(map->ignored, tensor + bytes) ||
            (!is_inside && matches_any(map->beside, tensor + bytes)))
            return true;
    }
    return matches_any(map->ignored, tensor) || matches_any(map->also_ignored, tensor);
}
