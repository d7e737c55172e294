/* Adapters of LoRA as PEFT saves them: a folder with adapter_config.json and
 * adapter_model.safetensors, whose products are added to the weights of a model that lies
 * elsewhere. Modules that were trained as a whole, such as a classifier, replace those of the
 * model. */
#include "base/files/file.h"
#include "models/open/open_internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char PEFT_PREFIX[] = "base_model.model.";

/* Refuses initialisations other than those that leave W as it is. PEFT repeats them when it loads
 * an adapter, and those of PiSSA, OLoRA, CorDA, LoftQ and their like then change W. */
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

/* Refuses members that make another kind of adapter of LoRA's, or another model, where PEFT reads
 * them: anything but null, false and what is empty. */
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
    adapter->path = open->adapter_path;
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

static svit_status add_prefixes(sv_open *open, const char *const *prefixes, svit_error *err)
{
    const size_t bytes = sizeof *open->adapter_prefix_text;
    for (; *prefixes; prefixes++) {
        assert(open->adapter_prefix_count < sizeof open->adapter_prefix_text / bytes);
        char *text = open->adapter_prefix_text[open->adapter_prefix_count];
        if (snprintf(text, bytes, "%s%s", PEFT_PREFIX, *prefixes) >= (int)bytes)
            return sv_fail(err, SVIT_E_UNSUPPORTED, "%s: the names' prefix is too long",
                           open->adapter.path);
        open->adapter_prefixes[open->adapter_prefix_count++] = text;
    }
    return SVIT_OK;
}

/* The adapter's names have PEFT's prefix before what the model's have, or before what they have in
 * the class that was adapted: an encoder saved alone has no "vit." before its names. */
static svit_status set_prefixes(sv_open *open, svit_error *err)
{
    const sv_name_map *map;
    open->adapter.map = open->map;
    SVIT_TRY(add_prefixes(open, open->prefixes, err));
    for (size_t i = 0; (map = sv_builtin_name_map(i)); i++)
        if (map->rules == open->map.rules)
            SVIT_TRY(add_prefixes(open, map->prefixes, err));
    open->adapter.map.prefixes = open->adapter_prefixes;
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

/* Whether the model leaves out the tensor that one of the adapter's changes or replaces, such as
 * that of a text tower or a pooler: PEFT finds modules by the ends of their names. */
static bool is_left_out(const sv_open *open, const char *tensor)
{
    static const char *const factors[] = {".lora_A.weight", ".lora_B.weight"};
    const size_t prefix = sizeof PEFT_PREFIX - 1;
    char name[256];
    if (strncmp(tensor, PEFT_PREFIX, prefix) != 0)
        return false;
    size_t kept = strlen(tensor + prefix);
    const char *ending = "";
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        const size_t bytes = strlen(factors[i]);
        if (kept > bytes && strcmp(tensor + prefix + kept - bytes, factors[i]) == 0) {
            kept -= bytes;
            ending = ".weight";
        }
    }
    return snprintf(name, sizeof name, "%.*s%s", (int)kept, tensor + prefix, ending) <
               (int)sizeof name &&
           sv_name_map_ignores(&open->map, name);
}

svit_status sv_adapter_check(const sv_open *open, svit_load_report *report, svit_error *err)
{
    const sv_adapter *adapter = &open->adapter;
    for (size_t i = 0; i < sv_safetensors_count(adapter->file); i++) {
        const char *name = sv_safetensors_at(adapter->file, i)->name;
        if (adapter->taken[i])
            continue;
        if (!is_left_out(open, name))
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: tensor '%.96s' belongs to no weight of the model", adapter->path,
                           name);
        if (report)
            report->extra++;
        sv_report_add(report, "extra", name);
    }
    return SVIT_OK;
}
