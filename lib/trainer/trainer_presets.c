/* The training settings that belong to the model presets. */
#include "trainer/trainer_internal.h"

#include <string.h>

/* The settings of one way of training. */
typedef struct recipe {
    uint32_t epochs, batch, patience;
    double label_smoothing, warmup_fraction;
    int32_t schedule;
    double learning_rate, lr_start, epsilon, weight_decay, clip_norm;
    uint32_t decay_exclude;
    uint32_t source, resize, output; /* pixels along one side */
    int32_t per_batch, source_filter;
    double rotation, zoom, scale;
    double mean[3], deviation[3];
} recipe;

/* ShiftViT on CIFAR, as in Keras' example. */
#define CIFAR_COMMON                                                                               \
    .epochs = 100, .batch = 256, .patience = 5, .warmup_fraction = 0.15,                           \
    .schedule = SVIT_SCHEDULE_WARMUP_COSINE, .learning_rate = 1e-3, .lr_start = 1e-5,              \
    .epsilon = 1e-7, .weight_decay = 1e-4, .source = 32, .resize = 52, .output = 48,               \
    .scale = 1.0 / 255, .mean = {0, 0, 0}, .deviation = {1, 1, 1}

static const recipe CIFAR = {CIFAR_COMMON, .per_batch = 0};
static const recipe CIFAR_KERAS = {CIFAR_COMMON, .per_batch = 1};

/* ShiftViT on ImageNet. AdamW with learning rate 1e-3, decay 0.05 and 300 epochs are those of the
 * paper. Batch, warm-up, smoothing and clipping are those of Swin (Liu et al. 2021), whose training
 * the paper follows. Biases and norms do not decay, as in the paper's code. The paper's
 * RandAugment, Mixup, CutMix and random erasing are not included. */
static const recipe IMAGENET = {.epochs = 300,
                                .batch = 1024,
                                .patience = 0,
                                .label_smoothing = 0.1,
                                .warmup_fraction = 20.0 / 300,
                                .schedule = SVIT_SCHEDULE_WARMUP_COSINE,
                                .learning_rate = 1e-3,
                                .lr_start = 1e-6,
                                .epsilon = 1e-8,
                                .weight_decay = 0.05,
                                .clip_norm = 5,
                                .decay_exclude = SVIT_EXCLUDE_BIAS | SVIT_EXCLUDE_NORM,
                                .source = 256,
                                .source_filter = SVIT_SOURCE_SHORTER_SIDE,
                                .resize = 256,
                                .output = 224,
                                .scale = 1.0 / 255,
                                .mean = {0.485, 0.456, 0.406},
                                .deviation = {0.229, 0.224, 0.225}};

/* ViT on CIFAR-100, as in Keras' examples. They build a schedule without using it, and never stop
 * early; warmup_fraction serves callers who select the schedule. Bytes are not scaled: the caller
 * replaces the mean 0 and variance 1 by those of the training set, from svit_dataset_statistics
 * with this scale. */
#define VIT_COMMON                                                                                 \
    .epochs = 50, .batch = 256, .patience = 0, .warmup_fraction = 0.1,                             \
    .schedule = SVIT_SCHEDULE_CONSTANT, .learning_rate = 1e-3, .lr_start = 0, .epsilon = 1e-7,     \
    .source = 32, .resize = 72, .output = 72, .rotation = 0.02, .zoom = 0.2, .scale = 1,           \
    .mean = {0, 0, 0}, .deviation = {1, 1, 1}

static const recipe VIT = {VIT_COMMON, .weight_decay = 1e-4};
static const recipe VIT_003 = {VIT_COMMON, .weight_decay = 0};

/* SL-ViT on CIFAR, as in the paper (Lee, Lee, Song 2021), except that biases, norms and position
 * embeddings do not decay; in the paper's code they do. The paper's padded crops, AutoAugment,
 * Mixup, CutMix and random erasing are not included. */
#define VIT_PAPER_COMMON                                                                           \
    .epochs = 100, .batch = 128, .patience = 0, .label_smoothing = 0.1, .warmup_fraction = 0.1,    \
    .schedule = SVIT_SCHEDULE_WARMUP_COSINE, .learning_rate = 1e-3, .lr_start = 0,                 \
    .epsilon = 1e-8, .weight_decay = 0.05,                                                         \
    .decay_exclude = SVIT_EXCLUDE_BIAS | SVIT_EXCLUDE_NORM | SVIT_EXCLUDE_POSITION, .source = 32,  \
    .resize = 32, .output = 32, .scale = 1.0 / 255

static const recipe VIT_PAPER_CIFAR10 = {VIT_PAPER_COMMON, .mean = {0.4914, 0.4822, 0.4465},
                                         .deviation = {0.2470, 0.2435, 0.2616}};
static const recipe VIT_PAPER_CIFAR100 = {VIT_PAPER_COMMON, .mean = {0.5070, 0.4865, 0.4409},
                                          .deviation = {0.2673, 0.2564, 0.2762}};

