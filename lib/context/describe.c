/* Describes a context as JSON: the CPU, the chosen kernels and GEMM backends, and warnings. */
#include "base/status.h"
#include "config/json.h"
#include "context/context.h"
#include "gemm/blas.h"

#include <shiftvit/version.h>

#include <stdio.h>
#include <string.h>

/* Whether the OpenBLAS core type `core` uses less than the instruction set `isa`. The lists hold
 * the core types without AVX2 and those without AVX-512. */
static int is_below(const char *core, sv_isa isa)
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

static void put_text(sv_json_writer *writer, const char *key, const char *text)
{
    sv_json_put_key(writer, key);
    sv_json_put_text(writer, text);
}

static void put_gemms(sv_json_writer *writer, const svit_context *context)
{
    sv_json_put_key(writer, "gemms");
    sv_json_begin(writer, '[');
    const char *name;
    for (size_t i = 0; (name = sv_gemm_name(i, context->isa)) != NULL; i++)
        sv_json_put_text(writer, name);
    sv_json_end(writer, ']');
}

static void warn(sv_json_writer *writer, const char *library, const char *runs)
{
    char warning[160];
    snprintf(warning, sizeof warning,
             "%s runs its %s kernels, below this CPU's %s; its matrix products are slow", library,
             runs, sv_isa_name(sv_cpu_isa()));
    sv_json_put_text(writer, warning);
}

static void put_warnings(sv_json_writer *writer)
{
    sv_json_put_key(writer, "warnings");
    sv_json_begin(writer, '[');
    if (is_below(sv_blas_core(), sv_cpu_isa()))
        warn(writer, "the CBLAS", sv_blas_core());
    sv_json_end(writer, ']');
}

/* The image formats of the build. */
static void put_decoders(sv_json_writer *writer)
{
    sv_json_put_key(writer, "decoders");
    sv_json_begin(writer, '[');
#ifdef SV_HAVE_JPEG
    sv_json_put_text(writer, "jpeg");
#endif
#ifdef SV_HAVE_PNG
    sv_json_put_text(writer, "png");
#endif
#ifdef SV_HAVE_WEBP
    sv_json_put_text(writer, "webp");
#endif
    sv_json_end(writer, ']');
}

static void put_low_precision(sv_json_writer *writer, const svit_context *context)
{
    const char *bf16 = "", *int8 = "";
#ifdef SV_LOW_PRECISION
    bf16 = sv_gemm_bf16(context->isa, 0)->name;
    int8 = sv_gemm_int8(context->isa)->name;
#endif
    (void)context;
    put_text(writer, "gemm_bf16", bf16);
    put_text(writer, "gemm_int8", int8);
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
    put_low_precision(writer, context);
    put_text(writer, "blas", sv_blas_description());
    put_text(writer, "blas_core", sv_blas_core());
    put_decoders(writer);
    sv_json_put_key(writer, "threads");
    sv_json_put_u64(writer, svit_context_threads(context));
    sv_json_put_key(writer, "pinned");
    sv_json_put_u64(writer, sv_pool_pinned(context->pool));
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
