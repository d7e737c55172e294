/* Computes the features of a dataset with a model. */
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "data/augmentation/pipeline_config.h"
#include "features/features.h"
#include "models/vit/vit.h"
#include "session/session.h"

#include <shiftvit/loader.h>
#include <shiftvit/session.h>

#include <inttypes.h>
#include <string.h>

#define FIELD(field, kind) SV_FIELD(svit_features_config, field, kind)

static const sv_field FIELDS[] = {
    {FIELD(batch, U32), .min = 1, .max = 65536},
    {FIELD(compute, WORD), .words = (sv_words){SV_COMPUTE_WORDS, [SVIT_COMPUTE_INT8] = "int8"}},
    {FIELD(tokens, WORD), .words = (sv_words){SV_TOKENS_WORDS}},
};
static const svit_features_config DEFAULTS = {.batch = 256};

static const sv_config_type TYPE = {
    SV_CONFIG(svit_features_config, FIELDS, "the configuration of features"), .defaults = &DEFAULTS,
    .null_is_default = true};

SV_CONFIG_INIT(svit_features_config, TYPE)

/* One computation. Everything is released by `release`. */
typedef struct computation {
    svit_context *context;
    svit_model *model;
    svit_features_config config;
    svit_pipeline_config pipeline;
    svit_session *session;
    svit_loader *loader;
    const char *layer;
    size_t tokens, channels, prefix; /* of the layer; tokens before the patches */
    size_t out_channels;             /* of the features */
    sv_shape grid;                   /* height and width of the samples of one image */
    float *images, *outputs;         /* a batch: inputs; outputs of a layer with several tokens */
    size_t image_elements, output_elements;
    float *targets; /* of a batch, if the dataset has no labels; else NULL */
    size_t target_elements;
} computation;

static svit_status import(computation *self, const svit_pipeline_config *pipeline,
                          const svit_features_config *config, svit_error *err)
{
    SVIT_TRY(sv_config_read(&TYPE, &self->config, config, err));
    self->layer = self->config.layer ? self->config.layer : "features";
    if (pipeline)
        SVIT_TRY(sv_config_read(&sv_pipeline_config_type, &self->pipeline, pipeline, err));
    else
        SVIT_TRY(svit_model_get_pipeline(self->model, &self->pipeline, sizeof self->pipeline, err));
    const uint32_t channels = self->model->config.in_channels;
    if (channels != self->pipeline.channels)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the model has in_channels %u; channels of the pipeline is %u, and both are "
                       "the same",
                       channels, self->pipeline.channels);
    return SVIT_OK;
}

static svit_status create_loader(computation *self, svit_dataset *dataset, svit_error *err)
{
    svit_loader_config loader;
    SVIT_TRY(svit_loader_config_init(&loader, sizeof loader));
    loader.batch = self->config.batch;
    if (svit_context_threads(self->context) == 1)
        loader.prefetch = 0; /* who asks for one thread gets no second one */
    return svit_loader_create(&self->loader, dataset, &self->pipeline, &loader, err);
}

/* No layers are fused, so that every one is reached. */
static svit_status create_session(computation *self, svit_error *err)
{
    svit_session_config session;
    SVIT_TRY(svit_session_config_init(&session, sizeof session));
    session.max_batch = self->config.batch;
    session.compute = self->config.compute;
    session.input_height = (uint32_t)svit_loader_height(self->loader);
    session.input_width = (uint32_t)svit_loader_width(self->loader);
    session.features = 1;
    session.context = self->context;
    return svit_session_create(&self->session, self->model, &session, err);
}

/* Finds the tokens before the patches. Only a ViT has the layer "tokens", and its blocks all have
 * the same tokens, or those of visible patches, which are on no grid. */
static svit_status find_prefix(computation *self, svit_error *err)
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
static void find_grid(computation *self)
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
static svit_status find_layer(computation *self, svit_error *err)
{
    SVIT_TRY(
        svit_session_layer_shape(self->session, self->layer, &self->tokens, &self->channels, err));
    if (strcmp(self->layer, "features") == 0) {
        self->channels *= self->tokens;
        self->tokens = 1;
    }
    self->out_channels = self->channels;
    SVIT_TRY(find_prefix(self, err));
    find_grid(self);
    if (self->tokens > 1 && self->config.tokens == SVIT_TOKENS_CLASS && self->prefix == 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "tokens is 'class'; layer '%.40s' has no class token, and 'mean' and "
                       "'patches' are accepted",
                       self->layer);
    return SVIT_OK;
}

