/* The source step: how an image of any size is brought to the size that a pipeline begins with. The
 * folder dataset and the pipelines share it, so training and prediction see the same bytes. */
#ifndef SV_SOURCE_H
#define SV_SOURCE_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>

/* SVIT_E_ARGUMENT, naming `what`, where `filter` is none of SVIT_SOURCE_*. */
svit_status sv_source_filter_check(int32_t filter, const char *where, const char *what,
                                   svit_error *err);

/* True where the step is a resize with antialiasing; else it is nearest neighbour, or a copy. */
bool sv_source_is_antialias(int32_t filter, size_t height, size_t width, size_t out_height,
                            size_t out_width);

/* Brings rgb[height, width, 3] to out[out_height, out_width, 3], another array. */
svit_status sv_source_step(const sv_allocator *allocator, int32_t filter, const uint8_t *rgb,
                           size_t height, size_t width, uint8_t *out, size_t out_height,
                           size_t out_width, svit_error *err);

#endif
