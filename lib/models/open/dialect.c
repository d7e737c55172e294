/* Whose names the tensors of a checkpoint have, and what stands before them. Each map of names has
 * anchors, names that every file of its library has: where an anchor is found, what stands before
 * it is the prefix. */
#include "models/open/open_internal.h"

#include <stdio.h>
#include <string.h>

/* The encoder that is opened, and as many others as are passed over. */
enum { MAX_PLACES = SV_MAX_OTHERS + 1 };

/* A place of a file where an encoder's names begin. */
typedef struct place {
    const sv_name_map *map;
    const char *name; /* of a tensor, which begins with the prefix */
    size_t prefix;    /* bytes */
} place;

typedef struct places {
    const char *wanted; /* the caller's prefix, or NULL */
    place list[MAX_PLACES];
    size_t count;
} places;

/* Whether the caller's prefix is that of a place. */
static bool is_wanted(const places *found, const place *at)
{
    return found->wanted && strlen(found->wanted) == at->prefix &&
           memcmp(found->wanted, at->name, at->prefix) == 0;
}

/* Adds a place that is not there yet. If the list is full, only the one that the caller wants is
 * added, in the place of the last. */
static void add_place(places *found, const sv_name_map *map, const char *name, size_t prefix)
{
    const place added = {map, name, prefix};
    for (size_t i = 0; i < found->count; i++)
        if (found->list[i].prefix == prefix && memcmp(found->list[i].name, name, prefix) == 0)
            return;
    if (found->count < MAX_PLACES)
        found->list[found->count++] = added;
    else if (is_wanted(found, &added))
        found->list[MAX_PLACES - 1] = added;
}

/* Whether the map's witness stands beside an anchor, behind the same prefix. */
static bool has_witness(const sv_safetensors *file, const sv_name_map *map, const char *name,
                        size_t prefix)
{
    char witness[256];
    if (!map->witness)
        return true;
    const int length = snprintf(witness, sizeof witness, "%.*s%s", (int)prefix, name, map->witness);
    return length < (int)sizeof witness && sv_safetensors_find(file, witness);
}

/* Adds the place of a tensor that is an anchor of the map. */
static void look_at(places *found, const sv_safetensors *file, const sv_name_map *map,
                    const char *name)
{
    const size_t length = strlen(name);
    for (const char *const *anchor = map->anchors; *anchor; anchor++) {
        const size_t end = strlen(*anchor);
        if (length >= end && strcmp(name + length - end, *anchor) == 0 &&
            (length == end || name[length - end - 1] == '.') &&
            has_witness(file, map, name, length - end))
            add_place(found, map, name, length - end);
    }
}

/* Whether a prefix has the word between its dots and underscores. */
static bool has_word(const place *at, const char *word)
{
    const size_t bytes = strlen(word);
    for (size_t begin = 0, end; begin < at->prefix; begin = end + 1) {
        end = begin;
        while (end < at->prefix && at->name[end] != '.' && at->name[end] != '_')
            end++;
        if (end - begin == bytes && memcmp(at->name + begin, word, bytes) == 0)
            return true;
    }
    return false;
}

/* Of several copies an average of weights is the one that is used, and a student is not. */
static int rank_of(const place *at)
{
    if (has_word(at, "ema") || has_word(at, "teacher"))
        return 2;
    return has_word(at, "student") ? 0 : 1;
}

/* What config.json says that the model is; NULL: nothing. */
static const char *model_type_of(const sv_open *open)
{
    const sv_json *json = open->side[SV_SIDE_CONFIG].json;
    return json ? sv_json_text(sv_json_get(sv_json_root(json), "model_type")) : NULL;
}

static svit_status fail_without_encoder(const sv_open *open, svit_error *err)
{
    const char *type = model_type_of(open);
    const char *first =
        sv_safetensors_count(open->file) > 0 ? sv_safetensors_at(open->file, 0)->name : "";
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "%s: no tensor is the patch embedding of a ViT under the names of timm, "
                   "transformers or OpenCLIP; the first is '%.60s'%s%.40s%s",
                   open->weights, first, type ? "; config.json: model_type is '" : "",
                   type ? type : "", type ? "'" : "");
}

