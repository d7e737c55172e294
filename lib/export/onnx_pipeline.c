/* The evaluation's steps of a pipeline as ONNX nodes. */
#include "data/augmentation/pipeline_config.h"
#include "data/resampling/antialias.h"
#include "export/onnx.h"
#include "export/onnx_format.h"
#include "export/onnx_ops.h"
#include "models/layer_list.h"

#include <float.h>
#include <math.h>

/* ONNX files have float32, and what the graph computes before the division is finite. */
static svit_status check_numbers(const svit_pipeline_config *config, svit_error *err)
{
    for (size_t c = 0; c < sv_pipeline_means(config->channels); c++) {
        const double deviation = sqrt(config->variance[c]);
        const double largest = 255 * config->scale + fabs(config->mean[c]);
        if (fmax(largest, deviation) > FLT_MAX || fmin(config->scale, deviation) < FLT_MIN)
            return sv_fail(
                err, SVIT_E_UNSUPPORTED,
                "255 times the pipeline's scale %g, its mean %g or deviation %g is beyond "
                "float32",
                config->scale, config->mean[c], deviation);
    }
    return SVIT_OK;
}

svit_status sv_onnx_pipeline_size(sv_onnx_graph *graph, svit_error *err)
{
    const svit_model *model = graph->model;
    sv_layer_list layers;
    if (!model->has_pipeline)
        return sv_fail(
            err, SVIT_E_STATE,
            "preprocessing is wanted, but the model has no pipeline; svit_model_set_pipeline "
            "gives it one");
    if (model->pipeline.channels != model->config.in_channels)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "channels of the pipeline is %u; in_channels of the model is %u",
                       model->pipeline.channels, model->config.in_channels);
    SVIT_TRY(check_numbers(&model->pipeline, err));
    SVIT_TRY(svit_pipeline_evaluation_size(&model->pipeline, &graph->height, &graph->width, err));
    /* Fails if the model does not accept this size, because its layers cannot be created then. */
    SVIT_TRY(sv_model_layers(&layers, model, graph->height, graph->width, err));
    sv_layer_list_free(model->context, &layers);
    return SVIT_OK;
}

/* A value for each channel, or one for all. */
static sv_onnx_value channel_values(sv_onnx_graph *graph, const double values[SVIT_MAX_CHANNELS])
{
    float rounded[SVIT_MAX_CHANNELS] = {0};
    const int64_t count = sv_pipeline_means(graph->model->pipeline.channels);
    for (int64_t c = 0; c < count; c++)
        rounded[c] = (float)values[c];
    return sv_onnx_tensor(graph, rounded, &count, 1);
}

/* (byte * scale - mean) / sqrt(variance) */
static sv_onnx_value normalize(sv_onnx_graph *graph, const sv_onnx_value *bytes)
{
    const svit_pipeline_config *config = &graph->model->pipeline;
    double deviation[SVIT_MAX_CHANNELS] = {0};
    for (size_t c = 0; c < sv_pipeline_means(config->channels); c++)
        deviation[c] = sqrt(config->variance[c]);
    sv_onnx_begin(graph, "Cast");
    sv_onnx_input(graph, bytes);
    sv_onnx_integer(graph, "to", DATA_FLOAT);
    sv_onnx_value x = sv_onnx_end(graph);
    x = sv_onnx_binary_scalar(graph, "Mul", &x, config->scale);
    const sv_onnx_value mean = channel_values(graph, config->mean);
    x = sv_onnx_binary(graph, "Sub", &x, &mean);
    const sv_onnx_value divisor = channel_values(graph, deviation);
    return sv_onnx_binary(graph, "Div", &x, &divisor);
}

/* Bilinear interpolation. In ONNX it works on the last two dimensions, so height and width are
 * moved there. */
static sv_onnx_value resize(sv_onnx_graph *graph, const sv_onnx_value *x, size_t height,
                            size_t width)
{
    static const int64_t to_channels_first[4] = {0, 3, 1, 2}, to_channels_last[4] = {0, 2, 3, 1};
    const int64_t shape[3] = {graph->model->pipeline.channels, (int64_t)height, (int64_t)width};
    const sv_onnx_value in = sv_onnx_transpose(graph, x, to_channels_first, 4);
    const sv_onnx_value sizes = sv_onnx_batch_shape(graph, x, shape, 3);
    sv_onnx_begin(graph, "Resize");
    sv_onnx_input(graph, &in);
    sv_onnx_no_input(graph); /* the region of interest */
    sv_onnx_no_input(graph); /* the scales, which follow from the sizes */
    sv_onnx_input(graph, &sizes);
    sv_onnx_text(graph, "mode", "linear");
    sv_onnx_text(graph, "coordinate_transformation_mode", "half_pixel");
    const sv_onnx_value out = sv_onnx_end(graph);
    return sv_onnx_transpose(graph, &out, to_channels_last, 4);
}

static sv_onnx_value crop(sv_onnx_graph *graph, const sv_onnx_value *x)
{
    const svit_pipeline_config *config = &graph->model->pipeline;
    const bool floors = sv_evaluation_floors(config);
    const int64_t top =
        (int64_t)sv_centre_offset(config->resize_height, config->output_height, floors);
    const int64_t left =
        (int64_t)sv_centre_offset(config->resize_width, config->output_width, floors);
    const int64_t begins[3] = {top, left, 0};
    const int64_t ends[3] = {top + config->output_height, left + config->output_width,
                             config->channels};
    return sv_onnx_slice_box(graph, x, begins, ends);
}

sv_onnx_value sv_onnx_pipeline(sv_onnx_graph *graph, const sv_onnx_value *bytes)
{
    const svit_pipeline_config *config = &graph->model->pipeline;
    const bool is_output = config->resize_height == config->output_height &&
                           config->resize_width == config->output_width;
    sv_onnx_scope(graph, "%s", "preprocessing");
    sv_onnx_value x = normalize(graph, bytes);
    if (config->resize_height != config->source_height ||
        config->resize_width != config->source_width)
        x = resize(graph, &x, config->resize_height, config->resize_width);
    if (config->evaluation == SVIT_EVALUATE_KEEP || is_output)
        return x;
    return sv_evaluation_crops(config)
               ? crop(graph, &x)
               : resize(graph, &x, config->output_height, config->output_width);
}
