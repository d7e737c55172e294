/* The training settings that belong to the model presets. */
#include "trainer/config.h"

#include "base/threads/fp_env.h"

#include <string.h>

/* The settings of one way of training. */
typedef struct recipe {
    uint32_t epochs, batch, patience;
    double label_smoothing, warmup_fraction;
    int32_t schedule;
    double learning_rate, lr_start, epsilon, weight_decay, clip_norm;
    int32_t decay_rule;
    uint32_t decay_exclude;
    uint32_t source, resize, output; /* pixels along one side */
    int32_t per_batch, source_filter, evaluation;
    double rotation, zoom, scale;
    double mean[3], deviation[3];
} recipe;

/* Means and deviations of colours: those of ImageNet, and those that bring bytes to -1 to 1. */
#define IMAGENET_COLOURS .mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}
#define HALF_COLOURS .mean = {0.5, 0.5, 0.5}, .deviation = {0.5, 0.5, 0.5}

/* ShiftViT on CIFAR, as in Keras' example. */
#define CIFAR_COMMON                                                                               \
    .epochs = 100, .batch = 256, .patience = 5, .warmup_fraction = 0.15,                           \
    .schedule = SVIT_SCHEDULE_WARMUP_COSINE, .learning_rate = 1e-3, .lr_start = 1e-5,              \
    .epsilon = 1e-7, .weight_decay = 1e-4, .source = 32, .resize = 52, .output = 48,               \
    .scale = 1.0 / 255, .mean = {0, 0, 0}, .deviation = {1, 1, 1}

static const recipe CIFAR = {CIFAR_COMMON, .per_batch = 0};
static const recipe CIFAR_KERAS = {CIFAR_COMMON, .per_batch = 1};

/* The AdamW of TensorFlow Addons, with which the example was first published. */
static const recipe CIFAR_ADDONS = {CIFAR_COMMON, .per_batch = 1,
                                    .decay_rule = SVIT_DECAY_UNSCALED};

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
                                .source_filter = SVIT_SOURCE_BICUBIC,
                                .evaluation = SVIT_EVALUATE_CROP,
                                .resize = 256,
                                .output = 224,
                                .scale = 1.0 / 255,
                                IMAGENET_COLOURS};

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
 * Mixup, CutMix and random erasing are in the recipes of PAPER_FULL alone. */
#define VIT_PAPER_COMMON                                                                           \
    .epochs = 100, .batch = 128, .patience = 0, .label_smoothing = 0.1, .warmup_fraction = 0.1,    \
    .schedule = SVIT_SCHEDULE_WARMUP_COSINE, .learning_rate = 1e-3, .lr_start = 0,                 \
    .epsilon = 1e-8, .weight_decay = 0.05,                                                         \
    .decay_exclude = SVIT_EXCLUDE_BIAS | SVIT_EXCLUDE_NORM | SVIT_EXCLUDE_POSITION, .source = 32,  \
    .resize = 32, .output = 32, .scale = 1.0 / 255

/* What the SL-ViT paper's code has besides (docs/reproduction.md says what remains different). An
 * epoch of the code reads each image three times, so its 100 epochs are 300. */
static const char PAPER_FULL[] =
    "{\"epochs\": 300, \"lr_start\": 1e-6, \"epsilon_form\": \"torch\", \"decay_exclude\": [],"
    " \"flip_probability\": 0,"
    " \"augment\": [{\"name\": \"flip\"}, {\"name\": \"crop\", \"padding\": 4},"
    " {\"name\": \"autoaugment\", \"policy\": \"cifar10\"},"
    " {\"name\": \"erasing\", \"probability\": 0.25, \"scale\": [0.02, 0.4],"
    " \"ratio\": [0.3, 3.3333333333333335]},"
    " {\"name\": \"mixup\", \"alpha\": 1, \"probability\": 0.5},"
    " {\"name\": \"cutmix\", \"alpha\": 1, \"probability\": 0.5}]}";

#define CIFAR10_COLOURS .mean = {0.4914, 0.4822, 0.4465}, .deviation = {0.2470, 0.2435, 0.2616}
#define CIFAR100_COLOURS .mean = {0.5070, 0.4865, 0.4409}, .deviation = {0.2673, 0.2564, 0.2762}

