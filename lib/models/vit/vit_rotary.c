/* From the configuration of a ViT to the options of its rotary position embedding. */
#include "models/vit/vit_rotary.h"

static const sv_rotary_kind KINDS[] = {[SVIT_ROPE_NONE] = SV_ROTARY_NONE,
                                       [SVIT_ROPE_AXIAL] = SV_ROTARY_AXIAL,
                                       [SVIT_ROPE_CENTRED] = SV_ROTARY_CENTRED,
                                       [SVIT_ROPE_MIXED] = SV_ROTARY_MIXED};

sv_rotary_options sv_vit_rotary(const svit_model_config *config, size_t rows, size_t columns)
{
    return (sv_rotary_options){.kind = KINDS[config->rope],
                               .rows = rows,
                               .columns = columns,
                               .columns_first = config->rope_axes == SVIT_ROPE_AXES_COLUMNS_FIRST,
                               .halves = config->rope_pairs == SVIT_ROPE_PAIRS_HALVES,
                               .theta = config->rope_theta,
                               .offset = config->rope_offset,
                               .reference_rows = config->rope_height,
                               .reference_columns = config->rope_width};
}
