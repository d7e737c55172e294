/* Which kernels and which products a context uses, and how it describes itself. */
#include "base/context.h"
#include "base/json.h"
#include "base/status.h"
#include "kernels/gemm.h"

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

/* What a caller may name, and the instruction set that it takes. */
typedef struct provider {
    const sv_gemm *gemm;
    sv_isa isa;
} provider;

static const provider PROVIDERS[] = {
    {&sv_gemm_tile, SV_ISA_BASELINE},
    {&sv_gemm_cblas, SV_ISA_BASELINE},
#if defined(SV_HAVE_AMX) && !defined(SV_DOUBLE)
    {&sv_gemm_amx, SV_ISA_AMX},
#endif
};

static bool runs_here(const provider *candidate, sv_isa isa)
{
    return candidate->isa <= isa && (candidate->isa < SV_ISA_AMX || sv_cpu_permit_amx());
}

/* The fastest that runs here: the last in the list after the two that always do. */
static const sv_gemm *best_gemm(sv_isa isa)
{
    for (size_t i = sizeof PROVIDERS / sizeof *PROVIDERS; i-- > 2;)
        if (runs_here(&PROVIDERS[i], isa))
            return PROVIDERS[i].gemm;
    return &sv_gemm_tile;
}

/* Sets the context's providers. The matrix unit wants many rows; over few the tiles are faster. */
static svit_status find_gemm(svit_context *context, const char *name, svit_error *err)
{
    sv_isa isa = context->isa;
    if (!name) {
        context->gemm = best_gemm(isa);
        context->few_gemm = &sv_gemm_tile;
        return SVIT_OK;
    }
    for (size_t i = 0; i < sizeof PROVIDERS / sizeof *PROVIDERS; i++) {
        if (strcmp(PROVIDERS[i].gemm->name, name) != 0)
            continue;
        if (!runs_here(&PROVIDERS[i], isa))
            return sv_fail(err, SVIT_E_UNSUPPORTED, "gemm is '%s'; this machine's CPU runs %s only",
                           name, sv_isa_name(isa));
        context->gemm = context->few_gemm = PROVIDERS[i].gemm;
        return SVIT_OK;
    }
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "gemm is '%.60s'; 'tile', 'cblas', 'amx' or NULL is accepted", name);
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
/* The matrix unit is the faster one at one image as at many. */
static const sv_gemm *int8_gemm(sv_isa isa, int few)
{
    (void)isa;
    (void)few;
#ifdef SV_HAVE_AMX
    if (isa >= SV_ISA_AMX && sv_cpu_permit_amx())
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
    if (context->isa >= SV_ISA_AMX && sv_cpu_permit_amx())
        return &sv_gemm_amx_bf16;
    if (!few && context->isa >= SV_ISA_AVX512_BF16)
        return &sv_gemm_dot_bf16;
#endif
    return &sv_gemm_tile_bf16;
#endif
}

static json_t *gemms_here(const svit_context *context)
{
    json_t *names = json_array();
    for (size_t i = 0; i < sizeof PROVIDERS / sizeof *PROVIDERS; i++)
        if (runs_here(&PROVIDERS[i], context->isa))
            json_array_append_new(names, json_string(PROVIDERS[i].gemm->name));
    return names;
}

static json_t *describe(const svit_context *context)
{
    char cpu[64], warning[160];
    json_t *warnings = json_array();
    sv_isa best = sv_cpu_isa();
    if (below(sv_blas_core(), best)) {
        snprintf(warning, sizeof warning,
                 "the CBLAS runs its %s kernels, below this CPU's %s; products through it are slow",
                 sv_blas_core(), sv_isa_name(best));
        json_array_append_new(warnings, json_string(warning));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:i, s:o}", "version",
                     svit_version_string(), "cpu", sv_cpu_name(cpu, sizeof cpu), "instruction_set",
                     sv_isa_name(context->kernels->isa), "gemm", context->gemm->name, "gemms",
                     gemms_here(context), "blas", sv_blas_description(), "blas_core",
                     sv_blas_core(), "threads", (int)svit_context_threads(context), "warnings",
                     warnings);
}

SVIT_API svit_status svit_context_describe(const svit_context *context, char *buffer,
                                           size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(context);
    json_t *description = describe(context);
    if (!description)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for a description");
    svit_status status = sv_json_to_buffer(description, buffer, capacity, needed, err);
    json_decref(description);
    return status;
}
