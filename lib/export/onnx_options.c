/* The options of the ONNX export, which every build has. */
#include "config/config.h"
#include "config/fields.h"
#include "export/onnx.h"

#define FIELD(field, kind) SV_FIELD(svit_onnx_options, field, kind)

static const sv_field FIELDS[] = {
    {FIELD(output, WORD),
     .words = {[SVIT_ONNX_LOGITS] = "logits", [SVIT_ONNX_PROBABILITIES] = "probabilities"}},
    {FIELD(preprocessing, FLAG)},
};
static const sv_field_table TABLE = {.type = "svit_onnx_options",
                                     .noun = "the ONNX options",
                                     .prefix = "svit_onnx_options",
                                     .fields = FIELDS,
                                     .count = sizeof FIELDS / sizeof *FIELDS};

SVIT_API svit_status svit_onnx_options_init(svit_onnx_options *options, size_t size)
{
    const svit_onnx_options defaults = {.struct_size = sizeof defaults};
    return sv_config_export(options, size, &defaults, sizeof defaults, TABLE.type, NULL);
}

svit_status sv_onnx_options_read(svit_onnx_options *out, const svit_onnx_options *options,
                                 svit_error *err)
{
    *out = (svit_onnx_options){.struct_size = sizeof *out};
    if (options)
        SVIT_TRY(sv_config_import(out, sizeof *out, options, sizeof *out, TABLE.type, err));
    return sv_fields_check(&TABLE, out, err);
}
