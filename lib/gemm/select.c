/* Selects the GEMM backend by name, by the CPU and by the compute type. */
#include "gemm/blas.h"
#include "gemm/gemm.h"
#include "gemm/low_precision/pairs.h"

#include <string.h>

/* A backend that a caller may name, and its requirements. */
typedef struct backend {
    const char *name, *title;              /* the title is for messages */
    const sv_gemm *gemm;                   /* NULL: not in this build */
    sv_isa isa;                            /* the least that it needs */
    svit_status (*probe)(svit_error *err); /* asks the operating system; NULL: not needed */
    svit_status (*load)(svit_error *err);  /* loads what it calls; NULL: not needed */
} backend;

#if defined(SV_HAVE_AMX) && !defined(SV_DOUBLE)
static svit_status request_amx(svit_error *err)
{
    if (!sv_cpu_request_amx())
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "gemm is 'amx'; this system does not let AMX be used");
    return SVIT_OK;
}
#endif

static const backend BACKENDS[] = {
    {"tile", "tiles", &sv_gemm_tile, SV_ISA_BASELINE, NULL, NULL},
#ifdef SV_HAVE_BLAS
    {"cblas", "CBLAS", &sv_gemm_cblas, SV_ISA_BASELINE, NULL, sv_blas_load},
#else
    {"cblas", "CBLAS", NULL, SV_ISA_BASELINE, NULL, NULL},
#endif
#if defined(SV_HAVE_AMX) && !defined(SV_DOUBLE)
    {"amx", "AMX", &sv_gemm_amx, SV_ISA_AMX, request_amx, NULL},
#else
    {"amx", "AMX", NULL, SV_ISA_AMX, NULL, NULL},
#endif
};
enum { BACKEND_COUNT = sizeof BACKENDS / sizeof *BACKENDS };

static svit_status check_runs(const backend *candidate, sv_isa isa, svit_error *err)
{
    const char *name = candidate->name, *title = candidate->title;
    if (!candidate->gemm)
        return sv_fail(err, SVIT_E_UNSUPPORTED, "gemm is '%s'; this build has no %s", name, title);
    if (candidate->isa > isa)
        return sv_fail(err, SVIT_E_UNSUPPORTED, "gemm is '%s'; this machine's CPU runs %s only",
                       name, sv_isa_name(isa));
    return candidate->probe ? candidate->probe(err) : SVIT_OK;
}

static bool runs_here(const backend *candidate, sv_isa isa)
{
    return check_runs(candidate, isa, NULL) == SVIT_OK;
}

/* NULL: no backend has this name. */
static const backend *find_backend(const char *name)
{
    for (size_t i = 0; i < BACKEND_COUNT; i++)
        if (strcmp(BACKENDS[i].name, name) == 0)
            return &BACKENDS[i];
    return NULL;
}

/* The choice depends on the CPU alone and not on measured times, so that results are reproducible:
 * docs/numerics.md. */
static const sv_gemm *best_gemm(sv_isa isa)
{
    const backend *amx = find_backend("amx");
    return runs_here(amx, isa) ? amx->gemm : &sv_gemm_tile;
}

/* With a small M the tile backend is faster than AMX. */
svit_status sv_gemm_find(const sv_gemm **gemm, const sv_gemm **small_m_gemm, const char *name,
                         sv_isa isa, svit_error *err)
{
    if (!name) {
        *gemm = best_gemm(isa);
        *small_m_gemm = &sv_gemm_tile;
        return SVIT_OK;
    }
    const backend *named = find_backend(name);
    if (!named)
        return sv_fail(
            err, SVIT_E_ARGUMENT,
            "gemm is '%.60s'; 'tile', 'cblas' and 'amx' are accepted, or none for the best one",
            name);
    SVIT_TRY(check_runs(named, isa, err));
    if (named->load)
        SVIT_TRY(named->load(err));
    *gemm = *small_m_gemm = named->gemm;
    return SVIT_OK;
}

const char *sv_gemm_name(size_t index, sv_isa isa)
{
    size_t before = 0;
    for (size_t i = 0; i < BACKEND_COUNT; i++)
        if (runs_here(&BACKENDS[i], isa) && before++ == index)
            return BACKENDS[i].name;
    return NULL;
}

#ifdef SV_LOW_PRECISION
#ifdef SV_HAVE_AMX
static bool has_amx(sv_isa isa)
{
    return isa >= SV_ISA_AMX && sv_cpu_request_amx();
}
#endif

/* The copy of "pairs-int8" for the instruction set of the kernels. */
static const sv_gemm *pairs_int8(sv_isa isa)
{
#define PAIRS_ENTRY(suffix, isa) [isa] = &sv_gemm_pairs_int8_##suffix,
    static const sv_gemm *const PAIRS[] = {SV_ISA_LIST(PAIRS_ENTRY)};
    return PAIRS[sv_kernels_for(isa)->isa];
}

/* AMX is the fastest with a small M too. */
const sv_gemm *sv_gemm_int8(sv_isa isa)
{
#ifdef SV_HAVE_AMX
    if (has_amx(isa))
        return &sv_gemm_amx_int8;
#endif
#ifdef SV_HAVE_VNNI
    if (isa >= SV_ISA_AVX512_VNNI)
        return &sv_gemm_vnni_int8;
#endif
#ifdef SV_HAVE_I8MM
    if (isa >= SV_ISA_NEON_I8MM)
        return &sv_gemm_i8mm_int8;
#endif
#ifdef SV_HAVE_DOTPROD
    if (isa >= SV_ISA_NEON_DOTPROD)
        return &sv_gemm_dotprod_int8;
#endif
    return pairs_int8(isa);
}

const sv_gemm *sv_gemm_bf16(sv_isa isa, int small_m)
{
    (void)isa;
#ifdef SV_HAVE_AMX
    if (has_amx(isa))
        return &sv_gemm_amx_bf16;
    if (isa >= SV_ISA_AVX512_BF16 && sv_cpu_has_fast_bf16_dots())
        return &sv_gemm_dot_bf16;
#endif
#ifdef SV_HAVE_I8MM
    if (isa >= SV_ISA_NEON_I8MM)
        return &sv_gemm_neon_bf16;
#endif
    return small_m ? &sv_gemm_tile_bf16 : &sv_gemm_tile_bf16_as_f32;
}
#endif
