/* Augmentation policies: which operations they have, and the values that magnitudes stand for. */
#include "data/augmentation/policy.h"

#include <math.h>

const sv_operation sv_policy_operations[SV_POLICY_OPERATIONS] = {
    SV_IDENTITY,  SV_SHEAR_X,    SV_SHEAR_Y,      SV_TRANSLATE_X, SV_TRANSLATE_Y,
    SV_ROTATE,    SV_BRIGHTNESS, SV_COLOR,        SV_CONTRAST,    SV_SHARPNESS,
    SV_POSTERIZE, SV_SOLARIZE,   SV_AUTOCONTRAST, SV_EQUALIZE};

bool sv_operation_is_signed(sv_operation operation)
{
    return operation >= SV_SHEAR_X && operation <= SV_SHARPNESS;
}

/* The largest magnitude of a signed operation. TrivialAugment's are wider, and its translations do
 * not depend on the size of the image. */
static double largest(sv_policy policy, sv_operation operation, size_t height, size_t width)
{
    bool is_wide = policy == SV_TRIVIALAUGMENT;
    switch (operation) {
    case SV_SHEAR_X:
    case SV_SHEAR_Y:
        return is_wide ? 0.99 : 0.3;
    case SV_TRANSLATE_X:
        return is_wide ? 32 : 150.0 / 331 * (double)width;
    case SV_TRANSLATE_Y:
        return is_wide ? 32 : 150.0 / 331 * (double)height;
    case SV_ROTATE:
        return is_wide ? 135 : 30;
    default: /* brightness, color, contrast, sharpness */
        return is_wide ? 0.99 : 0.9;
    }
}

/* The bits that posterize leaves: from 8 down to 4, or to 2 with TrivialAugment. */
static double posterize_bits(sv_policy policy, uint32_t magnitude, uint32_t count)
{
    return 8 - rint((double)magnitude / (count - 1) * (policy == SV_TRIVIALAUGMENT ? 6 : 4));
}

/* Element `index` of `count` float32 values at equal distances, with the roundings of PyTorch's
 * linspace: the step is a float32, a value is one fused multiply-add from the nearer end. These
 * roundings decide what a translation is truncated to. */
static double linspace(double start, double end, uint32_t index, uint32_t count)
{
    double step = (double)(((float)end - (float)start) / (float)(count - 1));
    if (index < count / 2)
        return (double)(float)(start + step * index);
    return (double)(float)((double)(float)end - step * (count - 1 - index));
}

double sv_policy_value(sv_policy policy, sv_operation operation, uint32_t magnitude, bool negative,
                       size_t height, size_t width)
{
    uint32_t count = policy == SV_AUTOAUGMENT ? SV_AUTOAUGMENT_MAGNITUDES : SV_MAGNITUDES;
    if (operation == SV_POSTERIZE)
        return posterize_bits(policy, magnitude, count);
    if (operation == SV_SOLARIZE)
        return linspace(255, 0, magnitude, count);
    if (!sv_operation_is_signed(operation))
        return 0;
    double value = linspace(0, largest(policy, operation, height, width), magnitude, count);
    value = negative ? -value : value;
    if (operation == SV_TRANSLATE_X || operation == SV_TRANSLATE_Y)
        return trunc(value);
    return operation >= SV_BRIGHTNESS ? 1 + value : value;
}

