/* Mean and variance of a dataset's images. Those of bytes are computed from a histogram, those of
 * floats in two passes, so they are as exact for many samples as for few. */
#include "base/threads/fp_env.h"
#include "data/checks.h"
#include "data/datasets/dataset_ops.h"

#include <math.h>

enum { VALUES = 256 };

typedef struct histogram {
    uint64_t count[SVIT_MAX_CHANNELS][VALUES]; /* pixels with each value, by channel */
} histogram;

static svit_status read_sample(const svit_dataset *dataset, size_t index, void *image,
                               svit_error *err)
{
    enum { TOGETHER = 64 }; /* images between two questions whether to go on */
    int32_t label = 0;
    if (index % TOGETHER == 0)
        SVIT_TRY(sv_context_go_on(dataset->context, err));
    return dataset->ops->sample(dataset, index, NULL, image, &label, err);
}

static svit_status histogram_fill(histogram *pixels, const svit_dataset *dataset, uint8_t *image,
                                  svit_error *err)
{
    size_t bytes = sv_dataset_image_bytes(dataset), channels = dataset->channels;
    for (size_t i = 0; i < dataset->count; i++) {
        SVIT_TRY(read_sample(dataset, i, image, err));
        for (size_t p = 0; p < bytes; p += channels)
            for (size_t c = 0; c < channels; c++)
                pixels->count[c][image[p + c]]++;
    }
    return SVIT_OK;
}

static void moments(double *mean, double *variance, const uint64_t counts[VALUES], double scale)
{
    double n = 0;
    double sum = 0;
    for (size_t v = 0; v < VALUES; v++) {
        n += (double)counts[v];
        sum += (double)counts[v] * (double)v;
    }
    double centre = sum / n;
    double squares = 0;
    for (size_t v = 0; v < VALUES; v++)
        squares += (double)counts[v] * ((double)v - centre) * ((double)v - centre);
    *mean = centre * scale;
    *variance = squares / n * scale * scale;
}

static svit_status of_bytes(const svit_dataset *dataset, void *image, double scale, double *mean,
                            double *variance, svit_error *err)
{
    histogram pixels = {0};
    SVIT_TRY(histogram_fill(&pixels, dataset, image, err));
    for (size_t c = 0; c < dataset->channels; c++)
        moments(&mean[c], &variance[c], pixels.count[c], scale);
    return SVIT_OK;
}

/* sum[c] += (value - centre[c])^power over all samples, for the powers 1 and 2. */
static svit_status add_powers(double sum[SVIT_MAX_CHANNELS], const svit_dataset *dataset,
                              float *image, const double centre[SVIT_MAX_CHANNELS], int power,
                              svit_error *err)
{
    size_t elements = dataset->height * dataset->width * dataset->channels;
    for (size_t i = 0; i < dataset->count; i++) {
        SVIT_TRY(read_sample(dataset, i, image, err));
        for (size_t p = 0; p < elements; p++) {
            double value = (double)image[p] - centre[p % dataset->channels];
            sum[p % dataset->channels] += power == 1 ? value : value * value;
        }
    }
    return SVIT_OK;
}

static svit_status of_floats(const svit_dataset *dataset, void *image, double scale, double *mean,
                             double *variance, svit_error *err)
{
    const double zero[SVIT_MAX_CHANNELS] = {0};
    double centre[SVIT_MAX_CHANNELS] = {0}, squares[SVIT_MAX_CHANNELS] = {0};
    double n = (double)dataset->count * (double)(dataset->height * dataset->width);
    SVIT_TRY(add_powers(centre, dataset, image, zero, 1, err));
    for (size_t c = 0; c < dataset->channels; c++)
        centre[c] /= n;
    SVIT_TRY(add_powers(squares, dataset, image, centre, 2, err));
    for (size_t c = 0; c < dataset->channels; c++) {
        mean[c] = centre[c] * scale;
        variance[c] = squares[c] / n * scale * scale;
    }
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_statistics(const svit_dataset *dataset, double scale,
                                             double *mean, double *variance, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(dataset);
    if (!(scale > 0) || !isfinite(scale))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: scale is %g; a finite number above 0 is accepted",
                       __func__, scale);
    SV_REQUIRE(mean);
    SV_REQUIRE(variance);
    const sv_allocator *allocator = &dataset->context->allocator;
    size_t bytes = sv_dataset_image_bytes(dataset);
    void *image = sv_allocate(allocator, bytes);
    if (!image)
        return sv_fail_memory(err, bytes, "an image");
    svit_status status =
        (dataset->is_f32 ? of_floats : of_bytes)(dataset, image, scale, mean, variance, err);
    sv_release(allocator, image, bytes);
    return status;
}
