/* Reads every sample of a dataset to find those that cannot be read. */
#include "base/threads/fp_env.h"
#include "data/checks.h"
#include "data/datasets/samples.h"

typedef struct verification {
    svit_bad_sample_callback bad;
    void *user;
    size_t count; /* of bad samples */
} verification;

/* Reports a bad sample. SVIT_E_IO and SVIT_E_FORMAT mean one. Any other error, such as a lack of
 * memory or a stop by the callback, ends the call. */
static svit_status report(void *user, size_t index, const svit_error *found, svit_error *err)
{
    verification *self = user;
    if (found->code != SVIT_E_IO && found->code != SVIT_E_FORMAT)
        return sv_fail(err, found->code, "%s", found->message);
    self->count++;
    const int32_t stop = self->bad ? self->bad(index, found->code, found->message, self->user) : 0;
    if (stop != 0)
        return sv_fail(err, SVIT_E_STOPPED, "the callback returned %d at bad sample %zu", (int)stop,
                       index);
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_verify(const svit_dataset *dataset, svit_bad_sample_callback bad,
                                         void *user, size_t *bad_count, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(dataset);
    SVIT_TRY(svit_context_check(dataset->context, err));
    verification self = {bad, user, 0};
    SVIT_TRY(sv_samples_read(
        &(sv_sample_reader){
            .dataset = dataset, .refuse = report, .user = &self, .with_answers = true},
        err));
    if (bad_count)
        *bad_count = self.count;
    return SVIT_OK;
}
