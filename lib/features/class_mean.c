/* Makes the row of a new class from its mean feature mu: w = s mu / |mu|, with s the mean norm of
 * the old rows. The bias is the smallest with which the fraction `recall` of the new samples i
 * wins: a quantile of max_k logit_k(f_i) - f_i w_i, with k over the old classes, or of -f_i w_i for
 * one label of several. w_i is made
 * without sample i (leave-one-out); with sample i among a few, the recall would look too high. */
#include "features/classifier.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* sum[c] = the sum of the features. */
static void add_up(double *sum, const svit_features *features)
{
    const size_t c = features->channels;
    for (size_t k = 0; k < c; k++)
        sum[k] = 0;
    for (size_t i = 0; i < features->count; i++)
        for (size_t k = 0; k < c; k++)
            sum[k] += (double)features->values[i * c + k];
}

/* The logit of sample i, without a bias, by the row of length `scale` from the other samples; from
 * all if there is only one. */
static double score_of(const double *sum, const svit_features *features, size_t i, double scale)
{
    const size_t c = features->channels;
    const float *x = features->values + i * c;
    double square = 0, dot = 0;
    for (size_t k = 0; k < c; k++) {
        const double row = features->count > 1 ? sum[k] - (double)x[k] : sum[k];
        square += row * row;
        dot += row * (double)x[k];
    }
    return square > 0 ? scale * dot / sqrt(square) : 0;
}

/* Sample i wins with a bias above needs[i], which are sorted. Returns a bias with which `wanted` of
 * the samples win, and all that are equal to the last of them: between its need and the next larger
 * one, as far as float, in which the bias is kept, tells them apart. */
static double bias_between(const double *needs, size_t count, size_t wanted)
{
    const double last = needs[wanted - 1];
    while (wanted < count && (float)needs[wanted] <= (float)last)
        wanted++;
    return wanted < count ? last + (needs[wanted] - last) / 2 : last + 1e-3 * (1 + fabs(last));
}

/* The smallest number of samples that is at least this fraction of them. */
static size_t wanted_of(double recall, size_t count)
{
    const double wanted = ceil(recall * (double)count * (1 - 1e-12));
    return wanted < 1 ? 1 : wanted > (double)count ? count : (size_t)wanted;
}

svit_status sv_class_from_mean(double *w, const sv_classifier *self, const svit_features *features,
                               const double *max, double recall, svit_error *err)
{
    const sv_allocator *allocator = &self->model->context->allocator;
    const size_t c = features->channels, n = features->count;
    const double scale = sv_classifier_mean_norm(self);
    double *needs, square = 0;
    add_up(w, features);
    for (size_t k = 0; k < c; k++)
        square += w[k] * w[k];
    if (square == 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the mean of the new features is 0; it needs a direction");
    SVIT_TRY(sv_allocate_array(allocator, (void **)&needs, n, sizeof *needs, "biases", err));
    for (size_t i = 0; i < n; i++)
        needs[i] = max[i] - score_of(w, features, i, scale);
    qsort(needs, n, sizeof *needs, by_value);
    w[c] = bias_between(needs, n, wanted_of(recall, n));
    sv_release(allocator, needs, n * sizeof *needs);
    for (size_t k = 0; k < c; k++)
        w[k] *= scale / sqrt(square);
    return SVIT_OK;
}
