/* Fingerprints of datasets. */
#include "base/numbers/byte_order.h"
#include "base/numbers/hash.h"
#include "base/threads/fp_env.h"
#include "data/checks.h"
#include "data/datasets/dataset_ops.h"

#include <string.h>

/* Samples that are hashed: enough to notice other images, and decoded in a fraction of a second. */
enum { SAMPLES = 64 };

/* Mixes `value` into the hash as 8 little-endian bytes, so that the result is the same on every
 * machine. */
static uint64_t mix_u64(uint64_t hash, uint64_t value)
{
    unsigned char bytes[8];
    sv_store_little(bytes, value, sizeof bytes);
    return sv_fnv_bytes(hash, bytes, sizeof bytes);
}

static uint64_t mix_shape(uint64_t hash, const svit_dataset *dataset)
{
    hash = mix_u64(hash, dataset->varies);
    hash = mix_u64(hash, dataset->count);
    hash = mix_u64(hash, dataset->height);
    hash = mix_u64(hash, dataset->width);
    hash = mix_u64(hash, dataset->classes);
    if (dataset->channels != SV_RGB || dataset->is_f32) {
        hash = mix_u64(hash, dataset->channels);
        hash = mix_u64(hash, dataset->is_f32);
    }
    for (size_t i = 0; dataset->names && i < dataset->classes; i++) {
        hash = mix_u64(hash, strlen(dataset->names[i]));
        hash = sv_fnv_bytes(hash, dataset->names[i], strlen(dataset->names[i]));
    }
    return hash;
}

/* Mixes in the bits of floats. */
static uint64_t mix_floats(uint64_t hash, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = mix_u64(hash, bits);
    }
    return hash;
}

/* Mixes in the targets of a sample. */
static svit_status mix_targets(uint64_t *hash, const svit_dataset *dataset, size_t index,
                               svit_error *err)
{
    const sv_allocator *allocator = &dataset->context->allocator;
    void *memory = NULL;
    SVIT_TRY(
        sv_allocate_array(allocator, &memory, dataset->classes, sizeof(float), "targets", err));
    svit_status status = svit_dataset_targets(dataset, index, memory, err);
    if (status == SVIT_OK)
        *hash = mix_floats(*hash, memory, dataset->classes);
    sv_release(allocator, memory, dataset->classes * sizeof(float));
    return status;
}

/* Mixes in the first sample, the last, and others at equal distances between them. */
static svit_status mix_samples(uint64_t *hash, const svit_dataset *dataset, void *pixels,
                               svit_error *err)
{
    size_t last = dataset->count - 1, count = last < SAMPLES ? dataset->count : SAMPLES;
    for (size_t i = 0; i < count; i++) {
        int32_t label;
        size_t index = i ? (size_t)((uint64_t)i * last / (count - 1)) : 0;
        SVIT_TRY(dataset->ops->sample(dataset, index, NULL, pixels, &label, err));
        *hash = mix_u64(*hash, (uint64_t)label);
        if (dataset->is_f32)
            *hash = mix_floats(*hash, pixels, sv_dataset_image_bytes(dataset) / sizeof(float));
        else
            *hash = sv_fnv_bytes(*hash, pixels, sv_dataset_image_bytes(dataset));
        if (dataset->has_targets)
            SVIT_TRY(mix_targets(hash, dataset, index, err));
    }
    return SVIT_OK;
}

/* Mixes in the labels of all samples, whose images are not read. */
static svit_status mix_labels(uint64_t *hash, const svit_dataset *dataset, svit_error *err)
{
    for (size_t i = 0; i < dataset->count; i++) {
        int32_t label;
        SVIT_TRY(dataset->ops->label(dataset, i, &label, err));
        *hash = mix_u64(*hash, (uint64_t)label);
    }
    return SVIT_OK;
}

/* Mixes in the targets of all samples. */
static svit_status mix_all_targets(uint64_t *hash, const svit_dataset *dataset, svit_error *err)
{
    const sv_allocator *allocator = &dataset->context->allocator;
    float *targets;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&targets, dataset->classes, sizeof *targets,
                               "targets", err));
    svit_status status = SVIT_OK;
    for (size_t i = 0; i < dataset->count && status == SVIT_OK; i++) {
        status = svit_dataset_targets(dataset, i, targets, err);
        if (status == SVIT_OK)
            *hash = mix_floats(*hash, targets, dataset->classes);
    }
    sv_release(allocator, targets, dataset->classes * sizeof *targets);
    return status;
}

svit_status sv_dataset_hash_labels(const svit_dataset *dataset, uint64_t *hash, svit_error *err)
{
    *hash = 0;
    if (dataset->label_needs_image)
        return SVIT_OK;
    *hash = SV_FNV_BASIS;
    return (dataset->has_targets ? mix_all_targets : mix_labels)(hash, dataset, err);
}

SVIT_API svit_status svit_dataset_fingerprint(const svit_dataset *dataset, uint64_t *fingerprint,
                                              svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(dataset);
    SV_REQUIRE(fingerprint);
    uint64_t hash = mix_shape(SV_FNV_BASIS, dataset);
    svit_status status = SVIT_OK;
    if (!dataset->varies) {
        const sv_allocator *allocator = &dataset->context->allocator;
        void *pixels;
        SVIT_TRY(sv_allocate_array(allocator, &pixels, sv_dataset_image_bytes(dataset), 1,
                                   "an image", err));
        status = mix_samples(&hash, dataset, pixels, err);
        sv_release(allocator, pixels, sv_dataset_image_bytes(dataset));
    }
    if (status == SVIT_OK)
        *fingerprint = hash;
    return status;
}
