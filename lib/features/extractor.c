/* Extractors: a model up to a layer, its preprocessing, and what becomes of the layer's tokens. */
#include "features/extractor.h"

#include "base/size.h"
#include "base/threads/fp_env.h"
#include "data/augmentation/pipeline_config.h"
#include "features/features.h"
#include "models/vit/vit.h"
#include "session/session.h"

#include <string.h>

#define FIELD(field, kind) SV_FIELD(svit_features_config, field, kind)

static const sv_field FIELDS[] = {
    {FIELD(batch, U32), .min = 1, .max = 65536},
    {FIELD(compute, WORD), .words = (sv_words){SV_COMPUTE_WORDS, [SVIT_COMPUTE_INT8] = "int8"}},
    {FIELD(tokens, WORD), .words = (sv_words){SV_TOKENS_WORDS}},
};
static const svit_features_config DEFAULTS = {.batch = 256};

const sv_config_type sv_features_config_type = {
    SV_CONFIG(svit_features_config, FIELDS, "the configuration of features"), .defaults = &DEFAULTS,
    .null_is_default = true};

SV_CONFIG_INIT(svit_features_config, sv_features_config_type)

/* The pipeline that is given, or that of the model, without the steps of training. */
static svit_status take_pipeline(svit_extractor *self, const svit_pipeline_config *given,
                                 svit_error *err)
{
    if (given)
        SVIT_TRY(sv_config_read(&sv_pipeline_config_type, &self->pipeline, given, err));
    else
        SVIT_TRY(svit_model_get_pipeline(self->model, &self->pipeline, sizeof self->pipeline, err));
    self->pipeline.augment_count = 0;
    const uint32_t channels = self->model->config.in_channels;
    if (channels != self->pipeline.channels)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the model has in_channels %u; channels of the pipeline is %u, and both are "
                       "the same",
                       channels, self->pipeline.channels);
    return svit_pipeline_evaluation_size(&self->pipeline, &self->height, &self->width, err);
}

/* No layers are fused, so that every one is reached. */
static svit_status create_session(svit_extractor *self, svit_error *err)
{
    svit_session_config session;
    SVIT_TRY(svit_session_config_init(&session, sizeof session));
    session.max_batch = self->config.batch;
    session.compute = self->config.compute;
    session.input_height = (uint32_t)self->height;
    session.input_width = (uint32_t)self->width;
    session.features = 1;
    session.context = self->context;
    return svit_session_create(&self->session, self->model, &session, err);
}

/* Finds the tokens before the patches. Only a ViT has the layer "tokens", and its blocks all have
 * the same tokens, or those of visible patches, which are on no grid. */
static svit_status find_prefix(svit_extractor *self, svit_error *err)
{
    const svit_model_config *config = &self->model->config;
    size_t all, channels;
    self->prefix = 0;
    if (svit_session_layer_shape(self->session, "tokens", &all, &channels, NULL) != SVIT_OK)
        return SVIT_OK;
    const size_t prefix = sv_vit_prefix(config);
    const bool masked = config->mask_ratio > 0 && self->tokens == prefix + sv_vit_visible(config);
    if (masked || self->tokens == all)
        self->prefix = prefix;
    if (masked && self->config.tokens >= SVIT_TOKENS_PATCHES)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "layer '%.40s' has visible patches alone; tokens 'mean' is accepted",
                       self->layer);
    return SVIT_OK;
}

/* Finds the samples of an image: one, or those of its patches, which have the grid of the patch
 * embedding unless the layer has merged patches. */
static void find_grid(svit_extractor *self)
{
    const size_t patches = self->tokens - self->prefix;
    const sv_layer *layer = sv_session_named_layer(self->session, self->layer),
                   *embedding = sv_session_named_layer(self->session, "patch_embed");
    self->grid = (sv_shape){1, 1, self->channels};
    if (self->tokens == 1 || self->config.tokens < SVIT_TOKENS_PATCHES)
        return;
    if (embedding && sv_shape_tokens(embedding->out) == patches)
        layer = embedding;
    self->grid.height = layer->out.height;
    self->grid.width = layer->out.width;
}

