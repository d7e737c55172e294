/* Reads every sample of a dataset in rounds, which the workers share. */
#include "data/datasets/samples.h"

#include "base/size.h"
#include "data/checks.h"

/* Samples that the workers read before the calling thread looks at their errors: enough to keep all
 * of them busy, and few enough that a stop takes effect soon. */
enum { ROUND = 128 };

typedef struct sample_round {
    const sv_sample_reader *reader;
    char *images; /* one for each worker, `bytes` long: an image, and then targets in its place */
    size_t bytes;
    size_t first; /* the first sample */
    svit_error errors[ROUND];
} sample_round;

/* The samples of a whole round. */
static size_t round_of(const svit_dataset *dataset)
{
    return sv_size_min(dataset->count, dataset->caller_thread_only ? 1 : ROUND);
}

uint32_t sv_samples_workers(const svit_dataset *dataset)
{
    return sv_pool_workers(dataset->context->pool, round_of(dataset));
}

/* Reads what a sample has beside its image, from where it has that. */
static svit_status read_answer(const svit_dataset *dataset, size_t index, void *targets,
                               svit_error *err)
{
    int32_t label;
    if (dataset->has_targets)
        return dataset->ops->targets(dataset, index, targets, err);
    return dataset->label_needs_image ? SVIT_OK : dataset->ops->label(dataset, index, &label, err);
}

static void read_task(void *argument, size_t task, uint32_t worker)
{
    sample_round *self = argument;
    const sv_sample_reader *reader = self->reader;
    const svit_dataset *dataset = reader->dataset;
    int32_t label = 0;
    svit_error *err = &self->errors[task];
    *err = (svit_error){.struct_size = sizeof *err};
    char *image = self->images + worker * self->bytes;
    err->code = dataset->ops->sample(dataset, self->first + task, NULL, image, &label, err);
    if (err->code == SVIT_OK && reader->take)
        reader->take(reader->user, image, worker);
    if (err->code == SVIT_OK && reader->with_answers)
        err->code = read_answer(dataset, self->first + task, image, err);
}

static svit_status read_all(sample_round *self, svit_error *err)
{
    const sv_sample_reader *reader = self->reader;
    const svit_dataset *dataset = reader->dataset;
    for (size_t count; self->first < dataset->count; self->first += count) {
        SVIT_TRY(sv_context_go_on(dataset->context, err));
        count = sv_size_min(dataset->count - self->first, round_of(dataset));
        if (dataset->caller_thread_only)
            read_task(self, 0, 0);
        else
            sv_pool_run(dataset->context->pool, read_task, self, count);
        for (size_t i = 0; i < count; i++)
            if (self->errors[i].code != SVIT_OK)
                SVIT_TRY(reader->refuse(reader->user, self->first + i, &self->errors[i], err));
    }
    return SVIT_OK;
}

/* Bytes that hold an image, or the targets of a sample if these are read, in whole floats. */
static size_t buffer_bytes(const sv_sample_reader *reader)
{
    const svit_dataset *dataset = reader->dataset;
    const size_t image = sv_dataset_image_bytes(dataset);
    const size_t floats = (image + sizeof(float) - 1) / sizeof(float);
    const size_t targets = reader->with_answers && dataset->has_targets ? dataset->classes : 0;
    return sv_size_times(targets > floats ? targets : floats, sizeof(float));
}

svit_status sv_samples_read(const sv_sample_reader *reader, svit_error *err)
{
    const svit_dataset *dataset = reader->dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    const size_t workers = sv_samples_workers(dataset), bytes = buffer_bytes(reader);
    sample_round *self = NULL;
    svit_status status =
        sv_allocate_array(allocator, (void **)&self, 1, sizeof *self, "a round of samples", err);
    if (status != SVIT_OK)
        return status;
    self->reader = reader;
    self->bytes = bytes;
    status = sv_allocate_uncleared(allocator, (void **)&self->images, workers, bytes,
                                   "the images of a round", err);
    if (status == SVIT_OK) {
        status = read_all(self, err);
        sv_release(allocator, self->images, workers * bytes);
    }
    sv_release(allocator, self, sizeof *self);
    return status;
}
