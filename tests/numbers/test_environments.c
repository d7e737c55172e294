/* Calls every public function with every floating-point environment that a program may have set:
 * the rounding modes, subnormal values flushed or kept, and trapped exceptions. A call then gives
 * the same bits as in the default environment, and leaves the program's environment as it was. It
 * does so with ordinary values, and where inputs and weights are subnormal. The scenarios are those
 * of tests/fault, which has one for every public function. */
#include "scenario.h"

#include "base/status.h"
#include "base/threads/fp_env.h"

#include <fenv.h>
#include <math.h>

#if defined SV_HAVE_PNG && defined SV_HAVE_JPEG
enum { LACKS_IMAGES = 0 };
#else
enum { LACKS_IMAGES = 1 };
#endif

typedef struct environment {
    const char *name;
    int rounding, flushes, traps;
} environment;

static const environment ENVIRONMENTS[] = {
    {"default", FE_TONEAREST, 0, 0},  {"nearest, flushing", FE_TONEAREST, 1, 0},
    {"up", FE_UPWARD, 0, 0},          {"up, flushing", FE_UPWARD, 1, 0},
    {"down", FE_DOWNWARD, 0, 0},      {"down, flushing", FE_DOWNWARD, 1, 0},
    {"to zero", FE_TOWARDZERO, 0, 0}, {"to zero, flushing", FE_TOWARDZERO, 1, 0},
    {"trapping", FE_TONEAREST, 0, 1},
};
enum { ENVIRONMENT_COUNT = sizeof ENVIRONMENTS / sizeof *ENVIRONMENTS };

static const scenario *scenarios[MOST_SCENARIOS];
static int scenario_count;
static world w;
static fenv_t initial;

/* The exceptions that have occurred are no part of the environment: a status register has them. */
static uint64_t control_now(void)
{
    return sv_fp_env_read() & ~(sv_fp_env)SV_FP_ENV_FLAGS;
}

static void enter(const environment *to)
{
    fesetround(to->rounding);
    if (to->flushes)
        sv_fp_env_write(sv_fp_env_read() | SV_FP_ENV_FLUSH_TO_ZERO);
#ifdef __GLIBC__
    if (to->traps) {
        feclearexcept(FE_ALL_EXCEPT);
        feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW);
    }
#endif
}

/* On x86 those of the x87, which has a control register of its own. */
static int traps_now(void)
{
#ifdef __GLIBC__
    return fegetexcept();
#else
    return 0;
#endif
}

/* Calls in an environment. Returns a hash of the results. */
static uint64_t call_in(const scenario *of, int model_of, const environment *in)
{
    svit_error error = {.struct_size = sizeof error};
    world_make(&w, of, model_of);
    world_begin(&w);
    enter(in);
    const uint64_t before = control_now();
    const int traps_before = traps_now();
    const svit_status status = of->call(&w, &error);
    const uint64_t after = control_now();
    const int rounding = fegetround(), traps = traps_now();
    fesetenv(&initial);
    ck_assert_msg(status == SVIT_OK, "%s %s, model %d, %s: %s", of->function, of->variant, model_of,
                  in->name, error.message);
    ck_assert_msg(before == after && rounding == in->rounding && traps == traps_before,
                  "%s %s, model %d, %s: the environment has changed from %llx to %llx",
                  of->function, of->variant, model_of, in->name, (unsigned long long)before,
                  (unsigned long long)after);
    ck_assert_msg(world_count_not_finite(&w) == 0, "%s %s, model %d, %s: not finite", of->function,
                  of->variant, model_of, in->name);
    uint64_t results = of->flags & NO_DIGEST ? 0 : world_digest_results(&w);
    if (world_has_made(w.made.session)) { /* has packed and derived weights */
        float logits[BATCH * CLASSES] = {0};
        WORKS(svit_forward(w.made.session, world_images, 2, logits, err));
        results = world_hash(results, logits, sizeof logits);
    }
    world_free(&w);
    return results;
}

