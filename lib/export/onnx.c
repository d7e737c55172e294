/* The export of models as ONNX files. */
#include "export/onnx.h"

#include "base/threads/fp_env.h"
#include "export/onnx_ops.h"
#include "models/parts/lora.h"

typedef sv_onnx_value (*graph_function)(sv_onnx_graph *graph, const sv_onnx_value *images);

#define GRAPH_FUNCTION(constant, prefix, paper_weights)                                            \
    [SVIT_ARCHITECTURE_##constant] = sv_##prefix##_onnx,
static const graph_function GRAPHS[] = {SV_ARCHITECTURES(GRAPH_FUNCTION)};

static svit_status make_graph(sv_onnx_graph *graph, const svit_onnx_options *options,
                              svit_error *err)
{
    const svit_model_config *config = &graph->model->config;
    sv_onnx_value x = {SV_ONNX_IMAGES};
    graph->height = config->input_height;
    graph->width = config->input_width;
    if (options->preprocessing) {
        const sv_onnx_value bytes = {SV_ONNX_BYTES};
        SVIT_TRY(sv_onnx_pipeline_size(graph, err));
        x = sv_onnx_pipeline(graph, &bytes);
    }
    x = GRAPHS[config->architecture](graph, &x);
    sv_onnx_scope(graph, "%s", "output");
    sv_onnx_output(graph, options, &x);
    return sv_onnx_graph_status(graph, err);
}

static svit_status export_model(const svit_model *model, const char *path,
                                const svit_onnx_options *options, svit_error *err)
{
    sv_onnx_graph graph;
    svit_status status = sv_onnx_graph_init(&graph, model, err);
    if (status == SVIT_OK)
        status = make_graph(&graph, options, err);
    if (status == SVIT_OK)
        status = sv_onnx_file_write(&graph, options, path, err);
    sv_onnx_graph_free(&graph);
    return status;
}

SVIT_API svit_status svit_model_export_onnx(const svit_model *model, const char *path,
                                            const svit_onnx_options *options, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    SV_REQUIRE(path);
    svit_onnx_options local;
    SVIT_TRY(sv_config_read(&sv_onnx_options_type, &local, options, err));
    if (model->config.mask_ratio > 0)
        return sv_fail(err, SVIT_E_UNSUPPORTED, "a model with mask_ratio above 0 is not exported");
    SVIT_TRY(sv_onnx_output_check(&local, model, err));
    svit_model *merged = NULL;
    if (sv_model_has_lora(model))
        SVIT_TRY(sv_model_merged(&merged, model, err));
    svit_status status = export_model(merged ? merged : model, path, &local, err);
    svit_model_free(merged);
    return status;
}
