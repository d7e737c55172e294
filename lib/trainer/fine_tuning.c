/* The settings with which a trained model learns new images: a rule by their number. */
#include "base/threads/fp_env.h"
#include "data/augmentation/pipeline_config.h"
#include "models/model.h"
#include "models/parts/lora.h"
#include "trainer/config.h"

#include <math.h>

/* One row of the rule. */
typedef struct rule_row {
    uint64_t images; /* the row is for at most as many images */
    uint32_t epochs, batch;
    double horizon; /* of the average of the weights: fraction of all steps; 0: no average */
} rule_row;

/* docs/fine-tuning.md has this table, and what the rows were compared with. */
static const rule_row RULE[] = {
    {200, 40, 16, 0},
    {2000, 10, 32, 0},
    {20000, 10, 64, 0},
    {UINT64_MAX, 5, 128, 0.05},
};

/* The rate of the head, and its decay towards the input; the rate of adapters and their head. */
static const double RATE = 1e-3, LAYER_DECAY = 0.75, LORA_RATE = 3e-3;

/* The longest horizon of an average, in steps: its momentum stays below 1. */
static const double MOST_STEPS = 1e6;

static const rule_row *find(uint64_t images)
{
    const rule_row *found = RULE;
    while (images > found->images)
        found++;
    return found;
}

/* Fills in what does not depend on the row: AdamW, a tenth of warm-up, then a cosine to 0. */
static void fill_common(sv_training *out)
{
    /* Rates that fall to 0 do their work at the end, and few validation images say little. */
    out->trainer.patience = 0;
    out->trainer.warmup_fraction = 0.1;
    out->optimizer.schedule = SVIT_SCHEDULE_WARMUP_COSINE;
    out->optimizer.lr_start = 1e-6;
    out->optimizer.epsilon = 1e-8;
    out->optimizer.weight_decay = 0.05;
    out->optimizer.clip_norm = 1;
    out->optimizer.decay_exclude = SVIT_EXCLUDE_BIAS | SVIT_EXCLUDE_NORM | SVIT_EXCLUDE_POSITION;
}

/* An average whose horizon is a fraction of the run: momentum = 1 - 1 / (fraction * steps). */
static void add_average(sv_training *out, double fraction, uint64_t images)
{
    const double steps = ceil((double)images / out->trainer.batch) * out->trainer.epochs;
    out->optimizer.ema = SVIT_EMA_PLAIN;
    out->optimizer.ema_momentum = 1 - 1 / fmin(fmax(fraction * steps, 2), MOST_STEPS);
}

/* The whole image in the model's input size, with the colours of the pretraining, or values in
 * -1..1 if these are not known. */
static void fill_pipeline(svit_pipeline_config *pipeline, const svit_model *model)
{
    if (model->has_pipeline) {
        *pipeline = model->pipeline;
        return;
    }
    const svit_model_config *config = &model->config;
    pipeline->source_height = pipeline->resize_height = pipeline->output_height =
        config->input_height;
    pipeline->source_width = pipeline->resize_width = pipeline->output_width = config->input_width;
    pipeline->source_filter =
        config->in_channels <= SVIT_MAX_CHANNELS ? SVIT_SOURCE_BICUBIC : SVIT_SOURCE_NEAREST;
    pipeline->channels = config->in_channels;
    const svit_pipeline_config *known = model->has_colours ? &model->pipeline : NULL;
    pipeline->scale = known ? known->scale : 1.0 / 255;
    for (size_t c = 0; c < SVIT_MAX_CHANNELS; c++) {
        const bool is_used = c < sv_pipeline_means(config->in_channels);
        pipeline->mean[c] = known ? known->mean[c] : is_used ? 0.5 : 0;
        pipeline->variance[c] = known ? known->variance[c] : is_used ? 0.25 : 1;
    }
}

static void fill(sv_training *out, const svit_model *model, uint64_t images)
{
    const rule_row *row = find(images);
    const bool has_lora = sv_model_has_lora(model);
    fill_common(out);
    fill_pipeline(&out->pipeline, model);
    out->trainer.epochs = row->epochs;
    out->trainer.batch = row->batch;
    out->optimizer.learning_rate = has_lora ? LORA_RATE : RATE;
    out->optimizer.layer_decay = has_lora ? 1 : LAYER_DECAY;
    if (row->horizon > 0)
        add_average(out, row->horizon, images);
}

SVIT_API svit_status svit_fine_tuning_settings(const svit_model *model, uint64_t images,
                                               svit_trainer_config *trainer, size_t trainer_size,
                                               svit_optimizer_config *optimizer,
                                               size_t optimizer_size,
                                               svit_pipeline_config *pipeline, size_t pipeline_size,
                                               svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    void *const callers[] = {trainer, optimizer, pipeline};
    const size_t sizes[] = {trainer_size, optimizer_size, pipeline_size};
    sv_training training;
    if (images == 0)
        return sv_fail(err, SVIT_E_ARGUMENT, "images is 0; it is at least 1");
    SVIT_TRY(sv_training_begin(&training, callers, sizes, err));
    fill(&training, model, images);
    if (pipeline && !model->has_pipeline && !model->has_colours)
        sv_context_warn(model->context, "the model states no mean and variance of its images: "
                                        "fine-tuning scales values to -1..1");
    return sv_training_write(callers, sizes, &training, err);
}
