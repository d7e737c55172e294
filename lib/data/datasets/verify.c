/* Reads every sample of a dataset to find those that cannot be read. */
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "data/checks.h"
#include "data/datasets/dataset_ops.h"

/* Samples that the workers read before the calling thread reports: enough to keep all of them busy,
 * and few enough that a stop takes effect soon. */
enum { ROUND = 128 };

typedef struct verification {
    const svit_dataset *dataset;
    uint8_t *pixels; /* one image for each worker */
    size_t first;    /* the first sample of the round */
    svit_error errors[ROUND];
} verification;

static size_t round_of(const svit_dataset *dataset)
{
    return dataset->caller_thread_only ? 1 : ROUND;
}

static void verify_task(void *argument, size_t task, uint32_t worker)
{
    verification *self = argument;
    int32_t label;
    svit_error *err = &self->errors[task];
    *err = (svit_error){.struct_size = sizeof *err};
    const svit_dataset *dataset = self->dataset;
    uint8_t *pixels = self->pixels + worker * sv_dataset_image_bytes(dataset);
    err->code = dataset->ops->sample(dataset, self->first + task, NULL, pixels, &label, err);
}

/* Reports the bad samples of a round in order. SVIT_E_IO and SVIT_E_FORMAT mean a bad sample. Any
 * other error, such as a lack of memory or a stop by the callback, ends the call. */
static svit_status round_report(const verification *self, size_t count,
                                svit_bad_sample_callback bad, void *user, size_t *bad_count,
                                svit_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const svit_error *found = &self->errors[i];
        size_t index = self->first + i;
        if (found->code == SVIT_OK)
            continue;
        if (found->code != SVIT_E_IO && found->code != SVIT_E_FORMAT)
            return sv_fail(err, found->code, "%s", found->message);
        ++*bad_count;
        int32_t stop = bad ? bad(index, found->code, found->message, user) : 0;
        if (stop != 0)
            return sv_fail(err, SVIT_E_STOPPED, "the callback returned %d at bad sample %zu",
                           (int)stop, index);
    }
    return SVIT_OK;
}

static svit_status verify(verification *self, svit_bad_sample_callback bad, void *user,
                          size_t *bad_count, svit_error *err)
{
    const svit_dataset *dataset = self->dataset;
    const size_t round = round_of(dataset);
    for (size_t count; self->first < dataset->count; self->first += count) {
        SVIT_TRY(sv_context_go_on(dataset->context, err));
        count = sv_size_min(dataset->count - self->first, round);
        if (dataset->caller_thread_only)
            verify_task(self, 0, 0);
        else
            sv_pool_run(dataset->context->pool, verify_task, self, count);
        SVIT_TRY(round_report(self, count, bad, user, bad_count, err));
    }
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_verify(const svit_dataset *dataset, svit_bad_sample_callback bad,
                                         void *user, size_t *bad_count, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(dataset);
    SVIT_TRY(svit_context_check(dataset->context, err));
    const sv_allocator *allocator = &dataset->context->allocator;
    const size_t tasks = sv_size_min(dataset->count, round_of(dataset));
    const size_t workers = sv_pool_workers(dataset->context->pool, tasks);
    size_t count = 0, bytes;
    if (!sv_size_multiply(&bytes, workers, sv_dataset_image_bytes(dataset)))
        return sv_fail_memory(err, SIZE_MAX, "the images of a verification");
    verification *self = sv_allocate(allocator, sizeof *self);
    uint8_t *pixels = sv_allocate(allocator, bytes);
    svit_status status = SVIT_OK;
    if (self && pixels) {
        self->dataset = dataset;
        self->pixels = pixels;
        self->first = 0;
        status = verify(self, bad, user, &count, err);
    } else {
        status = sv_fail_memory(err, bytes + sizeof *self, "the images of a verification");
    }
    sv_release(allocator, pixels, bytes);
    sv_release(allocator, self, sizeof *self);
    if (status == SVIT_OK && bad_count)
        *bad_count = count;
    return status;
}