/* This recipe is that of mixer-cifar10 too. */
static const recipe VIT_PAPER_CIFAR10 = {VIT_PAPER_COMMON, CIFAR10_COLOURS};
static const recipe VIT_PAPER_CIFAR100 = {VIT_PAPER_COMMON, CIFAR100_COLOURS};

/* Masked autoencoding: beta2, decay and the weak augmentation are those of He et al. 2021. */
static const char MAE[] = "{\"epochs\": 200, \"loss\": \"mse\", \"beta2\": 0.95,"
                          " \"label_smoothing\": 0, \"augment\": [{\"name\": \"crop\"}]}";

/* MLP-Mixer on ImageNet. AdamW, batch, epochs, warm-up of 10,000 steps, linear decay and clipping
 * are those of the paper (Tolstikhin et al. 2021). Mean and deviation are those of timm's weights.
 * The paper's RandAugment, Mixup and stochastic depth are not included. */
static const recipe MIXER = {.epochs = 300,
                             .batch = 4096,
                             .patience = 0,
                             .warmup_fraction = 10000.0 * 4096 / (300 * 1281167.0),
                             .schedule = SVIT_SCHEDULE_LINEAR,
                             .learning_rate = 1e-3,
                             .lr_start = 0,
                             .epsilon = 1e-8,
                             .weight_decay = 0.1,
                             .clip_norm = 1,
                             .source = 256,
                             .source_filter = SVIT_SOURCE_BICUBIC,
                             .evaluation = SVIT_EVALUATE_CROP,
                             .resize = 256,
                             .output = 224,
                             .scale = 1.0 / 255,
                             HALF_COLOURS};

#ifdef SV_HAVE_CHECKPOINTS
/* Fine-tuning of pretrained families: these settings are this library's. The pipelines are those of
 * timm's weights: an input of 224 is the centre of an image of floor(224 / 0.9) pixels, one of 518
 * the whole square. */
#define FINE_TUNE_COMMON                                                                           \
    .epochs = 10, .batch = 64, .patience = 0, .warmup_fraction = 0.1,                              \
    .schedule = SVIT_SCHEDULE_WARMUP_COSINE, .learning_rate = 1e-4, .lr_start = 1e-6,              \
    .epsilon = 1e-8, .weight_decay = 0.05, .clip_norm = 1,                                         \
    .decay_exclude = SVIT_EXCLUDE_BIAS | SVIT_EXCLUDE_NORM | SVIT_EXCLUDE_POSITION,                \
    .source_filter = SVIT_SOURCE_BICUBIC, .evaluation = SVIT_EVALUATE_CROP, .scale = 1.0 / 255
#define INPUT_224 .source = 248, .resize = 248, .output = 224
#define INPUT_518 .source = 518, .resize = 518, .output = 518
#define INPUT_256 .source = 256, .resize = 256, .output = 256

static const recipe DEIT = {FINE_TUNE_COMMON, INPUT_224, IMAGENET_COLOURS};
static const recipe AUGREG = {FINE_TUNE_COMMON, INPUT_224, HALF_COLOURS};
static const recipe DEIT3_384 = {FINE_TUNE_COMMON, .source = 384, .resize = 384, .output = 384,
                                 IMAGENET_COLOURS};
/* Inputs that are the centre of an image of floor(side / 0.9), or with FlexiViT and registers of
 * floor(side / 0.95). */
static const recipe SIGLIP_256 = {FINE_TUNE_COMMON, .source = 284, .resize = 284, .output = 256,
                                  HALF_COLOURS};
static const recipe SIGLIP_384 = {FINE_TUNE_COMMON, .source = 426, .resize = 426, .output = 384,
                                  HALF_COLOURS};
static const recipe FLEXIVIT = {FINE_TUNE_COMMON, .source = 252, .resize = 252, .output = 240,
                                HALF_COLOURS};
static const recipe REGISTERS_MEAN = {FINE_TUNE_COMMON, .source = 269, .resize = 269, .output = 256,
                                      HALF_COLOURS};