static svit_status allocate_floats(float **out, size_t *elements, const computation *self, size_t a,
                                   size_t b, size_t c, svit_error *err)
{
    const size_t factors[] = {self->config.batch, a, b, c};
    if (!sv_size_product(elements, factors, 4))
        return sv_fail(err, SVIT_E_MEMORY, "a batch of %u images does not fit memory",
                       self->config.batch);
    return sv_allocate_array(&self->context->allocator, (void **)out, *elements, sizeof **out,
                             "a batch of images", err);
}

static svit_status allocate(computation *self, const svit_dataset *dataset, svit_error *err)
{
    SVIT_TRY(allocate_floats(&self->images, &self->image_elements, self,
                             svit_loader_height(self->loader), svit_loader_width(self->loader),
                             self->pipeline.channels, err));
    if (self->tokens > 1)
        SVIT_TRY(allocate_floats(&self->outputs, &self->output_elements, self, self->tokens,
                                 self->channels, 1, err));
    if (svit_loader_has_targets(self->loader))
        SVIT_TRY(allocate_floats(&self->targets, &self->target_elements, self,
                                 svit_dataset_classes(dataset), 1, 1, err));
    return SVIT_OK;
}

static void release(computation *self)
{
    const sv_allocator *allocator = &self->context->allocator;
    sv_release(allocator, self->targets, self->target_elements * sizeof *self->targets);
    sv_release(allocator, self->outputs, self->output_elements * sizeof *self->outputs);
    sv_release(allocator, self->images, self->image_elements * sizeof *self->images);
    svit_session_free(self->session);
    svit_loader_free(self->loader);
}

/* out[c] = the mean over the patches of x[patches, c]. */
static void mean_patch(float *out, const float *x, size_t patches, size_t c)
{
    for (size_t k = 0; k < c; k++) {
        double sum = 0;
        for (size_t t = 0; t < patches; t++)
            sum += (double)x[t * c + k];
        out[k] = (float)(sum / (double)patches);
    }
}

/* out[c] = the mean of the patch of x[height, width, c] in this row and column and of those of the
 * eight around it that lie within the grid. */
static void average_around(float *out, const float *x, const sv_shape *grid, size_t row,
                           size_t column)
{
    const size_t c = grid->channels;
    for (size_t k = 0; k < c; k++) {
        double sum = 0, count = 0;
        for (size_t y = row > 0 ? row - 1 : 0; y < grid->height && y <= row + 1; y++)
            for (size_t z = column > 0 ? column - 1 : 0; z < grid->width && z <= column + 1; z++) {
                sum += (double)x[(y * grid->width + z) * c + k];
                count++;
            }
        out[k] = (float)(sum / count);
    }
}

/* out[height, width, c], likewise of each patch */
static void average_patches(float *out, const float *x, const sv_shape *grid)
{
    for (size_t row = 0; row < grid->height; row++)
        for (size_t column = 0; column < grid->width; column++, out += grid->channels)
            average_around(out, x, grid, row, column);
}

/* Turns outputs[n, tokens, c] into the samples of n images. */
static void pool_tokens(float *out, const computation *self, size_t n)
{
    const size_t c = self->channels, patches = self->tokens - self->prefix;
    const size_t sample = sv_shape_elements(self->grid);
    const float *x = self->outputs;
    for (size_t i = 0; i < n; i++, x += self->tokens * c, out += sample) {
        const float *first = x + self->prefix * c;
        switch (self->config.tokens) {
        case SVIT_TOKENS_CLASS:
            memcpy(out, x, c * sizeof *out);
            break;
        case SVIT_TOKENS_PATCHES:
            memcpy(out, first, sample * sizeof *out);
            break;
        case SVIT_TOKENS_PATCHES_3X3:
            average_patches(out, first, &self->grid);
            break;
        default:
            mean_patch(out, first, patches, c);
        }
    }
}

static svit_status next_batch(computation *self, int32_t *labels, size_t *n, svit_error *err)
{
    if (self->targets)
        return svit_loader_next_targets(self->loader, self->images, self->targets, n, err);
    return svit_loader_next(self->loader, self->images, labels, n, err);
}

/* Fills the samples of image `done` and following images. *n becomes their number, 0 at the
 * end. */
