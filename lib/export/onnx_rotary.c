/* Rotary position embeddings in the ONNX graph of a ViT (layers/attention/attention_rotary.c):
 *   y = x cos + partner(x) sin
 * where the sines of the first channel of each pair are negative. Tokens before the patches have
 * the angle 0. */
#include "export/onnx_rotary.h"

#include "layers/attention/rotary_phases.h"
#include "models/vit/vit.h"
#include "models/vit/vit_rotary.h"

/* The grid of patches, and the tokens before it. */
typedef struct grid {
    size_t rows, columns, prefix, tokens;
} grid;

static grid grid_of(const svit_model_config *config)
{
    return (grid){config->input_height / config->patch_size,
                  config->input_width / config->patch_size, sv_vit_prefix(config),
                  sv_vit_sequence(config)};
}

/* Element [token, channel] of cosines and sines from the phases of the token's row and column. */
static void write_channel(float *cosine, float *sine, const real *row, const real *column,
                          size_t pairs, size_t pair, bool is_first)
{
    const double cr = row[pair], sr = row[pairs + pair], cc = column[pair],
                 sc = column[pairs + pair];
    const double sum = sr * cc + cr * sc;
    *cosine = (float)(cr * cc - sr * sc);
    *sine = (float)(is_first ? -sum : sum);
}

/* cosines[tokens, head_dim] and sines[tokens, head_dim] */
static void write_tables(float *cosines, float *sines, const real *phases, const grid *of,
                         size_t pairs, bool halves)
{
    for (size_t i = 0; i < of->tokens * 2 * pairs; i++) {
        const size_t token = i / (2 * pairs), channel = i % (2 * pairs);
        if (token < of->prefix) {
            cosines[i] = 1;
            sines[i] = 0;
            continue;
        }
        const size_t patch = token - of->prefix, row = patch / of->columns;
        const size_t column = of->rows + patch % of->columns;
        write_channel(&cosines[i], &sines[i], phases + row * 2 * pairs, phases + column * 2 * pairs,
                      pairs, halves ? channel % pairs : channel / 2,
                      halves ? channel < pairs : channel % 2 == 0);
    }
}

sv_onnx_rotary sv_onnx_rotary_fixed(sv_onnx_graph *graph, const svit_model_config *config)
{
    const grid of = grid_of(config);
    const sv_rotary_options options = sv_vit_rotary(config, of.rows, of.columns);
    const sv_allocator *allocator = &graph->model->context->allocator;
    const size_t d = config->head_dim, elements = sv_size_times(of.tokens, d),
                 places = of.rows + of.columns;
    const int64_t shape[2] = {(int64_t)of.tokens, (int64_t)d};
    sv_onnx_rotary rotary = {0};
    real *phases = NULL;
    float *tables = NULL;
    svit_status status = sv_allocate_array(allocator, (void **)&phases, places, d * sizeof *phases,
                                           "rotary angles", NULL);
    if (status == SVIT_OK)
        status = sv_allocate_array(allocator, (void **)&tables, elements, 2 * sizeof *tables,
                                   "rotary angles", NULL);
    if (status == SVIT_OK) {
        sv_rotary_fixed_phases(phases, &options, d);
        write_tables(tables, tables + elements, phases, &of, d / 2, options.halves);
        rotary.cosines = sv_onnx_tensor(graph, tables, shape, 2);
        rotary.sines = sv_onnx_tensor(graph, tables + elements, shape, 2);
    } else {
        graph->nodes.status = status;
    }
    if (tables)
        sv_release(allocator, tables, 2 * elements * sizeof *tables);
    if (phases)
        sv_release(allocator, phases, places * d * sizeof *phases);
    return rotary;
}

/* The indices of the rows of tokens, or of their columns, as [tokens, 1]; 0 of other tokens. In a
 * graph without an array: 0, 1, .. from a running sum of ones, repeated along the other axis. */
