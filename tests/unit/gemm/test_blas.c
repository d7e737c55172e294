/* Checks which GEMM backend a context gets, and what it says about the BLAS: on BLAS libraries that
 * this test makes up, of which some are missing or lack functions. */
#include "fit.h"

#include "base/files/dynamic_library.h"
#include "base/threads/cpu.h"
#include "context/context.h"
#include "gemm/blas.h"
#include "gemm/gemm.h"
#include "gemm/low_precision/pairs.h"

/* The made-up library: the names of its functions, and the CPU type of its kernels. */
static struct {
    bool is_there;
    const char *functions, *core;
    int threads;
} blas;

static char *config(void)
{
    return "a made-up OpenBLAS";
}

static char *corename(void)
{
    static char name[32];
    snprintf(name, sizeof name, "%s", blas.core);
    return name;
}

static const char *version(void)
{
    return "a made-up BLIS";
}

static void set_openblas_threads(int threads)
{
    blas.threads += threads;
}

static void set_blis_threads(long threads)
{
    blas.threads += (int)threads;
}

static void gemm(void)
{
}

static const struct {
    const char *name;
    void (*function)(void);
} FUNCTIONS[] = {
    {"cblas_sgemm", gemm},
    {"openblas_get_config", (void (*)(void))config},
    {"openblas_get_corename", (void (*)(void))corename},
    {"openblas_set_num_threads", (void (*)(void))set_openblas_threads},
    {"bli_info_get_version_str", (void (*)(void))version},
    {"bli_thread_set_num_threads", (void (*)(void))set_blis_threads},
};

sv_dynamic_library *__wrap_sv_dynamic_library_open(const char *soname, char *reason,
                                                   size_t capacity);
bool __wrap_sv_dynamic_library_find(void *function, sv_dynamic_library *library, const char *name);

sv_dynamic_library *__wrap_sv_dynamic_library_open(const char *soname, char *reason,
                                                   size_t capacity)
{
    snprintf(reason, capacity, "%s is not installed", soname);
    return blas.is_there ? (sv_dynamic_library *)&blas : NULL;
}

bool __wrap_sv_dynamic_library_find(void *function, sv_dynamic_library *library, const char *name)
{
    ck_assert_ptr_eq(library, &blas);
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++)
        if (strcmp(FUNCTIONS[i].name, name) == 0 && strstr(blas.functions, name)) {
            memcpy(function, &FUNCTIONS[i].function, sizeof FUNCTIONS[i].function);
            return true;
        }
    return false;
}

#define OPENBLAS "cblas_sgemm openblas_get_config openblas_get_corename openblas_set_num_threads"

/* A library, and what a context with it says; `error`: what creating one says. The warning is there
 * on a CPU above the instruction set. */
static const struct {
    bool is_there;
    const char *functions, *core, *error, *description;
    int threads, warns;
    sv_isa above;
} LIBRARIES[] = {
    {false, "", "", "cannot be loaded: ", "", 0, 0, SV_ISA_BASELINE},
    {true, "openblas_get_config", "", "has no cblas_sgemm", "", 0, 0, SV_ISA_BASELINE},
    {true, "cblas_sgemm", "", NULL, "\"blas\":\"\",\"blas_core\":\"\"", 0, 0, SV_ISA_BASELINE},
    {true, "cblas_sgemm bli_info_get_version_str bli_thread_set_num_threads", "", NULL,
     "\"blas\":\"a made-up BLIS\",\"blas_core\":\"\"", 1, 0, SV_ISA_BASELINE},
    {true, OPENBLAS, "SkylakeX", NULL, "\"blas\":\"a made-up OpenBLAS\",\"blas_core\":\"SkylakeX\"",
     1, 0, SV_ISA_BASELINE},
    {true, OPENBLAS, "Zen", NULL, "\"blas_core\":\"Zen\"", 1, 1, SV_ISA_AVX2},
    {true, OPENBLAS, "Haswell", NULL, "\"blas_core\":\"Haswell\"", 1, 1, SV_ISA_AVX2},
    {true, OPENBLAS, "Prescott", NULL, "\"blas_core\":\"Prescott\"", 1, 1, SV_ISA_BASELINE},
    {true, OPENBLAS, "generic", NULL, "\"blas_core\":\"generic\"", 1, 1, SV_ISA_BASELINE},
};
enum { LIBRARY_COUNT = sizeof LIBRARIES / sizeof *LIBRARIES };

START_TEST(test_a_blas_is_what_it_has)
{
#ifdef SV_BLAS_SONAME
    static char text[8192];
    char warning[256] = "\"warnings\":[]";
    svit_context_config with = {.struct_size = sizeof with, .threads = 1, .gemm = "cblas"};
    svit_context *context = NULL;
    blas.is_there = LIBRARIES[_i].is_there;
    blas.functions = LIBRARIES[_i].functions;
    blas.core = LIBRARIES[_i].core;
    if (LIBRARIES[_i].error) {
        FAILS(svit_context_create(&context, &with, err), SVIT_E_UNSUPPORTED, LIBRARIES[_i].error);
        FAILS(svit_context_create(&context, &with, err), SVIT_E_UNSUPPORTED, SV_BLAS_SONAME);
        ck_assert_ptr_null(context);
        ck_assert_str_eq(sv_blas_description(), "");
        ck_assert_str_eq(sv_blas_core(), "");
        return;
    }
    WORKS(svit_context_create(&context, &with, err));
    WORKS(svit_context_describe(context, text, sizeof text, NULL, err));
    if (LIBRARIES[_i].warns && sv_cpu_isa() > LIBRARIES[_i].above)
        snprintf(warning, sizeof warning, "\"warnings\":[\"the CBLAS runs its %s kernels",
                 blas.core);
    ck_assert_msg(strstr(text, "\"gemm\":\"cblas\"") != NULL, "%s", text);
    ck_assert_msg(strstr(text, LIBRARIES[_i].description) != NULL, "%s", text);
    ck_assert_msg(strstr(text, warning) != NULL, "%s", text);
    ck_assert_int_eq(blas.threads, LIBRARIES[_i].threads);
    svit_context_free(context);
#else
    skip_check("this build loads no BLAS");
#endif
}
END_TEST

