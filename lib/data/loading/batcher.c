/* Makes batches: chooses the samples, reads them, and sends them through the pipeline. */
#include "data/loading/batcher.h"

#include "base/arrays.h"
#include "base/numbers/random.h"
#include "base/size.h"
#include "data/augmentation/mix.h"
#include "data/augmentation/pipeline_config.h"
#include "data/augmentation/source.h"
#include "data/augmentation/step_fields.h"
#include "data/augmentation/steps.h"
#include "data/checks.h"
#include "data/loading/balance.h"
#include "data/loading/order.h"

#include <stdio.h>
#include <string.h>

struct sv_batcher {
    svit_dataset *dataset;
    svit_loader_config config;
    svit_pipeline_config pipeline;
    sv_pipeline *plan;
    sv_image_shape shape; /* of the images that the plan takes */
    bool mixes, has_targets;
    bool cuts;           /* the resized crop that the steps begin with is run before the plan */
    sv_balance *balance; /* NULL unless sampling is balanced */
    sv_order rule;       /* what the order of an epoch follows */
    uint32_t *order;     /* of epoch order_epoch, if has_order */
    uint64_t order_epoch;
    bool has_order;
    void *pixels;   /* one sample, as the plan takes it */
    void *whole;    /* one sample before its resized crop; NULL: there is none, or a file's image is
                       cut where it is decoded */
    float *scratch; /* of the plan */
    float *partner; /* image and targets of a sample of another rank that is mixed in; NULL: samples
                       are not mixed, or all are made here */
    sv_arrays arrays;                      /* order, pixels, whole, scratch and partner */
    uint64_t leaves, first_leaf, end_leaf; /* leaves of a batch, of which first_leaf..end_leaf - 1
                                              are made here */
};

static const sv_allocator *allocator_of(const sv_batcher *batcher)
{
    return &batcher->dataset->context->allocator;
}

static uint32_t sample_count(const sv_batcher *batcher)
{
    return (uint32_t)batcher->dataset->count;
}

/* The images that the plan takes: those of the dataset, or of the source size if resized crops
 * bring them there. */
static sv_image_shape plan_shape(const sv_batcher *batcher)
{
    sv_image_shape shape = sv_dataset_shape(batcher->dataset);
    if (batcher->cuts && !batcher->dataset->is_of_files) {
        shape.height = batcher->pipeline.source_height;
        shape.width = batcher->pipeline.source_width;
    }
    return shape;
}

/* Whether a resized crop takes the place of the source step. Where that has nothing to do, the crop
 * is one of the plan's steps. */
static bool cuts(const sv_batcher *batcher)
{
    const svit_dataset *dataset = batcher->dataset;
    const svit_pipeline_config *pipeline = &batcher->pipeline;
    return batcher->config.augment && !dataset->is_f32 && sv_augment_crops_first(pipeline) &&
           (dataset->is_of_files || dataset->height != pipeline->source_height ||
            dataset->width != pipeline->source_width);
}

/* Elements of the image and the targets of a partner. */
static size_t partner_elements(const sv_batcher *batcher)
{
    return sv_batcher_elements(batcher) + batcher->dataset->classes;
}

static svit_status buffers_create(sv_batcher *batcher, svit_error *err)
{
    const svit_dataset *dataset = batcher->dataset;
    const svit_pipeline_config *pipeline = &batcher->pipeline;
    sv_arrays *arrays = &batcher->arrays;
    batcher->shape = plan_shape(batcher);
    const sv_image_shape shape = batcher->shape;
    if (shape.channels != pipeline->channels)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the dataset's images have %zu channels; channels of the pipeline is %u, "
                       "and both are the same",
                       shape.channels, pipeline->channels);
    if (batcher->config.augment)
        SVIT_TRY(sv_augment_check_images(pipeline, &shape, err));
    SVIT_TRY(sv_pipeline_create(&batcher->plan, arrays->allocator, pipeline, shape.height,
                                shape.width, shape.is_f32, err));
    SVIT_TRY(sv_arrays_add(arrays, &batcher->order, dataset->count, sizeof *batcher->order,
                           "the order of an epoch", err));
    SVIT_TRY(sv_arrays_add(arrays, &batcher->pixels, sv_image_bytes(&shape), 1, "an image", err));
    if (batcher->cuts && !dataset->is_of_files)
        SVIT_TRY(sv_arrays_add(arrays, &batcher->whole, sv_dataset_image_bytes(dataset), 1,
                               "an image", err));
    SVIT_TRY(sv_arrays_add(arrays, &batcher->scratch, sv_pipeline_scratch(batcher->plan),
                           sizeof *batcher->scratch, "a pipeline's scratch", err));
    if (batcher->mixes && batcher->config.ranks > 1)
        SVIT_TRY(sv_arrays_add(arrays, &batcher->partner, partner_elements(batcher),
                               sizeof *batcher->partner, "an image", err));
    SVIT_TRY(sv_order_find_shards(&batcher->rule, dataset, err));
    if (batcher->config.shuffle && batcher->config.sampling == SVIT_SAMPLING_BALANCED)
        return sv_balance_create(&batcher->balance, dataset, err);
    return SVIT_OK;
}

