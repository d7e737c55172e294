/* Prints the memory of a process with several predictors of one model, each of which has predicted
 * a batch: predictor_memory MODEL.safetensors PREDICTORS MAX_BATCH. The predictors run on contexts
 * of one thread each, as those of a server do. Measures memory alone, no speed. */
#include <shiftvit/shiftvit.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64, SIDE = 48 };

static svit_error err = {.struct_size = sizeof err};

static void check(svit_status status)
{
    if (status == SVIT_OK)
        return;
    fprintf(stderr, "%s\n", err.message);
    exit(1);
}

/* Megabytes (1e6 bytes) of the line `name` of /proc/self/status. */
static double megabytes(const char *name)
{
    char line[256], format[32];
    long found = 0;
    FILE *status = fopen("/proc/self/status", "r");
    snprintf(format, sizeof format, "%s: %%ld", name);
    while (status && fgets(line, sizeof line, status))
        sscanf(line, format, &found);
    if (status)
        fclose(status);
    return (double)found * 1024 / 1e6;
}

static svit_predictor *predictor_make(svit_model *model, uint32_t max_batch)
{
    svit_context_config own;
    svit_predictor_config config;
    svit_predictor *predictor = NULL;
    svit_context *context = NULL;
    check(svit_context_config_init(&own, sizeof own));
    own.threads = 1;
    check(svit_context_create(&context, &own, &err));
    check(svit_predictor_config_init(&config, sizeof config));
    config.max_batch = max_batch;
    config.context = context;
    check(svit_predictor_create_from_model(&predictor, model, &config, &err));
    svit_context_free(context);
    return predictor;
}

int main(int argc, char **argv)
{
    size_t count = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    uint32_t batch = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
    svit_context *context = NULL;
    svit_model *model = NULL;
    svit_model_config config;
    svit_predictor *predictors[MOST];
    if (count < 1 || count > MOST || batch < 1 || batch > 1024) {
        fprintf(stderr, "usage: %s MODEL.safetensors PREDICTORS MAX_BATCH\n", argv[0]);
        return 2;
    }
    uint8_t *images = calloc(batch, SIDE * SIDE * 3);
    check(svit_context_create(&context, NULL, &err));
    check(svit_model_map(&model, context, argv[1], &err));
    check(svit_model_get_config(model, &config, sizeof config, &err));
    float *out = calloc(batch, config.num_classes * sizeof *out);
    for (size_t i = 0; images && out && i < count; i++) {
        predictors[i] = predictor_make(model, batch);
        check(svit_predict_u8(predictors[i], images, batch, SIDE, SIDE, out, &err));
        printf("%2zu predictors of max_batch %u: VmRSS %.1f MB\n", i + 1, batch,
               megabytes("VmRSS"));
    }
    for (size_t i = 0; i < count; i++)
        svit_predictor_free(predictors[i]);
    svit_model_free(model);
    svit_context_free(context);
    free(images);
    free(out);
    return 0;
}
