/* Runs the evaluation pipeline on batches, for public functions. Each image is one task of the
 * worker pool. */
#include <shiftvit/pipeline.h>

#include "base/size.h"
#include "base/threads/fp_env.h"
#include "context/context.h"
#include "data/augmentation/pipeline.h"
#include "data/augmentation/pipeline_config.h"
#include "data/checks.h"

typedef struct evaluation {
    const sv_pipeline *plan;
    const char *pixels;
    size_t image_bytes; /* of one input image */
    float *out;
    size_t elements; /* of one output image */
    float *scratch;
    size_t scratch_size; /* elements of one worker's scratch */
} evaluation;

static void evaluate_task(void *argument, size_t task, uint32_t worker)
{
    const evaluation *job = argument;
    sv_pipeline_evaluate(job->plan, job->out + task * job->elements,
                         job->pixels + task * job->image_bytes,
                         job->scratch + worker * job->scratch_size);
}

svit_status sv_pipeline_evaluate_batch(const sv_pipeline *plan, svit_context *context,
                                       const void *pixels, size_t n, const sv_image_shape *shape,
                                       float *out, svit_error *err)
{
    const size_t workers = sv_pool_workers(context->pool, n);
    const size_t scratch_size = sv_pipeline_scratch(plan);
    void *scratch = NULL;
    SVIT_TRY(sv_allocate_uncleared(&context->allocator, &scratch, workers,
                                   sv_size_times(scratch_size, sizeof(float)),
                                   "a pipeline's scratch", err));
    evaluation job = {
        .plan = plan,
        .pixels = pixels,
        .image_bytes = sv_image_bytes(shape),
        .out = out,
        .elements =
            sv_pipeline_height(plan, false) * sv_pipeline_width(plan, false) * shape->channels,
        .scratch = scratch,
        .scratch_size = scratch_size,
    };
    sv_pool_run(context->pool, evaluate_task, &job, n);
    sv_release(&context->allocator, scratch, workers * scratch_size * sizeof(float));
    return SVIT_OK;
}

svit_status sv_pipeline_check_images(const char *where, const svit_pipeline_config *config,
                                     const void *images, size_t n, const sv_image_shape *shape,
                                     svit_error *err)
{
    size_t factors[] = {n, shape->height, shape->width, sv_image_pixel_bytes(shape)}, bytes;
    SVIT_TRY(sv_check_sides(where, "", shape->height, shape->width, err));
    if (n < 1 || !sv_size_product(&bytes, factors, 4))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: n is %zu; 1 or more are accepted, as far as they fit memory", where, n);
    if (!shape->is_f32)
        return SVIT_OK;
    return sv_check_values(where, images, n, bytes / n / sizeof(float), sv_pipeline_limit(config),
                           err);
}

static svit_status take_batches(const sv_pipeline_taker *taker, const sv_pipeline *plan,
                                const char *images, size_t n, const sv_image_shape *shape,
                                svit_error *err)
{
    for (size_t done = 0, batch; done < n; done += batch) {
        batch = sv_size_min(n - done, taker->batch);
        if (done > 0)
            SVIT_TRY(sv_context_go_on(taker->context, err));
        SVIT_TRY(sv_pipeline_evaluate_batch(plan, taker->context,
                                            images + done * sv_image_bytes(shape), batch, shape,
                                            taker->inputs, err));
        SVIT_TRY(taker->take(taker->user, done, batch, err));
    }
    return SVIT_OK;
}

/* All batches share a plan of the pipeline. */
svit_status sv_pipeline_evaluate_for(const sv_pipeline_taker *taker, const char *where,
                                     const void *images, size_t n, const sv_image_shape *shape,
                                     svit_error *err)
{
    sv_pipeline *plan;
    SVIT_TRY(sv_pipeline_check_images(where, taker->config, images, n, shape, err));
    SVIT_TRY(svit_context_check(taker->context, err));
    SVIT_TRY(sv_pipeline_create(&plan, &taker->context->allocator, taker->config, shape->height,
                                shape->width, shape->is_f32, err));
    const svit_status status = take_batches(taker, plan, images, n, shape, err);
    sv_pipeline_free(plan);
    return status;
}

/* Checks the images and evaluates them. The channels of `shape` are not set yet: they are the
 * configuration's. */
static svit_status apply(const char *where, svit_context *context,
                         const svit_pipeline_config *config, const void *pixels, size_t n,
                         sv_image_shape shape, float *out, svit_error *err)
{
    SVIT_TRY(svit_context_check(context, err));
    svit_pipeline_config local;
    SVIT_TRY(sv_config_read(&sv_pipeline_config_type, &local, config, err));
    shape.channels = local.channels;
    local.augment_count = 0; /* an evaluation has none, and needs no scratch for them */
    SVIT_TRY(sv_pipeline_check_images(where, &local, pixels, n, &shape, err));
    sv_pipeline *plan = NULL;
    SVIT_TRY(sv_pipeline_create(&plan, &context->allocator, &local, shape.height, shape.width,
                                shape.is_f32, err));
    svit_status status = sv_pipeline_evaluate_batch(plan, context, pixels, n, &shape, out, err);
    sv_pipeline_free(plan);
    return status;
}

SVIT_API svit_status svit_pipeline_apply_evaluation(svit_context *context,
                                                    const svit_pipeline_config *config,
                                                    const uint8_t *pixels, size_t n, size_t height,
                                                    size_t width, float *out, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(context);
    SV_REQUIRE(config);
    SV_REQUIRE(pixels);
    SV_REQUIRE(out);
    const sv_image_shape shape = {.height = height, .width = width};
    return apply(__func__, context, config, pixels, n, shape, out, err);
}

SVIT_API svit_status svit_pipeline_apply_evaluation_f32(svit_context *context,
                                                        const svit_pipeline_config *config,
                                                        const float *images, size_t n,
                                                        size_t height, size_t width, float *out,
                                                        svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(context);
    SV_REQUIRE(config);
    SV_REQUIRE(images);
    SV_REQUIRE(out);
    const sv_image_shape shape = {.height = height, .width = width, .is_f32 = true};
    return apply(__func__, context, config, images, n, shape, out, err);
}