svit_status sv_batcher_create(sv_batcher **out, svit_dataset *dataset,
                              const svit_pipeline_config *pipeline,
                              const svit_loader_config *config, svit_error *err)
{
    sv_batcher *batcher = sv_allocate(&dataset->context->allocator, sizeof *batcher);
    if (!batcher)
        return sv_fail_memory(err, sizeof *batcher, "a loader");
    const bool mixes = config->augment && sv_mix_in(pipeline);
    const uint64_t leaves = config->leaves ? config->leaves : 1;
    *batcher =
        (sv_batcher){.dataset = sv_dataset_retain(dataset),
                     .config = *config,
                     .pipeline = *pipeline,
                     .rule = {.count = (uint32_t)dataset->count,
                              .window = config->shuffle ? config->shuffle_window : 0,
                              .leaves = (uint32_t)leaves,
                              .batch = config->batch,
                              .repeats = config->augment ? sv_augment_repeats(pipeline) : 1},
                     .mixes = mixes,
                     .has_targets = mixes || dataset->has_targets,
                     .arrays.allocator = &dataset->context->allocator,
                     .leaves = leaves,
                     .first_leaf = sv_partition_begin(leaves, config->ranks, config->rank),
                     .end_leaf = sv_partition_begin(leaves, config->ranks, config->rank + 1)};
    batcher->cuts = cuts(batcher);
    svit_status status = buffers_create(batcher, err);
    if (status != SVIT_OK) {
        sv_batcher_free(batcher);
        return status;
    }
    *out = batcher;
    return SVIT_OK;
}

void sv_batcher_free(sv_batcher *batcher)
{
    if (!batcher)
        return;
    svit_dataset *dataset = batcher->dataset;
    const sv_allocator *allocator = batcher->arrays.allocator;
    sv_order_free(allocator, &batcher->rule);
    sv_balance_free(batcher->balance);
    sv_arrays_free(&batcher->arrays);
    sv_pipeline_free(batcher->plan);
    sv_release(allocator, batcher, sizeof *batcher);
    svit_dataset_free(dataset);
}

uint64_t sv_batcher_batches(const sv_batcher *batcher)
{
    uint64_t size = batcher->config.batch;
    return (sample_count(batcher) + size - 1) / size;
}

size_t sv_batcher_height(const sv_batcher *batcher)
{
    return sv_pipeline_height(batcher->plan, batcher->config.augment);
}

size_t sv_batcher_width(const sv_batcher *batcher)
{
    return sv_pipeline_width(batcher->plan, batcher->config.augment);
}

size_t sv_batcher_elements(const sv_batcher *batcher)
{
    return sv_batcher_height(batcher) * sv_batcher_width(batcher) * batcher->pipeline.channels;
}

/* Samples of a batch, those of all ranks together. */
static size_t whole_samples(const sv_batcher *batcher, uint64_t batch)
{
    return sv_size_at_most(sample_count(batcher) - batch * batcher->config.batch,
                           batcher->config.batch);
}

/* A range of the samples of a batch. */
typedef struct range {
    size_t first, end;
} range;

/* The samples that this rank makes of a batch of n samples. */
static range own_samples(const sv_batcher *batcher, size_t n)
{
    return (range){sv_size_partition(n, batcher->leaves, batcher->first_leaf),
                   sv_size_partition(n, batcher->leaves, batcher->end_leaf)};
}

