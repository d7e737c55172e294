/* Adapters of LoRA (Hu et al. 2021) as PEFT saves them: a folder with adapter_config.json and
 * adapter_model.safetensors, whose products are added to the weights of a model that lies elsewhere.
 * Modules that were trained as a whole, such as a classifier, replace those of the model. */
#include "base/files/file.h"
#include "models/load/load_internal.h"
#include "models/open/open_internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char PEFT_PREFIX[] = "base_model.model.";

/* Refuses initialisations other than those that leave W as it is. PEFT repeats them when it loads an
 * adapter, and those of PiSSA, OLoRA, CorDA, LoftQ and their like then change W. */
static svit_status check_initial(const sv_open *open, const sv_json_value *initial, svit_error *err)
{
    static const char *const accepted[] = {"gaussian", "orthogonal", "eva"};
    const char *name = sv_json_text(initial);
    if (!initial || initial->kind == SV_JSON_TRUE || initial->kind == SV_JSON_FALSE ||
        initial->kind == SV_JSON_NULL)
        return SVIT_OK;
    for (size_t i = 0; name && i < sizeof accepted / sizeof *accepted; i++)
        if (strcmp(accepted[i], name) == 0)
            return SVIT_OK;
    return sv_fail(
        err, SVIT_E_UNSUPPORTED,
        "%s: init_lora_weights is '%.40s', which may change the model's own weights; true, "
        "false, 'gaussian', 'orthogonal' and 'eva' are accepted",
        open->adapter.path, name ? name : "no text");
}

/* Refuses members that make another kind of adapter of LoRA's, or another model, where PEFT reads them:
 * anything but null, false and what is empty. */
static svit_status check_variants(const sv_open *open, const sv_json_value *root, svit_error *err)
{
    static const char *const variants[] = {"kasa_config",  "monteclora_config",
                                           "arrow_config", "alora_invocation_tokens",
                                           "use_bdlora",   "layer_replication"};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const sv_json_value *value = sv_json_get(root, variants[i]);
        const bool has_members = value && value->kind >= SV_JSON_ARRAY;
        if (value && value->kind != SV_JSON_NULL && value->kind != SV_JSON_FALSE &&
            !(has_members && value->count == 0))
            return sv_fail(err, SVIT_E_UNSUPPORTED, "%s: %s is stated; null is accepted",
                           open->adapter.path, variants[i]);
    }
    return SVIT_OK;
}

/* Refuses kinds of adapters that are not W + scale * B A. */
static svit_status check_config(const sv_open *open, const sv_json_value *root, svit_error *err)
{
    static const char *const flags[] = {"use_dora", "fan_in_fan_out", "lora_bias", "use_qalora"};
    const char *type = sv_json_text(sv_json_get(root, "peft_type"));
    const char *bias = sv_json_text(sv_json_get(root, "bias"));
    const sv_json_value *alphas = sv_json_get(root, "alpha_pattern");
    if (!type || strcmp(type, "LORA") != 0)
        return sv_fail(err, SVIT_E_UNSUPPORTED, "%s: peft_type is '%.40s'; 'LORA' is accepted",
                       open->adapter.path, type ? type : "");
    if (bias && strcmp(bias, "none") != 0)
        return sv_fail(err, SVIT_E_UNSUPPORTED, "%s: bias is '%.40s'; 'none' is accepted",
                       open->adapter.path, bias);
    if (alphas && alphas->kind == SV_JSON_OBJECT && alphas->count > 0)
        return sv_fail(err, SVIT_E_UNSUPPORTED, "%s: alpha_pattern has entries; none are accepted",
                       open->adapter.path);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (sv_json_is(sv_json_get(root, flags[i]), SV_JSON_TRUE))
            return sv_fail(err, SVIT_E_UNSUPPORTED, "%s: %s is true; false is accepted",
                           open->adapter.path, flags[i]);
    SVIT_TRY(check_initial(open, sv_json_get(root, "init_lora_weights"), err));
    return check_variants(open, root, err);
}

/* The model that the adapter changes: what the caller names, or the configuration. */
static svit_status find_base(sv_open *open, const sv_json_value *root, const char *base,
                             svit_error *err)
{
    const char *named = sv_json_text(sv_json_get(root, "base_model_name_or_path"));
    open->path = base ? base : named;
    if (!open->path || sv_is_absent(open->path))
        return sv_fail(err, SVIT_E_IO,
                       "%s: the model '%.80s' that the adapter changes is not there; the option "
                       "base names its folder",
                       open->adapter.path, open->path ? open->path : "");
    return SVIT_OK;
}