/* `best` is the first place of the highest rank. If that is what is wrong, another one has it
 * too. */
static svit_status fail_places(const sv_open *open, const places *found, size_t best,
                               svit_error *err)
{
    size_t next = best + 1;
    if (found->count == 0)
        return fail_without_encoder(open, err);
    if (found->wanted)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: no encoder's names begin with the prefix '%.60s'; there are some that "
                       "begin with '%.*s'",
                       open->weights, found->wanted, (int)found->list[0].prefix,
                       found->list[0].name);
    while (rank_of(&found->list[next]) != rank_of(&found->list[best]))
        next++;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "%s: the file holds several encoders, whose names begin with '%.*s' and '%.*s'; "
                   "the option prefix tells which is meant",
                   open->weights, (int)found->list[best].prefix, found->list[best].name,
                   (int)found->list[next].prefix, found->list[next].name);
}

/* Chooses the place that the caller's prefix names, or that of the highest rank. */
static svit_status choose(place *out, const sv_open *open, const places *found, svit_error *err)
{
    size_t best = 0, equal = 0;
    for (size_t i = 0; i < found->count; i++) {
        const place *at = &found->list[i];
        if (is_wanted(found, at)) {
            *out = *at;
            return SVIT_OK;
        }
        const int difference = rank_of(at) - rank_of(&found->list[best]);
        equal = difference > 0 ? 1 : equal + (difference == 0);
        best = difference > 0 ? i : best;
    }
    if (found->wanted || equal != 1)
        return fail_places(open, found, best, err);
    *out = found->list[best];
    return SVIT_OK;
}

/* The prefixes under which tensors are looked for: that of the encoder, and what is left of it as
 * its last parts are cut off, for a classifier is named beside its encoder. */
static svit_status set_prefixes(sv_open *open, svit_error *err)
{
    size_t count = 0, length = strlen(open->prefix);
    for (;;) {
        if (count == SV_MAX_PREFIXES)
            return sv_fail(err, SVIT_E_UNSUPPORTED, "%s: the prefix '%s' has more than %d parts",
                           open->weights, open->prefix, SV_MAX_PREFIXES - 1);
        memcpy(open->prefix_text[count], open->prefix, length);
        open->prefix_text[count][length] = '\0';
        open->prefixes[count] = open->prefix_text[count];
        count++;
        if (length == 0)
            break;
        do
            length--;
        while (length > 0 && open->prefix[length - 1] != '.');
    }
    open->prefixes[count] = NULL;
    open->map.prefixes = open->prefixes;
    return SVIT_OK;
}

void sv_open_pass(sv_open *open, const char *pattern)
{
    if (open->passed_count < SV_MAX_PASSED)
        open->passed[open->passed_count++] = pattern;
    open->map.also_ignored = open->passed;
}

/* Passes over the tensors whose names begin with the first bytes of `name`. More than a prefix of
 * an encoder may have are cut, to as many that the chosen encoder's names are others still. */
static void pass_beginning(sv_open *open, const char *name, size_t bytes, const char *rest)
{
    const int kept = (int)(bytes < sizeof open->prefix ? bytes : sizeof open->prefix);
    char pattern[sizeof open->others[0]];
    snprintf(pattern, sizeof pattern, "%.*s%s", kept, name, rest);
    for (size_t i = 0; i < open->other_count; i++)
        if (strcmp(open->others[i], pattern) == 0)
            return;
    if (open->other_count == SV_MAX_OTHERS)
        return;
    char *kept_pattern = open->others[open->other_count++];
    memcpy(kept_pattern, pattern, sizeof pattern);
    sv_open_pass(open, kept_pattern);
}

/* Bytes that two names have in common up to and with a dot. */
static size_t common_parts(const place *a, const place *b)
{
    size_t common = 0;
    for (size_t i = 0; i < a->prefix && i < b->prefix && a->name[i] == b->name[i]; i++)
        if (a->name[i] == '.')
            common = i + 1;
    return common;
}

