/* Measures the steps of a fine-tuning, for compare_finetune.py:
 *     finetune WORK COMPUTE BATCH THREADS SECONDS
 * prints images a second and memory as a line of JSON. COMPUTE is f32 or bf16. The works:
 *     head      a step of a new classifier of DeiT-Ti on features that were computed before
 *     frozen    the same on images of 224 x 224, the body frozen
 *     last2     a step of the classifier and the last two blocks of DeiT-Ti
 *     all       a step of all of DeiT-Ti
 *     infer     logits of DeiT-Ti
 *     features  pooled features of DINOv2-S at 224 x 224
 * A step is forward, cross-entropy, backward and AdamW on images in memory. */
#include <shiftvit/shiftvit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CLASSES = 10, SIDE = 224 };

static svit_error err = {.struct_size = sizeof err};

static void check(svit_status status)
{
    if (status == SVIT_OK)
        return;
    fprintf(stderr, "finetune: %s\n", err.message);
    exit(1);
}

/* What a work trains: patterns of the parameters. */
typedef struct work {
    const char *name, *preset, *input_layer;
    int32_t mode;
    const char *trained[3];
} work;

static const work works[] = {
    {"head", "deit-tiny-patch16-224", "features", SVIT_MODE_TRAIN, {"head*"}},
    {"frozen", "deit-tiny-patch16-224", "", SVIT_MODE_TRAIN, {"head*"}},
    {"last2",
     "deit-tiny-patch16-224",
     "",
     SVIT_MODE_TRAIN,
     {"head*", "blocks.10.*", "blocks.11.*"}},
    {"all", "deit-tiny-patch16-224", "", SVIT_MODE_TRAIN, {"*"}},
    {"infer", "deit-tiny-patch16-224", "", SVIT_MODE_INFER, {"*"}},
    {"features", "vit-small-patch14-dinov2", "", SVIT_MODE_INFER, {"*"}},
};

static const work *find_work(const char *name)
{
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (strcmp(works[i].name, name) == 0)
            return &works[i];
    fprintf(stderr, "finetune: no work is called '%.40s'\n", name);
    exit(2);
}

static double clock_seconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The largest memory that the process has had, MiB. */
static double peak_mib(void)
{
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmHWM: %ld", &kib);
    if (status)
        fclose(status);
    return (double)kib / 1024;
}

/* The data and the state of one work. */
typedef struct bench {
    const work *work;
    size_t batch;
    svit_session *session;
    svit_optimizer *optimizer;
    float *inputs, *logits, *dlogits;
    int32_t *labels;
} bench;

static svit_model *make_model(svit_context *context, const work *what)
{
    svit_model_config config;
    svit_model *model;
    check(svit_model_config_preset(&config, sizeof config, what->preset, &err));
    config.input_height = config.input_width = SIDE;
    if (what->mode == SVIT_MODE_TRAIN || config.classifier)
        config.num_classes = CLASSES;
    check(svit_model_create(&model, context, &config, 1, &err));
    check(svit_model_set_trainable(model, "*", 0, &err));
    for (size_t i = 0; i < 3 && what->trained[i]; i++)
        check(svit_model_set_trainable(model, what->trained[i], 1, &err));
    return model;
}

static void make_data(bench *b, size_t input_elements, size_t classes)
{
    size_t count = b->batch * input_elements;
    b->inputs = malloc(count * sizeof(float));
    b->logits = malloc(b->batch * classes * sizeof(float));
    b->dlogits = malloc(b->batch * classes * sizeof(float));
    b->labels = malloc(b->batch * sizeof(int32_t));
    if (!b->inputs || !b->logits || !b->dlogits || !b->labels)
        exit(1);
    for (size_t i = 0; i < count; i++)
        b->inputs[i] = (float)(i * 2654435761u % 1000) / 500 - 1;
    for (size_t i = 0; i < b->batch; i++)
        b->labels[i] = (int32_t)(i % CLASSES);
}

static void call(bench *b)
{
    float loss;
    check(svit_forward(b->session, b->inputs, b->batch, b->logits, &err));
    if (b->work->mode == SVIT_MODE_INFER)
        return;
    check(svit_cross_entropy(b->logits, b->labels, b->batch, CLASSES, 0, &loss, b->dlogits, &err));
    check(svit_backward(b->session, b->dlogits, b->batch, &err));
    check(svit_step(b->optimizer, b->session, &err));
}

/* Two calls that are not counted, then calls until the time is over. */
static double images_per_second(bench *b, double seconds)
{
    size_t calls = 0;
    double elapsed = 0;
    call(b);
    call(b);
    double begin = clock_seconds();
    while (elapsed < seconds || calls == 0) {
        call(b);
        calls++;
        elapsed = clock_seconds() - begin;
    }
    return (double)(calls * b->batch) / elapsed;
}

static void open_bench(bench *b, svit_model *model, int32_t compute)
{
    svit_session_config config;
    check(svit_session_config_init(&config, sizeof config));
    config.max_batch = (uint32_t)b->batch;
    config.mode = b->work->mode;
    config.compute = compute;
    snprintf(config.input_layer, sizeof config.input_layer, "%s", b->work->input_layer);
    check(svit_session_create(&b->session, model, &config, &err));
    if (b->work->mode == SVIT_MODE_TRAIN)
        check(svit_optimizer_create(&b->optimizer, model, NULL, &err));
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: finetune WORK COMPUTE BATCH THREADS SECONDS\n");
        return 2;
    }
    bench b = {.work = find_work(argv[1]), .batch = strtoul(argv[3], NULL, 10)};
    svit_context_config threads;
    svit_context *context;
    check(svit_context_config_init(&threads, sizeof threads));
    threads.threads = (uint32_t)strtoul(argv[4], NULL, 10);
    check(svit_context_create(&context, &threads, &err));
    svit_model *model = make_model(context, b.work);
    svit_model_config config;
    check(svit_model_get_config(model, &config, sizeof config, &err));
    open_bench(&b, model, strcmp(argv[2], "bf16") == 0 ? SVIT_COMPUTE_BF16 : SVIT_COMPUTE_F32);
    size_t features = b.work->input_layer[0] ? config.dim : (size_t)SIDE * SIDE * 3;
    make_data(&b, features, config.num_classes);
    double speed = images_per_second(&b, strtod(argv[5], NULL));
    printf("{\"runner\": \"shiftvit\", \"work\": \"%s\", \"images_per_second\": %.3f, "
           "\"peak_rss_mib\": %.1f, \"session_mib\": %.1f}\n",
           b.work->name, speed, peak_mib(), (double)svit_session_memory(b.session) / 1048576);
    svit_optimizer_free(b.optimizer);
    svit_session_free(b.session);
    svit_model_free(model);
    svit_context_free(context);
    free(b.inputs);
    free(b.logits);
    free(b.dlogits);
    free(b.labels);
}