static const recipe DINOV2 = {FINE_TUNE_COMMON, INPUT_518, IMAGENET_COLOURS};
static const recipe DINOV3 = {FINE_TUNE_COMMON, INPUT_256, IMAGENET_COLOURS};
static const recipe CLIP = {FINE_TUNE_COMMON, INPUT_224,
                            .mean = {0.48145466, 0.4578275, 0.40821073},
                            .deviation = {0.26862954, 0.26130258, 0.27577711}};
#endif

/* A strong recipe for CIFAR-10 in few epochs: Muon on the matrices of the hidden layers and AdamW
 * elsewhere, a rate that rises over 40 % of the steps, falls to a twentieth at 80 % and to 0 at the
 * end, an average of the weights, and flips, crops and RandAugment. Mean and variance are those of
 * the training images. */
static const char FAST[] =
    "{\"epochs\": 30, \"batch\": 512, \"patience\": 0, \"label_smoothing\": 0.1,"
    " \"optimizer\": \"muon\", \"learning_rate\": 0.02, \"momentum\": 0.95, \"nesterov\": true,"
    " \"adamw_learning_rate\": 0.003, \"beta1\": 0.9, \"beta2\": 0.99, \"weight_decay\": 0.01,"
    " \"schedule\": \"piecewise\", \"points\": [[0, 0], [0.4, 1], [0.8, 0.05], [1, 0]],"
    " \"ema\": \"plain\", \"ema_momentum\": 0.995,"
    " \"source_height\": 32, \"source_width\": 32, \"source_filter\": \"shorter-side\","
    " \"resize_height\": 32, \"resize_width\": 32,"
    " \"output_height\": 32, \"output_width\": 32, \"flip_probability\": 0,"
    " \"mean\": [0.4914, 0.4822, 0.4465], \"variance\": [0.061, 0.0593, 0.0684],"
    " \"augment\": [{\"name\": \"flip\", \"mode\": \"alternating\"}, {\"name\": \"crop\", "
    "\"padding\": 4},"
    " {\"name\": \"randaugment\", \"n\": 2, \"m\": 9}]}";

/* A narrower model with the same compute: 68 epochs, of which half on 24 x 24 pixels. */
static const char NARROW[] =
    "{\"epochs\": 68, \"early_fraction\": 0.5, \"early_height\": 24, \"early_width\": 24,"
    " \"adamw_learning_rate\": 0.006, \"weight_decay\": 0.05, \"ema_momentum\": 0.998,"
    " \"augment\": [{\"name\": \"flip\", \"mode\": \"alternating\"},"
    " {\"name\": \"crop\", \"padding\": 4}, {\"name\": \"trivialaugment\"}]}";

/* What suits many classes of few images better: CutMix, and a rate that falls linearly. */
static const char CIFAR100[] =
    "{\"epochs\": 38, \"adamw_learning_rate\": 0.003, \"ema_momentum\": 0.995,"
    " \"points\": [[0, 0], [0.1, 1], [1, 0]],"
    " \"mean\": [0.507, 0.4865, 0.4409], \"variance\": [0.0714, 0.0658, 0.0763],"
    " \"augment\": [{\"name\": \"flip\", \"mode\": \"alternating\"},"
    " {\"name\": \"crop\", \"padding\": 4}, {\"name\": \"trivialaugment\"},"
    " {\"name\": \"cutmix\", \"probability\": 0.3}]}";

