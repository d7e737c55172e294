/* In place of the files of other libraries in a build without them. */
#include "base/status.h"

#include <shiftvit/load.h>

static svit_status refuse(const char *path, svit_error *err)
{
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "%s: this build of shiftvit has no files of other libraries, which its build "
                   "option -Dcheckpoints=true adds",
                   path);
}

/* There is nothing to report. */
static void report_nothing(svit_load_report *report)
{
    if (!report || report->struct_size < sizeof *report)
        return;
    report->loaded = report->missing = report->mismatched = report->extra = report->buffers = 0;
    report->needed = 1;
    if (report->text && report->capacity > 0)
        report->text[0] = '\0';
}

/* A model file is opened; what has no configuration is another library's. */
SVIT_API svit_status svit_model_open(svit_model **out, svit_context *context, const char *path,
                                     const svit_open_options *options, svit_load_report *report,
                                     svit_error *err)
{
    (void)options;
    report_nothing(report);
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(path);
    const svit_status status = svit_model_load(out, context, path, err);
    return status == SVIT_E_ARGUMENT ? refuse(path, err) : status;
}

SVIT_API svit_status svit_model_load_mapped(svit_model **out, svit_context *context,
                                            const svit_model_config *config, const char *path,
                                            const char *map, svit_error *err)
{
    (void)map;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(config);
    SV_REQUIRE(path);
    return refuse(path, err);
}

SVIT_API svit_status svit_model_load_into(svit_model *model, const char *path, const char *map,
                                          uint32_t flags, svit_load_report *report, svit_error *err)
{
    (void)map;
    (void)flags;
    report_nothing(report);
    SV_REQUIRE(model);
    SV_REQUIRE(path);
    return refuse(path, err);
}

SVIT_API svit_status svit_model_save_mapped(const svit_model *model, const char *path,
                                            const char *map, svit_error *err)
{
    SV_REQUIRE(model);
    SV_REQUIRE(path);
    SV_REQUIRE(map);
    return refuse(path, err);
}
