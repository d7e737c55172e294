/* Opens a checkpoint of any library without being told what it is. */
#include "base/files/path.h"
#include "base/threads/fp_env.h"
#include "models/architecture.h"
#include "models/load/load_internal.h"
#include "models/model.h"
#include "models/open/open_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What no file states: a ViT under this library's names, without dropout. */
static const svit_model_config BASE = {.struct_size = sizeof(svit_model_config),
                                       .architecture = SVIT_ARCHITECTURE_VIT,
                                       .names = SVIT_NAMES_TIMM,
                                       .drop_path_rule = SVIT_DROP_PATH_NETWORK};

/* A fact without which a model is not defined, and its candidates. */
static const struct needed {
    const char *field, *candidates;
} NEEDED[] = {
    {"heads", ""}, /* heads_text writes them */
    {"norm_eps", "1e-6, 1e-12 or 1e-5"},
    {"activation", "gelu, gelu-tanh or quick-gelu"},
    {"pool", "class_token, mean-patches or attention"},
    {"patch_size", "pixels"},
    {"in_channels", "3 for RGB"},
    {"input_height", "pixels"},
    {"rope", "axial or centred"},
};

/* What a side has beyond whole patches is read by none of them. */
static bool has_rest(const sv_facts *facts, const char *side)
{
    const double pixels = sv_facts_value(facts, side, 0),
                 patch = sv_facts_value(facts, "patch_size", 0);
    return patch > 0 && pixels > patch && fmod(pixels, patch) != 0;
}

/* Facts that follow from others. */
static void complete(sv_open *open)
{
    sv_facts *facts = &open->facts;
    if (sv_facts_value(facts, "mlp", 0) == SVIT_MLP_SWIGLU)
        sv_facts_assume(facts, "activation", SVIT_ACTIVATION_GELU, "SwiGLU, which has no other");
    if (sv_facts_value(facts, "pool", 0) == SVIT_POOL_ATTENTION)
        sv_facts_assume(facts, "pool_heads", sv_facts_value(facts, "heads", 1), "the heads");
    else if (sv_facts_value(facts, "pool_heads", 0) > 0)
        sv_facts_correct(facts, "pool_heads", 0, ", which has another pooling");
    if (sv_facts_value(facts, "position_tokens", 0) != SVIT_POSITION_NONE)
        sv_facts_assume(facts, "rope", SVIT_ROPE_NONE, "the position embedding");
    if (sv_facts_value(facts, "rope", 0) == SVIT_ROPE_MIXED)
        sv_facts_assume(facts, "rope_theta", 10, "learnt frequencies");
    if (sv_facts_value(facts, "classifier", 0) == 0) {
        const bool both = sv_facts_value(facts, "pool", 0) == SVIT_POOL_CLASS_MEAN;
        sv_facts_assume(facts, "num_classes", sv_facts_value(facts, "dim", 1) * (both ? 2 : 1),
                        "the features");
    }
    if (!sv_facts_find(facts, "input_width") && sv_facts_find(facts, "input_height"))
        sv_facts_assume(facts, "input_width", sv_facts_value(facts, "input_height", 0),
                        "the height");
    if (has_rest(facts, "input_height") || has_rest(facts, "input_width"))
        sv_facts_assume(facts, "patch_padding", SVIT_PADDING_VALID,
                        "a side that is no whole patches");
}

/* The likely numbers of heads: of 64, 32, 80, 96 or 128 channels. Returns `text`. */
static const char *heads_text(char text[64], const sv_open *open)
{
    static const size_t channels[] = {64, 32, 80, 96, 128};
    sv_tensor_desc qkv;
    size_t length = 0;
    snprintf(text, 64, "a divisor of the width");
    if (!sv_open_find(open, "blocks.0.attn.qkv.weight", &qkv))
        return text;
    for (size_t i = 0; i < sizeof channels / sizeof *channels && length < 48; i++)
        if ((size_t)qkv.shape[0] / 3 % channels[i] == 0)
            length += (size_t)snprintf(text + length, 64 - length, "%s%zu", length > 0 ? ", " : "",
                                       (size_t)qkv.shape[0] / 3 / channels[i]);
    return text;
}

/* Asks for what is not known; a known name of timm does not tell it. */
static svit_status ask(const sv_open *open, bool is_named, svit_error *err)
{
    char question[200] = "", heads[64];
    size_t length = 0;
    for (size_t i = 0; i < sizeof NEEDED / sizeof *NEEDED; i++)
        if (!sv_facts_find(&open->facts, NEEDED[i].field) && length < sizeof question)
            length += (size_t)snprintf(question + length, sizeof question - length, "%s%s (%s)",
                                       length > 0 ? ", " : "", NEEDED[i].field,
                                       i == 0 ? heads_text(heads, open) : NEEDED[i].candidates);
    if (length == 0)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "state %s%s",
                   is_named ? "" : "timm's name of the model, or ", question);
}