static const struct {
    const char *preset;
    const recipe *recipe;
} PRESETS[] = {
    {"shiftvit-cifar10", &CIFAR},
    {"shiftvit-cifar10-keras", &CIFAR_KERAS},
    {"shiftvit-cifar10-seed001", &CIFAR_ADDONS},
    {"shiftvit-cifar10-seed004", &CIFAR_ADDONS},
    {"shiftvit-t-light", &IMAGENET},
    {"shiftvit-t", &IMAGENET},
    {"shiftvit-s-light", &IMAGENET},
    {"shiftvit-s", &IMAGENET},
    {"shiftvit-b-light", &IMAGENET},
    {"shiftvit-b", &IMAGENET},
    {"vit-cifar100", &VIT},
    {"slvit-cifar100", &VIT},
    {"vit-cifar100-seed002", &VIT},
    {"slvit-cifar100-seed002", &VIT},
    {"vit-cifar100-seed003", &VIT_003},
    {"slvit-cifar100-seed003", &VIT_003},
    {"slvit-paper-cifar10", &VIT_PAPER_CIFAR10},
    {"slvit-paper-cifar100", &VIT_PAPER_CIFAR100},
    {"vit-paper-cifar100", &VIT_PAPER_CIFAR100},
    {"slvit-paper-cifar10-full", &VIT_PAPER_CIFAR10},
    {"slvit-paper-cifar100-full", &VIT_PAPER_CIFAR100},
    {"vit-paper-cifar100-full", &VIT_PAPER_CIFAR100},
    {"vit-mae-cifar100", &VIT_PAPER_CIFAR100},
#ifdef SV_HAVE_CHECKPOINTS
    {"deit-tiny-patch16-224", &DEIT},
    {"deit-small-patch16-224", &DEIT},
    {"deit-base-patch16-224", &DEIT},
    {"deit-tiny-distilled-patch16-224", &DEIT},
    {"deit-small-distilled-patch16-224", &DEIT},
    {"deit-base-distilled-patch16-224", &DEIT},
    {"vit-tiny-patch16-224", &AUGREG},
    {"vit-small-patch16-224", &AUGREG},
    {"vit-base-patch16-224", &AUGREG},
    {"vit-small-patch32-224", &AUGREG},
    {"vit-base-patch32-224", &AUGREG},
    {"vit-small-patch14-dinov2", &DINOV2},
    {"vit-base-patch14-dinov2", &DINOV2},
    {"vit-small-patch14-reg4-dinov2", &DINOV2},
    {"vit-base-patch14-reg4-dinov2", &DINOV2},
    {"vit-base-patch32-clip-224", &CLIP},
    {"vit-base-patch16-clip-224", &CLIP},
    {"vit-small-patch16-rope-224", &DEIT},
    {"vit-base-patch16-rope-224", &DEIT},
    {"vit-small-patch16-rope-mixed-224", &DEIT},
    {"vit-base-patch16-rope-mixed-224", &DEIT},
    {"vit-small-patch16-dinov3", &DINOV3},
    {"vit-small-plus-patch16-dinov3", &DINOV3},
    {"vit-base-patch16-dinov3", &DINOV3},
    {"vit-small-patch16-dinov3-qkvb", &DINOV3},
    {"vit-small-plus-patch16-dinov3-qkvb", &DINOV3},
    {"vit-base-patch16-dinov3-qkvb", &DINOV3},
    {"eva02-tiny-patch14-224", &CLIP},
    {"eva02-small-patch14-224", &CLIP},
    {"eva02-base-patch14-224", &CLIP},
    {"deit3-small-patch16-224", &DEIT},
    {"deit3-small-patch16-384", &DEIT3_384},
    {"deit3-medium-patch16-224", &DEIT},
    {"deit3-base-patch16-224", &DEIT},
    {"deit3-base-patch16-384", &DEIT3_384},
    {"flexivit-small", &FLEXIVIT},
    {"flexivit-base", &FLEXIVIT},
    {"vit-base-patch16-siglip-224", &AUGREG},
    {"vit-base-patch16-siglip-256", &SIGLIP_256},
    {"vit-base-patch16-siglip-384", &SIGLIP_384},
    {"vit-base-patch32-siglip-256", &SIGLIP_256},
    {"vit-wee-patch16-reg1-gap-256", &REGISTERS_MEAN},
    {"vit-dwee-patch16-reg1-gap-256", &REGISTERS_MEAN},
    {"vit-pwee-patch16-reg1-gap-256", &REGISTERS_MEAN},
    {"vit-dpwee-patch16-reg1-gap-256", &REGISTERS_MEAN},
    {"vit-little-patch16-reg1-gap-256", &REGISTERS_MEAN},
    {"vit-little-patch16-reg4-gap-256", &REGISTERS_MEAN},
    {"vit-medium-patch16-reg1-gap-256", &REGISTERS_MEAN},
    {"vit-medium-patch16-reg4-gap-256", &REGISTERS_MEAN},
    {"vit-mediumd-patch16-reg4-gap-256", &REGISTERS_MEAN},
    {"vit-betwixt-patch16-reg1-gap-256", &REGISTERS_MEAN},
    {"vit-betwixt-patch16-reg4-gap-256", &REGISTERS_MEAN},
    {"vit-base-patch16-reg4-gap-256", &REGISTERS_MEAN},
#endif
    {"mixer-cifar10", &VIT_PAPER_CIFAR10},
    {"mixer-s32-224", &MIXER},
    {"mixer-b16-224", &MIXER},
};

