/* Errors of the activations, and of the epilogue that applies them. */
#include "rows.h"

#include "base/threads/fp_env.h"

#include <float.h>
#include <math.h>

enum { TOKENS = 40, WIDTH = 53, ELEMENTS = TOKENS * WIDTH, FIRST = 7 };
enum { WORDS = ((FIRST + TOKENS) / 32 + 1) * WIDTH };
#define KEEP_SCALE 1.25f

/* Inputs, and rows FIRST.. of a dropout mask. */
typedef struct operands {
    float x[ELEMENTS], dy[ELEMENTS], residual[ELEMENTS];
    uint32_t words[WORDS];
    sv_dropout dropout;
    sv_rows rows;
} operands;

static void fill(numbers_errors *errors, operands *o)
{
    numbers_fill(errors, o->x, ELEMENTS);
    numbers_fill(errors, o->dy, ELEMENTS);
    numbers_fill(errors, o->residual, ELEMENTS);
    numbers_fill_words(errors, o->words, WORDS);
    o->dropout = (sv_dropout){o->words, KEEP_SCALE};
    o->rows = (sv_rows){FIRST, TOKENS, WIDTH, WIDTH};
}

/* The factor of dropout for element i. */
static long double factor_of(const operands *o, size_t i)
{
    size_t token = FIRST + i / WIDTH;
    return o->words[token / 32 * WIDTH + i % WIDTH] >> token % 32 & 1 ? (long double)KEEP_SCALE : 0;
}

/* An activation f(x), its derivative f'(x), and the magnitudes of what both depend on: a change of
 * x by a part of itself changes f(x) by |x f'(x)| times that part, and f'(x) by |x f''(x)|. */
typedef struct activation {
    long double value, slope, value_terms, slope_terms;
} activation;

static activation gelu_of(float input)
{
    const long double x = numbers_in(input), pi = acosl(-1);
    long double cdf = erfcl(-x / sqrtl(2)) / 2, density = expl(-x * x / 2) / sqrtl(2 * pi);
    activation a = {.value = x * cdf, .slope = cdf + x * density};
    a.value_terms = fabsl(a.value) + fabsl(x * a.slope);
    a.slope_terms = cdf + fabsl(x * density) * (1 + fabsl(2 - x * x));
    if (x < -4) { /* where kernels take the tail, at most 1.3e-4, as 0 from somewhere on */
        a.value_terms = fmaxl(a.value_terms, 0.125L);
        a.slope_terms = fmaxl(a.slope_terms, 1);
    }
    return a;
}

static long double sigmoid(long double u)
{
    return u < 0 ? expl(u) / (1 + expl(u)) : 1 / (1 + expl(-u));
}

static activation gate_of(float input, sv_sigmoid_gate gate)
{
    const long double x = numbers_in(input), u = x * (gate.a + gate.b * x * x);
    long double s = sigmoid(u), rise = x * (gate.a + 3 * gate.b * x * x), other = sigmoid(-u);
    activation a = {.value = x * s, .slope = s + s * other * rise};
    a.value_terms = fabsl(a.value) * (1 + fabsl(rise) * other);
    a.slope_terms = (s + s * other * fabsl(rise)) * (1 + fabsl(rise));
    return a;
}

/* The sigmoid is 0 where its exponential is below 2^-126; x and the derivative of its input, which
 * is below 300 there, multiply it. */
static void set_floor(numbers_errors *errors, float x, long double factor)
{
    double tail = fabsf(x) > 4 ? 300 + fabs((double)x) : 2;
    errors->floor = 4 * (double)FLT_MIN * tail * (1 + (double)fabsl(factor));
}

static activation activation_of(const sv_sigmoid_gate *gate, float x)
{
    return gate ? gate_of(x, *gate) : gelu_of(x);
}