svit_status sv_open_adapter(sv_open *open, const char *base, svit_error *err)
{
    const sv_json_value *root = sv_json_root(open->side[SV_SIDE_ADAPTER].json);
    sv_adapter *adapter = &open->adapter;
    SVIT_TRY(check_config(open, root, err));
    if (!sv_json_number(sv_json_get(root, "lora_alpha"), &adapter->alpha) ||
        !isfinite(adapter->alpha))
        return sv_fail(err, SVIT_E_FORMAT, "%s: lora_alpha is no number", adapter->path);
    const sv_json_value *ranks = sv_json_get(root, "rank_pattern");
    if (!ranks || ranks->kind != SV_JSON_OBJECT || ranks->count == 0)
        (void)sv_json_number(sv_json_get(root, "r"), &adapter->rank);
    adapter->stabilised = sv_json_is(sv_json_get(root, "use_rslora"), SV_JSON_TRUE);
    SVIT_TRY(find_base(open, root, base, err));
    return sv_safetensors_open(&adapter->file, open->allocator, adapter->path, err);
}

static svit_status add_prefixes(sv_adapter *adapter, const char *const *prefixes, svit_error *err)
{
    for (; *prefixes; prefixes++) {
        assert(adapter->prefix_count < sizeof adapter->prefix_text / sizeof *adapter->prefix_text);
        char *text = adapter->prefix_text[adapter->prefix_count];
        if (snprintf(text, sizeof adapter->prefix_text[0], "%s%s", PEFT_PREFIX, *prefixes) >=
            (int)sizeof adapter->prefix_text[0])
            return sv_fail(err, SVIT_E_UNSUPPORTED, "%s: the names' prefix is too long",
                           adapter->path);
        adapter->prefixes[adapter->prefix_count++] = text;
    }
    return SVIT_OK;
}

/* The adapter's names have PEFT's prefix before what the model's have, or before what they have in
 * the class that was adapted: an encoder saved alone has no "vit." before its names. */
static svit_status set_prefixes(sv_open *open, svit_error *err)
{
    sv_adapter *adapter = &open->adapter;
    const sv_name_map *map;
    adapter->map = open->map;
    SVIT_TRY(add_prefixes(adapter, open->prefixes, err));
    for (size_t i = 0; (map = sv_builtin_name_map(i)); i++)
        if (map->rules == open->map.rules)
            SVIT_TRY(add_prefixes(adapter, map->prefixes, err));
    adapter->map.prefixes = adapter->prefixes;
    return SVIT_OK;
}

svit_status sv_adapter_names(sv_open *open, svit_error *err)
{
    sv_adapter *adapter = &open->adapter;
    const size_t count = sv_safetensors_count(adapter->file);
    SVIT_TRY(set_prefixes(open, err));
    return sv_allocate_array(open->allocator, (void **)&adapter->taken, count ? count : 1,
                             sizeof *adapter->taken, "the tensors of an adapter", err);
}

void sv_adapter_close(sv_open *open)
{
    sv_adapter *adapter = &open->adapter;
    const size_t count = adapter->file ? sv_safetensors_count(adapter->file) : 0;
    if (adapter->taken)
        sv_release(open->allocator, adapter->taken, (count ? count : 1) * sizeof *adapter->taken);
    sv_safetensors_close(adapter->file);
}

static void take(sv_adapter *adapter, const sv_safetensors_entry *entry)
{
    adapter->taken[entry - sv_safetensors_at(adapter->file, 0)] = true;
}

/* One pair of an adapter, A[rank, in] and B[out, rank], which belongs to rows first.. of a weight. */
typedef struct pair {
    const sv_safetensors_entry *a, *b;
    size_t first, out, in, rank;
} pair;

/* weight[out, in] += scale * B A, with sums in double. */
static void add_product(real *weight, const float *a, const float *b, const pair *of, double scale)
{
    for (size_t o = 0; o < of->out; o++)
        for (size_t i = 0; i < of->in; i++) {
            double sum = 0;
            for (size_t r = 0; r < of->rank; r++)
                sum += (double)b[o * of->rank + r] * (double)a[r * of->in + i];
            real *w = &weight[o * of->in + i];
            *w = (real)((double)*w + scale * sum);
        }
}

static svit_status add_pair(sv_open *open, real *flat, const sv_parameter *parameter,
                            const pair *of, svit_error *err)
{
    sv_adapter *adapter = &open->adapter;
    const double rank = (double)of->rank,
                 scale = adapter->alpha / (adapter->stabilised ? sqrt(rank) : rank);
    const size_t elements = of->a->desc.elements + of->b->desc.elements;
    float *values;
    SVIT_TRY(sv_allocate_array(open->allocator, (void **)&values, elements, sizeof *values,
                               "an adapter", err));
    float *b = values + of->a->desc.elements;
    svit_status status = sv_parameter_read_tensor(values, of->a, adapter->file, adapter->path, err);
    if (status == SVIT_OK)
        status = sv_parameter_read_tensor(b, of->b, adapter->file, adapter->path, err);
    if (status == SVIT_OK) {
        add_product(flat + parameter->offset + of->first * of->in, values, b, of, scale);
        take(adapter, of->a);
        take(adapter, of->b);
    }
    sv_release(open->allocator, values, elements * sizeof *values);
    return status;
}

