/* Loaders: their configuration, a position in the epochs, and the batches from there on, made on
 * demand or prefetched. */
#include <shiftvit/loader.h>

#include "base/threads/fp_env.h"
#include "data/augmentation/pipeline_config.h"
#include "data/checks.h"
#include "data/loading/batcher.h"
#include "data/loading/prefetch.h"

#define FIELD(field, kind) SV_FIELD(svit_loader_config, field, kind)

static const sv_field FIELDS[] = {
    {FIELD(batch, U32), .min = 1, .max = 65536},
    {FIELD(seed, U64)},
    {FIELD(shuffle, FLAG)},
    {FIELD(augment, FLAG)},
    {FIELD(prefetch, U32), .max = 16},
    {FIELD(sampling, WORD),
     .words =
         (sv_words){[SVIT_SAMPLING_SHUFFLE] = "shuffle", [SVIT_SAMPLING_BALANCED] = "balanced"}},
    {FIELD(leaves, U32), .max = 65536},
    {FIELD(rank, U32), .max = 65535},
    {FIELD(ranks, U32), .min = 1, .max = 65536},
    {FIELD(shuffle_window, U32), .max = UINT32_MAX},
};
static const svit_loader_config DEFAULTS = {.batch = 256, .prefetch = 2, .ranks = 1};

static svit_status check(const void *checked, svit_error *err)
{
    const svit_loader_config *config = checked;
    const uint32_t leaves = config->leaves ? config->leaves : 1;
    if (config->ranks > leaves)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "ranks is %u; 1 to %u, the number of leaves, are accepted", config->ranks,
                       leaves);
    if (config->rank >= config->ranks)
        return sv_fail(err, SVIT_E_ARGUMENT, "rank is %u; 0 to ranks - 1 = %u are accepted",
                       config->rank, config->ranks - 1);
    if (config->shuffle_window > 0 && config->sampling != SVIT_SAMPLING_SHUFFLE)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "shuffle_window is %u and sampling is 'balanced', which takes samples from "
                       "everywhere; 0 or sampling 'shuffle' is accepted",
                       config->shuffle_window);
    return SVIT_OK;
}

static const sv_config_type TYPE = {
    SV_CONFIG(svit_loader_config, FIELDS, "the loader configuration"),
    .table.prefix = "svit_loader_config",
    .min_size = offsetof(svit_loader_config, leaves),
    .defaults = &DEFAULTS,
    .null_is_default = true,
    .check = check};

SV_CONFIG_FUNCTIONS(svit_loader_config, TYPE)

/* One past the last epoch that svit_loader_seek accepts. The random streams have room for 2^52. */
static const uint64_t EPOCH_LIMIT = (uint64_t)1 << 52;

struct svit_loader {
    svit_context *context;
    sv_batcher *batcher;
    sv_prefetch *prefetch; /* NULL: batches are made on the caller's thread */
    int32_t *labels;       /* [largest] of a batch, from which svit_loader_next_targets makes the
                              targets */
    size_t largest;        /* samples of the largest batch */
    bool epochs_differ;    /* shuffled or augmented */
    uint64_t epoch;
    uint64_t batch; /* the next batch; at the end of an epoch it is svit_loader_batches */
};

static svit_status create_batcher(svit_loader *loader, svit_dataset *dataset,
                                  const svit_pipeline_config *pipeline,
                                  const svit_loader_config *config, svit_error *err)
{
    SVIT_TRY(sv_batcher_create(&loader->batcher, dataset, pipeline, config, err));
    const sv_allocator *allocator = &loader->context->allocator;
    loader->largest = sv_batcher_samples_max(loader->batcher);
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(allocator, &memory, loader->largest, sizeof *loader->labels,
                               "a batch", err));
    loader->labels = memory;
    if (config->prefetch == 0 || dataset->caller_thread_only)
        return SVIT_OK;
    return sv_prefetch_create(&loader->prefetch, allocator, loader->batcher, config->prefetch,
                              loader->largest, err);
}

SVIT_API svit_status svit_loader_create(svit_loader **out, svit_dataset *dataset,
                                        const svit_pipeline_config *pipeline,
                                        const svit_loader_config *config, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(dataset);
    SV_REQUIRE(pipeline);
    SVIT_TRY(svit_context_check(dataset->context, err));
    svit_pipeline_config local_pipeline;
    svit_loader_config local;
    SVIT_TRY(sv_config_read(&sv_pipeline_config_type, &local_pipeline, pipeline, err));
    SVIT_TRY(sv_config_read(&TYPE, &local, config, err));
    SVIT_TRY(sv_check_range(__func__, "count of the dataset", dataset->count, 1, UINT32_MAX, err));
    svit_loader *loader = sv_allocate(&dataset->context->allocator, sizeof *loader);
    if (!loader)
        return sv_fail_memory(err, sizeof *loader, "a loader");
    *loader = (svit_loader){
        .context = sv_context_retain(dataset->context),
        .epochs_differ = local.shuffle || local.augment,
    };
    svit_status status = create_batcher(loader, dataset, &local_pipeline, &local, err);
    if (status != SVIT_OK) {
        svit_loader_free(loader);
        return status;
    }
    *out = loader;
    return SVIT_OK;
}

