/* The filters of a whitened stem. */
#include "data/whitening.h"

#include <inttypes.h>
#include <stdlib.h>

/* The first images of a data set, and room for what comes with them. */
typedef struct first_images {
    svit_loader *loader;
    float *images;   /* [n, input_height, input_width, in_channels] */
    int32_t *labels; /* [n]; NULL: the images have targets */
    float *targets;  /* [n, classes]; NULL: they have labels */
    size_t n;
} first_images;

/* Opens a loader of `self->n` images. Filters are those of the model's input, so a pipeline that
 * evaluates larger images brings them to its size. */
static svit_status open_loader(first_images *self, struct program *program, svit_dataset *train,
                               const svit_pipeline_config *pipeline)
{
    svit_pipeline_config resized = *pipeline;
    svit_loader_config config;
    if (resized.evaluation == SVIT_EVALUATE_KEEP)
        resized.evaluation = SVIT_EVALUATE_RESIZE;
    TRY(svit_loader_config_init(&config, sizeof config));
    config.batch = (uint32_t)self->n;
    config.prefetch = 0;
    return svit_loader_create(&self->loader, train, &resized, &config, &program->err);
}

/* Fails unless the images of the loader, of `channels`, are inputs of the model. */
static svit_status check_size(const first_images *self, struct program *program, size_t channels,
                              const svit_model_config *config)
{
    const size_t height = svit_loader_height(self->loader), width = svit_loader_width(self->loader);
    if (height == config->input_height && width == config->input_width &&
        channels == config->in_channels)
        return SVIT_OK;
    return program_fail(program, SVIT_E_ARGUMENT,
                        "the images are %zu x %zu x %zu; a whitened stem takes those of the "
                        "model's input, %" PRIu32 " x %" PRIu32 " x %" PRIu32,
                        height, width, channels, config->input_height, config->input_width,
                        config->in_channels);
}

static svit_status allocate(first_images *self, struct program *program, size_t image,
                            size_t classes)
{
    self->images = calloc(self->n, image * sizeof *self->images);
    if (svit_loader_has_targets(self->loader))
        self->targets = calloc(self->n, classes * sizeof *self->targets);
    else
        self->labels = calloc(self->n, sizeof *self->labels);
    return self->images && (self->labels || self->targets)
               ? SVIT_OK
               : program_fail(program, SVIT_E_MEMORY, "no memory for %zu images", self->n);
}

/* Reads the images. What comes with them is left unread. */
static svit_status read_images(first_images *self, struct program *program, svit_dataset *train,
                               const svit_pipeline_config *pipeline,
                               const svit_model_config *config)
{
    const size_t image = (size_t)config->input_height * config->input_width * config->in_channels;
    TRY(open_loader(self, program, train, pipeline));
    TRY(check_size(self, program, svit_dataset_channels(train), config));
    TRY(allocate(self, program, image, svit_dataset_classes(train)));
    return self->targets ? svit_loader_next_targets(self->loader, self->images, self->targets,
                                                    &self->n, &program->err)
                         : svit_loader_next(self->loader, self->images, self->labels, &self->n,
                                            &program->err);
}

svit_status whiten(struct program *program, svit_model *model, svit_dataset *train,
                   const svit_pipeline_config *pipeline)
{
    enum { IMAGES = 2000 };
    const size_t count = svit_dataset_count(train);
    first_images first = {.n = count < IMAGES ? count : IMAGES};
    svit_model_config config;
    TRY(svit_model_get_config(model, &config, sizeof config, &program->err));
    svit_status status = read_images(&first, program, train, pipeline, &config);
    if (status == SVIT_OK)
        status = svit_model_whiten(model, first.images, first.n, &program->err);
    free(first.targets);
    free(first.labels);
    free(first.images);
    svit_loader_free(first.loader);
    return status;
}
