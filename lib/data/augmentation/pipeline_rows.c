/* Rows of pipelines, for each number of channels. */
#include "data/augmentation/pipeline_rows.h"

#include "data/augmentation/pipeline_config.h"
#include "data/resampling/by_channels.h"

#include <math.h>

enum { BYTES = 256 };

/* In double, so that a float with the value of a byte becomes what the byte becomes. */
static inline float normalized(const sv_normalization *by, double x, size_t c)
{
    return (float)((x * by->scale - by->mean[c]) / by->deviation[c]);
}

void sv_normalization_set(sv_normalization *out, const svit_pipeline_config *config)
{
    out->channels = config->channels;
    out->scale = config->scale;
    for (size_t c = 0; c < sv_pipeline_means(config->channels); c++) {
        out->mean[c] = config->mean[c];
        out->deviation[c] = sqrt(config->variance[c]);
        for (size_t byte = 0; byte < BYTES; byte++)
            out->value[c][byte] = normalized(out, (double)byte, c);
    }
}

SV_OF_CHANNELS bytes_of(const size_t channels, float *restrict out, const uint8_t *restrict row,
                        const sv_normalization *by, const sv_columns *columns)
{
    const size_t step = channels <= SVIT_MAX_CHANNELS; /* 0: one mean is that of all */
    const sv_tap *tap = columns->first;
    for (size_t x = 0; x < columns->count; x++, tap += columns->step, out += channels) {
        const uint8_t *low = row + tap->low;
        const uint8_t *high = row + tap->high;
        for (size_t c = 0; c < channels; c++) {
            const float *value = by->value[c * step];
            float a = value[low[c]];
            float b = value[high[c]];
            out[c] = a + (b - a) * tap->fraction;
        }
    }
}

void sv_row_of_bytes(float *out, const uint8_t *row, const sv_normalization *by,
                     const sv_columns *columns)
{
    SV_BY_CHANNELS(by->channels, bytes_of, out, row, by, columns);
}

SV_OF_CHANNELS floats_of(const size_t channels, float *restrict out, const float *restrict row,
                         const sv_normalization *by, const sv_columns *columns)
{
    const size_t step = channels <= SVIT_MAX_CHANNELS; /* 0: one mean is that of all */
    const sv_tap *tap = columns->first;
    for (size_t x = 0; x < columns->count; x++, tap += columns->step, out += channels) {
        const float *low = row + tap->low;
        const float *high = row + tap->high;
        for (size_t c = 0; c < channels; c++) {
            float a = normalized(by, (double)low[c], c * step);
            float b = normalized(by, (double)high[c], c * step);
            out[c] = a + (b - a) * tap->fraction;
        }
    }
}

void sv_row_of_floats(float *out, const float *row, const sv_normalization *by,
                      const sv_columns *columns)
{
    SV_BY_CHANNELS(by->channels, floats_of, out, row, by, columns);
}

SV_OF_CHANNELS resize_of(const size_t channels, float *restrict out, const float *restrict row,
                         const sv_tap *taps, size_t columns)
{
    for (size_t x = 0; x < columns; x++, out += channels) {
        const float *low = row + taps[x].low;
        const float *high = row + taps[x].high;
        for (size_t c = 0; c < channels; c++)
            out[c] = low[c] + (high[c] - low[c]) * taps[x].fraction;
    }
}

void sv_row_resize(float *out, const float *row, size_t channels, const sv_tap *taps,
                   size_t columns)
{
    SV_BY_CHANNELS(channels, resize_of, out, row, taps, columns);
}