size_t sv_batcher_samples(const sv_batcher *batcher, uint64_t batch)
{
    const range own = own_samples(batcher, whole_samples(batcher, batch));
    return own.end - own.first;
}

size_t sv_batcher_samples_max(const sv_batcher *batcher)
{
    const uint64_t own = batcher->end_leaf - batcher->first_leaf;
    return (size_t)((whole_samples(batcher, 0) * own + batcher->leaves - 1) / batcher->leaves);
}

bool sv_batcher_has_targets(const sv_batcher *batcher)
{
    return batcher->has_targets;
}

size_t sv_batcher_classes(const sv_batcher *batcher)
{
    return batcher->dataset->classes;
}

void sv_labels_expand(float *targets, const int32_t *labels, size_t n, size_t classes)
{
    memset(targets, 0, n * classes * sizeof *targets);
    for (size_t i = 0; i < n; i++)
        targets[i * classes + (size_t)labels[i]] = 1;
}

/* Reads a sample into batcher->pixels. */
static svit_status sample_read(const sv_batcher *batcher, const sv_augment_key *key, int32_t *label,
                               svit_error *err)
{
    const svit_dataset *dataset = batcher->dataset;
    const sv_first_crop crop = {&batcher->pipeline.augment[0], *key};
    if (!batcher->whole)
        return dataset->ops->sample(dataset, key->sample, batcher->cuts ? &crop : NULL,
                                    batcher->pixels, label, err);
    SVIT_TRY(dataset->ops->sample(dataset, key->sample, NULL, batcher->whole, label, err));
    const sv_source source = sv_source_of(&batcher->pipeline);
    return sv_source_crop(allocator_of(batcher), &source, &crop, batcher->whole, dataset->height,
                          dataset->width, batcher->pixels, err);
}

/* What a sample is called in messages. */
static const char *sample_name(char name[32], uint32_t sample)
{
    snprintf(name, 32, "sample %u", (unsigned)sample);
    return name;
}

/* Names the sample, unless the functions of a custom dataset have done so. */
static svit_status fail_sample(svit_error *err, svit_status status, const char *name)
{
    const size_t length = strlen(name);
    const bool is_named = err && strncmp(err->message, name, length) == 0 &&
                          (err->message[length] == ':' || err->message[length] == ' ');
    return is_named ? status : sv_fail_in(err, status, name);
}

static svit_status sample_make(sv_batcher *batcher, const sv_augment_key *key,
                               const sv_augment_key *batch, float *image, int32_t *label,
                               svit_error *err)
{
    const svit_dataset *dataset = batcher->dataset;
    const uint32_t sample = key->sample;
    char name[32];
    svit_status status = sample_read(batcher, key, label, err);
    if (status != SVIT_OK)
        return fail_sample(err, status, sample_name(name, sample));
    if (dataset->is_f32)
        SVIT_TRY(sv_check_values(sample_name(name, sample), batcher->pixels, 1,
                                 sv_dataset_image_bytes(dataset) / sizeof(float),
                                 sv_pipeline_limit(&batcher->pipeline), err));
    if (!batcher->config.augment) {
        sv_pipeline_evaluate(batcher->plan, image, batcher->pixels, batcher->scratch);
        return SVIT_OK;
    }
    sv_augmentation drawn = sv_pipeline_draw(batcher->plan, key, batch);
    drawn.is_cut = batcher->cuts;
    sv_pipeline_train(batcher->plan, image, batcher->pixels, &drawn, batcher->scratch);
    return SVIT_OK;
}

/* Brings the order of samples to that of the epoch. */
static void update_order(sv_batcher *batcher, uint64_t epoch)
{
    if (batcher->has_order && (batcher->order_epoch == epoch || !batcher->config.shuffle))
        return;
    if (batcher->balance)
        sv_balance_fill(batcher->balance, batcher->order, batcher->config.seed, epoch);
    else if (batcher->config.shuffle)
        sv_order_fill(&batcher->rule, batcher->order, batcher->config.seed, epoch);
    else
        for (uint32_t i = 0; i < sample_count(batcher); i++)
            batcher->order[i] = i;
    batcher->order_epoch = epoch;
    batcher->has_order = true;
}