const sv_sub_policy sv_autoaugment_cifar10[SV_SUB_POLICIES] = {
    {{{SV_INVERT, 0.1, 0}, {SV_CONTRAST, 0.2, 6}}},
    {{{SV_ROTATE, 0.7, 2}, {SV_TRANSLATE_X, 0.3, 9}}},
    {{{SV_SHARPNESS, 0.8, 1}, {SV_SHARPNESS, 0.9, 3}}},
    {{{SV_SHEAR_Y, 0.5, 8}, {SV_TRANSLATE_Y, 0.7, 9}}},
    {{{SV_AUTOCONTRAST, 0.5, 0}, {SV_EQUALIZE, 0.9, 0}}},
    {{{SV_SHEAR_Y, 0.2, 7}, {SV_POSTERIZE, 0.3, 7}}},
    {{{SV_COLOR, 0.4, 3}, {SV_BRIGHTNESS, 0.6, 7}}},
    {{{SV_SHARPNESS, 0.3, 9}, {SV_BRIGHTNESS, 0.7, 9}}},
    {{{SV_EQUALIZE, 0.6, 0}, {SV_EQUALIZE, 0.5, 0}}},
    {{{SV_CONTRAST, 0.6, 7}, {SV_SHARPNESS, 0.6, 5}}},
    {{{SV_COLOR, 0.7, 7}, {SV_TRANSLATE_X, 0.5, 8}}},
    {{{SV_EQUALIZE, 0.3, 0}, {SV_AUTOCONTRAST, 0.4, 0}}},
    {{{SV_TRANSLATE_Y, 0.4, 3}, {SV_SHARPNESS, 0.2, 6}}},
    {{{SV_BRIGHTNESS, 0.9, 6}, {SV_COLOR, 0.2, 8}}},
    {{{SV_SOLARIZE, 0.5, 2}, {SV_INVERT, 0, 0}}},
    {{{SV_EQUALIZE, 0.2, 0}, {SV_AUTOCONTRAST, 0.6, 0}}},
    {{{SV_EQUALIZE, 0.2, 0}, {SV_EQUALIZE, 0.6, 0}}},
    {{{SV_COLOR, 0.9, 9}, {SV_EQUALIZE, 0.6, 0}}},
    {{{SV_AUTOCONTRAST, 0.8, 0}, {SV_SOLARIZE, 0.2, 8}}},
    {{{SV_BRIGHTNESS, 0.1, 3}, {SV_COLOR, 0.7, 0}}},
    {{{SV_SOLARIZE, 0.4, 5}, {SV_AUTOCONTRAST, 0.9, 0}}},
    {{{SV_TRANSLATE_Y, 0.9, 9}, {SV_TRANSLATE_Y, 0.7, 9}}},
    {{{SV_AUTOCONTRAST, 0.9, 0}, {SV_SOLARIZE, 0.8, 3}}},
    {{{SV_EQUALIZE, 0.8, 0}, {SV_INVERT, 0.1, 0}}},
    {{{SV_TRANSLATE_Y, 0.7, 9}, {SV_AUTOCONTRAST, 0.9, 0}}},
};

const sv_sub_policy sv_autoaugment_imagenet[SV_SUB_POLICIES] = {
    {{{SV_POSTERIZE, 0.4, 8}, {SV_ROTATE, 0.6, 9}}},
    {{{SV_SOLARIZE, 0.6, 5}, {SV_AUTOCONTRAST, 0.6, 0}}},
    {{{SV_EQUALIZE, 0.8, 0}, {SV_EQUALIZE, 0.6, 0}}},
    {{{SV_POSTERIZE, 0.6, 7}, {SV_POSTERIZE, 0.6, 6}}},
    {{{SV_EQUALIZE, 0.4, 0}, {SV_SOLARIZE, 0.2, 4}}},
    {{{SV_EQUALIZE, 0.4, 0}, {SV_ROTATE, 0.8, 8}}},
    {{{SV_SOLARIZE, 0.6, 3}, {SV_EQUALIZE, 0.6, 0}}},
    {{{SV_POSTERIZE, 0.8, 5}, {SV_EQUALIZE, 1, 0}}},
    {{{SV_ROTATE, 0.2, 3}, {SV_SOLARIZE, 0.6, 8}}},
    {{{SV_EQUALIZE, 0.6, 0}, {SV_POSTERIZE, 0.4, 6}}},
    {{{SV_ROTATE, 0.8, 8}, {SV_COLOR, 0.4, 0}}},
    {{{SV_ROTATE, 0.4, 9}, {SV_EQUALIZE, 0.6, 0}}},
    {{{SV_EQUALIZE, 0, 0}, {SV_EQUALIZE, 0.8, 0}}},
    {{{SV_INVERT, 0.6, 0}, {SV_EQUALIZE, 1, 0}}},
    {{{SV_COLOR, 0.6, 4}, {SV_CONTRAST, 1, 8}}},
    {{{SV_ROTATE, 0.8, 8}, {SV_COLOR, 1, 2}}},
    {{{SV_COLOR, 0.8, 8}, {SV_SOLARIZE, 0.8, 7}}},
    {{{SV_SHARPNESS, 0.4, 7}, {SV_INVERT, 0.6, 0}}},
    {{{SV_SHEAR_X, 0.6, 5}, {SV_EQUALIZE, 1, 0}}},
    {{{SV_COLOR, 0.4, 0}, {SV_EQUALIZE, 0.6, 0}}},
    {{{SV_EQUALIZE, 0.4, 0}, {SV_SOLARIZE, 0.2, 4}}},
    {{{SV_SOLARIZE, 0.6, 5}, {SV_AUTOCONTRAST, 0.6, 0}}},
    {{{SV_INVERT, 0.6, 0}, {SV_EQUALIZE, 1, 0}}},
    {{{SV_COLOR, 0.6, 4}, {SV_CONTRAST, 1, 8}}},
    {{{SV_EQUALIZE, 0.8, 0}, {SV_EQUALIZE, 0.6, 0}}},
};
