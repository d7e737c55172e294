/* The whitening filters of a stem, computed from the patches of training images. */
#include "base/numbers/eigen.h"
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "models/model.h"
#include "models/shiftvit/shiftvit.h"

#include <math.h>
#include <string.h>

/* Added to the eigenvalues, so that directions without variance do not become noise (Jordan 2024).
 */
#define WHITENING_EPSILON 5e-4

/* The memory of one call: k values of a patch, and three arrays of k or k * k doubles. */
typedef struct whitening {
    const svit_model_config *config;
    size_t k; /* values of a patch */
    double *patch, *moments, *vectors, *values;
    size_t doubles;
} whitening;

/* patch[c, y, x] = the patch whose first pixel is (top, left). */
static void read_patch(double *patch, const svit_model_config *config, const float *image,
                       size_t top, size_t left)
{
    const size_t p = config->patch_size, channels = config->in_channels;
    for (size_t c = 0; c < channels; c++)
        for (size_t y = 0; y < p; y++)
            for (size_t x = 0; x < p; x++)
                *patch++ =
                    (double)image[((top + y) * config->input_width + left + x) * channels + c];
}

/* Adds the products of a patch's values to the upper triangle of the moments. */
static void add_products(const whitening *self)
{
    for (size_t i = 0; i < self->k; i++)
        for (size_t j = i; j < self->k; j++)
            self->moments[i * self->k + j] += self->patch[i] * self->patch[j];
}

/* Who asks whether a call goes on, and what was said. */
typedef struct asking {
    svit_context *context;
    svit_status status;
    svit_error *err;
} asking;

static bool goes_on(void *user)
{
    asking *self = user;
    self->status = sv_context_go_on(self->context, self->err);
    return self->status == SVIT_OK;
}

/* moments[k, k] = the mean over all patches of patch patch^T. Returns false if it was stopped. */
static bool sum_moments(const whitening *self, const float *nhwc, size_t n, asking *ask)
{
    const svit_model_config *config = self->config;
    const size_t p = config->patch_size, k = self->k;
    const size_t down = config->input_height / p, across = config->input_width / p;
    const size_t image = (size_t)config->input_height * config->input_width * config->in_channels;
    for (size_t i = 0; i < n; i++) {
        if (!goes_on(ask))
            return false;
        for (size_t patch = 0; patch < down * across; patch++) {
            read_patch(self->patch, config, nhwc + i * image, patch / across * p,
                       patch % across * p);
            add_products(self);
        }
    }
    for (size_t i = 0; i < k; i++)
        for (size_t j = i; j < k; j++) {
            double mean = self->moments[i * k + j] / (double)(n * down * across);
            self->moments[i * k + j] = self->moments[j * k + i] = mean;
        }
    return true;
}

/* weight[2 k, k] in the layout of files: the filters, then their negatives. */
static void write_filters(float *weight, const whitening *self)
{
    const size_t k = self->k;
    for (size_t i = 0; i < k; i++) {
        double scale = 1 / sqrt(fmax(self->values[i], 0) + WHITENING_EPSILON);
        for (size_t j = 0; j < k; j++) {
            weight[i * k + j] = (float)(self->vectors[i * k + j] * scale);
            weight[(k + i) * k + j] = -weight[i * k + j];
        }
    }
}

static svit_status check_finite(const float *nhwc, size_t elements, svit_error *err)
{
    for (size_t i = 0; i < elements; i++)
        if (!isfinite(nhwc[i]))
            return sv_fail(err, SVIT_E_NUMERIC, "nhwc[%zu] is %g; images are finite", i,
                           (double)nhwc[i]);
    return SVIT_OK;
}

/* Sets the parameters of the stem. */
static svit_status set_filters(svit_model *model, const whitening *self, svit_error *err)
{
    const sv_allocator *allocator = &model->context->allocator;
    const size_t elements = 2 * self->k * self->k;
    float *weight = NULL;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&weight, elements, sizeof *weight,
                               "whitening filters", err));
    write_filters(weight, self);
    svit_status status =
        svit_model_set_parameter(model, SV_SHIFTVIT_WHITEN ".weight", weight, elements, err);
    memset(weight, 0, 2 * self->k * sizeof *weight);
    if (status == SVIT_OK)
        status =
            svit_model_set_parameter(model, SV_SHIFTVIT_WHITEN ".bias", weight, 2 * self->k, err);
    sv_release(allocator, weight, elements * sizeof *weight);
    return status;
}

SVIT_API svit_status svit_model_whiten(svit_model *model, const float *nhwc, size_t n,
                                       svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    SV_REQUIRE(nhwc);
    const svit_model_config *config = &model->config;
    if (config->architecture != SVIT_ARCHITECTURE_SHIFTVIT || config->stem != SVIT_STEM_WHITENED)
        return sv_fail(err, SVIT_E_STATE,
                       "the model's stem is another one; only SVIT_STEM_WHITENED is whitened");
    const size_t image[4] = {n, config->input_height, config->input_width, config->in_channels};
    size_t elements = 0;
    if (n < 1 || !sv_size_product(&elements, image, 4) ||
        config->input_height < config->patch_size || config->input_width < config->patch_size)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "n is %zu; 1 or more images of a patch or more are accepted", n);
    SVIT_TRY(check_finite(nhwc, elements, err));
    whitening self = {.config = config, .k = sv_shiftvit_whitened_channels(config) / 2};
    self.doubles = 2 * self.k + 2 * self.k * self.k;
    const sv_allocator *allocator = &model->context->allocator;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&self.patch, self.doubles, sizeof *self.patch,
                               "the moments of patches", err));
    self.values = self.patch + self.k;
    self.moments = self.values + self.k;
    self.vectors = self.moments + self.k * self.k;
    asking ask = {.context = model->context, .err = err};
    const bool found =
        sum_moments(&self, nhwc, n, &ask) &&
        sv_eigen_symmetric(self.moments, self.k, self.values, self.vectors, goes_on, &ask);
    const svit_status status = found ? set_filters(model, &self, err) : ask.status;
    sv_release(allocator, self.patch, self.doubles * sizeof *self.patch);
    return status;
}
