/* The checks, parameters and layers of the convolutional stem. */
#include "models/parts/conv_stem.h"

svit_status sv_conv_stem_check(const svit_model_config *config, const char *field, svit_error *err)
{
    if (config->patch_size != 2 && config->patch_size != 4)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "patch_size is %u; the %s 'conv' has a patch_size of 2 or 4",
                       config->patch_size, field);
    if (config->dim % 2 != 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "dim is %u; the %s 'conv' needs an even one",
                       config->dim, field);
    return SVIT_OK;
}

svit_status sv_conv_stem_parameters(const sv_scope *in, const svit_model_config *config)
{
    const uint32_t half = config->dim / 2;
    SVIT_TRY(sv_scope_convolution(in, SV_CONV_STEM_CONV1, half, config->in_channels, 3, true));
    return sv_scope_convolution(in, SV_CONV_STEM_CONV2, config->dim, half, 3, true);
}

static svit_status add_convolution(sv_builder *build, const char *name, size_t channels,
                                   size_t stride)
{
    const sv_patch_options options = {
        .in = build->shape, .size = 3, .channels_out = channels, .name = name, .stride = stride};
    return sv_builder_append(build, sv_patch_create(&build->source, &options));
}

svit_status sv_conv_stem_layers(sv_builder *build)
{
    const svit_model_config *config = build->config;
    SVIT_TRY(add_convolution(build, SV_CONV_STEM_CONV1, config->dim / 2, config->patch_size / 2));
    SVIT_TRY(sv_builder_append(build, sv_gelu_create(&build->source, build->shape)));
    return add_convolution(build, SV_CONV_STEM_CONV2, config->dim, 2);
}
