/* In place of the export of ONNX files in a build without it. */
#include "export/onnx.h"

#include "base/status.h"

SVIT_API svit_status svit_model_export_onnx(const svit_model *model, const char *path,
                                            const svit_onnx_options *options, svit_error *err)
{
    SV_REQUIRE(model);
    SV_REQUIRE(path);
    svit_onnx_options local;
    SVIT_TRY(sv_config_read(&sv_onnx_options_type, &local, options, err));
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "%s: this build of shiftvit writes no ONNX files, which its build option "
                   "-Donnx=true adds",
                   path);
}
