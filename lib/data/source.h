/* The source step, which resizes an image of any size to the source size of a pipeline. Folder
 * datasets and pipelines share it, so training and prediction see the same bytes. */
#ifndef SV_SOURCE_H
#define SV_SOURCE_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>

/* SVIT_E_ARGUMENT, naming the argument `what`, unless `filter` is one of SVIT_SOURCE_*. */
svit_status sv_source_filter_check(int32_t filter, const char *where, const char *what,
                                   svit_error *err);

/* Whether the step is a resize with antialiasing. Otherwise it is nearest neighbour or a copy. */
bool sv_source_is_antialias(int32_t filter, size_t height, size_t width, size_t out_height,
                            size_t out_width);

/* Resizes rgb[height, width, 3] to out[out_height, out_width, 3], a different array.
 * SVIT_E_MEMORY. */
svit_status sv_source_step(const sv_allocator *allocator, int32_t filter, const uint8_t *rgb,
                           size_t height, size_t width, uint8_t *out, size_t out_height,
                           size_t out_width, svit_error *err);

#endif
