/* The options of the ONNX export, which every build has. */
#include "export/onnx.h"

#define FIELD(field, kind) SV_FIELD(svit_onnx_options, field, kind)

static const sv_field FIELDS[] = {
    {FIELD(output, WORD),
     .words =
         (sv_words){[SVIT_ONNX_LOGITS] = "logits", [SVIT_ONNX_PROBABILITIES] = "probabilities"}},
    {FIELD(preprocessing, FLAG)},
};
const sv_config_type sv_onnx_options_type = {
    SV_CONFIG(svit_onnx_options, FIELDS, "the ONNX options"), .table.prefix = "svit_onnx_options",
    .null_is_default = true};

SV_CONFIG_INIT(svit_onnx_options, sv_onnx_options_type)
