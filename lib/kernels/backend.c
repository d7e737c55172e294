/* Which kernels and which products a context uses, and how it describes itself. */
#include "base/context.h"
#include "base/json.h"
#include "base/status.h"
#include "kernels/gemm.h"

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
    if (isa == SV_ISA_AVX512)
        return &sv_kernels_avx512;
    if (isa == SV_ISA_AVX2)
        return &sv_kernels_avx2;
#endif
    (void)isa;
    return &sv_kernels_baseline;
}

const sv_gemm *sv_gemm_find(const char *name)
{
    static const sv_gemm *const PROVIDERS[] = {&sv_gemm_tile, &sv_gemm_cblas};
    for (size_t i = 0; i < sizeof PROVIDERS / sizeof *PROVIDERS; i++)
        if (strcmp(PROVIDERS[i]->name, name) == 0)
            return PROVIDERS[i];
    return NULL;
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
    const char *name = config && config->gemm ? config->gemm : "tile";
    context->isa = lowered_isa(context->isa);
    context->kernels = sv_kernels_for(context->isa);
    context->gemm = sv_gemm_find(name);
    if (!context->gemm) {
        svit_context_free(context);
        return sv_fail(err, SVIT_E_ARGUMENT, "gemm is '%.60s'; 'tile', 'cblas' or NULL is accepted",
                       name);
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
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:o}", "version", svit_version_string(),
                     "cpu", sv_cpu_name(cpu, sizeof cpu), "instruction_set",
                     sv_isa_name(context->kernels->isa), "gemm", context->gemm->name, "blas",
                     sv_blas_description(), "blas_core", sv_blas_core(), "threads",
                     (int)svit_context_threads(context), "warnings", warnings);
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
