/* The operations that change colours. Most are a table of 256 bytes for each channel. */
#include "data/augmentation/operations.h"

#include "data/decoding/pixel.h"

#include <math.h>
#include <string.h>

enum { CHANNELS = 3, BYTES = 256, BYTE_MAX = 255 };

typedef uint8_t byte_tables[CHANNELS][BYTES];

/* a + factor (b - a), truncated and clipped to a byte. In float32, as Pillow computes it. */
static uint8_t blend(int a, int b, float factor)
{
    float value = (float)a + factor * (float)(b - a);
    return value <= 0 ? 0 : value >= BYTE_MAX ? BYTE_MAX : (uint8_t)value;
}

static uint8_t posterized(int byte, double bits)
{
    return (uint8_t)(byte & (BYTES - (1 << (8 - (int)bits))));
}

static uint8_t solarized(int byte, double threshold)
{
    return (uint8_t)(byte < threshold ? byte : BYTE_MAX - byte);
}

/* Stretches the bytes lowest..highest of a channel to 0..255. */
static void autocontrast_table(uint8_t table[BYTES], const uint32_t counts[BYTES])
{
    int low = 0, high = BYTE_MAX;
    while (low < BYTE_MAX && counts[low] == 0)
        low++;
    while (high > 0 && counts[high] == 0)
        high--;
    double scale = high > low ? (double)BYTE_MAX / (high - low) : 1;
    double offset = high > low ? -low * scale : 0;
    for (int i = 0; i < BYTES; i++) {
        double value = i * scale + offset;
        table[i] = (uint8_t)(value <= 0 ? 0 : value >= BYTE_MAX ? BYTE_MAX : value);
    }
}

/* Makes the cumulative counts of a channel nearly linear, in Pillow's integer arithmetic. */
static void equalize_table(uint8_t table[BYTES], const uint32_t counts[BYTES])
{
    uint32_t pixels = 0, last = 0;
    for (int i = 0; i < BYTES; i++) {
        pixels += counts[i];
        last = counts[i] ? counts[i] : last;
    }
    uint32_t step = (pixels - last) / BYTE_MAX;
    uint32_t sum = step / 2;
    for (int i = 0; i < BYTES; i++) {
        uint32_t value = step ? sum / step : (uint32_t)i;
        table[i] = (uint8_t)(value > BYTE_MAX ? BYTE_MAX : value);
        sum += counts[i];
    }
}

static void histogram_tables(byte_tables tables, const uint8_t *in, size_t pixels,
                             sv_operation operation)
{
    uint32_t counts[CHANNELS][BYTES] = {{0}};
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < CHANNELS; c++)
            counts[c][in[i * CHANNELS + c]]++;
    for (size_t c = 0; c < CHANNELS; c++)
        (operation == SV_EQUALIZE ? equalize_table : autocontrast_table)(tables[c], counts[c]);
}

/* The grey to which SV_CONTRAST fades: the mean luma, rounded. */
static int mean_luma(const uint8_t *in, size_t pixels)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < pixels; i++)
        sum += (uint64_t)sv_pixel_luma(in + i * CHANNELS);
    return (int)((double)sum / (double)pixels + 0.5);
}

static uint8_t mapped(sv_operation operation, int byte, double value, int grey)
{
    switch (operation) {
    case SV_BRIGHTNESS:
        return blend(0, byte, (float)value);
    case SV_CONTRAST:
        return blend(grey, byte, (float)value);
    case SV_POSTERIZE:
        return posterized(byte, value);
    case SV_SOLARIZE:
        return solarized(byte, value);
    default: /* SV_INVERT */
        return (uint8_t)(BYTE_MAX - byte);
    }
}

/* Makes one table for all channels. */
static void value_tables(byte_tables tables, const uint8_t *in, size_t pixels,
                         sv_operation operation, double value)
{
    int grey = operation == SV_CONTRAST ? mean_luma(in, pixels) : 0;
    for (int i = 0; i < BYTES; i++)
        tables[0][i] = mapped(operation, i, value, grey);
    memcpy(tables[1], tables[0], BYTES);
    memcpy(tables[2], tables[0], BYTES);
}

/* Changes the saturation: out[p, c] = grey + factor (in[p, c] - grey), with the pixel's luma as
 * grey. 0 gives a grey image, 1 the input. */
static void change_saturation(uint8_t *out, const uint8_t *in, size_t pixels, float factor)
{
    for (size_t i = 0; i < pixels; i++, in += CHANNELS, out += CHANNELS) {
        int grey = sv_pixel_luma(in);
        for (size_t c = 0; c < CHANNELS; c++)
            out[c] = blend(grey, in[c], factor);
    }
}

