/* A program that was compiled with older headers: with RELEASED those of a release, otherwise those
 * of this tree. It prints what the library computes, which has to be the same for both.
 *
 * Each configuration ends at the end of a page that the process may access, and the one behind it
 * must not be touched. So a library that takes a caller's struct for one of its own crashes. */
#ifdef RELEASED
#include "shiftvit.h"
#else
#include <shiftvit/shiftvit.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IMAGES = 60, BATCH = 20, CLASSES = 10 };

static svit_error err = {.struct_size = sizeof err};

static void check(svit_status status)
{
    if (status != SVIT_OK) {
        fprintf(stderr, "%s: %s\n", svit_status_name(status), err.message);
        exit(EXIT_FAILURE);
    }
}

/* Returns `bytes` bytes, not cleared, right before a page that cannot be accessed. */
static void *before_a_wall(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page;
    char *memory =
        mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + pages * page, page, PROT_NONE) != 0) {
        perror("mmap");
        exit(EXIT_FAILURE);
    }
    memset(memory, 0xA5, pages * page);
    return memory + pages * page - bytes;
}

/* A configuration with its defaults. */
#define CONFIG(type, init)                                                                         \
    type *config = before_a_wall(sizeof *config);                                                  \
    check(init(config, sizeof *config))

static svit_context *open_context(void)
{
    svit_context *context;
    CONFIG(svit_context_config, svit_context_config_init);
    config->threads = 2;
    check(svit_context_create(&context, config, &err));
    return context;
}

static svit_model *open_model(svit_context *context)
{
    svit_model *model;
    CONFIG(svit_model_config, svit_model_config_init);
    config->dim = 24;
    config->stages = 2;
    config->blocks[0] = config->blocks[1] = 1;
    config->blocks[2] = config->blocks[3] = 0;
    check(svit_model_create(&model, context, config, 1, &err));
    return model;
}

static void print_event(const svit_trainer_event *event)
{
    if (event->kind == SVIT_EVENT_EPOCH)
        printf("epoch %u: loss %a, validation %a\n", (unsigned)event->epoch, event->train_loss,
               event->val_loss);
}

/* Trains by the trainer, whose events the program reads into a struct of its own size. */
static void train(svit_context *context, svit_model *model, svit_dataset *data)
{
    svit_trainer *trainer;
    svit_trainer_event *event = before_a_wall(sizeof *event);
    svit_optimizer_config *optimizer = before_a_wall(sizeof *optimizer);
    svit_pipeline_config *pipeline = before_a_wall(sizeof *pipeline);
    CONFIG(svit_trainer_config, svit_trainer_config_init);
    check(svit_optimizer_config_init(optimizer, sizeof *optimizer));
    check(svit_pipeline_config_init(pipeline, sizeof *pipeline));
    config->epochs = 2;
    config->batch = BATCH;
    check(svit_trainer_create(&trainer, context, model, data, data, config, optimizer, pipeline,
                              &err));
    do {
        check(svit_trainer_step(trainer, event, sizeof *event, &err));
        print_event(event);
    } while (event->kind != SVIT_EVENT_FINISHED);
    svit_trainer_free(trainer);
}

/* A step of a loop of the program's own. */
static void train_a_step(svit_model *model, svit_dataset *data)
{
    enum { PIXELS = 48 * 48 * 3 };
    static float images[BATCH * PIXELS], logits[BATCH * CLASSES], dlogits[BATCH * CLASSES];
    static int32_t labels[BATCH];
    size_t n;
    float loss;
    svit_loader *loader;
    svit_session *session;
    svit_optimizer *optimizer;
    svit_pipeline_config *pipeline = before_a_wall(sizeof *pipeline);
    svit_session_config *of_session = before_a_wall(sizeof *of_session);
    svit_optimizer_config *of_optimizer = before_a_wall(sizeof *of_optimizer);
    CONFIG(svit_loader_config, svit_loader_config_init);
    check(svit_pipeline_config_init(pipeline, sizeof *pipeline));
    check(svit_session_config_init(of_session, sizeof *of_session));
    check(svit_optimizer_config_init(of_optimizer, sizeof *of_optimizer));
    config->batch = of_session->max_batch = BATCH;
    of_session->mode = SVIT_MODE_TRAIN;
    check(svit_loader_create(&loader, data, pipeline, config, &err));
    check(svit_session_create(&session, model, of_session, &err));
    check(svit_optimizer_create(&optimizer, model, of_optimizer, &err));
    check(svit_loader_next(loader, images, labels, &n, &err));
    check(svit_forward(session, images, n, logits, &err));
    check(svit_cross_entropy(logits, labels, n, CLASSES, 0, &loss, dlogits, &err));
    check(svit_backward(session, dlogits, n, &err));
    check(svit_step(optimizer, session, &err));
    printf("%zu images: loss %a\n", n, (double)loss);
    svit_optimizer_free(optimizer);
    svit_session_free(session);
    svit_loader_free(loader);
}

static void compute_features(svit_model *model, svit_dataset *data)
{
    svit_features *features;
    svit_head_config *head = before_a_wall(sizeof *head);
    CONFIG(svit_features_config, svit_features_config_init);
    check(svit_head_config_init(head, sizeof *head));
    check(svit_features_compute(&features, model, data, NULL, config, &err));
    head->epochs = 2;
    check(svit_model_fit_head(model, features, head, &err));
    printf("%zu channels, the first is %a\n", svit_features_channels(features),
           (double)*svit_features_values(features));
    svit_features_free(features);
}

static void predict(svit_model *model)
{
    static uint8_t pixels[32 * 32 * 3];
    float probabilities[CLASSES];
    svit_predictor *predictor;
    CONFIG(svit_predictor_config, svit_predictor_config_init);
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 7);
    check(svit_predictor_create_from_model(&predictor, model, config, &err));
    check(svit_predict_u8(predictor, pixels, 1, 32, 32, probabilities, &err));
    for (size_t i = 0; i < CLASSES; i++)
        printf("class %zu: %a\n", i, (double)probabilities[i]);
    svit_predictor_free(predictor);
}

int main(void)
{
    svit_context *context = open_context();
    svit_model *model = open_model(context);
    svit_dataset *data;
    check(svit_dataset_synthetic(&data, context, 1, SVIT_SPLIT_TRAIN, IMAGES, &err));
    train(context, model, data);
    train_a_step(model, data);
    compute_features(model, data);
    predict(model);
    svit_dataset_free(data);
    svit_model_free(model);
    svit_context_free(context);
    return 0;
}
