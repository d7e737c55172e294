/* Models from the files of other libraries, and files for them. */
#include "models/convert_from.h"

#include "models/load_parts.h"
#include "program/path_text.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* transformers computes ViT and DeiT with this epsilon, timm with 1e-6. */
#define HUGGINGFACE_EPS 1e-12

static int sets_field(const config_option *option, const char *field)
{
    const size_t length = strlen(field);
    for (size_t i = 0; i < option->set_count; i++)
        if (strncmp(option->sets[i], field, length) == 0 && option->sets[i][length] == '=')
            return 1;
    return 0;
}

void convert_adapt(svit_model_config *config, const config_option *option, const char *family)
{
    if (!family || strcmp(family, "huggingface") != 0 || option->file)
        return;
    const int siglip = config->pool == SVIT_POOL_ATTENTION;
    if (siglip && !sets_field(option, "activation"))
        config->activation = SVIT_ACTIVATION_GELU_TANH;
    if (!siglip && !config->layer_scale && !config->pre_norm && !sets_field(option, "norm_eps"))
        config->norm_eps = HUGGINGFACE_EPS;
    if (config->register_tokens > 0 && !sets_field(option, "position_tokens"))
        config->position_tokens = SVIT_POSITION_CLASS_PATCHES;
}

static int is_ignored(const name_source *from, const char *tensor)
{
    for (size_t i = 0; i < from->ignored_count; i++)
        if (fnmatch(from->ignored[i], tensor, 0) == 0)
            return 1;
    return 0;
}

/* Fails for a parameter outside the classifier that was not read, and for a tensor that no
 * parameter takes, unless a pattern names it, or the classifier is left alone: then it belongs to
 * the file's classifier or to a projection. */
static svit_status judge(struct program *self, const char *kind, const char *name,
                         const char *source, const void *user)
{
    const name_source *from = user;
    const int of_model = strcmp(kind, "missing") == 0 || strcmp(kind, "mismatched") == 0;
    if (strcmp(kind, "extra") == 0 && !from->skip_head && !is_ignored(from, name))
        return program_fail(self, SVIT_E_FORMAT,
                            "%s: tensor '%.96s' belongs to no parameter of the model; "
                            "--ignore-extra '%.96s' passes over it",
                            source, name, name);
    if (of_model && !load_parts_is_head(name))
        return program_fail(self, SVIT_E_FORMAT,
                            "%s: --skip-head leaves the classifier alone, but the file has no "
                            "tensor of the right shape for '%.96s'",
                            source, name);
    if (!self->quiet && strcmp(kind, "converted") != 0)
        fprintf(stderr, of_model ? "'%s' keeps its initial values\n" : "'%s' is not taken\n", name);
    return SVIT_OK;
}

/* Reads a file into a model with initial weights, which the classifier may keep. */
static svit_status load(svit_model **out, struct program *self, const svit_model_config *config,
                        const char *path, const char *map, const name_source *from)
{
    const uint32_t of_head =
        from->skip_head ? SVIT_LOAD_SKIP_SHAPE_MISMATCH | SVIT_LOAD_ALLOW_MISSING : 0;
    const load_parts_call call = {.path = path,
                                  .map = map,
                                  .source = path,
                                  .flags = SVIT_LOAD_IGNORE_EXTRA | of_head,
                                  .judge = judge,
                                  .user = from};
    TRY(svit_model_create(out, self->context, config, self->seed, &self->err));
    return load_parts(self, *out, &call);
}

/* Counts the parameters of the head that the file lacks or has in another shape, and fails for
 * others. */
static svit_status count_of_head(struct program *self, const char *kind, const char *name,
                                 const char *source, const void *user)
{
    if (strcmp(kind, "missing") != 0 && strcmp(kind, "mismatched") != 0)
        return SVIT_OK;
    if (!load_parts_is_head(name))
        return program_fail(self, SVIT_E_FORMAT, "%s: '%.96s' is not of the head", source, name);
    ++*(size_t *)user;
    return SVIT_OK;
}

/* Whether the file would do but for parameters of the head. The message stays as it is. */
static int lacks_head_alone(const struct program *self, const svit_model_config *config,
                            const char *path, const char *map)
{
    struct program quiet = *self;
    size_t of_head = 0;
    svit_model *model = NULL;
    const load_parts_call call = {.path = path,
                                  .map = map,
                                  .source = path,
                                  .flags = SVIT_LOAD_IGNORE_EXTRA | SVIT_LOAD_SKIP_SHAPE_MISMATCH |
                                           SVIT_LOAD_ALLOW_MISSING,
                                  .judge = count_of_head,
                                  .user = &of_head};
    quiet.quiet = 1;
    svit_status status = svit_model_create(&model, self->context, config, self->seed, &quiet.err);
    if (status == SVIT_OK)
        status = load_parts(&quiet, model, &call);
    svit_model_free(model);
    return status == SVIT_OK && of_head > 0;
}

svit_status convert_from(svit_model **out, struct program *self, const config_option *config,
                         const name_source *from, const char *path)
{
    svit_model_config own;
    char *rules = NULL;
    TRY(config_refuse_checkpoint(self, config));
    TRY(config_resolve(&own, self, config, 0));
    convert_adapt(&own, config, from->family);
    if (from->map_path)
        TRY(path_read_text(self, from->map_path, &rules));
    const char *map = rules ? rules : from->family;
    svit_status status = load(out, self, &own, path, map, from);
    if (status == SVIT_E_FORMAT && !from->skip_head && lacks_head_alone(self, &own, path, map))
        status = program_fail(self, status,
                              "%s; --set num_classes=N says how many classes the file has, and "
                              "--skip-head leaves the classifier as it is initialised",
                              self->err.message);
    free(rules);
    return status;
}

svit_status convert_to_pytorch(struct program *self, const svit_model *model, const char *path)
{
    svit_model_config config;
    TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
    if (config.architecture == SVIT_ARCHITECTURE_VIT && config.names == SVIT_NAMES_TIMM)
        return svit_model_save_mapped(model, path, "timm", &self->err);
    return svit_model_save(model, path, &self->err);
}