/* The smoothed byte: the mean of 3 x 3 pixels in which the centre counts five times, rounded. `at`
 * is a byte of a pixel that is not at the border. */
static int smoothed(const uint8_t *at, size_t row)
{
    int sum = 4 * at[0];
    for (const uint8_t *line = at - row; line <= at + row; line += row)
        sum += line[-CHANNELS] + line[0] + line[CHANNELS];
    return (2 * sum + 13) / 26;
}

/* out[y, x, c] = a blend of the smoothed image and the image. The border stays as it is. */
static void change_sharpness(uint8_t *out, const uint8_t *in, size_t height, size_t width,
                             float factor)
{
    size_t row = width * CHANNELS;
    memcpy(out, in, height * row);
    for (size_t y = 1; y + 1 < height; y++)
        for (size_t i = y * row + CHANNELS; i < (y + 1) * row - CHANNELS; i++)
            out[i] = blend(smoothed(in + i, row), in[i], factor);
}

/* Hue and saturation as bytes, with Pillow's roundings. */
typedef struct hue_saturation {
    int hue, saturation;
} hue_saturation;

static hue_saturation to_hue(const uint8_t *rgb, int max, int min)
{
    if (max == min)
        return (hue_saturation){0, 0};
    float range = (float)(max - min);
    float r = (float)(max - rgb[0]) / range;
    float g = (float)(max - rgb[1]) / range;
    float b = (float)(max - rgb[2]) / range;
    float sixths = rgb[0] == max   ? b - g
                   : rgb[1] == max ? (float)(2.0 + (double)r - (double)b)
                                   : (float)(4.0 + (double)g - (double)r);
    float turn = (float)fmod((double)sixths / 6.0 + 1.0, 1.0);
    int hue = (int)((double)turn * 255.0);
    return (hue_saturation){hue > BYTE_MAX ? BYTE_MAX : hue,
                            (int)((double)(range / (float)max) * 255.0)};
}

static uint8_t rounded(double value)
{
    value = floor(value + 0.5);
    return (uint8_t)(value <= 0 ? 0 : value >= BYTE_MAX ? BYTE_MAX : value);
}

/* Writes the pixel of this hue and saturation whose largest byte is `max`. In each sextant of the
 * colour circle the channels take another order of the largest byte, the smallest, and the one
 * between, which falls or rises along the sextant. */
static void from_hue(uint8_t *rgb, hue_saturation of, uint8_t max)
{
    static const uint8_t order[6][CHANNELS] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3},
                                               {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};
    double saturation = (double)(float)(of.saturation / 255.0);
    float sixths = (float)((double)((float)of.hue * 6.0f) / 255.0);
    int sextant = (int)floorf(sixths);
    double part = (double)sixths - sextant;
    const uint8_t bytes[4] = {max, rounded(max * (1.0 - saturation)),
                              rounded(max * (1.0 - saturation * part)),
                              rounded(max * (1.0 - saturation * (1.0 - part)))};
    for (size_t c = 0; c < CHANNELS; c++)
        rgb[c] = bytes[order[sextant % 6][c]];
}

/* Turns the hue of each pixel by that part of the circle. */
static void change_hue(uint8_t *out, const uint8_t *in, size_t pixels, double turn)
{
    int shift = ((int)(turn * BYTE_MAX) % BYTES + BYTES) % BYTES;
    for (size_t i = 0; i < pixels; i++, in += CHANNELS, out += CHANNELS) {
        int max = in[0] > in[1] ? in[0] : in[1], min = in[0] < in[1] ? in[0] : in[1];
        max = max > in[2] ? max : in[2];
        min = min < in[2] ? min : in[2];
        hue_saturation pixel = to_hue(in, max, min);
        pixel.hue = (pixel.hue + shift) % BYTES;
        if (pixel.saturation == 0)
            memset(out, max, CHANNELS);
        else
            from_hue(out, pixel, (uint8_t)max);
    }
}

void sv_color_apply(uint8_t *out, const uint8_t *in, size_t height, size_t width,
                    sv_operation operation, double value)
{
    byte_tables tables;
    size_t pixels = height * width;
    switch (operation) {
    case SV_COLOR:
        change_saturation(out, in, pixels, (float)value);
        return;
    case SV_SHARPNESS:
        change_sharpness(out, in, height, width, (float)value);
        return;
    case SV_HUE:
        change_hue(out, in, pixels, value);
        return;
    case SV_AUTOCONTRAST:
    case SV_EQUALIZE:
        histogram_tables(tables, in, pixels, operation);
        break;
    default:
        value_tables(tables, in, pixels, operation, value);
    }
    for (size_t i = 0; i < pixels * CHANNELS; i += CHANNELS)
        for (size_t c = 0; c < CHANNELS; c++)
            out[i + c] = tables[c][in[i + c]];
}
