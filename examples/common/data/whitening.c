/* The filters of a whitened stem. */
#include "data/whitening.h"

#include <stdlib.h>

svit_status whiten(struct program *program, svit_model *model, svit_dataset *train,
                   const svit_pipeline_config *pipeline)
{
    enum { IMAGES = 2000 };
    svit_model_config config;
    svit_loader_config loader_config;
    svit_loader *loader = NULL;
    size_t n = svit_dataset_count(train) < IMAGES ? svit_dataset_count(train) : IMAGES;
    TRY(svit_model_get_config(model, &config, sizeof config, &program->err));
    size_t image = (size_t)config.input_height * config.input_width * config.in_channels;
    TRY(svit_loader_config_init(&loader_config, sizeof loader_config));
    loader_config.batch = (uint32_t)n;
    loader_config.prefetch = 0;
    TRY(svit_loader_create(&loader, train, pipeline, &loader_config, &program->err));
    float *images = calloc(n, image * sizeof *images);
    int32_t *labels = calloc(n, sizeof *labels);
    svit_status status = images && labels
                             ? svit_loader_next(loader, images, labels, &n, &program->err)
                             : program_fail(program, SVIT_E_MEMORY, "no memory for %zu images", n);
    if (status == SVIT_OK)
        status = svit_model_whiten(model, images, n, &program->err);
    free(labels);
    free(images);
    svit_loader_free(loader);
    return status;
}
