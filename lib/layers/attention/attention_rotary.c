/* The rotary position embedding of an attention block (Su et al. 2021): the angles of the patches,
 * and what they do to queries and keys. An angle is the sum of one for the row and one for the
 * column of a patch, so only rows + columns of them are kept, as cosines and sines (sv_rotary).
 * Reference: tests/reference/plain_rotary.c. */
#include "layers/attention/attention_internal.h"

#include "base/size.h"
#include "layers/attention/rotary_phases.h"

#include <math.h>

size_t sv_attention_fixed_phases(const sv_attention_options *options)
{
    const sv_rotary_options *rotary = &options->rotary;
    size_t elements = 0;
    if (rotary->kind == SV_ROTARY_NONE || rotary->kind == SV_ROTARY_MIXED)
        return 0;
    const size_t factors[2] = {rotary->rows + rotary->columns, options->head_dim};
    return sv_size_product(&elements, factors, 2) ? elements : SIZE_MAX;
}

/* The angles of one axis of the grid belong to `count` pairs from `first` on. */
typedef struct axis {
    size_t first, count;
    size_t places, reference;
} axis;

/* Angle of pair j of an axis at the place with this index; svit_model_config.rope has the formulas.
 */
static double fixed_angle(const sv_rotary_options *rotary, const axis *of, size_t index, size_t j)
{
    const double places = (double)of->places, turn = 2 * acos(-1);
    /* An axis has d / 4 pairs, so theta^(-4 j / d) is theta^(-j / count). */
    const double frequency = pow(rotary->theta, -(double)j / (double)of->count);
    if (rotary->kind == SV_ROTARY_CENTRED)
        return turn * frequency * (2 * ((double)index + 0.5) / places - 1);
    const double place = (double)index + rotary->offset;
    return frequency * (of->reference > 0 ? place / places * (double)of->reference : place);
}

static void write_phase(real *phases, size_t pairs, size_t pair, double angle)
{
    phases[pair] = (real)cos(angle);
    phases[pairs + pair] = (real)sin(angle);
}

/* Phases [places, 2, pairs] of one axis; pairs of the other axis have the angle 0. Returns their
 * end. */
static real *write_fixed(real *phases, const sv_rotary_options *rotary, const axis *of)
{
    const size_t pairs = 2 * of->count;
    for (size_t index = 0; index < of->places; index++, phases += 2 * pairs)
        for (size_t pair = 0; pair < pairs; pair++) {
            const bool is_own = pair >= of->first && pair < of->first + of->count;
            write_phase(phases, pairs, pair,
                        is_own ? fixed_angle(rotary, of, index, pair - of->first) : 0);
        }
    return phases;
}

void sv_rotary_fixed_phases(real *phases, const sv_rotary_options *rotary, size_t head_dim)
{
    const size_t half = head_dim / 4;
    const axis rows = {rotary->columns_first ? half : 0, half, rotary->rows,
                       rotary->reference_rows};
    const axis columns = {half - rows.first, half, rotary->columns, rotary->reference_columns};
    write_fixed(write_fixed(phases, rotary, &rows), rotary, &columns);
}

void sv_attention_rotary_init(attention_block *block, const sv_layer_source *source,
                              const sv_attention_options *options)
{
    const sv_rotary_options *rotary = &options->rotary;
    block->rotary.frequencies = SV_NO_PARAMETER;
    if (rotary->kind == SV_ROTARY_NONE)
        return;
    block->rotary.rows = rotary->rows;
    block->rotary.columns = rotary->columns;
    block->rotary.prefix = sv_shape_tokens(options->shape) - rotary->rows * rotary->columns;
    block->rotary.halves = rotary->halves;
    block->rotary.columns_first = rotary->columns_first;
    if (rotary->kind == SV_ROTARY_MIXED) {
        block->rotary.frequencies =
            sv_layer_parameter(&block->base, source, options->names.frequencies, "");
        return;
    }
    sv_rotary_fixed_phases(block->fixed_phases, rotary, options->head_dim);
    block->rotary.phases = block->fixed_phases;
}

/* Elements of the phases of one head. */
static size_t head_phases(const attention_block *block)
{
    return (block->rotary.rows + block->rotary.columns) * block->head_dim;
}

size_t sv_attention_derived_phases(const attention_block *block)
{
    return block->rotary.frequencies == SV_NO_PARAMETER ? 0 : block->heads * head_phases(block);
}

/* Indices, in the frequencies [2, heads, pairs], of those of rows and of columns of the first head.
 */
typedef struct frequency_parts {
    size_t rows, columns;
} frequency_parts;

static frequency_parts parts_of(const attention_block *block)
{
    const size_t second = block->heads * block->head_dim / 2;
    return block->rotary.columns_first ? (frequency_parts){second, 0}
                                       : (frequency_parts){0, second};
}

/* The phases of one axis and head: angle = index * frequency. Returns their end. */
static real *write_learnt(real *phases, const real *frequencies, size_t places, size_t pairs)
{
    for (size_t index = 0; index < places; index++, phases += 2 * pairs)
        for (size_t pair = 0; pair < pairs; pair++)
            write_phase(phases, pairs, pair, (double)index * (double)frequencies[pair]);
    return phases;
}

void sv_attention_derive_phases(const attention_block *block, const sv_run *run, real *phases)
{
    const size_t pairs = block->head_dim / 2;
    const frequency_parts parts = parts_of(block);
    const real *frequencies = run->weights + block->rotary.frequencies;
    for (size_t head = 0; head < block->heads; head++, frequencies += pairs) {
        phases = write_learnt(phases, frequencies + parts.rows, block->rotary.rows, pairs);
        phases = write_learnt(phases, frequencies + parts.columns, block->rotary.columns, pairs);
    }
}

static sv_rotary rotary_of(const attention_block *block, size_t first, size_t heads)
{
    const attention_rotary *rotary = &block->rotary;
    const bool per_head = rotary->frequencies != SV_NO_PARAMETER;
    return (sv_rotary){.phases = rotary->phases + (per_head ? first * head_phases(block) : 0),
                       .rows = rotary->rows,
                       .columns = rotary->columns,
                       .heads = heads,
                       .pairs = block->head_dim / 2,
                       .stride = block->qkv_width,
                       .keys = block->heads_width,
                       .per_head = per_head,
                       .halves = rotary->halves};
}

void sv_attention_rotate(const attention_call *call, real *qkv, size_t first, size_t heads,
                         bool inverse)
{
    const attention_block *block = call->block;
    sv_rotary rotary = rotary_of(block, first, heads);
    rotary.inverse = inverse;
    call->run->exec.context->kernels->rotary(
        qkv + block->rotary.prefix * block->qkv_width + first * block->head_dim, &rotary);
}

void sv_attention_add_frequencies(const attention_call *call, const attention_work *work,
                                  size_t image)
{
    const attention_block *block = call->block;
    const sv_rotary rotary = rotary_of(block, 0, block->heads);
    const size_t patches = block->rotary.prefix * block->qkv_width;
    const frequency_parts parts = parts_of(block);
    real *sums = sv_attention_partial(call, FREQUENCIES, image);
    call->run->exec.context->kernels->rotary_frequencies(sums + parts.rows, sums + parts.columns,
                                                         work->dqkv + patches, work->qkv + patches,
                                                         &rotary);
}
