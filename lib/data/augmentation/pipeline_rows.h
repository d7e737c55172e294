/* The rows of pixels that pipelines read: normalised, and interpolated along the row. */
#ifndef SV_PIPELINE_ROWS_H
#define SV_PIPELINE_ROWS_H

#include "data/resampling/axis.h"

#include <shiftvit/pipeline.h>

/* The normalisation of a pipeline: value = (byte * scale - mean) / deviation. Above
 * SVIT_MAX_CHANNELS channels the first of each array is that of all. */
typedef struct sv_normalization {
    size_t channels;
    double scale, mean[SVIT_MAX_CHANNELS], deviation[SVIT_MAX_CHANNELS];
    float value[SVIT_MAX_CHANNELS][256]; /* the normalised value of each byte */
} sv_normalization;

/* The normalisation of a checked configuration. */
void sv_normalization_set(sv_normalization *out, const svit_pipeline_config *config);

/* The columns of an output row: `count` taps from `first` on, `step` apart, which is 1, or -1 for a
 * mirrored row. Taps count in elements of the input row. */
typedef struct sv_columns {
    const sv_tap *first;
    ptrdiff_t step;
    size_t count;
} sv_columns;

/* out[x, c] = the columns of a row of bytes, normalised and interpolated. */
void sv_row_of_bytes(float *out, const uint8_t *row, const sv_normalization *by,
                     const sv_columns *columns);

/* Does the same for a row of floats. */
void sv_row_of_floats(float *out, const float *row, const sv_normalization *by,
                      const sv_columns *columns);

/* out[columns, channels] = a row of normalised values, interpolated along the row. Column x is
 * interpolated by taps[x], whose `low` and `high` count in elements of `row`. */
void sv_row_resize(float *out, const float *row, size_t channels, const sv_tap *taps,
                   size_t columns);

#endif
