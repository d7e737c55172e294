/* Which kernels and which products a context uses, and how it describes itself. */
#include "base/context.h"
#include "base/json.h"
#include "base/status.h"
#include "gemm/gemm.h"

#include <shiftvit/session.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const sv_kernels sv_kernels_baseline;
#ifdef SV_HAVE_X86
extern const sv_kernels sv_kernels_avx2;
extern const sv_kernels sv_kernels_avx512;
#endif

const sv_kernels *sv_kernels_for(sv_isa isa)
{
#ifdef SV_HAVE_X86
    if (isa >= SV_ISA_AVX512)
        return &sv_kernels_avx512;
    if (isa == SV_ISA_AVX2)
        return &sv_kernels_avx2;
#endif
    (void)isa;
    return &sv_kernels_baseline;
}

/* What a caller may name, and what it takes: an instruction set and, beyond the CPU, something that
 * must be had first. */
typedef struct provider {
    const char *name, *title;
    const sv_gemm *gemm; /* NULL: not in this build */
    sv_isa isa;
    svit_status (*prepare)(svit_error *err); /* NULL: nothing */
} provider;

#if defined(SV_HAVE_AMX) && !defined(SV_DOUBLE)
static svit_status permit_amx(svit_error *err)
{
    if (!sv_cpu_permit_amx())
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "gemm is 'amx'; this system does not let AMX be used");
    return SVIT_OK;
}
#endif

static const provider PROVIDERS[] = {
    {"tile", "tiles", &sv_gemm_tile, SV_ISA_BASELINE, NULL},
    {"cblas", "CBLAS", &sv_gemm_cblas, SV_ISA_BASELINE, NULL},
#if defined(SV_HAVE_AMX) && !defined(SV_DOUBLE)
    {"amx", "AMX", &sv_gemm_amx, SV_ISA_AMX, permit_amx},
#else
    {"amx", "AMX", NULL, SV_ISA_AMX, NULL},
#endif
};
enum { PROVIDER_COUNT = sizeof PROVIDERS / sizeof *PROVIDERS };

static svit_status check_runs(const provider *candidate, sv_isa isa, svit_error *err)
{
    const char *name = candidate->name, *title = candidate->title;
    if (!candidate->gemm)
        return sv_fail(err, SVIT_E_UNSUPPORTED, "gemm is '%s'; this build has no %s", name, title);
    if (candidate->isa > isa)
        return sv_fail(err, SVIT_E_UNSUPPORTED, "gemm is '%s'; this machine's CPU runs %s only",
                       name, sv_isa_name(isa));
    return candidate->prepare ? candidate->prepare(err) : SVIT_OK;
}

static bool runs_here(const provider *candidate, sv_isa isa)
{
    return check_runs(candidate, isa, NULL) == SVIT_OK;
}

/* NULL: nothing has that name. */
static const provider *find_provider(const char *name)
{
    for (size_t i = 0; i < PROVIDER_COUNT; i++)
        if (strcmp(PROVIDERS[i].name, name) == 0)
            return &PROVIDERS[i];
    return NULL;
}

/* By the CPU alone, so that the same build gives the same bits: docs/performance.md. */
static const sv_gemm *best_gemm(sv_isa isa)
{
    const provider *amx = find_provider("amx");
    return runs_here(amx, isa) ? amx->gemm : &sv_gemm_tile;
}

/* Sets the context's providers. The matrix unit wants many rows; over few the tiles are faster. */
static svit_status find_gemm(svit_context *context, const char *name, svit_error *err)
{
    if (!name) {
        context->gemm = best_gemm(context->isa);
        context->few_gemm = &sv_gemm_tile;
        return SVIT_OK;
    }
    const provider *named = find_provider(name);
    if (!named)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "gemm is '%.60s'; 'tile', 'cblas', 'amx' or NULL is accepted", name);
    SVIT_TRY(check_runs(named, context->isa, err));
    context->gemm = context->few_gemm = named->gemm;
    return SVIT_OK;
}

/* Tests run every copy of the kernels by lowering what the CPU is taken for; it cannot be raised.
 */
static sv_isa lowered_isa(sv_isa isa)
{
    const char *wanted = getenv("SHIFTVIT_TEST_ISA");
    for (sv_isa lower = SV_ISA_BASELINE; wanted && lower < isa; lower++)
        if (strcmp(sv_isa_name(lower), wanted) == 0)
            return lower;
    return isa;
}

SVIT_API svit_status svit_context_create(svit_context **out, const svit_context_config *config,
                                         svit_error *err)
{
    SV_REQUIRE(out);
    svit_context *context = NULL;
    SVIT_TRY(sv_context_open(&context, config, err));
    context->isa = lowered_isa(context->isa);
    context->kernels = sv_kernels_for(context->isa);
    svit_status status = find_gemm(context, config ? config->gemm : NULL, err);
    if (status != SVIT_OK) {
        svit_context_free(context);
        return status;
    }
    if (context->gemm == &sv_gemm_cblas)
        sv_blas_use_one_thread();
    *out = context;
    return SVIT_OK;
}

