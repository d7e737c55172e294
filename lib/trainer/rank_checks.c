/* Checks that the ranks of a run begin and go on with the same settings, data and weights: a rank
 * that has others would spoil the sums without a word. */
#include "base/numbers/hash.h"
#include "data/augmentation/pipeline_config.h"
#include "data/datasets/dataset_ops.h"
#include "trainer/trainer.h"

#include <shiftvit/version.h>

#include <string.h>

/* A 64-bit hash in which a single other bit shows; equal hashes do not prove that two arrays are
 * equal. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = mix(hash, (unsigned char)*text);
    return hash;
}

static uint64_t hash_weights(const svit_model *model)
{
    uint64_t hash = model->parameters.elements;
    for (size_t i = 0; i < model->parameters.elements; i++) {
        uint32_t bits = 0;
        memcpy(&bits, &model->weights[i], sizeof bits);
        hash = mix(hash, bits);
    }
    return hash;
}

/* Writes a configuration as JSON, as svit_training_to_json does. */
typedef svit_status (*write_json)(const svit_trainer *trainer, char *buffer, size_t capacity,
                                  size_t *needed, svit_error *err);

/* The settings but for those of a single process: folder, description, what becomes of an older
 * run; and for what may follow from the images: mean and variance, and what is counted in steps. */
static svit_status write_settings(const svit_trainer *trainer, char *buffer, size_t capacity,
                                  size_t *needed, svit_error *err)
{
    svit_pipeline_config pipeline = trainer->pipeline;
    for (size_t c = 0; c < SVIT_MAX_CHANNELS; c++)
        pipeline.mean[c] = pipeline.variance[c] = 1;
    svit_optimizer_config optimizer = trainer->optimizer_config;
    if (trainer->schedule_epochs > 0) {
        optimizer.total_steps = 0;
        optimizer.warmup_steps = trainer->warmup_steps;
    }
    if (optimizer.swa_every == trainer->steps)
        optimizer.swa_every = 0;
    return svit_training_to_json(&trainer->config, &optimizer, &pipeline, buffer, capacity, needed,
                                 err);
}

static uint64_t hash_statistics(const svit_pipeline_config *pipeline)
{
    const size_t bytes = sv_pipeline_means(pipeline->channels) * sizeof *pipeline->mean;
    const uint64_t hash = sv_fnv_bytes(SV_FNV_BASIS, pipeline->mean, bytes);
    return sv_fnv_bytes(hash, pipeline->variance, bytes);
}

static svit_status write_model(const svit_trainer *trainer, char *buffer, size_t capacity,
                               size_t *needed, svit_error *err)
{
    return svit_model_config_to_json(&trainer->model->config, buffer, capacity, needed, err);
}

static svit_status hash_json(const svit_trainer *trainer, write_json write, uint64_t *hash,
                             svit_error *err)
{
    const sv_allocator *allocator = &trainer->context->allocator;
    size_t needed = 0;
    SVIT_TRY(write(trainer, NULL, 0, &needed, err));
    char *text;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&text, needed, 1, "the settings' text", err));
    svit_status status = write(trainer, text, needed, &needed, err);
    if (status == SVIT_OK)
        *hash = hash_text(needed, text);
    sv_release(allocator, text, needed);
    return status;
}

/* Which parameters are frozen: a rank has gradients of the others, and all ranks need the same. */
static uint64_t hash_frozen(const svit_model *model)
{
    uint64_t hash = model->parameters.count;
    for (size_t i = 0; i < model->parameters.count; i++)
        hash = mix(hash, model->parameters.list[i].frozen);
    return hash;
}

/* Each rank computes the update itself. Muon's has matmuls in it, whose bits are those of the
 * kernels, so that weights would drift apart. The other rules round alike everywhere. */
static uint64_t hash_kernels(const svit_trainer *trainer)
{
    const svit_context *context = trainer->context;
    if (trainer->optimizer_config.kind != SVIT_OPTIMIZER_MUON)
        return 0;
    return hash_text(hash_text(1, sv_isa_name(context->kernels->isa)), context->gemm->name);
}

/* Hashes all labels of a dataset, which may be NULL: its fingerprint has those of a few samples. */
static svit_status hash_labels(const svit_dataset *dataset, uint64_t *hash, svit_error *err)
{
    *hash = 0;
    return dataset ? sv_dataset_hash_labels(dataset, hash, err) : SVIT_OK;
}

svit_status sv_trainer_check_start(svit_trainer *trainer, const svit_dataset *training,
                                   const svit_dataset *validation, svit_error *err)
{
    /* A model's classes, means and weights may follow from the data, so these come first. */
    static const char *const NAMES[] = {"versions of the library",
                                        "settings",
                                        "training data",
                                        "validation data",
                                        "labels in the training data",
                                        "labels in the validation data",
                                        "means or variances of pixels",
                                        "values in the model's configuration",
                                        "weights",
                                        "frozen parameters",
                                        "kernels (the CPU's instruction set or the GEMM backend)"};
    if (trainer->ranks.reducer.ranks == 1)
        return SVIT_OK;
    uint64_t settings, model, labels, validation_labels;
    SVIT_TRY(hash_json(trainer, write_settings, &settings, err));
    SVIT_TRY(hash_json(trainer, write_model, &model, err));
    SVIT_TRY(hash_labels(training, &labels, err));
    SVIT_TRY(hash_labels(validation, &validation_labels, err));
    const uint64_t values[] = {hash_text(1, svit_version_string()),
                               settings,
                               trainer->training_fingerprint,
                               trainer->validation_fingerprint,
                               labels,
                               validation_labels,
                               hash_statistics(&trainer->pipeline),
                               model,
                               hash_weights(trainer->model),
                               hash_frozen(trainer->model),
                               hash_kernels(trainer)};
    return sv_ranks_check_same(&trainer->ranks, NAMES, values, sizeof values / sizeof *values, err);
}

svit_status sv_trainer_check_resumed(svit_trainer *trainer, svit_error *err)
{
    static const char *const NAMES[] = {"completed epochs", "completed steps", "weights"};
    if (trainer->ranks.reducer.ranks == 1)
        return SVIT_OK;
    const uint64_t values[] = {trainer->progress.epoch, trainer->progress.position,
                               hash_weights(trainer->model)};
    return sv_ranks_check_same(&trainer->ranks, NAMES, values, sizeof values / sizeof *values, err);
}

svit_status sv_trainer_check_epoch(svit_trainer *trainer, svit_error *err)
{
    static const char *const NAMES[] = {"weights at the end of an epoch"};
    if (trainer->ranks.reducer.ranks == 1)
        return SVIT_OK;
    const uint64_t weights = hash_weights(trainer->model);
    return sv_ranks_check_same(&trainer->ranks, NAMES, &weights, 1, err);
}