static svit_status compute_batch(computation *self, svit_features *out, int32_t *labels,
                                 size_t done, size_t *n, svit_error *err)
{
    SVIT_TRY(sv_context_go_on(self->context, err));
    SVIT_TRY(next_batch(self, labels, n, err));
    if (*n == 0)
        return SVIT_OK;
    const size_t samples = sv_shape_tokens(self->grid);
    float *rows = out->values + done * samples * out->channels;
    float *target = self->tokens > 1 ? self->outputs : rows;
    SVIT_TRY(svit_forward_features(self->session, self->images, *n, self->layer, target,
                                   *n * self->tokens * self->channels, err));
    if (self->tokens > 1)
        pool_tokens(rows, self, *n);
    if (!self->targets)
        for (size_t i = 0; i < *n * samples; i++)
            out->labels[done * samples + i] = labels[i / samples];
    return SVIT_OK;
}

static svit_status compute_all(computation *self, svit_features *out, svit_error *err)
{
    const sv_allocator *allocator = &self->context->allocator;
    const size_t bytes = self->config.batch * sizeof(int32_t);
    int32_t *labels;
    size_t n = 1;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&labels, bytes, 1, "labels of a batch", err));
    svit_status status = SVIT_OK;
    const size_t images = out->count / sv_shape_tokens(self->grid);
    for (size_t done = 0; status == SVIT_OK && n > 0 && done < images; done += n)
        status = compute_batch(self, out, labels, done, &n, err);
    sv_release(allocator, labels, bytes);
    return status;
}

static svit_status copy_names(svit_features *out, const svit_dataset *dataset, svit_error *err)
{
    const sv_allocator *allocator = &out->context->allocator;
    const char **names;
    if (out->classes == 0 || !svit_dataset_class_name(dataset, 0))
        return SVIT_OK;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&names, out->classes, sizeof *names,
                               "class names", err));
    for (size_t k = 0; k < out->classes; k++)
        names[k] = svit_dataset_class_name(dataset, k);
    svit_status status = sv_features_set_names(out, names, err);
    sv_release(allocator, names, out->classes * sizeof *names);
    return status;
}

static svit_status fill(computation *self, svit_features *out, const svit_dataset *dataset,
                        svit_error *err)
{
    char description[SV_MODEL_DESCRIPTION];
    SVIT_TRY(copy_names(out, dataset, err));
    sv_model_describe(description, self->model);
    SVIT_TRY(sv_features_set_text(out, &out->model, description, err));
    SVIT_TRY(sv_features_set_text(out, &out->layer, self->layer, err));
    return compute_all(self, out, err);
}

static svit_status compute(computation *self, svit_features **out, svit_dataset *dataset,
                           svit_error *err)
{
    svit_features *made;
    size_t count;
    const size_t classes = svit_dataset_has_targets(dataset) ? 0 : svit_dataset_classes(dataset);
    if (svit_dataset_count(dataset) == 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "the dataset has no images; at least 1 is needed");
    if (classes > SV_FEATURES_CLASSES)
        return sv_fail(err, SVIT_E_ARGUMENT, "the dataset has %zu classes; at most %d are accepted",
                       classes, SV_FEATURES_CLASSES);
    if (self->config.batch > svit_dataset_count(dataset))
        self->config.batch = (uint32_t)svit_dataset_count(dataset);
    SVIT_TRY(create_loader(self, dataset, err));
    SVIT_TRY(create_session(self, err));
    SVIT_TRY(find_layer(self, err));
    if (self->out_channels > SV_FEATURES_CHANNELS)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "layer '%s' has %zu channels; features of at most %d are accepted",
                       self->layer, self->out_channels, SV_FEATURES_CHANNELS);
    SVIT_TRY(allocate(self, dataset, err));
    if (!sv_size_multiply(&count, svit_dataset_count(dataset), sv_shape_tokens(self->grid)))
        return sv_fail(err, SVIT_E_MEMORY, "the patches of %zu images do not fit memory",
                       svit_dataset_count(dataset));
    SVIT_TRY(sv_features_open(&made, self->context, count, self->out_channels, classes, err));
    made->tokens = self->tokens > 1 ? self->config.tokens : SVIT_TOKENS_MEAN;
    made->grid_height = self->grid.height;
    made->grid_width = self->grid.width;
    svit_status status = fill(self, made, dataset, err);
    if (status == SVIT_OK)
        *out = made;
    else
        svit_features_free(made);
    return status;
}

SVIT_API svit_status svit_features_compute(svit_features **out, svit_model *model,
                                           svit_dataset *dataset,
                                           const svit_pipeline_config *pipeline,
                                           const svit_features_config *config, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(model);
    SV_REQUIRE(dataset);
    computation self = {.model = model};
    SVIT_TRY(import(&self, pipeline, config, err));
    self.context = self.config.context ? self.config.context : model->context;
    svit_status status = compute(&self, out, dataset, err);
    release(&self);
    return status;
}