static svit_status open_transformers(sv_open *open, svit_error *err)
{
    SVIT_TRY(sv_open_from_huggingface(open, err));
    sv_open_take_crop(open);
    return SVIT_OK;
}

/* Refuses what is known to be no ViT before its tensors are looked at, of which some may have the
 * names of a ViT's. Words are looked for only in a name that counts whatever the tensors are. */
static svit_status refuse_others(const sv_open *open, const char *given, svit_error *err)
{
    const sv_json *config = open->side[SV_SIDE_CONFIG].json,
                  *openclip = open->side[SV_SIDE_OPENCLIP].json;
    const char *architecture =
        config ? sv_json_text(sv_json_get(sv_json_root(config), "architecture")) : NULL;
    SVIT_TRY(sv_open_refuse_timm_name(open, given, err));
    SVIT_TRY(sv_open_refuse_timm_name(open, architecture, err));
    if (openclip)
        return sv_open_refuse_openclip(open, sv_json_root(openclip), err);
    return architecture ? sv_open_check_timm_words(open, architecture, err) : SVIT_OK;
}

/* Collects the facts, the caller's first. */
static svit_status collect(sv_open *open, const svit_open_options *options, svit_error *err)
{
    SVIT_TRY(refuse_others(open, options->name, err));
    SVIT_TRY(sv_open_dialect(open, options->prefix, err));
    const char *architecture = sv_json_text(sv_json_get(open->config, "architecture"));
    if (open->adapter.file)
        SVIT_TRY(sv_adapter_names(open, err));
    if (options->fields)
        SVIT_TRY(sv_facts_state_json(&open->facts, open->allocator, options->fields, err));
    if (options->name)
        SVIT_TRY(sv_open_from_timm_name(open, options->name, err));
    if (open->openclip)
        SVIT_TRY(sv_open_from_openclip(open, err));
    else if (architecture)
        SVIT_TRY(sv_open_from_timm(open, err));
    else if (sv_json_text(sv_json_get(open->config, "model_type")))
        SVIT_TRY(open_transformers(open, err));
    SVIT_TRY(sv_open_from_tensors(open, err));
    const char *timm = options->name ? options->name : architecture;
    if (timm)
        sv_open_compare_with_usual(open, timm);
    complete(open);
    return ask(open, timm != NULL, err);
}

/* Lines "field NAME VALUE SOURCE" for what was found out. */
static void report_facts(const sv_open *open, svit_load_report *report)
{
    char line[SV_FACT_SOURCE + SV_FIELD_NUMBER_TEXT + 64], value[SV_FIELD_NUMBER_TEXT];
    for (size_t i = 0; i < sv_vit_fields.count; i++) {
        if (open->facts.list[i].from[0] == '\0')
            continue;
        snprintf(line, sizeof line, "%s %s %s", sv_vit_fields.fields[i].name,
                 sv_facts_text(value, &open->facts, i), open->facts.list[i].from);
        sv_report_add(report, "field", line);
    }
}

/* The name of class `label` in an object; NULL: there is none. */
static const char *class_name(const sv_json_value *names, size_t label)
{
    char key[24];
    snprintf(key, sizeof key, "%zu", label);
    return sv_json_text(sv_json_get(names, key));
}

/* Sets the class names if the file names every class. */
static svit_status set_classes(const sv_open *open, svit_model *model, svit_error *err)
{
    const sv_json_value *names = open->class_names;
    const size_t count = model->config.num_classes;
    const char **list;
    if (!model->config.classifier || !sv_open_has_names(names, false))
        return SVIT_OK;
    if (names->count != count) {
        sv_context_warn(open->context,
                        "config.json has %zu class names and the model %zu classes: it gets no "
                        "names",
                        names->count, count);
        return SVIT_OK;
    }
    SVIT_TRY(sv_allocate_array(open->allocator, (void **)&list, count, sizeof *list,
                               "the class names", err));
    size_t named = 0;
    const sv_json_value *next = names + 1; /* of an array */
    for (; named < count; named++, next = next->after) {
        list[named] = names->kind == SV_JSON_ARRAY ? sv_json_text(next) : class_name(names, named);
        if (!list[named])
            break;
    }
    if (named < count)
        sv_context_warn(open->context,
                        "config.json has no text that names class %zu: the model gets no names",
                        named);
    const svit_status status =
        named == count ? svit_model_set_classes(model, list, count, err) : SVIT_OK;
    sv_release(open->allocator, list, count * sizeof *list);
    return status;
}