SVIT_API void svit_loader_free(svit_loader *loader)
{
    if (!loader)
        return;
    svit_context *context = loader->context;
    sv_prefetch_free(loader->prefetch);
    sv_batcher_free(loader->batcher);
    sv_release(&context->allocator, loader->labels, loader->largest * sizeof *loader->labels);
    sv_release(&context->allocator, loader, sizeof *loader);
    svit_context_free(context);
}

SVIT_API size_t svit_loader_height(const svit_loader *loader)
{
    return loader ? sv_batcher_height(loader->batcher) : 0;
}

SVIT_API size_t svit_loader_width(const svit_loader *loader)
{
    return loader ? sv_batcher_width(loader->batcher) : 0;
}

SVIT_API uint64_t svit_loader_batches(const svit_loader *loader)
{
    return loader ? sv_batcher_batches(loader->batcher) : 0;
}

SVIT_API int32_t svit_loader_has_targets(const svit_loader *loader)
{
    return loader ? sv_batcher_has_targets(loader->batcher) : 0;
}

/* Makes or takes the next batch; *n is 0 at the end of an epoch. */
static svit_status next_batch(svit_loader *loader, float *images, const sv_batch_targets *to,
                              size_t *n, svit_error *err)
{
    SVIT_TRY(svit_context_check(loader->context, err));
    if (loader->batch == sv_batcher_batches(loader->batcher)) {
        loader->epoch++;
        loader->batch = 0;
        *n = 0;
        return SVIT_OK;
    }
    if (loader->prefetch)
        SVIT_TRY(sv_prefetch_take(loader->prefetch, loader->epoch, loader->batch, images, to, err));
    else
        SVIT_TRY(sv_batcher_make(loader->batcher, loader->epoch, loader->batch, images, to, NULL, 0,
                                 err));
    *n = sv_batcher_samples(loader->batcher, loader->batch++);
    return SVIT_OK;
}

SVIT_API svit_status svit_loader_next(svit_loader *loader, float *images, int32_t *labels,
                                      size_t *n, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(loader);
    SV_REQUIRE(images);
    SV_REQUIRE(labels);
    SV_REQUIRE(n);
    if (sv_batcher_has_targets(loader->batcher))
        return sv_fail(err, SVIT_E_STATE,
                       "%s: the batches have targets instead of labels, from the dataset or by "
                       "mixing; svit_loader_next_targets reads them",
                       __func__);
    const sv_batch_targets to = {.labels = labels};
    return next_batch(loader, images, &to, n, err);
}

SVIT_API svit_status svit_loader_next_targets(svit_loader *loader, float *images, float *targets,
                                              size_t *n, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(loader);
    SV_REQUIRE(images);
    SV_REQUIRE(targets);
    SV_REQUIRE(n);
    const sv_batch_targets to = {loader->labels, targets};
    SVIT_TRY(next_batch(loader, images, &to, n, err));
    if (!sv_batcher_has_targets(loader->batcher))
        sv_labels_expand(targets, loader->labels, *n, sv_batcher_classes(loader->batcher));
    return SVIT_OK;
}

/* Whether the batches from `batch` of `epoch` on are those that the loader stands before. The end
 * of an epoch is the start of the next one. */
static bool stands_at(const svit_loader *loader, uint64_t epoch, uint64_t batch)
{
    const uint64_t batches = sv_batcher_batches(loader->batcher);
    const bool ended = loader->batch == batches, ends = batch == batches;
    return (ended ? 0 : loader->batch) == (ends ? 0 : batch) &&
           (loader->epoch + ended == epoch + ends || !loader->epochs_differ);
}

SVIT_API svit_status svit_loader_seek(svit_loader *loader, uint64_t epoch, uint64_t batch,
                                      svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(loader);
    SVIT_TRY(svit_context_check(loader->context, err));
    uint64_t batches = sv_batcher_batches(loader->batcher);
    if (epoch >= EPOCH_LIMIT)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: epoch is %llu; 0..%llu are accepted", __func__,
                       (unsigned long long)epoch, (unsigned long long)(EPOCH_LIMIT - 1));
    if (batch > batches)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: batch is %llu; 0..%llu are accepted", __func__,
                       (unsigned long long)batch, (unsigned long long)batches);
    if (loader->prefetch && !stands_at(loader, epoch, batch))
        sv_prefetch_drop(loader->prefetch);
    loader->epoch = epoch;
    loader->batch = batch;
    return SVIT_OK;
}
