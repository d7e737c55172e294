/* Position embeddings on another grid are those of torch.nn.functional.interpolate in float64:
 * values of PyTorch for the bicubic interpolations, and of its definitions
 * (make_position_resize.py) for the antialiased bilinear one as well. */
#include "fit.h"
#include "golden.h"
#include "suite.h"

#include "models/load/load_internal.h"

enum { MOST = 32 };

static const struct resized {
    size_t height, width, out_height, out_width;
    double in[MOST], sharp[MOST], antialiased[MOST];
} CASES[] = {
    {4,
     5,
     3,
     7,
     {-3.875, 2.75, -1.25, -0.25, 1.125, 2.875, 3.125,  3.875, 3.25,  -1.0,
      -1.625, 1.0,  -0.75, -3.75, 3.25,  2.0,   -2.375, -4.0,  0.625, -2.875},
     {-3.274359967, 0.804511611,  2.561073698, -0.434172454, -0.023281225, 0.614989944,
      0.775552384,  0.800200437,  1.792934585, 2.677295918,  2.34765625,   0.171800975,
      0.155851403,  1.644212372,  1.663680775, -0.352869645, -2.889028292, -3.613859954,
      -0.922304599, -0.512920446, -2.063677654},
     {-2.235600742, 0.978451828,  2.651717748, 0.28117849,   0.807556825,  0.774118581,
      0.318319411,  0.649984133,  1.574094499, 2.281622286,  1.857309626,  0.114027261,
      0.258245077,  1.355898128,  0.992846193, -0.437736519, -2.356598295, -3.461384439,
      -1.520373972, -0.798678506, -1.133364622}},
    {3,
     3,
     5,
     2,
     {4.0, 1.25, 3.75, 0.875, 0.875, 2.5, -3.25, -3.5, 3.875},
     {3.526296875, 3.178601562, 2.645873047, 2.711773437, 0.817871094, 2.131835938, -2.042933594,
      2.101917969, -3.986761719, 2.20140625},
     {3.097973894, 2.827750689, 2.390099063, 2.50148535, 0.809791332, 1.931380417, -2.170250773,
      1.473947977, -3.968764196, 1.235474272}},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES, CHANNELS = 2 };

/* Two channels, of which the second is the first upside down, so that channels do not mix. */
START_TEST(test_values_are_those_of_pytorch)
{
    const struct resized *of = &CASES[_i / 2];
    const bool antialiased = _i % 2 == 0;
    const double *wanted = antialiased ? of->antialiased : of->sharp;
    const size_t inputs = of->height * of->width, outputs = of->out_height * of->out_width;
    float in[CHANNELS * MOST], out[CHANNELS * MOST], temporary[CHANNELS * MOST];
    for (size_t i = 0; i < inputs; i++) {
        in[CHANNELS * i] = (float)of->in[i];
        in[CHANNELS * i + 1] = (float)of->in[inputs - 1 - i];
    }
    sv_position_resize(out, of->out_height, of->out_width, in, of->height, of->width, CHANNELS,
                       antialiased ? SV_BICUBIC_ANTIALIASED : SV_BICUBIC, temporary);
    for (size_t i = 0; i < outputs; i++) {
        ck_assert_double_eq_tol((double)out[CHANNELS * i], wanted[i], 1e-6);
        ck_assert_double_eq_tol((double)out[CHANNELS * i + 1], wanted[outputs - 1 - i], 1e-6);
    }
}
END_TEST

/* Every tensor MODE.HEIGHTxWIDTH.OUT_HEIGHTxOUT_WIDTH of the golden file, from in.HEIGHTxWIDTH. */
START_TEST(test_values_are_those_of_the_definition)
{
    static const char *const modes[] = {[SV_BICUBIC_ANTIALIASED] = "bicubic-antialiased.",
                                        [SV_BICUBIC] = "bicubic.",
                                        [SV_BILINEAR_ANTIALIASED] = "bilinear-antialiased."};
    sv_safetensors *file = golden_open("position_resize");
    const size_t bytes = strlen(modes[_i]);
    size_t found = 0;
    for (size_t t = 0; t < sv_safetensors_count(file); t++) {
        const char *name = sv_safetensors_at(file, t)->name;
        char source[40];
        size_t height, width, out_height, out_width, elements;
        float out[64], temporary[64];
        if (strncmp(name, modes[_i], bytes) != 0)
            continue;
        ck_assert_int_eq(
            sscanf(name + bytes, "%zux%zu.%zux%zu", &height, &width, &out_height, &out_width), 4);
        snprintf(source, sizeof source, "in.%zux%zu", height, width);
        float *in = golden_floats(file, source, NULL);
        float *wanted = golden_floats(file, name, &elements);
        ck_assert_uint_eq(elements, out_height * out_width);
        sv_position_resize(out, out_height, out_width, in, height, width, 1, (sv_interpolation)_i,
                           temporary);
        ck_assert_msg(golden_difference(out, wanted, elements) <= 1e-6, "%s", name);
        golden_free(in);
        golden_free(wanted);
        found++;
    }
    ck_assert_uint_eq(found, 7);
    sv_safetensors_close(file);
}
END_TEST

static Suite *position_resize_suite(void)
{
    Suite *suite = suite_create("position_resize");
    TCase *tcase = tcase_create("golden");
    tcase_add_loop_test(tcase, test_values_are_those_of_pytorch, 0, 2 * CASE_COUNT);
    tcase_add_loop_test(tcase, test_values_are_those_of_the_definition, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}

TEST_MAIN(position_resize_suite)