/* States what predictors make of a classifier's logits, if the file does. */
static svit_status set_output(const sv_open *open, svit_model *model, svit_error *err)
{
    if (!model->config.classifier || open->output == SVIT_OUTPUT_AUTO)
        return SVIT_OK;
    return svit_model_set_output(model, open->output, err);
}

/* Creates the model of the facts and reads its weights. */
static svit_status create(svit_model **out, sv_open *open, svit_load_report *report,
                          svit_error *err)
{
    svit_model_config config = BASE, local;
    svit_model *model;
    sv_facts_apply(&open->facts, &config);
    SVIT_TRY(sv_config_read(&sv_model_config_type, &local, &config, err));
    sv_open_preprocessing(open, &local);
    SVIT_TRY(sv_model_open(&model, open->context, &local, err));
    const sv_adapter *adapter = open->adapter.file ? &open->adapter : NULL;
    svit_status status = sv_load_open_file(model, NULL, open->file, open->weights, &open->map,
                                           adapter, SV_LOAD_ADAPT_CHANNELS, report, err);
    if (status == SVIT_OK && adapter)
        status = sv_adapter_check(open, report, err);
    model->pipeline = open->pipeline;
    model->has_pipeline = open->has_pipeline;
    model->has_colours = open->has_colours;
    if (status == SVIT_OK)
        status = set_classes(open, model, err);
    if (status == SVIT_OK)
        status = set_output(open, model, err);
    if (status == SVIT_OK)
        *out = model;
    else
        svit_model_free(model);
    return status;
}

/* A file of this library states its configuration. */
static bool is_own(const sv_open *open)
{
    return sv_safetensors_metadata(open->file, "config") != NULL;
}

/* Opens a file of this library, which says what it is. */
static svit_status open_own(svit_model **out, const sv_open *open, const svit_open_options *options,
                            svit_load_report *report, svit_error *err)
{
    const char *given = options->name     ? "name"
                        : options->prefix ? "prefix"
                        : options->base   ? "base"
                                          : NULL;
    if (given)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is a model file of this library, which says what it is; %s is accepted "
                       "for checkpoints of others",
                       open->weights, given);
    SVIT_TRY(svit_model_load(out, open->context, open->weights, err));
    if (report)
        report->loaded = (uint32_t)(*out)->parameters.count;
    return SVIT_OK;
}

static svit_status open_any(svit_model **out, sv_open *open, const svit_open_options *options,
                            svit_load_report *report, svit_error *err)
{
    SVIT_TRY(sv_open_files(open, options->base, err));
    if (is_own(open) && open->adapter.file)
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s is a model file of this library; an adapter changes a model under the "
                       "names of the library that made the adapter",
                       open->weights);
    if (is_own(open))
        return open_own(out, open, options, report, err);
    const svit_status status = collect(open, options, err);
    report_facts(open, report);
    return status == SVIT_OK ? create(out, open, report, err) : status;
}

/* Whether a message names the path, or what lies in it: it begins with it, or has it in quotes. */
static bool is_named(const char *message, const char *path)
{
    const size_t length = strlen(path);
    const bool is_folder = length > 0 && sv_path_is_separator(path[length - 1]);
    for (const char *at = message; (at = strstr(at, path)); at++)
        if ((at == message || at[-1] == '\'') &&
            (is_folder || sv_path_is_separator(at[length]) || strchr(": '", at[length])))
            return true;
    return false;
}

/* Puts the path before a message that does not name it. */
static svit_status name_path(svit_status status, const char *path, svit_error *err)
{
    if (status == SVIT_OK || !err || is_named(err->message, path))
        return status;
    return sv_fail_in(err, status, path);
}

SVIT_API svit_status svit_model_open(svit_model **out, svit_context *context, const char *path,
                                     const svit_open_options *options, svit_load_report *report,
                                     svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(path);
    SVIT_TRY(sv_report_begin(report, err));
    svit_open_options local;
    sv_open *open;
    SVIT_TRY(sv_config_read(&sv_open_options_type, &local, options, err));
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&open, 1, sizeof *open,
                               "a checkpoint that is opened", err));
    open->context = context;
    open->allocator = &context->allocator;
    open->path = path;
    sv_facts_init(&open->facts, path);
    const svit_status status = name_path(open_any(out, open, &local, report, err), path, err);
    sv_adapter_close(open);
    sv_open_close(open);
    sv_release(&context->allocator, open, sizeof *open);
    return status;
}