/* Of an encoder inside whose names the chosen one lies, as in a model that holds its own average:
 * the parts of which the chosen one has a tensor as well. */
static void pass_around(sv_open *open, const place *outer, const place *chosen)
{
    char twin[256];
    for (size_t i = 0; i < sv_safetensors_count(open->file); i++) {
        const char *name = sv_safetensors_at(open->file, i)->name;
        if (strncmp(name, outer->name, outer->prefix) != 0 ||
            strncmp(name, chosen->name, chosen->prefix) == 0)
            continue;
        const char *part = name + outer->prefix;
        const size_t bytes = strcspn(part, ".");
        const int length =
            snprintf(twin, sizeof twin, "%.*s%s", (int)chosen->prefix, chosen->name, part);
        if (length < (int)sizeof twin && sv_safetensors_find(open->file, twin))
            pass_beginning(open, name, outer->prefix + bytes, part[bytes] == '.' ? ".*" : "");
    }
}

/* The copies of the encoder that are not used, each with what stands beside it: all that begins as
 * its names do, up to the first part in which they differ from the chosen encoder's. */
static void pass_others(sv_open *open, const places *found, const place *chosen)
{
    for (size_t i = 0; i < found->count; i++) {
        const place *at = &found->list[i];
        const size_t common = common_parts(at, chosen);
        if (at->name == chosen->name)
            continue;
        if (common == at->prefix)
            pass_around(open, at, chosen);
        else
            pass_beginning(open, at->name, common + strcspn(at->name + common, ".") + 1, "*");
    }
}

/* Whether an encoder is an image tower in a checkpoint of OpenCLIP: of its own code, or a model of
 * timm inside of it. */
static bool is_tower(const place *at)
{
    static const char trunk[] = "visual.trunk.";
    const size_t bytes = sizeof trunk - 1;
    return strcmp(at->map->name, "openclip") == 0 ||
           (at->prefix >= bytes && memcmp(at->name + at->prefix - bytes, trunk, bytes) == 0);
}

/* A folder may describe the model for two libraries, as many of timm's do. Each description is of
 * the tensors under its own library's names, and has other defaults for what it leaves out. */
static void choose_configuration(sv_open *open, const place *chosen)
{
    const sv_json *config = open->side[SV_SIDE_CONFIG].json,
                  *openclip = open->side[SV_SIDE_OPENCLIP].json;
    const sv_json_value *root = config ? sv_json_root(config) : NULL;
    const bool tells = sv_json_text(sv_json_get(root, "architecture")) ||
                       sv_json_text(sv_json_get(root, "model_type"));
    if (openclip && (is_tower(chosen) || !tells))
        open->openclip = sv_json_root(openclip);
    else
        open->config = root;
}

/* What stands beside an image tower of OpenCLIP, whichever library's names the tower has. */
static void pass_text_tower(sv_open *open, const place *chosen)
{
    const sv_name_map *map;
    if (!open->openclip && !has_word(chosen, "visual"))
        return;
    for (size_t m = 0; (map = sv_builtin_name_map(m)); m++)
        if (map->beside)
            open->map.beside = map->beside;
}

svit_status sv_open_dialect(sv_open *open, const char *wanted, svit_error *err)
{
    places found = {.wanted = wanted};
    const sv_name_map *map;
    place at = {.map = NULL};
    for (size_t m = 0; (map = sv_builtin_name_map(m)); m++)
        for (size_t i = 0; i < sv_safetensors_count(open->file); i++)
            look_at(&found, open->file, map, sv_safetensors_at(open->file, i)->name);
    SVIT_TRY(choose(&at, open, &found, err));
    if (at.prefix >= sizeof open->prefix)
        return sv_fail(err, SVIT_E_UNSUPPORTED, "%s: the names begin with more than %zu bytes",
                       open->weights, sizeof open->prefix - 1);
    memcpy(open->prefix, at.name, at.prefix);
    open->prefix[at.prefix] = '\0';
    open->map = *at.map;
    pass_others(open, &found, &at);
    choose_configuration(open, &at);
    pass_text_tower(open, &at);
    return set_prefixes(open, err);
}
