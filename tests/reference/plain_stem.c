/* The convolutional stem in plain loops. */
#include "plain_stem.h"

#include "plain_model.h"

plain_convolution plain_taps3(size_t images, size_t height, size_t width, size_t channels,
                              size_t stride, size_t out)
{
    return (plain_convolution){.images = images,
                               .height = height,
                               .width = width,
                               .channels = channels,
                               .size = 3,
                               .stride = stride,
                               .top = 1,
                               .left = 1,
                               .rows = (height + stride - 1) / stride,
                               .columns = (width + stride - 1) / stride,
                               .out = out};
}

static size_t pixels_of(const plain_convolution *of)
{
    return of->images * of->rows * of->columns;
}

plain_stem plain_add_stem(plain_model *m)
{
    const svit_model_config *c = &m->config;
    const size_t half = c->dim / 2;
    plain_stem stem;
    stem.conv1 = plain_add_convolution(m, "patch_embed.", "conv1",
                                       plain_taps3(m->images, c->input_height, c->input_width,
                                                   c->in_channels, c->patch_size / 2, half),
                                       1);
    stem.conv2 = plain_add_convolution(
        m, "patch_embed.", "conv2",
        plain_taps3(m->images, stem.conv1.rows, stem.conv1.columns, half, 2, c->dim), 1);
    double **arrays[] = {&stem.pre_gelu, &stem.hidden, &stem.dpre_gelu, &stem.dhidden};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = plain_array(m, pixels_of(&stem.conv1) * half);
    return stem;
}

void plain_stem_forward(const plain_model *m, double *y, const plain_stem *of)
{
    const size_t pixels = pixels_of(&of->conv1), half = of->conv1.out;
    plain_convolution_forward(of->pre_gelu, m->x, &of->conv1);
    plain_step(m, of->pre_gelu, pixels, half);
    plain_activation_forward(of->hidden, of->pre_gelu, pixels * half, SVIT_ACTIVATION_GELU);
    plain_step(m, of->hidden, pixels, half);
    plain_convolution_forward(y, of->hidden, &of->conv2);
    plain_step(m, y, pixels_of(&of->conv2), of->conv2.out);
}

void plain_stem_backward(const plain_model *m, const double *dy, const plain_stem *of)
{
    const size_t pixels = pixels_of(&of->conv1), half = of->conv1.out;
    plain_convolution_backward(of->dhidden, dy, of->hidden, &of->conv2);
    plain_step(m, of->dhidden, pixels, half);
    plain_activation_backward(of->dpre_gelu, of->dhidden, of->pre_gelu, pixels * half,
                              SVIT_ACTIVATION_GELU);
    plain_step(m, of->dpre_gelu, pixels, half);
    plain_convolution_backward(m->dx, of->dpre_gelu, m->x, &of->conv1);
    plain_step(m, m->dx, of->conv1.images * of->conv1.height * of->conv1.width, of->conv1.channels);
}
