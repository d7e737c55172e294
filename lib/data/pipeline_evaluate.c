/* The public function that runs the evaluation pipeline on a batch. Each image is one task of the
 * worker pool. */
#include <shiftvit/pipeline.h>

#include "base/size.h"
#include "context/context.h"
#include "data/checks.h"
#include "data/pipeline_config.h"
#include "data/pipeline_plan.h"

typedef struct evaluation {
    const sv_pipeline *plan;
    const uint8_t *rgb;
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
                         job->rgb + task * job->image_bytes,
                         job->scratch + worker * job->scratch_size);
}

static svit_status evaluate_images(svit_context *context, const sv_pipeline *plan,
                                   const uint8_t *rgb, size_t n, size_t image_bytes, float *out,
                                   svit_error *err)
{
    size_t workers = sv_pool_threads(context->pool);
    size_t scratch_size = sv_pipeline_scratch(plan);
    void *scratch = NULL;
    SVIT_TRY(sv_allocate_array(&context->allocator, &scratch, workers, scratch_size * sizeof(float),
                               "a pipeline's scratch", err));
    evaluation job = {
        .plan = plan,
        .rgb = rgb,
        .image_bytes = image_bytes,
        .out = out,
        .elements = sv_pipeline_height(plan, false) * sv_pipeline_width(plan, false) * SV_RGB,
        .scratch = scratch,
        .scratch_size = scratch_size,
    };
    sv_pool_run(context->pool, evaluate_task, &job, n);
    sv_release(&context->allocator, scratch, workers * scratch_size * sizeof(float));
    return SVIT_OK;
}

SVIT_API svit_status svit_pipeline_apply_evaluation(svit_context *context,
                                                    const svit_pipeline_config *config,
                                                    const uint8_t *rgb, size_t n, size_t height,
                                                    size_t width, float *out, svit_error *err)
{
    SV_REQUIRE(context);
    SV_REQUIRE(config);
    SV_REQUIRE(rgb);
    SV_REQUIRE(out);
    SVIT_TRY(svit_context_check(context, err));
    svit_pipeline_config local;
    SVIT_TRY(sv_pipeline_config_read(&local, config, err));
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    size_t factors[] = {n, height, width, SV_RGB};
    size_t bytes = 0;
    if (n < 1 || !sv_size_product(&bytes, factors, 4))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: n is %zu; 1 or more are accepted, as far as they fit memory", __func__,
                       n);
    sv_pipeline *plan = NULL;
    SVIT_TRY(sv_pipeline_create(&plan, &context->allocator, &local, height, width, err));
    svit_status status = evaluate_images(context, plan, rgb, n, bytes / n, out, err);
    sv_pipeline_free(&context->allocator, plan);
    return status;
}