/* Whether the shapes of a pair are those of rows of the parameter. */
static bool fits(pair *of, const sv_parameter *parameter, size_t part, size_t parts)
{
    const sv_tensor_desc *a = &of->a->desc, *b = &of->b->desc, *whole = &parameter->desc;
    if (a->rank != 2 || b->rank != 2 || whole->rank != 2 || whole->shape[0] % (int64_t)parts != 0 ||
        a->shape[1] != whole->shape[1] || b->shape[1] != a->shape[0] || a->shape[0] <= 0 ||
        b->shape[0] != whole->shape[0] / (int64_t)parts)
        return false;
    of->out = (size_t)b->shape[0];
    of->in = (size_t)a->shape[1];
    of->rank = (size_t)a->shape[0];
    of->first = part * of->out;
    return true;
}

/* How many tensors of the model's file make up a parameter: as many the adapter's names tell apart. */
static size_t count_parts(const sv_open *open, const sv_parameter *parameter)
{
    const char *name = parameter->name;
    sv_name_match match;
    const bool joined = sv_name_map_find(&match, &open->map, open->file, &name) &&
                        match.kind == SV_RULE_PLAIN && match.count > 0;
    return joined ? match.count : 1;
}

/* Adds the pairs of a weight, of which each of the maps that make it up may have one. */
static svit_status adapt(sv_open *open, real *flat, const sv_parameter *parameter, svit_error *err)
{
    const sv_adapter *adapter = &open->adapter;
    const size_t length = strlen(parameter->name), end = strlen(".weight");
    char a[96 + 16], b[96 + 16];
    if (length < end || strcmp(parameter->name + length - end, ".weight") != 0)
        return SVIT_OK;
    snprintf(a, sizeof a, "%.*s.lora_A.weight", (int)(length - end), parameter->name);
    snprintf(b, sizeof b, "%.*s.lora_B.weight", (int)(length - end), parameter->name);
    const size_t parts = count_parts(open, parameter);
    for (size_t part = 0; part < parts; part++) {
        pair of = {.a = sv_name_map_part(&adapter->map, adapter->file, a, part, parts)};
        if (!of.a)
            continue;
        of.b = sv_name_map_part(&adapter->map, adapter->file, b, part, parts);
        if (!of.b || !fits(&of, parameter, part, parts))
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: '%.96s' and its other half do not fit the weight '%s'",
                           adapter->path, of.a->name, parameter->name);
        if (adapter->rank > 0 && adapter->rank != (double)of.rank)
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: '%.96s' has the rank %zu; by adapter_config.json r is %g",
                           adapter->path, of.a->name, of.rank, adapter->rank);
        SVIT_TRY(add_pair(open, flat, parameter, &of, err));
    }
    return SVIT_OK;
}

/* Reads a parameter that the adapter has whole; *found tells whether it has. */
static svit_status replace(sv_open *open, real *flat, const sv_parameter *parameter, bool *found,
                           svit_error *err)
{
    sv_adapter *adapter = &open->adapter;
    const sv_load load = {.allocator = open->allocator,
                          .file = adapter->file,
                          .path = adapter->path,
                          .map = adapter->map,
                          .interpolation = sv_position_interpolation(&open->map, open->file)};
    const char *name = parameter->name;
    sv_name_match match;
    bool fits_parameter;
    *found = sv_name_map_find(&match, &adapter->map, adapter->file, &name);
    if (!*found)
        return SVIT_OK;
    for (size_t i = 0; i < match.count; i++)
        if (sv_name_match_at(&match, i))
            take(adapter, sv_name_match_at(&match, i));
    return sv_load_parameter(&load, flat, parameter, &match, false, &fits_parameter, err);
}

svit_status sv_adapter_apply(sv_open *open, const svit_model *model, svit_error *err)
{
    const sv_adapter *adapter = &open->adapter;
    const sv_parameter_table *table = &model->parameters;
    for (size_t i = 0; i < table->count; i++) {
        bool found;
        SVIT_TRY(replace(open, model->weights, &table->list[i], &found, err));
        if (!found)
            SVIT_TRY(adapt(open, model->weights, &table->list[i], err));
    }
    for (size_t i = 0; i < sv_safetensors_count(adapter->file); i++)
        if (!adapter->taken[i])
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: tensor '%.96s' belongs to no weight of the model", adapter->path,
                           sv_safetensors_at(adapter->file, i)->name);
    return SVIT_OK;
}
