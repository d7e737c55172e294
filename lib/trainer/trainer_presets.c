/* The training settings that belong to the model presets. */
#include "trainer/trainer_inside.h"

#include <string.h>

/* One way of training. CIFAR: the Keras example's. ImageNet: AdamW at 1e-3, decay 0.05 and 300
 * epochs as in the ShiftViT paper; batch, warm-up, smoothing and clipping as in Swin (Liu et al.
 * 2021), whose training the paper follows; decay leaves out biases and norms as the paper's code
 * does. Its further augmentations (RandAugment, Mixup, CutMix, erasing) are not part of this. */
typedef struct recipe {
    uint32_t epochs, batch, patience;
    double label_smoothing, warmup_fraction;
    double learning_rate, lr_start, epsilon, weight_decay, clip_norm;
    uint32_t decay_exclude;
    uint32_t source, resize, output; /* pixels a side */
    int32_t per_batch;
    double mean[3], deviation[3];
} recipe;

#define CIFAR_COMMON                                                                               \
    .epochs = 100, .batch = 256, .patience = 5, .warmup_fraction = 0.15, .learning_rate = 1e-3,    \
    .lr_start = 1e-5, .epsilon = 1e-7, .weight_decay = 1e-4, .source = 32, .resize = 52,           \
    .output = 48, .mean = {0, 0, 0}, .deviation = {1, 1, 1}

static const recipe CIFAR = {CIFAR_COMMON, .per_batch = 0};
static const recipe CIFAR_KERAS = {CIFAR_COMMON, .per_batch = 1};
static const recipe IMAGENET = {.epochs = 300,
                                .batch = 1024,
                                .patience = 0,
                                .label_smoothing = 0.1,
                                .warmup_fraction = 20.0 / 300,
                                .learning_rate = 1e-3,
                                .lr_start = 1e-6,
                                .epsilon = 1e-8,
                                .weight_decay = 0.05,
                                .clip_norm = 5,
                                .decay_exclude = SVIT_EXCLUDE_BIAS | SVIT_EXCLUDE_NORM,
                                .source = 256,
                                .resize = 256,
                                .output = 224,
                                .mean = {0.485, 0.456, 0.406},
                                .deviation = {0.229, 0.224, 0.225}};

static const struct {
    const char *preset;
    const recipe *recipe;
} PRESETS[] = {
    {"shiftvit-cifar10", &CIFAR},    {"shiftvit-cifar10-keras", &CIFAR_KERAS},
    {"shiftvit-t-light", &IMAGENET}, {"shiftvit-t", &IMAGENET},
    {"shiftvit-s-light", &IMAGENET}, {"shiftvit-s", &IMAGENET},
    {"shiftvit-b-light", &IMAGENET}, {"shiftvit-b", &IMAGENET},
};

static const recipe *find(const char *preset)
{
    for (size_t i = 0; i < sizeof PRESETS / sizeof *PRESETS; i++)
        if (strcmp(PRESETS[i].preset, preset) == 0)
            return PRESETS[i].recipe;
    return NULL;
}

static svit_status give_trainer(svit_trainer_config *out, size_t size, const recipe *from,
                                svit_error *err)
{
    svit_trainer_config own;
    TRAINER_TRY(svit_trainer_config_init(&own, sizeof own));
    own.epochs = from->epochs;
    own.batch = from->batch;
    own.patience = from->patience;
    own.label_smoothing = from->label_smoothing;
    own.warmup_fraction = from->warmup_fraction;
    return sv_trainer_export(out, size, &own, sizeof own, "svit_trainer_config", err);
}

/* total_steps stays 0: the trainer knows the size of the dataset. */
static svit_status give_optimizer(svit_optimizer_config *out, size_t size, const recipe *from,
                                  svit_error *err)
{
    svit_optimizer_config own;
    TRAINER_TRY(svit_optimizer_config_init(&own, sizeof own));
    own.schedule = SVIT_SCHEDULE_WARMUP_COSINE;
    own.learning_rate = from->learning_rate;
    own.lr_start = from->lr_start;
    own.epsilon = from->epsilon;
    own.weight_decay = from->weight_decay;
    own.decay_exclude = from->decay_exclude;
    own.clip_norm = from->clip_norm;
    return sv_trainer_export(out, size, &own, sizeof own, "svit_optimizer_config", err);
}

static svit_status give_pipeline(svit_pipeline_config *out, size_t size, const recipe *from,
                                 svit_error *err)
{
    svit_pipeline_config own;
    TRAINER_TRY(svit_pipeline_config_init(&own, sizeof own));
    own.source_height = own.source_width = from->source;
    own.resize_height = own.resize_width = from->resize;
    own.output_height = own.output_width = from->output;
    own.per_batch = from->per_batch;
    for (int i = 0; i < 3; i++) {
        own.mean[i] = from->mean[i];
        own.variance[i] = from->deviation[i] * from->deviation[i];
    }
    return sv_trainer_export(out, size, &own, sizeof own, "svit_pipeline_config", err);
}

/* Checked before anything is written: what a caller says about the size of a struct. */
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
        return sv_trainer_fail(err, SVIT_E_ARGUMENT,
                               "preset '%.40s' is unknown; svit_model_preset_name lists the known",
                               preset);
    TRAINER_TRY(check_size(trainer, trainer_size, "svit_trainer_config", err));
    TRAINER_TRY(check_size(optimizer, optimizer_size, "svit_optimizer_config", err));
    TRAINER_TRY(check_size(pipeline, pipeline_size, "svit_pipeline_config", err));
    if (trainer)
        TRAINER_TRY(give_trainer(trainer, trainer_size, from, err));
    if (optimizer)
        TRAINER_TRY(give_optimizer(optimizer, optimizer_size, from, err));
    if (pipeline)
        TRAINER_TRY(give_pipeline(pipeline, pipeline_size, from, err));
    return SVIT_OK;
}