/* gate NULL: GELU. */
static void see_forward(numbers_errors *errors, const operands *o, const float *y,
                        const sv_sigmoid_gate *gate)
{
    for (size_t i = 0; i < ELEMENTS; i++) {
        activation a = activation_of(gate, o->x[i]);
        long double factor = factor_of(o, i);
        set_floor(errors, o->x[i], factor);
        numbers_see(errors, y[i], factor * a.value, factor * a.value_terms, "y", i);
    }
}

static void see_backward(numbers_errors *errors, const operands *o, const float *dx,
                         const sv_sigmoid_gate *gate)
{
    for (size_t i = 0; i < ELEMENTS; i++) {
        activation a = activation_of(gate, o->x[i]);
        long double g = numbers_in(o->dy[i]) * factor_of(o, i);
        set_floor(errors, o->x[i], g);
        numbers_see(errors, dx[i], g * a.slope, fabsl(g) * a.slope_terms, "dx", i);
    }
}

static void run_gelu(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float y[ELEMENTS], saved[ELEMENTS];
    fill(errors, &o);
    NUMBERS_CALL(k->gelu(y, saved, o.x, o.dropout, o.rows));
    see_forward(errors, &o, y, NULL);
    numbers_see_bits(errors, saved, o.x, ELEMENTS, "saved_x");
}

static void run_gelu_backward(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float y[ELEMENTS], dx[ELEMENTS];
    fill(errors, &o);
    for (size_t i = 0; i < ELEMENTS; i++)
        dx[i] = o.dy[i];
    NUMBERS_CALL(k->gelu_backward(y, dx, o.x, o.dropout, o.rows));
    see_forward(errors, &o, y, NULL);
    see_backward(errors, &o, dx, NULL);
}

static const sv_activation GATES[] = {SV_GELU_TANH, SV_QUICK_GELU};
enum { GATE_COUNT = sizeof GATES / sizeof *GATES };

static void run_sigmoid_gate(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float y[ELEMENTS], saved[ELEMENTS];
    for (size_t g = 0; g < GATE_COUNT; g++) {
        const sv_sigmoid_gate gate = sv_activation_gate(GATES[g]);
        fill(errors, &o);
        NUMBERS_CALL(k->sigmoid_gate(y, saved, o.x, gate, o.dropout, o.rows));
        see_forward(errors, &o, y, &gate);
        numbers_see_bits(errors, saved, o.x, ELEMENTS, "saved_x");
    }
}

static void run_sigmoid_gate_backward(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float y[ELEMENTS], dx[ELEMENTS];
    for (size_t g = 0; g < GATE_COUNT; g++) {
        const sv_sigmoid_gate gate = sv_activation_gate(GATES[g]);
        fill(errors, &o);
        for (size_t i = 0; i < ELEMENTS; i++)
            dx[i] = o.dy[i];
        NUMBERS_CALL(k->sigmoid_gate_backward(y, dx, o.x, gate, o.dropout, o.rows));
        see_forward(errors, &o, y, &gate);
        see_backward(errors, &o, dx, &gate);
    }
}

static const sv_sigmoid_gate SILU = {1, 0};

/* Compares y of SwiGLU with silu(x) times `other`, the second half of each token of x. */
static void see_swiglu(numbers_errors *errors, const operands *o, const float *x, const float *y)
{
    for (size_t i = 0; i < ELEMENTS; i++) {
        size_t at = i / WIDTH * 2 * WIDTH + i % WIDTH;
        activation a = gate_of(x[at], SILU);
        long double other = numbers_in(x[at + WIDTH]) * factor_of(o, i);
        set_floor(errors, x[at], other);
        numbers_see(errors, y[i], a.value * other, a.value_terms * fabsl(other), "y", i);
    }
}

static void run_swiglu(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float x[2 * ELEMENTS], y[ELEMENTS];
    fill(errors, &o);
    numbers_fill(errors, x, 2 * ELEMENTS);
    NUMBERS_CALL(k->swiglu(y, x, o.dropout, o.rows));
    see_swiglu(errors, &o, x, y);
}

