/* Rotary position embeddings: EVA-02 (Fang et al. 2023), DINOv3 (Simeoni et al. 2025), and learnt
 * frequencies of both axes (Heo et al. 2024). svit_model_config has the fields. */
#include "plain_rotary.h"

#include <math.h>

/* The place of a patch on an axis of `size` patches; `reference` is 0 or the size to which places
 * are scaled. */
static double place_of(const svit_model_config *c, size_t index, size_t size, size_t reference)
{
    if (c->rope == SVIT_ROPE_MIXED)
        return (double)index;
    if (c->rope == SVIT_ROPE_CENTRED)
        return 2 * ((double)index + 0.5) / (double)size - 1;
    return ((double)index + c->rope_offset) * (reference ? (double)reference / (double)size : 1);
}

/* The places of patch t on the two axes. */
static void places_of(double places[2], const svit_model_config *c, size_t t)
{
    const size_t rows = c->input_height / c->patch_size, columns = c->input_width / c->patch_size;
    const int row_axis = c->rope_axes == SVIT_ROPE_AXES_ROWS_FIRST ? 0 : 1;
    places[row_axis] = place_of(c, t / columns, rows, c->rope_height);
    places[1 - row_axis] = place_of(c, t % columns, columns, c->rope_width);
}

/* The frequency of pair j of a head on an axis. */
static double frequency_of(const plain_rotary *of, size_t axis, size_t head, size_t j)
{
    const svit_model_config *c = of->config;
    const size_t pairs = c->head_dim / 2, half = c->head_dim / 4;
    if (c->rope == SVIT_ROPE_MIXED)
        return of->frequencies->value[(axis * c->heads + head) * pairs + j];
    if (j / half != axis)
        return 0;
    return pow(c->rope_theta, -4 * (double)(j % half) / c->head_dim) *
           (c->rope == SVIT_ROPE_CENTRED ? 2 * acos(-1) : 1);
}

/* (a, b) turns by `angle` and has in the backward, where it is a gradient, the opposite angle. */
static void turn(double *a, double *b, double angle)
{
    const double x = *a, y = *b;
    *a = x * cos(angle) - y * sin(angle);
    *b = y * cos(angle) + x * sin(angle);
}

/* The sign is 1 in the forward, -1 in the backward. With y = turn(x, angle):
 *   dangle = dy[b] y[a] - dy[a] y[b];  dfrequency[axis] += place[axis] dangle */
static void walk(double *qkv, const double *turned, const plain_rotary *of, double sign)
{
    const svit_model_config *c = of->config;
    const size_t d = c->head_dim, width = c->heads * d, patches = of->tokens - of->prefix;
    for (size_t i = 0; i < of->images * patches * 2 * c->heads * (d / 2); i++) {
        const size_t j = i % (d / 2), h = i / (d / 2) % c->heads, k = i / (d / 2) / c->heads % 2;
        const size_t t = i / (d / 2) / c->heads / 2 % patches;
        const size_t n = i / (d / 2) / c->heads / 2 / patches;
        const size_t head = ((n * of->tokens + of->prefix + t) * 3 + k) * width + h * d;
        const size_t a = head + (c->rope_pairs == SVIT_ROPE_PAIRS_HALVES ? j : 2 * j);
        const size_t b = c->rope_pairs == SVIT_ROPE_PAIRS_HALVES ? a + d / 2 : a + 1;
        double places[2], angle = 0;
        places_of(places, c, t);
        for (size_t axis = 0; axis < 2; axis++) {
            angle += places[axis] * frequency_of(of, axis, h, j);
            if (turned && of->frequencies)
                of->frequencies->gradient[(axis * c->heads + h) * (d / 2) + j] +=
                    places[axis] * (qkv[b] * turned[a] - qkv[a] * turned[b]);
        }
        turn(&qkv[a], &qkv[b], sign * angle);
    }
}

void plain_rotary_forward(double *qkv, const plain_rotary *of)
{
    if (of->config->rope != SVIT_ROPE_NONE)
        walk(qkv, NULL, of, 1);
}

void plain_rotary_backward(double *dqkv, const double *turned, const plain_rotary *of)
{
    if (of->config->rope != SVIT_ROPE_NONE)
        walk(dqkv, turned, of, -1);
}
