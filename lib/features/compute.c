/* Computes the features of a dataset with a model. */
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "features/extractor.h"
#include "features/features.h"

#include <shiftvit/loader.h>

/* One computation. */
typedef struct computation {
    svit_extractor *extractor;
    svit_loader *loader;
    int32_t *labels; /* of a batch */
    float *targets;  /* of a batch, if the dataset has no labels; else NULL */
    sv_arrays arrays;
} computation;

static svit_status create_loader(computation *self, svit_dataset *dataset, svit_error *err)
{
    const svit_extractor *extractor = self->extractor;
    svit_loader_config loader;
    SVIT_TRY(svit_loader_config_init(&loader, sizeof loader));
    loader.batch = extractor->config.batch;
    if (svit_context_threads(extractor->context) == 1)
        loader.prefetch = 0; /* who asks for one thread gets no second one */
    return svit_loader_create(&self->loader, dataset, &extractor->pipeline, &loader, err);
}

static svit_status allocate(computation *self, const svit_dataset *dataset, svit_error *err)
{
    const size_t batch = self->extractor->config.batch, classes = svit_dataset_classes(dataset);
    if (!svit_dataset_has_targets(dataset))
        return sv_arrays_add(&self->arrays, &self->labels, batch, sizeof *self->labels,
                             "the labels of a batch", err);
    return sv_arrays_add(&self->arrays, &self->targets, batch,
                         sv_size_times(classes, sizeof *self->targets), "the targets of a batch",
                         err);
}

static svit_status next_batch(const computation *self, size_t *n, svit_error *err)
{
    float *inputs = self->extractor->inputs;
    if (self->targets)
        return svit_loader_next_targets(self->loader, inputs, self->targets, n, err);
    return svit_loader_next(self->loader, inputs, self->labels, n, err);
}

/* Fills the samples of image `done` and following images. *n becomes their number, 0 at the
 * end. */
static svit_status compute_batch(const computation *self, svit_features *out, size_t done,
                                 size_t *n, svit_error *err)
{
    svit_extractor *extractor = self->extractor;
    const size_t samples = sv_shape_tokens(extractor->grid);
    SVIT_TRY(sv_context_go_on(extractor->context, err));
    SVIT_TRY(next_batch(self, n, err));
    if (*n == 0)
        return SVIT_OK;
    SVIT_TRY(
        sv_extractor_forward(extractor, *n, out->values + done * samples * out->channels, err));
    for (size_t i = 0; self->labels && i < *n * samples; i++)
        out->labels[done * samples + i] = self->labels[i / samples];
    return SVIT_OK;
}

static svit_status compute_all(const computation *self, svit_features *out, svit_error *err)
{
    const size_t images = out->count / sv_shape_tokens(self->extractor->grid);
    size_t n = 1;
    for (size_t done = 0; n > 0 && done < images; done += n)
        SVIT_TRY(compute_batch(self, out, done, &n, err));
    return SVIT_OK;
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

static svit_status fill(const computation *self, svit_features *out, const svit_dataset *dataset,
                        svit_error *err)
{
    const svit_extractor *extractor = self->extractor;
    char description[SV_MODEL_DESCRIPTION];
    out->tokens = sv_extractor_tokens(extractor);
    out->grid_height = extractor->grid.height;
    out->grid_width = extractor->grid.width;
    SVIT_TRY(copy_names(out, dataset, err));
    sv_model_describe(description, extractor->model);
    SVIT_TRY(sv_features_set_text(out, &out->model, description, err));
    SVIT_TRY(sv_features_set_text(out, &out->layer, extractor->layer, err));
    return compute_all(self, out, err);
}

static svit_status compute(computation *self, svit_features **out, svit_dataset *dataset,
                           svit_error *err)
{
    const svit_extractor *extractor = self->extractor;
    svit_features *made;
    size_t count;
    const size_t classes = svit_dataset_has_targets(dataset) ? 0 : svit_dataset_classes(dataset);
    SVIT_TRY(create_loader(self, dataset, err));
    SVIT_TRY(allocate(self, dataset, err));
    if (!sv_size_multiply(&count, svit_dataset_count(dataset), sv_shape_tokens(extractor->grid)))
        return sv_fail(err, SVIT_E_MEMORY, "the patches of %zu images do not fit memory",
                       svit_dataset_count(dataset));
    SVIT_TRY(sv_features_open(&made, extractor->context, count, extractor->channels, classes, err));
    const svit_status status = fill(self, made, dataset, err);
    if (status == SVIT_OK)
        *out = made;
    else
        svit_features_free(made);
    return status;
}

static svit_status check_dataset(const svit_dataset *dataset, svit_error *err)
{
    const size_t classes = svit_dataset_has_targets(dataset) ? 0 : svit_dataset_classes(dataset);
    if (svit_dataset_count(dataset) == 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "the dataset has no images; at least 1 is needed");
    if (classes > SV_FEATURES_CLASSES)
        return sv_fail(err, SVIT_E_ARGUMENT, "the dataset has %zu classes; at most %d are accepted",
                       classes, SV_FEATURES_CLASSES);
    return SVIT_OK;
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
    computation self = {.extractor = NULL};
    svit_features_config local;
    SVIT_TRY(sv_config_read(&sv_features_config_type, &local, config, err));
    SVIT_TRY(check_dataset(dataset, err));
    local.batch = (uint32_t)sv_size_min(local.batch, svit_dataset_count(dataset));
    SVIT_TRY(svit_extractor_create(&self.extractor, model, pipeline, &local, err));
    self.arrays.allocator = &self.extractor->context->allocator;
    const svit_status status = compute(&self, out, dataset, err);
    svit_loader_free(self.loader);
    sv_arrays_free(&self.arrays);
    svit_extractor_free(self.extractor);
    return status;
}
