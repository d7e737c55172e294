/* Mean and variance of a dataset's bytes. They are computed from a histogram, so they are as exact
 * for many samples as for few. */
#include "data/checks.h"
#include "data/dataset_ops.h"

#include <math.h>

enum { VALUES = 256 };

typedef struct histogram {
    uint64_t count[SV_RGB][VALUES]; /* pixels with each value, by channel */
} histogram;

static svit_status histogram_fill(histogram *pixels, const svit_dataset *dataset, uint8_t *rgb,
                                  svit_error *err)
{
    size_t bytes = sv_dataset_image_bytes(dataset);
    for (size_t i = 0; i < dataset->count; i++) {
        int32_t label = 0;
        SVIT_TRY(svit_dataset_sample(dataset, i, rgb, &label, err));
        for (size_t p = 0; p < bytes; p += SV_RGB)
            for (size_t c = 0; c < SV_RGB; c++)
                pixels->count[c][rgb[p + c]]++;
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

SVIT_API svit_status svit_dataset_statistics(const svit_dataset *dataset, double scale,
                                             double mean[3], double variance[3], svit_error *err)
{
    SV_REQUIRE(dataset);
    if (!(scale > 0) || !isfinite(scale))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: scale is %g; a finite number above 0 is accepted",
                       __func__, scale);
    SV_REQUIRE(mean);
    SV_REQUIRE(variance);
    const sv_allocator *allocator = &dataset->context->allocator;
    size_t bytes = sv_dataset_image_bytes(dataset);
    uint8_t *rgb = sv_allocate(allocator, bytes);
    if (!rgb)
        return sv_fail_memory(err, bytes, "an image");
    histogram pixels = {0};
    svit_status status = histogram_fill(&pixels, dataset, rgb, err);
    sv_release(allocator, rgb, bytes);
    SVIT_TRY(status);
    for (size_t c = 0; c < SV_RGB; c++)
        moments(&mean[c], &variance[c], pixels.count[c], scale);
    return SVIT_OK;
}
