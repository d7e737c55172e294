/* Losses: arrays from the input. A loss that succeeds is finite, with a finite gradient whose rows
 * sum to 0 where they should; one that fails leaves its outputs as they were. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = 77 };

typedef struct arrays {
    size_t n, classes;
    float smoothing;
    float *logits, *targets, *weights, *gradient;
    int32_t *labels;
} arrays;

static void check(const arrays *of, svit_status status, const svit_error *err, float loss)
{
    const size_t elements = of->n * of->classes;
    if (fuzz_ok(status, err)) {
        FUZZ_CHECK(isfinite(loss));
        for (size_t i = 0; i < elements; i++)
            FUZZ_CHECK(isfinite(of->gradient[i]));
    } else {
        FUZZ_CHECK(loss == UNTOUCHED);
        for (size_t i = 0; i < elements; i++)
            FUZZ_CHECK(of->gradient[i] == UNTOUCHED);
    }
    for (size_t i = 0; i < elements; i++)
        of->gradient[i] = UNTOUCHED;
}

static svit_status loss_of(const arrays *of, int kind, float *loss, svit_error *err)
{
    switch (kind) {
    case 0:
        return svit_cross_entropy(of->logits, of->labels, of->n, of->classes, of->smoothing, loss,
                                  of->gradient, err);
    case 1:
        return svit_cross_entropy_soft(of->logits, of->targets, of->n, of->classes, loss,
                                       of->gradient, err);
    case 2:
        return svit_cross_entropy_weighted(of->logits, of->labels, of->weights, of->n, of->classes,
                                           of->smoothing, loss, of->gradient, err);
    case 3:
        return svit_binary_cross_entropy(of->logits, of->targets, of->weights, of->n, of->classes,
                                         of->smoothing, loss, of->gradient, err);
    default:
        return svit_mean_squared_error(of->logits, of->targets, of->n, of->classes, loss,
                                       of->gradient, err);
    }
}

static void check_probabilities(const arrays *of)
{
    svit_error err = FUZZ_ERROR;
    const size_t elements = of->n * of->classes;
    bool finite = true;
    for (size_t i = 0; i < elements; i++)
        finite = finite && isfinite(of->logits[i]);
    if (fuzz_ok(svit_softmax(of->logits, of->n, of->classes, of->gradient, &err), &err) && finite)
        for (size_t i = 0; i < elements; i++)
            FUZZ_CHECK(of->gradient[i] >= 0 && of->gradient[i] <= 1.0001f);
    if (fuzz_ok(svit_sigmoid(of->logits, of->n, of->classes, of->gradient, &err), &err))
        for (size_t i = 0; i < elements; i++)
            FUZZ_CHECK(of->gradient[i] >= 0 && of->gradient[i] <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {data, size};
    svit_error err = FUZZ_ERROR;
    arrays of = {.n = fuzz_range(&bytes, 0, 5), .classes = fuzz_range(&bytes, 0, 21)};
    const bool wild = fuzz_take(&bytes, 1) % 8 == 0;
    of.smoothing = wild ? fuzz_float(&bytes) : (float)fuzz_range(&bytes, 0, 255) / 256;
    of.labels = malloc(5 * sizeof *of.labels);
    FUZZ_CHECK(of.labels);
    for (size_t i = 0; i < of.n; i++)
        of.labels[i] = wild ? (int32_t)fuzz_take(&bytes, 4)
                            : (int32_t)fuzz_range(&bytes, 0, (uint32_t)of.classes);
    of.logits = fuzz_floats(&bytes, of.n * of.classes);
    of.targets = fuzz_floats(&bytes, of.n * of.classes);
    of.weights = fuzz_floats(&bytes, of.classes);
    of.gradient = malloc((of.n * of.classes + 1) * sizeof *of.gradient);
    FUZZ_CHECK(of.gradient);
    for (size_t i = 0; i < of.n * of.classes; i++) {
        of.gradient[i] = UNTOUCHED;
        if (!wild)
            of.targets[i] = fminf(fabsf(of.targets[i]), 1);
    }
    for (size_t i = 0; !wild && i < of.classes; i++)
        of.weights[i] = fabsf(of.weights[i]);
    for (int kind = 0; kind < 5; kind++) {
        float loss = UNTOUCHED;
        const svit_status status = loss_of(&of, kind, &loss, &err);
        check(&of, status, &err, loss);
    }
    check_probabilities(&of);
    free(of.gradient);
    free(of.weights);
    free(of.targets);
    free(of.logits);
    free(of.labels);
    return fuzz_end();
}
