/* How the graph of an ONNX file ends: with the model's logits, or with the probabilities that
 * predictors make of them. */
#include "export/onnx.h"
#include "export/onnx_ops.h"
#include "models/parts/text_head.h"

#include <float.h>

const char *sv_onnx_output_name(const svit_onnx_options *options)
{
    return options->output == SVIT_ONNX_PROBABILITIES ? "probabilities" : "logits";
}

svit_status sv_onnx_output_check(const svit_onnx_options *options, const svit_model *model,
                                 svit_error *err)
{
    if (options->output == SVIT_ONNX_PROBABILITIES && model->output == SVIT_OUTPUT_LOGITS)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "svit_onnx_options.output is 'probabilities', but the model predicts "
                       "numbers; 'logits' is accepted");
    return SVIT_OK;
}

size_t sv_onnx_output_classes(const svit_onnx_options *options, const svit_model *model)
{
    return options->output == SVIT_ONNX_PROBABILITIES && model->text_head
               ? model->text_head->classes
               : model->config.num_classes;
}

/* x[N, channels] divided by what `op` makes of each row of `rows`, at least FLT_MIN. */
static sv_onnx_value divided_by(sv_onnx_graph *graph, const sv_onnx_value *x, const char *op,
                                const sv_onnx_value *rows)
{
    const int64_t last = -1;
    sv_onnx_begin(graph, op);
    sv_onnx_input(graph, rows);
    sv_onnx_integers(graph, "axes", &last, 1);
    sv_onnx_value divisor = sv_onnx_end(graph);
    divisor = sv_onnx_binary_scalar(graph, "Max", &divisor, FLT_MIN);
    return sv_onnx_binary(graph, "Div", x, &divisor);
}

/* scale * the cosine similarities of x[N, channels] with the texts + bias: [N, classes]. The texts
 * are a constant of the graph, since the initialisers are the model's parameters. */
static sv_onnx_value text_logits(sv_onnx_graph *graph, const sv_onnx_value *x)
{
    const struct sv_text_head *head = graph->model->text_head;
    const int64_t shape[] = {(int64_t)head->classes, (int64_t)head->channels};
    /* Of numbers of at most 1, whose squares are in range whatever the features are. */
    const sv_onnx_value sizes = sv_onnx_unary(graph, "Abs", x);
    const sv_onnx_value scaled = divided_by(graph, x, "ReduceMax", &sizes);
    const sv_onnx_value direction = divided_by(graph, &scaled, "ReduceL2", &scaled);
    const sv_onnx_value texts = sv_onnx_tensor(graph, head->weight, shape, 2);
    sv_onnx_begin(graph, "Gemm");
    sv_onnx_input(graph, &direction);
    sv_onnx_input(graph, &texts);
    sv_onnx_integer(graph, "transB", 1);
    sv_onnx_real(graph, "alpha", head->scale);
    const sv_onnx_value similarities = sv_onnx_end(graph);
    return sv_onnx_binary_scalar(graph, "Add", &similarities, head->bias);
}

void sv_onnx_output(sv_onnx_graph *graph, const svit_onnx_options *options,
                    const sv_onnx_value *logits)
{
    const svit_model *model = graph->model;
    sv_onnx_value x = *logits;
    if (options->output != SVIT_ONNX_PROBABILITIES) {
        sv_onnx_begin(graph, "Identity");
    } else {
        if (model->text_head)
            x = text_logits(graph, &x);
        sv_onnx_begin(graph, model->output == SVIT_OUTPUT_SIGMOID ? "Sigmoid" : "Softmax");
    }
    sv_onnx_input(graph, &x);
    sv_onnx_end_as(graph, sv_onnx_output_name(options));
}
