/* Stands in the place of shards in builds that can decode no image in them. */
#include "base/status.h"

#include <shiftvit/dataset.h>

SVIT_API svit_status svit_dataset_shards(svit_dataset **out, svit_context *context,
                                         const char *pattern, const svit_pipeline_config *pipeline,
                                         svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(pattern);
    SV_REQUIRE(pipeline);
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "'%s': this build reads no shards, since it can decode no image; the build "
                   "option -Djpeg=enabled, -Dpng=enabled or -Dwebp=enabled adds them",
                   pattern);
}
