/* Reading every sample of a dataset to find those that cannot be read. */
#include "data/checks.h"
#include "data/dataset_ops.h"

/* Samples that the workers read before the calling thread reports: enough to keep them all busy,
 * few enough that a stop is soon. */
enum { ROUND = 128 };

typedef struct verification {
    const svit_dataset *dataset;
    uint8_t *rgb; /* one sample for each worker */
    size_t first; /* sample of the round */
    svit_error errors[ROUND];
} verification;

static void verify_task(void *argument, size_t task, uint32_t worker)
{
    verification *own = argument;
    int32_t label;
    svit_error *err = &own->errors[task];
    *err = (svit_error){.struct_size = sizeof *err};
    uint8_t *rgb = own->rgb + worker * sv_dataset_image_bytes(own->dataset);
    err->code = svit_dataset_sample(own->dataset, own->first + task, rgb, &label, err);
}

/* The report of a round, in the order of samples. A sample is bad where its file is; memory that
 * runs out, or a callback's own stop, says nothing about the sample and ends the call. */
static svit_status round_report(const verification *own, size_t count, svit_bad_sample_callback bad,
                                void *user, size_t *bad_count, svit_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const svit_error *found = &own->errors[i];
        size_t index = own->first + i;
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

static svit_status verify(verification *own, svit_bad_sample_callback bad, void *user,
                          size_t *bad_count, svit_error *err)
{
    const svit_dataset *dataset = own->dataset;
    const size_t most = dataset->caller_thread_only ? 1 : ROUND;
    for (; own->first < dataset->count; own->first += most) {
        size_t left = dataset->count - own->first;
        size_t count = left < most ? left : most;
        if (dataset->caller_thread_only)
            verify_task(own, 0, 0);
        else
            sv_pool_run(dataset->context->pool, verify_task, own, count);
        SVIT_TRY(round_report(own, count, bad, user, bad_count, err));
    }
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_verify(const svit_dataset *dataset, svit_bad_sample_callback bad,
                                         void *user, size_t *bad_count, svit_error *err)
{
    SV_REQUIRE(dataset);
    SVIT_TRY(svit_context_check(dataset->context, err));
    const sv_allocator *allocator = &dataset->context->allocator;
    const size_t workers = sv_pool_threads(dataset->context->pool);
    const size_t bytes = workers * sv_dataset_image_bytes(dataset);
    size_t count = 0;
    verification *own = sv_allocate(allocator, sizeof *own);
    uint8_t *rgb = sv_allocate(allocator, bytes);
    svit_status status = SVIT_OK;
    if (own && rgb) {
        own->dataset = dataset;
        own->rgb = rgb;
        own->first = 0;
        status = verify(own, bad, user, &count, err);
    } else {
        status = sv_fail_memory(err, bytes + sizeof *own, "the images of a verification");
    }
    sv_release(allocator, rgb, bytes);
    sv_release(allocator, own, sizeof *own);
    if (status == SVIT_OK && bad_count)
        *bad_count = count;
    return status;
}