/* The seed of a sample that balanced sampling has read `reading` times before in the epoch. */
static uint64_t seed_of_reading(uint64_t seed, uint32_t reading)
{
    sv_random random;
    if (reading == 0)
        return seed;
    sv_random_start(&random, seed, SV_STREAM_READING, reading, 0);
    const uint64_t high = sv_random_u32(&random);
    return high << 32 | sv_random_u32(&random);
}

/* The key of the random numbers of a reading. Each repetition of a sample counts as an epoch of its
 * own. */
static sv_augment_key key_of_place(const sv_batcher *batcher, uint64_t epoch, uint64_t place)
{
    const uint32_t repeats = batcher->rule.repeats;
    const uint32_t reading = batcher->balance ? batcher->balance->readings[place / repeats] : 0;
    return (sv_augment_key){seed_of_reading(batcher->config.seed, reading),
                            epoch * repeats + place % repeats, batcher->order[place / repeats]};
}

/* Makes the image of reading `position` of the epoch, its label unless `label` is NULL, and its
 * targets unless `targets` is NULL. Image and label are of one reading, since a callback may give
 * another sample at each. */
static svit_status position_make(sv_batcher *batcher, uint64_t epoch, uint64_t position,
                                 float *image, int32_t *label, float *targets, svit_error *err)
{
    const sv_augment_key batch = {batcher->config.seed, epoch,
                                  (uint32_t)(position / batcher->config.batch)};
    const sv_augment_key key =
        key_of_place(batcher, epoch, sv_order_place(&batcher->rule, position));
    int32_t found;
    SVIT_TRY(sample_make(batcher, &key, &batch, image, &found, err));
    if (label)
        *label = found;
    if (targets && batcher->dataset->has_targets)
        return svit_dataset_targets(batcher->dataset, key.sample, targets, err);
    if (targets)
        sv_labels_expand(targets, &found, 1, batcher->dataset->classes);
    return SVIT_OK;
}

/* Mixes the images of a batch of n, as Mixup and CutMix do. The partner of an own image may be
 * another rank's, and is made here too. */
static svit_status mix_batch(sv_batcher *batcher, uint64_t epoch, uint64_t batch, float *images,
                             float *targets, size_t n, svit_error *err)
{
    const size_t height = sv_batcher_height(batcher), width = sv_batcher_width(batcher);
    const size_t elements = sv_batcher_elements(batcher), classes = batcher->dataset->classes;
    const range own = own_samples(batcher, n);
    const sv_mix mix = sv_mix_draw(&batcher->pipeline, batcher->config.seed, epoch, (uint32_t)batch,
                                   height, width);
    for (size_t i = own.first; i < own.end && mix.kind >= 0; i++) {
        const size_t other = n - 1 - i;
        const bool is_own = other >= own.first && other < own.end;
        if (other == i || (is_own && other < i))
            continue;
        float *b = batcher->partner, *b_targets = b ? b + elements : NULL;
        if (is_own) {
            b = images + (other - own.first) * elements;
            b_targets = targets + (other - own.first) * classes;
        } else {
            SVIT_TRY(position_make(batcher, epoch, batch * batcher->config.batch + other, b, NULL,
                                   b_targets, err));
        }
        sv_mix_pair(&mix, images + (i - own.first) * elements, b, height, width,
                    batcher->pipeline.channels, targets + (i - own.first) * classes, b_targets,
                    classes);
    }
    return SVIT_OK;
}

svit_status sv_batcher_make(sv_batcher *batcher, uint64_t epoch, uint64_t batch, float *images,
                            const sv_batch_targets *to, const atomic_uint *generation,
                            unsigned wanted_generation, svit_error *err)
{
    update_order(batcher, epoch);
    const size_t n = whole_samples(batcher, batch), classes = batcher->dataset->classes;
    const range own = own_samples(batcher, n);
    const bool has_targets = batcher->has_targets;
    for (size_t i = own.first; i < own.end; i++) {
        const size_t at = i - own.first;
        if (generation &&
            atomic_load_explicit(generation, memory_order_relaxed) != wanted_generation)
            return SVIT_E_STOPPED;
        SVIT_TRY(position_make(batcher, epoch, batch * batcher->config.batch + i,
                               images + at * sv_batcher_elements(batcher),
                               has_targets ? NULL : &to->labels[at],
                               has_targets ? to->targets + at * classes : NULL, err));
    }
    return batcher->mixes ? mix_batch(batcher, epoch, batch, images, to->targets, n, err) : SVIT_OK;
}