/* JSON of settings in addition to a recipe, or in place of one. Of several rows of a preset a later
 * one counts. */
static const struct {
    const char *preset, *json;
} SETTINGS[] = {
    {"shiftvit-cifar10-fast", FAST},
    {"shiftvit-cifar10-narrow", FAST},
    {"shiftvit-cifar10-narrow", NARROW},
    {"shiftvit-cifar100", FAST},
    {"shiftvit-cifar100", NARROW},
    {"shiftvit-cifar100", CIFAR100},
    {"slvit-paper-cifar10-full", PAPER_FULL},
    {"slvit-paper-cifar100-full", PAPER_FULL},
    {"vit-paper-cifar100-full", PAPER_FULL},
    {"vit-mae-cifar100", MAE},
};

/* Leaves total_steps 0, because the trainer computes it from the size of the dataset. */
static void fill(sv_training *out, const recipe *from)
{
    out->trainer.epochs = from->epochs;
    out->trainer.batch = from->batch;
    out->trainer.patience = from->patience;
    out->trainer.label_smoothing = from->label_smoothing;
    out->trainer.warmup_fraction = from->warmup_fraction;
    out->optimizer.schedule = from->schedule;
    out->optimizer.learning_rate = from->learning_rate;
    out->optimizer.lr_start = from->lr_start;
    out->optimizer.epsilon = from->epsilon;
    out->optimizer.weight_decay = from->weight_decay;
    out->optimizer.decay_rule = from->decay_rule;
    out->optimizer.decay_exclude = from->decay_exclude;
    out->optimizer.clip_norm = from->clip_norm;
    svit_pipeline_config *pipeline = &out->pipeline;
    pipeline->source_height = pipeline->source_width = from->source;
    pipeline->resize_height = pipeline->resize_width = from->resize;
    pipeline->output_height = pipeline->output_width = from->output;
    pipeline->per_batch = from->per_batch;
    pipeline->source_filter = from->source_filter;
    pipeline->evaluation = from->evaluation;
    pipeline->rotation = from->rotation;
    pipeline->zoom = from->zoom;
    pipeline->scale = from->scale;
    for (int i = 0; i < 3; i++) {
        pipeline->mean[i] = from->mean[i];
        pipeline->variance[i] = from->deviation[i] * from->deviation[i];
    }
}

/* Fills *out with the settings of a preset, and *known with whether there is one of that name. */
static svit_status fill_preset(sv_training *out, const char *preset, bool *known, svit_error *err)
{
    *known = false;
    for (size_t i = 0; i < sizeof PRESETS / sizeof *PRESETS; i++) {
        if (strcmp(PRESETS[i].preset, preset) != 0)
            continue;
        fill(out, PRESETS[i].recipe);
        *known = true;
    }
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++) {
        if (strcmp(SETTINGS[i].preset, preset) != 0)
            continue;
        SVIT_TRY(svit_training_from_json(&out->trainer, &out->optimizer, &out->pipeline,
                                         SETTINGS[i].json, err));
        *known = true;
    }
    return SVIT_OK;
}

SVIT_API svit_status svit_training_preset(const char *preset, svit_trainer_config *trainer,
                                          size_t trainer_size, svit_optimizer_config *optimizer,
                                          size_t optimizer_size, svit_pipeline_config *pipeline,
                                          size_t pipeline_size, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(preset);
    void *const callers[] = {trainer, optimizer, pipeline};
    const size_t sizes[] = {trainer_size, optimizer_size, pipeline_size};
    sv_training training;
    SVIT_TRY(sv_training_begin(&training, callers, sizes, err));
    bool known;
    SVIT_TRY(fill_preset(&training, preset, &known, err));
    if (!known)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "preset '%.40s' is unknown; svit_model_preset_name lists the known ones",
                       preset);
    return sv_training_write(callers, sizes, &training, err);
}
