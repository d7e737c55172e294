/* The row of a new class by logistic regression against old classes whose logits are fixed. With
 * those the softmax over all classes is a function of one logit,
 *     p = sigmoid(w f + b - L(f)),  L the log-sum-exp of the old logits,
 * so that the row minimises the binary cross-entropy of p, 1 for new samples and 0 for old ones,
 * plus weight_decay |w|^2 / 2, with features divided by their standard deviation. The problem is
 * convex, and L-BFGS finds its minimum. The mean of each channel is subtracted there: a large one
 * makes the features nearly parallel to the bias, and many steps are needed. The bias takes it back
 * at the end; no decay applies to it, so that the minimum is the same. For one label of several L
 * is 0. */
#include "base/size.h"
#include "features/classifier.h"
#include "features/lbfgs.h"

#include <math.h>
#include <string.h>

/* Samples whose partial gradient one task computes. */
enum { SAMPLE_BLOCK = 512 };

/* The gradient at which the minimum is found: weights of the samples add up to 1. */
#define TOLERANCE 1e-7

typedef struct regression {
    const svit_features *features, *old;
    const double *offsets;         /* [n] L(f) of each sample, the new ones first */
    size_t n, d;                   /* all samples; channels and the bias */
    double weight_new, weight_old; /* in the loss, of one new and of one old sample */
    double scale;                  /* 1 / the standard deviation of the features */
    double weight_decay;
    double *means;   /* [d - 1] of the channels */
    const double *w; /* [d] */
    double *partial; /* [blocks, d + 1]: of each block the gradient [d], then its loss */
    const svit_context *context;
    int32_t stopped; /* what the context's stop function has returned */
} regression;

static const float *sample(const regression *self, size_t i)
{
    const size_t c = self->d - 1, n = self->features->count;
    return i < n ? self->features->values + i * c : self->old->values + (i - n) * c;
}

/* log(1 + exp(z)) */
static double softplus(double z)
{
    return fmax(z, 0) + log1p(exp(-fabs(z)));
}

/* g += weight (p - y) [scale (f - mean); 1]; returns the loss of the sample. */
static double add_gradient(double *g, const regression *self, size_t i)
{
    const size_t c = self->d - 1;
    const bool is_new = i < self->features->count;
    const float *f = sample(self, i);
    double z = self->w[c] - self->offsets[i];
    for (size_t k = 0; k < c; k++)
        z += self->w[k] * self->scale * ((double)f[k] - self->means[k]);
    const double p = 1 / (1 + exp(-z));
    const double dz = is_new ? self->weight_new * (p - 1) : self->weight_old * p;
    for (size_t k = 0; k < c; k++)
        g[k] += dz * self->scale * ((double)f[k] - self->means[k]);
    g[c] += dz;
    return is_new ? self->weight_new * softplus(-z) : self->weight_old * softplus(z);
}

static void compute_block(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const regression *self = argument;
    double *g = self->partial + task * (self->d + 1);
    const size_t end = sv_size_min((task + 1) * SAMPLE_BLOCK, self->n);
    for (size_t k = 0; k <= self->d; k++)
        g[k] = 0;
    for (size_t i = task * SAMPLE_BLOCK; i < end; i++)
        g[self->d] += add_gradient(g, self, i);
}

static void find_means(regression *self)
{
    const size_t c = self->d - 1;
    for (size_t i = 0; i < self->n; i++)
        for (size_t k = 0; k < c; k++)
            self->means[k] += (double)sample(self, i)[k];
    for (size_t k = 0; k < c; k++)
        self->means[k] /= (double)self->n;
}

/* The standard deviation of all elements, 1 if they are equal. */
static double deviation(const regression *self)
{
    const size_t c = self->d - 1;
    double mean = 0, square = 0;
    for (size_t k = 0; k < c; k++)
        mean += self->means[k] / (double)c;
    for (size_t i = 0; i < self->n; i++)
        for (size_t k = 0; k < c; k++)
            square += pow((double)sample(self, i)[k] - mean, 2);
    return square > 0 ? sqrt(square / ((double)self->n * (double)c)) : 1;
}

static size_t block_count(const regression *self)
{
    return (self->n + SAMPLE_BLOCK - 1) / SAMPLE_BLOCK;
}

/* The objective and its gradient. Blocks are added in the order of their indices. Once it is asked
 * to stop it is a plain without a slope, where the minimisation ends. */
static double objective(void *argument, const double *w, double *g)
{
    regression *self = argument;
    const size_t d = self->d, blocks = block_count(self);
    double value = 0;
    self->w = w;
    if (!self->stopped)
        self->stopped = sv_context_stop_value(self->context);
    if (self->stopped) {
        memset(g, 0, d * sizeof *g);
        return 0;
    }
    sv_pool_run(self->context->pool, compute_block, self, blocks);
    for (size_t k = 0; k < d; k++) {
        const double decay = k + 1 < d ? self->weight_decay : 0;
        value += decay * w[k] * w[k] / 2;
        g[k] = decay * w[k];
    }
    for (size_t b = 0; b < blocks; b++) {
        const double *partial = self->partial + b * (d + 1);
        for (size_t k = 0; k < d; k++)
            g[k] += partial[k];
        value += partial[d];
    }
    return value;
}

/* The bias of the start: p is 1/2 where the old classes are as they are on average. */
static double mean_offset(const regression *self)
{
    double sum = 0;
    for (size_t i = 0; i < self->n; i++)
        sum += self->offsets[i];
    return sum / (double)self->n;
}

static void set_weights(regression *self, size_t old_classes, double new_weight)
{
    const double n = (double)self->features->count, n_old = (double)self->old->count;
    const double each = new_weight * n_old / (n * (double)old_classes);
    self->weight_old = 1 / (each * n + n_old);
    self->weight_new = each * self->weight_old;
}

svit_status sv_class_from_regression(double *w, size_t old_classes, const svit_features *features,
                                     const svit_features *old, const double *offsets,
                                     const svit_class_config *config, svit_error *err)
{
    const sv_allocator *allocator = &features->context->allocator;
    const size_t d = features->channels + 1;
    regression self = {.features = features,
                       .old = old,
                       .offsets = offsets,
                       .n = features->count + old->count,
                       .d = d,
                       .weight_decay = config->weight_decay,
                       .context = features->context};
    double *memory;
    size_t elements;
    if (!sv_size_multiply(&elements, block_count(&self) + SV_LBFGS_VECTORS + 1, d + 1))
        return sv_fail(err, SVIT_E_MEMORY, "the gradients of %zu blocks do not fit memory",
                       block_count(&self));
    SVIT_TRY(sv_allocate_array(allocator, (void **)&memory, elements, sizeof *memory,
                               "a logistic regression", err));
    self.means = memory + SV_LBFGS_VECTORS * (d + 1);
    self.partial = self.means + d + 1;
    find_means(&self);
    self.scale = 1 / deviation(&self);
    set_weights(&self, old_classes, config->new_weight);
    for (size_t k = 0; k < d; k++)
        w[k] = k + 1 < d ? 0 : mean_offset(&self);
    sv_lbfgs_minimise(w, d, objective, &self, TOLERANCE, memory);
    for (size_t k = 0; k + 1 < d; k++) {
        w[k] *= self.scale;
        w[d - 1] -= w[k] * self.means[k];
    }
    sv_release(allocator, memory, elements * sizeof *memory);
    return self.stopped ? sv_context_fail_stopped(self.stopped, err) : SVIT_OK;
}