static sv_onnx_value places_of(sv_onnx_graph *graph, const grid *of, bool rows)
{
    const int64_t height = (int64_t)of->rows, width = (int64_t)of->columns;
    const int64_t line[2] = {rows ? height : 1, rows ? 1 : width}, all[2] = {height, width};
    const int64_t column[2] = {height * width, 1}, before[2] = {(int64_t)of->prefix, 1};
    sv_onnx_value zeros = sv_onnx_vector(graph, line, 2), parts[2];
    zeros = sv_onnx_unary(graph, "ConstantOfShape", &zeros);
    const sv_onnx_value ones = sv_onnx_binary_scalar(graph, "Add", &zeros, 1);
    const sv_onnx_value axis = sv_onnx_index(graph, rows ? 0 : 1);
    sv_onnx_value x = sv_onnx_binary(graph, "CumSum", &ones, &axis);
    x = sv_onnx_binary_scalar(graph, "Sub", &x, 1);
    const sv_onnx_value target = sv_onnx_vector(graph, all, 2);
    x = sv_onnx_binary(graph, "Expand", &x, &target);
    x = sv_onnx_reshape(graph, &x, column, 2);
    if (of->prefix == 0)
        return x;
    parts[0] = sv_onnx_vector(graph, before, 2);
    parts[0] = sv_onnx_unary(graph, "ConstantOfShape", &parts[0]);
    parts[1] = x;
    return sv_onnx_concat(graph, parts, 2, 0);
}

/* a[1, heads, tokens, pairs] and b as neighbours: [1, heads, tokens, 2 pairs]. */
static sv_onnx_value interleave(sv_onnx_graph *graph, const svit_model_config *config,
                                const sv_onnx_value *a, const sv_onnx_value *b)
{
    const int64_t heads = config->heads, tokens = (int64_t)sv_vit_sequence(config);
    const int64_t apart[5] = {1, heads, tokens, config->head_dim / 2, 1};
    const int64_t joined[4] = {1, heads, tokens, config->head_dim};
    sv_onnx_value parts[2] = {sv_onnx_reshape(graph, a, apart, 5),
                              sv_onnx_reshape(graph, b, apart, 5)};
    const sv_onnx_value both = sv_onnx_concat(graph, parts, 2, 4);
    return sv_onnx_reshape(graph, &both, joined, 4);
}

sv_onnx_rotary sv_onnx_rotary_learnt(sv_onnx_graph *graph, const svit_model_config *config,
                                     const char *name)
{
    const grid of = grid_of(config);
    const int64_t shape[4] = {2, config->heads, 1, config->head_dim / 2};
    const sv_onnx_value frequencies = sv_onnx_parameter_as(graph, name, "", shape, 4);
    sv_onnx_value angles[2];
    for (size_t i = 0; i < 2; i++) {
        const bool rows = (i == 0) == (config->rope_axes == SVIT_ROPE_AXES_ROWS_FIRST);
        const sv_onnx_value places = places_of(graph, &of, rows);
        const sv_onnx_value own = sv_onnx_slice(graph, &frequencies, 0, i, i + 1);
        angles[i] = sv_onnx_binary(graph, "Mul", &own, &places);
    }
    const sv_onnx_value angle = sv_onnx_binary(graph, "Add", &angles[0], &angles[1]);
    const sv_onnx_value cosine = sv_onnx_unary(graph, "Cos", &angle);
    const sv_onnx_value sine = sv_onnx_unary(graph, "Sin", &angle);
    const sv_onnx_value negative = sv_onnx_unary(graph, "Neg", &sine);
    return (sv_onnx_rotary){interleave(graph, config, &cosine, &cosine),
                            interleave(graph, config, &negative, &sine)};
}

/* Each channel's partner in its pair, in the place of the channel. */
static sv_onnx_value partners(sv_onnx_graph *graph, const svit_model_config *config,
                              const sv_onnx_value *x)
{
    const bool halves = config->rope_pairs == SVIT_ROPE_PAIRS_HALVES;
    const int64_t pairs[5] = {0, 0, 0, config->head_dim / 2, 2};
    const int64_t joined[4] = {0, 0, 0, config->head_dim};
    const int64_t axis = halves ? 3 : 4;
    const size_t half = halves ? config->head_dim / 2 : 1;
    const sv_onnx_value by_pairs = halves ? *x : sv_onnx_reshape(graph, x, pairs, 5);
    sv_onnx_value parts[2] = {sv_onnx_slice(graph, &by_pairs, axis, half, 2 * half),
                              sv_onnx_slice(graph, &by_pairs, axis, 0, half)};
    const sv_onnx_value swapped = sv_onnx_concat(graph, parts, 2, axis);
    return halves ? swapped : sv_onnx_reshape(graph, &swapped, joined, 4);
}

sv_onnx_value sv_onnx_rotate(sv_onnx_graph *graph, const svit_model_config *config,
                             const sv_onnx_rotary *rotary, const sv_onnx_value *x)
{
    const sv_onnx_value partner = partners(graph, config, x);
    const sv_onnx_value kept = sv_onnx_binary(graph, "Mul", x, &rotary->cosines);
    const sv_onnx_value turned = sv_onnx_binary(graph, "Mul", &partner, &rotary->sines);
    return sv_onnx_binary(graph, "Add", &kept, &turned);
}