static const struct {
    const char *preset;
    const recipe *recipe;
} PRESETS[] = {
    {"shiftvit-cifar10", &CIFAR},
    {"shiftvit-cifar10-keras", &CIFAR_KERAS},
    {"shiftvit-t-light", &IMAGENET},
    {"shiftvit-t", &IMAGENET},
    {"shiftvit-s-light", &IMAGENET},
    {"shiftvit-s", &IMAGENET},
    {"shiftvit-b-light", &IMAGENET},
    {"shiftvit-b", &IMAGENET},
    {"vit-cifar100", &VIT},
    {"slvit-cifar100", &VIT},
    {"vit-cifar100-seed003", &VIT_003},
    {"slvit-paper-cifar10", &VIT_PAPER_CIFAR10},
    {"slvit-paper-cifar100", &VIT_PAPER_CIFAR100},
    {"vit-paper-cifar100", &VIT_PAPER_CIFAR100},
};

static const recipe *find(const char *preset)
{
    for (size_t i = 0; i < sizeof PRESETS / sizeof *PRESETS; i++)
        if (strcmp(PRESETS[i].preset, preset) == 0)
            return PRESETS[i].recipe;
    return NULL;
}

static svit_status fill_trainer(svit_trainer_config *out, size_t size, const recipe *from,
                                svit_error *err)
{
    svit_trainer_config local;
    TRAINER_TRY(svit_trainer_config_init(&local, sizeof local));
    local.epochs = from->epochs;
    local.batch = from->batch;
    local.patience = from->patience;
    local.label_smoothing = from->label_smoothing;
    local.warmup_fraction = from->warmup_fraction;
    return sv_trainer_export(out, size, &local, sizeof local, "svit_trainer_config", err);
}

/* Leaves total_steps 0, because the trainer computes it from the size of the dataset. */
static svit_status fill_optimizer(svit_optimizer_config *out, size_t size, const recipe *from,
                                  svit_error *err)
{
    svit_optimizer_config local;
    TRAINER_TRY(svit_optimizer_config_init(&local, sizeof local));
    local.schedule = from->schedule;
    local.learning_rate = from->learning_rate;
    local.lr_start = from->lr_start;
    local.epsilon = from->epsilon;
    local.weight_decay = from->weight_decay;
    local.decay_exclude = from->decay_exclude;
    local.clip_norm = from->clip_norm;
    return sv_trainer_export(out, size, &local, sizeof local, "svit_optimizer_config", err);
}

static svit_status fill_pipeline(svit_pipeline_config *out, size_t size, const recipe *from,
                                 svit_error *err)
{
    svit_pipeline_config local;
    TRAINER_TRY(svit_pipeline_config_init(&local, sizeof local));
    local.source_height = local.source_width = from->source;
    local.resize_height = local.resize_width = from->resize;
    local.output_height = local.output_width = from->output;
    local.per_batch = from->per_batch;
    local.source_filter = from->source_filter;
    local.rotation = from->rotation;
    local.zoom = from->zoom;
    local.scale = from->scale;
    for (int i = 0; i < 3; i++) {
        local.mean[i] = from->mean[i];
        local.variance[i] = from->deviation[i] * from->deviation[i];
    }
    return sv_trainer_export(out, size, &local, sizeof local, "svit_pipeline_config", err);
}

/* Checks the size of a caller's struct, before any of the three is written. */
static svit_status check_size(const void *out, size_t size, const char *what, svit_error *err)
{
    if (out && (size < sizeof(uint32_t) || size > 65536))
        return sv_trainer_fail(err, SVIT_E_ARGUMENT, "size of %s is %zu; give its sizeof", what,
                               size);
    return SVIT_OK;
}

SVIT_API svit_status svit_training_preset(const char *preset, svit_trainer_config *trainer,
                                          size_t trainer_size, svit_optimizer_config *optimizer,
                                          size_t optimizer_size, svit_pipeline_config *pipeline,
                                          size_t pipeline_size, svit_error *err)
{
    TRAINER_REQUIRE(preset);
    const recipe *from = find(preset);
    if (!from)
        return sv_trainer_fail(
            err, SVIT_E_ARGUMENT,
            "preset '%.40s' is unknown; svit_model_preset_name lists the known ones", preset);
    TRAINER_TRY(check_size(trainer, trainer_size, "svit_trainer_config", err));
    TRAINER_TRY(check_size(optimizer, optimizer_size, "svit_optimizer_config", err));
    TRAINER_TRY(check_size(pipeline, pipeline_size, "svit_pipeline_config", err));
    if (trainer)
        TRAINER_TRY(fill_trainer(trainer, trainer_size, from, err));
    if (optimizer)
        TRAINER_TRY(fill_optimizer(optimizer, optimizer_size, from, err));
    if (pipeline)
        TRAINER_TRY(fill_pipeline(pipeline, pipeline_size, from, err));
    return SVIT_OK;
}
