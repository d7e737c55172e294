/* The row of a new class by logistic regression against old classes whose logits are fixed. With
 * those the softmax over all classes is a function of one logit,
 *     p = sigmoid(w f + b - L(f)),  L the log-sum-exp of the old logits,
 * so that the row minimises the binary cross-entropy of p, 1 for new samples and 0 for old ones,
 * plus weight_decay |w|^2 / 2. The problem is convex. Adam takes all samples at each step, with
 * features divided by their standard deviation. */
#include "base/size.h"
#include "features/classifier.h"

#include <math.h>

/* Samples whose partial gradient one task computes. */
enum { SAMPLE_BLOCK = 512 };

typedef struct regression {
    const svit_features *features, *old;
    const double *offsets;                /* [n] */
    size_t n, d;                          /* all samples; channels and the bias */
    double weight_new, weight_old, scale; /* of a sample of the loss; 1 / standard deviation */
    const double *w;                      /* [d] */
    double *partial;                      /* [blocks, d] gradients */
} regression;

static const float *sample(const regression *self, size_t i)
{
    const size_t c = self->d - 1, n = self->features->count;
    return i < n ? self->features->values + i * c : self->old->values + (i - n) * c;
}

/* g += weight (p - y) [f; 1] */
static void add_gradient(double *g, const regression *self, size_t i)
{
    const size_t c = self->d - 1;
    const bool is_new = i < self->features->count;
    const float *f = sample(self, i);
    double z = self->w[c] - self->offsets[i];
    for (size_t k = 0; k < c; k++)
        z += self->w[k] * self->scale * (double)f[k];
    const double p = 1 / (1 + exp(-z));
    const double dz = is_new ? self->weight_new * (p - 1) : self->weight_old * p;
    for (size_t k = 0; k < c; k++)
        g[k] += dz * self->scale * (double)f[k];
    g[c] += dz;
}

static void compute_block(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const regression *self = argument;
    double *g = self->partial + task * self->d;
    const size_t end = sv_size_min((task + 1) * SAMPLE_BLOCK, self->n);
    for (size_t k = 0; k < self->d; k++)
        g[k] = 0;
    for (size_t i = task * SAMPLE_BLOCK; i < end; i++)
        add_gradient(g, self, i);
}

/* The standard deviation of all elements, 1 if they are equal. */
static double deviation(const regression *self)
{
    const size_t c = self->d - 1;
    double sum = 0, square = 0;
    const double elements = (double)self->n * (double)c;
    for (size_t i = 0; i < self->n; i++) {
        const float *f = sample(self, i);
        for (size_t k = 0; k < c; k++)
            sum += (double)f[k];
    }
    for (size_t i = 0; i < self->n; i++) {
        const float *f = sample(self, i);
        for (size_t k = 0; k < c; k++)
            square += ((double)f[k] - sum / elements) * ((double)f[k] - sum / elements);
    }
    return square > 0 ? sqrt(square / elements) : 1;
}

/* One parameter of Adam (Kingma, Ba 2015). */
static void adam(double *w, double *m, double *v, double g, double rate, uint32_t step)
{
    *m += 0.1 * (g - *m);
    *v += 0.001 * (g * g - *v);
    const double first = *m / (1 - pow(0.9, step + 1.0)),
                 second = *v / (1 - pow(0.999, step + 1.0));
    *w -= rate * first / (sqrt(second) + 1e-8);
}

/* `state` is [2, d], zero. */
static void minimise(double *w, double *state, regression *self, sv_pool *pool,
                     const svit_class_config *config)
{
    const size_t d = self->d, blocks = (self->n + SAMPLE_BLOCK - 1) / SAMPLE_BLOCK;
    self->w = w;
    for (uint32_t step = 0; step < config->steps; step++) {
        const double turn = acos(-1) * step / config->steps;
        const double rate = config->learning_rate * (1 + cos(turn)) / 2;
        sv_pool_run(pool, compute_block, self, blocks);
        for (size_t k = 0; k < d; k++) {
            double g = k + 1 < d ? config->weight_decay * w[k] : 0;
            for (size_t b = 0; b < blocks; b++)
                g += self->partial[b * d + k];
            adam(&w[k], &state[k], &state[d + k], g, rate, step);
        }
    }
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
    self->scale = 1 / deviation(self);
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
                       .d = d};
    const size_t blocks = (self.n + SAMPLE_BLOCK - 1) / SAMPLE_BLOCK;
    double *memory;
    size_t elements;
    if (!sv_size_multiply(&elements, blocks + 2, d))
        return sv_fail(err, SVIT_E_MEMORY, "the gradients of %zu blocks do not fit memory", blocks);
    SVIT_TRY(sv_allocate_array(allocator, (void **)&memory, elements, sizeof *memory,
                               "a logistic regression", err));
    self.partial = memory + 2 * d;
    set_weights(&self, old_classes, config->new_weight);
    for (size_t k = 0; k < d; k++)
        w[k] = k + 1 < d ? 0 : mean_offset(&self);
    minimise(w, memory, &self, features->context->pool, config);
    for (size_t k = 0; k + 1 < d; k++)
        w[k] *= self.scale;
    sv_release(allocator, memory, elements * sizeof *memory);
    return SVIT_OK;
}