START_TEST(test_an_unknown_backend_is_refused_and_one_for_other_cpus_too)
{
    const sv_gemm *large = NULL, *small = NULL;
    FAILS(sv_gemm_find(&large, &small, "mkl", SV_ISA_AMX, err), SVIT_E_ARGUMENT,
          "gemm is 'mkl'; 'tile', 'cblas' and 'amx' are accepted, or none for the best one");
    FAILS(sv_gemm_find(&large, &small, "", SV_ISA_AMX, err), SVIT_E_ARGUMENT, "gemm is ''");
#ifdef SV_HAVE_AMX
    FAILS(sv_gemm_find(&large, &small, "amx", SV_ISA_AVX2, err), SVIT_E_UNSUPPORTED,
          "gemm is 'amx'; this machine's CPU runs avx2 only");
#else
    FAILS(sv_gemm_find(&large, &small, "amx", SV_ISA_AVX2, err), SVIT_E_UNSUPPORTED,
          "gemm is 'amx'; this build has no AMX");
#endif
    ck_assert_ptr_null(large);
    WORKS(sv_gemm_find(&large, &small, "tile", SV_ISA_BASELINE, err));
    ck_assert_ptr_eq(large, &sv_gemm_tile);
    ck_assert_ptr_eq(small, &sv_gemm_tile);
    WORKS(sv_gemm_find(&large, &small, NULL, SV_ISA_AVX512_BF16, err));
    ck_assert_ptr_eq(large, &sv_gemm_tile);
}
END_TEST

#ifdef SV_LOW_PRECISION
/* The copy of "pairs-int8" for the kernels of the instruction set. */
static const sv_gemm *pairs_of(sv_isa isa)
{
#define PAIRS_OF(suffix, of)                                                                       \
    if (sv_kernels_for(isa)->isa == (of))                                                          \
        return &sv_gemm_pairs_int8_##suffix;
    SV_ISA_LIST(PAIRS_OF)
    return NULL;
}
#endif

START_TEST(test_each_cpu_has_its_backends)
{
    size_t count = 0;
    for (const char *name; (name = sv_gemm_name(count, SV_ISA_BASELINE)) != NULL; count++)
        ck_assert_msg(strcmp(name, count == 0 ? "tile" : "cblas") == 0, "backend %zu is %s", count,
                      name);
    ck_assert_uint_ge(count, 1);
#ifdef SV_LOW_PRECISION
    for (sv_isa isa = SV_ISA_BASELINE; isa <= SV_ISA_NEON_I8MM; isa++)
        for (int small_m = 0; sv_cpu_has(isa) && isa != SV_ISA_AMX && small_m < 2; small_m++) {
            const sv_gemm *int8 = pairs_of(isa);
            const sv_gemm *bf16 = small_m ? &sv_gemm_tile_bf16 : &sv_gemm_tile_bf16_as_f32;
#ifdef SV_HAVE_VNNI
            if (isa >= SV_ISA_AVX512_VNNI)
                int8 = &sv_gemm_vnni_int8;
#endif
#ifdef SV_HAVE_AMX
            if (isa >= SV_ISA_AVX512_BF16 && sv_cpu_has_fast_bf16_dots())
                bf16 = &sv_gemm_dot_bf16;
#endif
#ifdef SV_HAVE_DOTPROD
            if (isa >= SV_ISA_NEON_DOTPROD)
                int8 = &sv_gemm_dotprod_int8;
#endif
#ifdef SV_HAVE_I8MM
            if (isa >= SV_ISA_NEON_I8MM)
                int8 = &sv_gemm_i8mm_int8, bf16 = &sv_gemm_neon_bf16;
#endif
            ck_assert_ptr_eq(sv_gemm_int8(isa), int8);
            ck_assert_ptr_eq(sv_gemm_bf16(isa, small_m), bf16);
        }
#endif
}
END_TEST

/* The backends of low precision; a build without them has none to name. */
START_TEST(test_a_context_names_its_backends)
{
    static char text[8192], wanted[160];
    const char *bf16 = "", *int8 = "";
    svit_context *context = fit_context(1);
#ifdef SV_LOW_PRECISION
    bf16 = sv_gemm_bf16(context->isa, 0)->name;
    int8 = sv_gemm_int8(context->isa)->name;
#endif
    snprintf(wanted, sizeof wanted, "\"gemm_bf16\":\"%s\",\"gemm_int8\":\"%s\"", bf16, int8);
    WORKS(svit_context_describe(context, text, sizeof text, NULL, err));
    ck_assert_msg(strstr(text, wanted) != NULL, "no %s in %s", wanted, text);
    svit_context_free(context);
}
END_TEST

static Suite *blas_suite(void)
{
    Suite *suite = suite_create("blas");
    TCase *all = tcase_create("backends");
    tcase_add_loop_test(all, test_a_blas_is_what_it_has, 0, LIBRARY_COUNT);
    tcase_add_test(all, test_an_unknown_backend_is_refused_and_one_for_other_cpus_too);
    tcase_add_test(all, test_each_cpu_has_its_backends);
    tcase_add_test(all, test_a_context_names_its_backends);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(blas_suite)
