/* What extractors compute of images. */
#include "features/extractor.h"

#include "base/threads/fp_env.h"
#include "data/augmentation/pipeline.h"
#include "data/decoding/image_shape.h"

#include <string.h>

/* out[c] = the mean over the patches of x[patches, c]. */
static void mean_patch(float *out, const float *x, size_t patches, size_t c)
{
    for (size_t k = 0; k < c; k++) {
        double sum = 0;
        for (size_t t = 0; t < patches; t++)
            sum += (double)x[t * c + k];
        out[k] = (float)(sum / (double)patches);
    }
}

/* out[c] = the mean of the patch of x[height, width, c] in this row and column and of those of the
 * eight around it that lie within the grid. */
static void average_around(float *out, const float *x, const sv_shape *grid, size_t row,
                           size_t column)
{
    const size_t c = grid->channels;
    for (size_t k = 0; k < c; k++) {
        double sum = 0, count = 0;
        for (size_t y = row > 0 ? row - 1 : 0; y < grid->height && y <= row + 1; y++)
            for (size_t z = column > 0 ? column - 1 : 0; z < grid->width && z <= column + 1; z++) {
                sum += (double)x[(y * grid->width + z) * c + k];
                count++;
            }
        out[k] = (float)(sum / count);
    }
}

/* out[height, width, c], likewise of each patch */
static void average_patches(float *out, const float *x, const sv_shape *grid)
{
    for (size_t row = 0; row < grid->height; row++)
        for (size_t column = 0; column < grid->width; column++, out += grid->channels)
            average_around(out, x, grid, row, column);
}

/* Turns outputs[n, tokens, c] into the samples of n images. */
static void pool_tokens(float *out, const svit_extractor *self, size_t n)
{
    const size_t c = self->channels, patches = self->tokens - self->prefix;
    const size_t sample = sv_shape_elements(self->grid);
    const float *x = self->outputs;
    for (size_t i = 0; i < n; i++, x += self->tokens * c, out += sample) {
        const float *first = x + self->prefix * c;
        switch (self->config.tokens) {
        case SVIT_TOKENS_CLASS:
            memcpy(out, x, c * sizeof *out);
            break;
        case SVIT_TOKENS_PATCHES:
            memcpy(out, first, sample * sizeof *out);
            break;
        case SVIT_TOKENS_PATCHES_3X3:
            average_patches(out, first, &self->grid);
            break;
        default:
            mean_patch(out, first, patches, c);
        }
    }
}

svit_status sv_extractor_forward(svit_extractor *self, size_t n, float *rows, svit_error *err)
{
    float *outputs = self->tokens > 1 ? self->outputs : rows;
    SVIT_TRY(svit_forward_features(self->session, self->inputs, n, self->layer, outputs,
                                   n * self->tokens * self->channels, err));
    if (self->tokens > 1)
        pool_tokens(rows, self, n);
    return SVIT_OK;
}

/* A call, and where its features go. */
typedef struct extraction {
    svit_extractor *extractor;
    float *features;
} extraction;

static svit_status take_batch(void *user, size_t first, size_t n, svit_error *err)
{
    const extraction *self = user;
    const size_t image = sv_shape_elements(self->extractor->grid);
    return sv_extractor_forward(self->extractor, n, self->features + first * image, err);
}

/* Computes the features of n images, bytes or floats. */
static svit_status extract(const char *where, svit_extractor *self, const void *images, size_t n,
                           const sv_image_shape *shape, float *features, svit_error *err)
{
    const sv_pipeline_taker taker = {.config = &self->pipeline,
                                     .context = self->context,
                                     .batch = self->config.batch,
                                     .inputs = self->inputs,
                                     .take = take_batch,
                                     .user = &(extraction){self, features}};
    return sv_pipeline_evaluate_for(&taker, where, images, n, shape, err);
}

SVIT_API svit_status svit_extract_u8(svit_extractor *extractor, const uint8_t *pixels, size_t n,
                                     size_t height, size_t width, float *features, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(extractor);
    SV_REQUIRE(pixels);
    SV_REQUIRE(features);
    const sv_image_shape shape = {height, width, extractor->pipeline.channels, false};
    return extract(__func__, extractor, pixels, n, &shape, features, err);
}

SVIT_API svit_status svit_extract_f32(svit_extractor *extractor, const float *images, size_t n,
                                      size_t height, size_t width, float *features, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(extractor);
    SV_REQUIRE(images);
    SV_REQUIRE(features);
    const sv_image_shape shape = {height, width, extractor->pipeline.channels, true};
    return extract(__func__, extractor, images, n, &shape, features, err);
}
