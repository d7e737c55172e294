#include "logits.h"
#include "base/threads/cpu.h"
#include "kernels/simd.h"
#include "works.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { IMAGES = 3, SIDE = 16, CLASSES = 5, COUNT = IMAGES * CLASSES, LINE = 512 };

static const char *const MODELS[] = {"shiftvit-cifar10", "vit-cifar100"};
enum { MODEL_COUNT = sizeof MODELS / sizeof *MODELS };

/* Logits of two machines of which one rounds a product before it adds. */
static const double MOST_APART = 1e-5;

typedef struct line {
    char model[32], isa[32], sums[16];
    float logits[COUNT];
} line;

float number(const char *name, size_t index)
{
    uint64_t z = 0xCBF29CE484222325u;
    for (; *name; name++)
        z = (z ^ (unsigned char)*name) * 0x100000001B3u;
    z += index * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return (float)((int32_t)(z >> 40) - (1 << 23)) * 0x1p-26f;
}

void fill_parameters(svit_model *model, float factor, float scale)
{
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        int64_t shape[8];
        size_t rank, elements = 1;
        WORKS(svit_model_parameter_shape(model, name, shape, &rank, err));
        for (size_t k = 0; k < rank; k++)
            elements *= (size_t)shape[k];
        float *values = malloc(elements * sizeof *values);
        if (!values)
            exit(1);
        for (size_t k = 0; k < elements; k++)
            values[k] =
                (rank == 1 && strstr(name, "weight") ? scale : 0) + factor * number(name, k);
        WORKS(svit_model_set_parameter(model, name, values, elements, err));
        free(values);
    }
}

/* A small model of a preset's kind. No width is a multiple of a vector's. */
static svit_model *model_make(svit_context *context, const char *preset)
{
    svit_model_config config;
    svit_model *model;
    WORKS(svit_model_config_preset(&config, sizeof config, preset, err));
    config.input_height = config.input_width = SIDE;
    config.num_classes = CLASSES;
    config.patch_size = 2;
    config.dim = 36;
    if (config.architecture == SVIT_ARCHITECTURE_SHIFTVIT) {
        config.stages = 2;
        config.blocks[0] = config.blocks[1] = 2;
        config.blocks[2] = config.blocks[3] = 0;
        config.num_div = 6;
    } else {
        config.depth = 2;
        config.heads = 3;
        config.head_dim = 12;
        config.mlp_dim = 76;
        config.head_layers = config.head_units[0] = config.head_units[1] = 0;
    }
    WORKS(svit_model_create(&model, context, &config, 1, err));
    fill_parameters(model, 2, 1);
    return model;
}

static void classify(const char *preset, float *logits)
{
    static float images[IMAGES * SIDE * SIDE * 3];
    svit_context_config one_thread;
    svit_session_config inference;
    svit_context *context;
    svit_session *session;
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        images[i] = 8 * number("image", i);
    WORKS(svit_context_config_init(&one_thread, sizeof one_thread));
    WORKS(svit_session_config_init(&inference, sizeof inference));
    one_thread.threads = 1;
    inference.mode = SVIT_MODE_INFER;
    inference.max_batch = IMAGES;
    inference.compute = SVIT_COMPUTE_INT8;
    WORKS(svit_context_create(&context, &one_thread, err));
    svit_model *model = model_make(context, preset);
    WORKS(svit_session_create(&session, model, &inference, err));
    WORKS(svit_forward(session, images, IMAGES, logits, err));
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}

/* Whether the kernels of SV_ISA_BASELINE have fused multiply-adds; those of all others do. */
#if defined(SV_HAS_MULTIPLY_ADD) && !defined(__x86_64__) && !defined(__i386__)
enum { BASELINE_FUSES = 1 };
#else
enum { BASELINE_FUSES = 0 };
#endif

void logits_write(const char *path)
{
    FILE *file = fopen(path, "w");
    for (size_t m = 0; file && m < MODEL_COUNT; m++)
        for (sv_isa isa = SV_ISA_BASELINE; isa <= SV_ISA_NEON_I8MM; isa++) {
            float logits[COUNT];
            uint32_t bits;
            if (!sv_cpu_has(isa))
                continue;
            setenv("SHIFTVIT_TEST_ISA", sv_isa_name(isa), 1);
            classify(MODELS[m], logits);
            fprintf(file, "%s %s %s", MODELS[m], sv_isa_name(isa),
                    BASELINE_FUSES || isa != SV_ISA_BASELINE ? "fused" : "apart");
            for (size_t i = 0; i < COUNT; i++) {
                memcpy(&bits, &logits[i], sizeof bits);
                fprintf(file, " %08" PRIx32, bits);
            }
            fprintf(file, "\n");
        }
    unsetenv("SHIFTVIT_TEST_ISA");
    if (!file || fclose(file) != 0) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
}

static int line_read(FILE *file, line *out)
{
    if (fscanf(file, "%31s %31s %15s", out->model, out->isa, out->sums) != 3)
        return 0;
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t bits;
        if (fscanf(file, "%" SCNx32, &bits) != 1)
            return 0;
        memcpy(&out->logits[i], &bits, sizeof bits);
    }
    return 1;
}

/* The largest difference of two lines' logits. */
static double line_compare(const char *path, const line *theirs, const line *mine)
{
    const int fused = strcmp(theirs->sums, "fused") == 0 && strcmp(mine->sums, "fused") == 0;
    double difference = 0;
    for (size_t i = 0; i < COUNT; i++)
        difference = fmax(difference, fabs((double)theirs->logits[i] - mine->logits[i]));
    if (fused ? memcmp(theirs->logits, mine->logits, sizeof mine->logits) != 0
              : !(difference <= MOST_APART)) {
        fprintf(stderr, "%s: %s: the logits of %s and, here, %s differ by %.3g%s\n", path,
                mine->model, theirs->isa, mine->isa, difference,
                fused ? ", and both are fused" : "");
        exit(1);
    }
    return difference;
}

void logits_compare(const char *path, const char *mine)
{
    FILE *files[2] = {fopen(path, "r"), fopen(mine, "r")};
    line a, b;
    size_t compared = 0;
    double difference = 0;
    while (files[0] && files[1] && line_read(files[0], &a))
        for (rewind(files[1]); line_read(files[1], &b);)
            if (strcmp(a.model, b.model) == 0) {
                difference = fmax(difference, line_compare(path, &a, &b));
                compared++;
            }
    if (compared < MODEL_COUNT) {
        fprintf(stderr, "%s: does not have the logits of each model\n", path);
        exit(1);
    }
    printf("int8 logits differ by at most %.3g\n", difference);
    fclose(files[0]);
    fclose(files[1]);
}