START_TEST(test_results_do_not_depend_on_the_environment_of_the_program)
{
    const scenario *of = scenarios[_i];
    char differs[512] = "";
    if (of->flags & HAS_IMAGES && LACKS_IMAGES) {
        skip_check("this build lacks the image libraries");
        return;
    }
    for (int model_of = 0; model_of < (of->flags & EVERY_MODEL ? MODELS : 1); model_of++) {
        const uint64_t wanted = call_in(of, model_of, &ENVIRONMENTS[0]);
        for (size_t i = 1; i < ENVIRONMENT_COUNT; i++)
            if (call_in(of, model_of, &ENVIRONMENTS[i]) != wanted)
                snprintf(differs + strlen(differs), sizeof differs - strlen(differs), "[%s]",
                         ENVIRONMENTS[i].name);
        ck_assert_msg(!*differs, "%s %s, model %d: other results in %s", of->function, of->variant,
                      model_of, differs);
    }
}
END_TEST

/* Makes every third value subnormal. */
static void make_subnormal(float *values, size_t count)
{
    for (size_t i = 0; i < count; i += 3)
        values[i] = (float)(i % 2 ? -1e-40 : 3e-39);
}

/* All but the temperature of the attention's softmax, by which its scores are divided. */
static void make_weights_subnormal(svit_model *model)
{
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)); i++) {
        const size_t elements = fit_elements(model, name);
        if (strstr(name, "tau"))
            continue;
        float *values = malloc(elements * sizeof *values);
        WORKS(svit_model_get_parameter(model, name, values, elements, err));
        make_subnormal(values, elements);
        WORKS(svit_model_set_parameter(model, name, values, elements, err));
        free(values);
    }
}

static void begin_subnormal(void)
{
    world_change_model = make_weights_subnormal;
    world_folders_make();
    make_subnormal(world_images, COUNT * PIXELS);
    make_subnormal(world_logits, COUNT * CLASSES);
    for (size_t i = 0; i < COUNT * CLASSES; i++)
        world_targets[i] = world_targets[i] > 0 ? world_targets[i] : 1e-40f;
}

/* The C library prints numbers by the rounding mode. */
START_TEST(test_messages_do_not_depend_on_the_environment_of_the_program)
{
    svit_error error = {.struct_size = sizeof error}, second = error;
    float loss;
    enter(&ENVIRONMENTS[_i]);
    const svit_status status =
        svit_cross_entropy(world_logits, world_labels, COUNT, CLASSES, 1.1f, &loss, NULL, &error);
    sv_fail(&second, SVIT_E_ARGUMENT, "%g", 1.1); /* of a function that computes nothing */
    fesetenv(&initial);
    ck_assert_int_eq(status, SVIT_E_ARGUMENT);
    ck_assert_str_eq(error.message, "label_smoothing is 1.1; [0, 1) is accepted");
    ck_assert_str_eq(second.message, "1.1");
}
END_TEST

#ifdef __GLIBC__
/* An exception while they are masked is not told to the program, which traps them, by its next
 * operation. Regression: the x87 does, whose flags stay. Long doubles are the x87's. */
START_TEST(test_an_exception_inside_does_not_trap_outside)
{
    volatile long double zero = 0, quotient = 0;
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    const int traps = fegetexcept();
    sv_callers_fp_env before = sv_fp_env_enter_default();
    quotient = 1 / zero;
    sv_fp_env_leave_default(&before);
    const int traps_after = fegetexcept();
    zero += 1;
    fesetenv(&initial);
    ck_assert(isinf(quotient) && zero == 1);
    ck_assert_int_eq(traps, traps_after);
}
END_TEST
#endif

static Suite *environments_suite(void)
{
    static const struct {
        const char *name;
        void (*begin)(void);
    } values[] = {{"ordinary", world_folders_make}, {"subnormal", begin_subnormal}};
    Suite *suite = suite_create("environments");
    fegetenv(&initial);
    scenario_count = list_scenarios(scenarios);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        TCase *all = tcase_create(values[i].name);
        tcase_add_unchecked_fixture(all, values[i].begin, world_folders_remove);
        tcase_add_loop_test(all, test_results_do_not_depend_on_the_environment_of_the_program, 0,
                            scenario_count);
        tcase_add_loop_test(all, test_messages_do_not_depend_on_the_environment_of_the_program, 0,
                            ENVIRONMENT_COUNT);
        suite_add_tcase(suite, all);
    }
#ifdef __GLIBC__
    TCase *after = tcase_create("after");
    tcase_add_test(after, test_an_exception_inside_does_not_trap_outside);
    suite_add_tcase(suite, after);
#endif
    return suite;
}

TEST_MAIN(environments_suite)
