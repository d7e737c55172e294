/* L-BFGS with a history of SV_LBFGS_PAIRS steps, and a line search that halves the step until f has
 * fallen enough (Armijo). */
#include "features/lbfgs.h"

#include <math.h>
#include <string.h>

enum { STEPS = 1000, HALVINGS = 40 };

typedef struct search {
    sv_lbfgs_function f;
    void *argument;
    size_t d, pairs; /* pairs of the history in use */
    size_t next;     /* the pair that is replaced next */
    double *w, *g;   /* the point and its gradient */
    double *new_w, *new_g, *direction;
    double *steps, *changes;        /* [SV_LBFGS_PAIRS, d] of w, and of the gradient */
    double inverse[SV_LBFGS_PAIRS]; /* 1 / (step . change) */
    double value;
} search;

static double dot(const double *a, const double *b, size_t d)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++)
        sum += a[i] * b[i];
    return sum;
}

/* y += a x */
static void add_scaled(double *y, double a, const double *x, size_t d)
{
    for (size_t i = 0; i < d; i++)
        y[i] += a * x[i];
}

static double largest(const double *g, size_t d)
{
    double most = 0;
    for (size_t i = 0; i < d; i++)
        most = fmax(most, fabs(g[i]));
    return most;
}

/* direction = -H g, with the inverse Hessian H of the history: the two loops of Nocedal (1980). */
static void find_direction(search *self)
{
    const size_t d = self->d;
    double *r = self->direction, alpha[SV_LBFGS_PAIRS];
    for (size_t i = 0; i < d; i++)
        r[i] = -self->g[i];
    for (size_t back = 1; back <= self->pairs; back++) {
        const size_t i = (self->next + SV_LBFGS_PAIRS - back) % SV_LBFGS_PAIRS;
        alpha[i] = self->inverse[i] * dot(self->steps + i * d, r, d);
        add_scaled(r, -alpha[i], self->changes + i * d, d);
    }
    double scale = 1 / fmax(1, sqrt(dot(self->g, self->g, d)));
    if (self->pairs > 0) {
        const size_t last = (self->next + SV_LBFGS_PAIRS - 1) % SV_LBFGS_PAIRS;
        const double *change = self->changes + last * d;
        scale = 1 / (self->inverse[last] * dot(change, change, d));
    }
    for (size_t i = 0; i < d; i++)
        r[i] *= scale;
    for (size_t back = self->pairs; back >= 1; back--) {
        const size_t i = (self->next + SV_LBFGS_PAIRS - back) % SV_LBFGS_PAIRS;
        const double beta = self->inverse[i] * dot(self->changes + i * d, r, d);
        add_scaled(r, alpha[i] - beta, self->steps + i * d, d);
    }
}

/* Moves along the direction; returns whether f has fallen. */
static int take_step(search *self)
{
    const size_t d = self->d;
    const double slope = dot(self->direction, self->g, d);
    double length = 1;
    for (size_t halving = 0; halving < HALVINGS; halving++, length /= 2) {
        memcpy(self->new_w, self->w, d * sizeof *self->w);
        add_scaled(self->new_w, length, self->direction, d);
        const double value = self->f(self->argument, self->new_w, self->new_g);
        if (value < self->value && value <= self->value + 1e-4 * length * slope) {
            self->value = value;
            return 1;
        }
    }
    return 0;
}

/* Adds the last step to the history if the function curves upwards along it, and goes to the new
 * point. */
static void note_step(search *self)
{
    const size_t d = self->d;
    double *step = self->steps + self->next * d, *change = self->changes + self->next * d;
    for (size_t i = 0; i < d; i++) {
        step[i] = self->new_w[i] - self->w[i];
        change[i] = self->new_g[i] - self->g[i];
    }
    const double curvature = dot(step, change, d);
    memcpy(self->w, self->new_w, d * sizeof *self->w);
    memcpy(self->g, self->new_g, d * sizeof *self->g);
    if (!(curvature > 1e-300))
        return;
    self->inverse[self->next] = 1 / curvature;
    self->next = (self->next + 1) % SV_LBFGS_PAIRS;
    self->pairs += self->pairs < SV_LBFGS_PAIRS;
}

void sv_lbfgs_minimise(double *w, size_t d, sv_lbfgs_function f, void *argument, double tolerance,
                       double *memory)
{
    search self = {.f = f,
                   .argument = argument,
                   .d = d,
                   .w = w,
                   .g = memory,
                   .new_w = memory + d,
                   .new_g = memory + 2 * d,
                   .direction = memory + 3 * d,
                   .steps = memory + 4 * d,
                   .changes = memory + (4 + SV_LBFGS_PAIRS) * d};
    self.value = f(argument, w, self.g);
    for (size_t step = 0; step < STEPS && largest(self.g, d) > tolerance; step++) {
        find_direction(&self);
        if (!take_step(&self))
            return;
        note_step(&self);
    }
}