/* The input of the classifier is one vector, whatever its tokens are. */
static svit_status find_layer(svit_extractor *self, svit_error *err)
{
    SVIT_TRY(
        svit_session_layer_shape(self->session, self->layer, &self->tokens, &self->channels, err));
    if (strcmp(self->layer, "features") == 0) {
        self->channels *= self->tokens;
        self->tokens = 1;
    }
    SVIT_TRY(find_prefix(self, err));
    find_grid(self);
    /* Registers may be the only tokens before the patches. */
    const bool has_class = self->prefix > 0 && sv_vit_has_class_token(&self->model->config);
    if (self->tokens > 1 && self->config.tokens == SVIT_TOKENS_CLASS && !has_class)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "tokens is 'class'; layer '%.40s' has no class token, and 'mean' and "
                       "'patches' are accepted",
                       self->layer);
    if (self->channels > SV_FEATURES_CHANNELS)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "layer '%.40s' has %zu channels; features of at most %d are accepted",
                       self->layer, self->channels, SV_FEATURES_CHANNELS);
    return SVIT_OK;
}

/* Allocates floats[batch, a, b, c]. */
static svit_status add_floats(svit_extractor *self, float **out, size_t a, size_t b, size_t c,
                              svit_error *err)
{
    const size_t factors[] = {a, b, c, sizeof **out};
    size_t row;
    if (!sv_size_product(&row, factors, 4))
        return sv_fail(err, SVIT_E_MEMORY, "an image does not fit memory");
    return sv_arrays_add(&self->arrays, out, self->config.batch, row, "a batch of images", err);
}

static svit_status fill(svit_extractor *self, const svit_pipeline_config *pipeline, svit_error *err)
{
    const char *layer = self->config.layer ? self->config.layer : "features";
    SVIT_TRY(take_pipeline(self, pipeline, err));
    SVIT_TRY(sv_arrays_add(&self->arrays, &self->layer, 1, strlen(layer) + 1, "a name", err));
    strcpy(self->layer, layer);
    self->config.layer = self->layer; /* the caller's text may end */
    SVIT_TRY(create_session(self, err));
    SVIT_TRY(find_layer(self, err));
    SVIT_TRY(
        add_floats(self, &self->inputs, self->height, self->width, self->pipeline.channels, err));
    return self->tokens > 1 ? add_floats(self, &self->outputs, self->tokens, self->channels, 1, err)
                            : SVIT_OK;
}

SVIT_API svit_status svit_extractor_create(svit_extractor **out, svit_model *model,
                                           const svit_pipeline_config *pipeline,
                                           const svit_features_config *config, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(model);
    svit_features_config local;
    svit_extractor *self;
    SVIT_TRY(sv_config_read(&sv_features_config_type, &local, config, err));
    svit_context *context = local.context ? local.context : model->context;
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&self, 1, sizeof *self, "an extractor",
                               err));
    self->context = sv_context_retain(context);
    self->model = sv_model_retain(model);
    self->arrays.allocator = &context->allocator;
    self->config = local;
    const svit_status status = fill(self, pipeline, err);
    if (status == SVIT_OK)
        *out = self;
    else
        svit_extractor_free(self);
    return status;
}

SVIT_API void svit_extractor_free(svit_extractor *self)
{
    if (!self)
        return;
    svit_context *context = self->context;
    sv_arrays_free(&self->arrays);
    svit_session_free(self->session);
    svit_model_free(self->model);
    sv_release(&context->allocator, self, sizeof *self);
    svit_context_free(context);
}

SVIT_API size_t svit_extractor_channels(const svit_extractor *extractor)
{
    return extractor ? extractor->channels : 0;
}

SVIT_API svit_status svit_extractor_grid(const svit_extractor *extractor, int32_t *tokens,
                                         size_t *height, size_t *width, svit_error *err)
{
    SV_REQUIRE(extractor);
    SV_REQUIRE(tokens);
    SV_REQUIRE(height);
    SV_REQUIRE(width);
    *tokens = sv_extractor_tokens(extractor);
    *height = extractor->grid.height;
    *width = extractor->grid.width;
    return SVIT_OK;
}