/* OpenBLAS names the cores whose kernels it runs; these are the ones without AVX-512, or AVX2. */
static int below(const char *core, sv_isa isa)
{
    static const char *const OLD[] = {"Prescott", "Core2",       "Penryn",  "Dunnington", "Nehalem",
                                      "Atom",     "Sandybridge", "Generic", "generic"};
    static const char *const AVX2[] = {"Haswell", "Zen", "Excavator"};
    for (size_t i = 0; i < sizeof OLD / sizeof *OLD; i++)
        if (strcmp(core, OLD[i]) == 0)
            return isa > SV_ISA_BASELINE;
    for (size_t i = 0; i < sizeof AVX2 / sizeof *AVX2; i++)
        if (strcmp(core, AVX2[i]) == 0)
            return isa > SV_ISA_AVX2;
    return 0;
}

#ifndef SV_DOUBLE
#ifdef SV_HAVE_AMX
static bool has_amx(sv_isa isa)
{
    return isa >= SV_ISA_AMX && sv_cpu_permit_amx();
}
#endif

/* The matrix unit is the faster one at one image as at many. */
static const sv_gemm *int8_gemm(sv_isa isa, int few)
{
    (void)isa;
    (void)few;
#ifdef SV_HAVE_AMX
    if (has_amx(isa))
        return few ? &sv_gemm_amx_int8_few : &sv_gemm_amx_int8;
#endif
#ifdef SV_HAVE_VNNI
    if (isa >= SV_ISA_AVX512_VNNI)
        return &sv_gemm_vnni_int8;
#endif
    return &sv_gemm_tile_int8;
}
#endif

const sv_gemm *sv_gemm_for(const svit_context *context, int32_t compute, int few)
{
    if (compute == SVIT_COMPUTE_F32)
        return few ? context->few_gemm : context->gemm;
#ifdef SV_DOUBLE
    return context->gemm;
#else
    if (compute == SVIT_COMPUTE_INT8)
        return int8_gemm(context->isa, few);
#ifdef SV_HAVE_AMX
    if (has_amx(context->isa))
        return &sv_gemm_amx_bf16;
    if (context->isa >= SV_ISA_AVX512_BF16 && sv_cpu_has_fast_bf16_dots())
        return &sv_gemm_dot_bf16;
#endif
    return few ? &sv_gemm_tile_bf16 : &sv_gemm_tile_rounded;
#endif
}

static void put_text(sv_json_writer *writer, const char *key, const char *text)
{
    sv_json_put_key(writer, key);
    sv_json_put_text(writer, text);
}

static void put_gemms(sv_json_writer *writer, const svit_context *context)
{
    sv_json_put_key(writer, "gemms");
    sv_json_begin(writer, '[');
    for (size_t i = 0; i < PROVIDER_COUNT; i++)
        if (runs_here(&PROVIDERS[i], context->isa))
            sv_json_put_text(writer, PROVIDERS[i].name);
    sv_json_end(writer, ']');
}

static void warn(sv_json_writer *writer, const char *library, const char *runs)
{
    char warning[160];
    snprintf(warning, sizeof warning,
             "%s runs its %s kernels, below this CPU's %s; products through it are slow", library,
             runs, sv_isa_name(sv_cpu_isa()));
    sv_json_put_text(writer, warning);
}

static void put_warnings(sv_json_writer *writer)
{
    sv_json_put_key(writer, "warnings");
    sv_json_begin(writer, '[');
    if (below(sv_blas_core(), sv_cpu_isa()))
        warn(writer, "the CBLAS", sv_blas_core());
    sv_json_end(writer, ']');
}

static void describe(sv_json_writer *writer, const svit_context *context)
{
    char cpu[64];
    sv_json_begin(writer, '{');
    put_text(writer, "version", svit_version_string());
    put_text(writer, "cpu", sv_cpu_name(cpu, sizeof cpu));
    put_text(writer, "instruction_set", sv_isa_name(context->kernels->isa));
    put_text(writer, "gemm", context->gemm->name);
    put_gemms(writer, context);
    put_text(writer, "gemm_bf16", sv_gemm_for(context, SVIT_COMPUTE_BF16, 0)->name);
    put_text(writer, "gemm_int8", sv_gemm_for(context, SVIT_COMPUTE_INT8, 0)->name);
    put_text(writer, "blas", sv_blas_description());
    put_text(writer, "blas_core", sv_blas_core());
    sv_json_put_key(writer, "threads");
    sv_json_put_u64(writer, svit_context_threads(context));
    put_warnings(writer);
    sv_json_end(writer, '}');
}

SVIT_API svit_status svit_context_describe(const svit_context *context, char *buffer,
                                           size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(context);
    sv_json_writer writer = sv_json_writer_make(&context->allocator);
    describe(&writer, context);
    return sv_json_writer_finish(&writer, "a description", buffer, capacity, needed, err);
}
