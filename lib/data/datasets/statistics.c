/* Mean and variance of a dataset's images. Those of bytes, which may have to be decoded, are
 * computed from a histogram by all workers, those of floats in two passes, so they are as exact for
 * many samples as for few. */
#include "base/threads/fp_env.h"
#include "data/augmentation/pipeline_config.h"
#include "data/checks.h"
#include "data/datasets/samples.h"

#include <math.h>

enum { VALUES = 256 };

typedef struct histogram {
    uint64_t count[SVIT_MAX_CHANNELS][VALUES]; /* values of each kind, by channel; in the first for
                                                  more channels than this */
} histogram;

typedef struct counting {
    const svit_dataset *dataset;
    histogram *workers; /* of the images that each worker has read */
} counting;

/* The channels that have a mean of their own. */
static size_t means_of(const svit_dataset *dataset)
{
    return sv_pipeline_means(dataset->channels);
}

static void count_pixels(void *user, const void *image, uint32_t worker)
{
    const counting *self = user;
    const uint8_t *pixels = image;
    const size_t bytes = sv_dataset_image_bytes(self->dataset), means = means_of(self->dataset);
    for (size_t p = 0; p < bytes; p += means)
        for (size_t c = 0; c < means; c++)
            self->workers[worker].count[c][pixels[p + c]]++;
}

static svit_status refuse(void *user, size_t index, const svit_error *found, svit_error *err)
{
    (void)user;
    (void)index;
    return svit_error_set(err, found->code, found->message);
}

/* Counts the pixels of all images in all->workers[0]. */
static svit_status count_all(counting *all, svit_error *err)
{
    SVIT_TRY(sv_samples_read(
        &(sv_sample_reader){
            .dataset = all->dataset, .take = count_pixels, .refuse = refuse, .user = all},
        err));
    for (uint32_t worker = 1; worker < sv_samples_workers(all->dataset); worker++)
        for (size_t c = 0; c < SVIT_MAX_CHANNELS; c++)
            for (size_t v = 0; v < VALUES; v++)
                all->workers[0].count[c][v] += all->workers[worker].count[c][v];
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

static svit_status of_bytes(const svit_dataset *dataset, double scale, double *mean,
                            double *variance, svit_error *err)
{
    const sv_allocator *allocator = &dataset->context->allocator;
    const uint32_t workers = sv_samples_workers(dataset);
    counting all = {.dataset = dataset};
    SVIT_TRY(sv_allocate_array(allocator, (void **)&all.workers, workers, sizeof *all.workers,
                               "histograms", err));
    const svit_status status = count_all(&all, err);
    for (size_t c = 0; status == SVIT_OK && c < means_of(dataset); c++)
        moments(&mean[c], &variance[c], all.workers->count[c], scale);
    sv_release(allocator, all.workers, workers * sizeof *all.workers);
    return status;
}

static svit_status read_sample(const svit_dataset *dataset, size_t index, float *image,
                               svit_error *err)
{
    /* Images between two questions whether to go on; a callback takes its time for each. */
    enum { TOGETHER = 64 };
    int32_t label = 0;
    if (index % TOGETHER == 0 || dataset->caller_thread_only)
        SVIT_TRY(sv_context_go_on(dataset->context, err));
    return dataset->ops->sample(dataset, index, NULL, image, &label, err);
}

/* sum[c] += (value - centre[c])^power over all samples, for the powers 1 and 2. */
static svit_status add_powers(double sum[SVIT_MAX_CHANNELS], const svit_dataset *dataset,
                              float *image, const double centre[SVIT_MAX_CHANNELS], int power,
                              svit_error *err)
{
    const size_t elements = dataset->height * dataset->width * dataset->channels;
    const size_t means = means_of(dataset);
    for (size_t i = 0; i < dataset->count; i++) {
        SVIT_TRY(read_sample(dataset, i, image, err));
        for (size_t p = 0; p < elements; p++) {
            double value = (double)image[p] - centre[p % means];
            sum[p % means] += power == 1 ? value : value * value;
        }
    }
    return SVIT_OK;
}

static svit_status of_read_floats(const svit_dataset *dataset, float *image, double scale,
                                  double *mean, double *variance, svit_error *err)
{
    const double zero[SVIT_MAX_CHANNELS] = {0};
    double centre[SVIT_MAX_CHANNELS] = {0}, squares[SVIT_MAX_CHANNELS] = {0};
    const size_t means = means_of(dataset);
    double n = (double)dataset->count *
               (double)(dataset->height * dataset->width * dataset->channels / means);
    SVIT_TRY(add_powers(centre, dataset, image, zero, 1, err));
    for (size_t c = 0; c < means; c++)
        centre[c] /= n;
    SVIT_TRY(add_powers(squares, dataset, image, centre, 2, err));
    for (size_t c = 0; c < means; c++) {
        mean[c] = centre[c] * scale;
        variance[c] = squares[c] / n * scale * scale;
    }
    return SVIT_OK;
}

static svit_status of_floats(const svit_dataset *dataset, double scale, double *mean,
                             double *variance, svit_error *err)
{
    const sv_allocator *allocator = &dataset->context->allocator;
    const size_t bytes = sv_dataset_image_bytes(dataset);
    float *image = sv_allocate(allocator, bytes);
    if (!image)
        return sv_fail_memory(err, bytes, "an image");
    const svit_status status = of_read_floats(dataset, image, scale, mean, variance, err);
    sv_release(allocator, image, bytes);
    return status;
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
    SVIT_TRY(svit_context_check(dataset->context, err));
    return (dataset->is_f32 ? of_floats : of_bytes)(dataset, scale, mean, variance, err);
}