static void run_swiglu_backward(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float x[2 * ELEMENTS], y[ELEMENTS], dx[2 * ELEMENTS];
    fill(errors, &o);
    numbers_fill(errors, x, 2 * ELEMENTS);
    for (size_t i = 0; i < ELEMENTS; i++)
        y[i] = o.dy[i];
    NUMBERS_CALL(k->swiglu_backward(y, dx, x, o.dropout, o.rows));
    see_swiglu(errors, &o, x, y);
    for (size_t i = 0; i < ELEMENTS; i++) {
        size_t at = i / WIDTH * 2 * WIDTH + i % WIDTH;
        activation a = gate_of(x[at], SILU);
        long double g = numbers_in(o.dy[i]) * factor_of(&o, i), other = numbers_in(x[at + WIDTH]);
        set_floor(errors, x[at], g * (1 + fabsl(other)));
        numbers_see(errors, dx[at], g * other * a.slope, fabsl(g * other) * a.slope_terms, "dx",
                    at);
        numbers_see(errors, dx[at + WIDTH], g * a.value, fabsl(g) * a.value_terms, "dx",
                    at + WIDTH);
    }
}

/* The longest epilogue of a forward: GELU, dropout, DropPath and residual. */
static void run_apply_epilogue(numbers_errors *errors, const sv_kernels *k)
{
    static operands o;
    static float c[ELEMENTS], saved[ELEMENTS];
    const float path[FIRST + TOKENS] = {1.5f, 0, 0.75f, 1.25f, 3};
    enum { IMAGE_TOKENS = 10 };
    fill(errors, &o);
    for (size_t i = 0; i < ELEMENTS; i++)
        c[i] = o.x[i];
    const sv_epilogue epilogue = {.dropout = o.dropout,
                                  .first_token = FIRST,
                                  .gelu = true,
                                  .save_pre_gelu = saved,
                                  .residual = o.residual,
                                  .drop_path_scale = path,
                                  .image_tokens = IMAGE_TOKENS};
    NUMBERS_CALL(k->apply_epilogue(c, WIDTH, &epilogue, 0, TOKENS, 0, WIDTH));
    for (size_t i = 0; i < ELEMENTS; i++) {
        activation a = gelu_of(o.x[i]);
        long double factor = factor_of(&o, i) * path[(FIRST + i / WIDTH) / IMAGE_TOKENS];
        long double residual = numbers_in(o.residual[i]);
        set_floor(errors, 1, factor);
        numbers_see(errors, c[i], residual + factor * a.value,
                    fabsl(residual) + factor * a.value_terms, "c", i);
    }
    numbers_see_bits(errors, saved, o.x, ELEMENTS, "save_pre_gelu");
}

#define ELEMENTWISE "the largest of all tried, rounded up"

static const numbers_row ROWS[] = {
    {"gelu", NUMBERS_ALL, NUMBERS_TERMS, 6, ELEMENTWISE, run_gelu, 0, 0},
    {"gelu_backward", NUMBERS_ALL, NUMBERS_TERMS, 9, ELEMENTWISE, run_gelu_backward, 0, 0},
    {"sigmoid_gate", NUMBERS_ALL, NUMBERS_TERMS, 4, ELEMENTWISE, run_sigmoid_gate, 0, 0},
    {"sigmoid_gate_backward", NUMBERS_ALL, NUMBERS_TERMS, 4, ELEMENTWISE, run_sigmoid_gate_backward,
     0, 0},
    {"swiglu", NUMBERS_ALL, NUMBERS_TERMS, 4, ELEMENTWISE, run_swiglu, 0, 0},
    {"swiglu_backward", NUMBERS_ALL, NUMBERS_TERMS, 4, ELEMENTWISE, run_swiglu_backward, 0, 0},
    {"apply_epilogue", NUMBERS_ALL, NUMBERS_TERMS, 4, ELEMENTWISE, run_apply_epilogue, 0, 0},
};

NUMBERS_ROWS(numbers_activations, ROWS);
