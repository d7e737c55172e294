/* The configuration of a trainer: defaults, ranges of the fields, and JSON; and all settings of a
 * training run in one JSON object. */
#include "trainer/config.h"

#include "session/session.h"

#include <float.h>

#define FIELD(field, kind) SV_FIELD(svit_trainer_config, field, kind)

static svit_status check_weight(const void *element, svit_error *err)
{
    double weight = *(const double *)element;
    if (weight >= (double)FLT_MIN && weight <= (double)FLT_MAX)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "it is %g; numbers from %g to %g are accepted", weight,
                   (double)FLT_MIN, (double)FLT_MAX);
}

static svit_status read_weight(void *element, const sv_json_value *value, svit_error *err)
{
    if (!sv_json_number(value, element))
        return sv_fail(err, SVIT_E_ARGUMENT, "it is no number");
    return check_weight(element, err);
}

static void write_weight(const void *element, sv_json_writer *writer)
{
    sv_json_put_real(writer, *(const double *)element);
}

static const sv_field_elements WEIGHTS = {.noun = "class weights",
                                          .bytes = sizeof(double),
                                          .read = read_weight,
                                          .write = write_weight,
                                          .check = check_weight};

static const sv_field FIELDS[] = {
    {FIELD(epochs, U32), .min = 1, .max = 1000000},
    {FIELD(batch, U32), .min = 1, .max = 65536},
    {FIELD(accumulate, U32), .min = 1, .max = 65536},
    {FIELD(patience, U32), .max = UINT32_MAX},
    {FIELD(keep, WORD), .words = (sv_words){[SVIT_KEEP_LAST] = "last", [SVIT_KEEP_BEST] = "best"}},
    {FIELD(seed, U64)},
    {FIELD(label_smoothing, REAL), .max = 1, .max_is_open = 1},
    {FIELD(warmup_fraction, REAL), .max = 1},
    {FIELD(folder, TEXT)},
    {FIELD(checkpoint_seconds, REAL), .max = DBL_MAX},
    {FIELD(compute, WORD), .words = (sv_words){SV_COMPUTE_WORDS}},
    {FIELD(prefetch, U32), .max = 16},
    {FIELD(memory, WORD), .words = (sv_words){SV_MEMORY_WORDS}},
    {FIELD(existing, WORD), .words = (sv_words){[SVIT_EXISTING_REFUSE] = "refuse",
                                                [SVIT_EXISTING_RESUME] = "resume",
                                                [SVIT_EXISTING_OVERWRITE] = "overwrite"}},
    {FIELD(description, TEXT)},
    {FIELD(loss, WORD), .words = (sv_words){[SVIT_LOSS_CROSS_ENTROPY] = "cross-entropy",
                                            [SVIT_LOSS_BINARY] = "binary",
                                            [SVIT_LOSS_MSE] = "mse"}},
    {FIELD(sampling, WORD),
     .words =
         (sv_words){[SVIT_SAMPLING_SHUFFLE] = "shuffle", [SVIT_SAMPLING_BALANCED] = "balanced"}},
    {FIELD(tta, WORD), .words = (sv_words){[SVIT_TTA_NONE] = "none",
                                           [SVIT_TTA_FLIP] = "flip",
                                           [SVIT_TTA_FLIP_SHIFT] = "flip-shift"}},
    {FIELD(class_weights, ELEMENTS), .count_name = "class_weight_count",
     .count_offset = offsetof(svit_trainer_config, class_weight_count),
     .max_count = SVIT_MAX_CLASS_WEIGHTS, .elements = &WEIGHTS},
    {FIELD(tensorboard, FLAG)},
    {FIELD(schedule_anew, FLAG)},
    {FIELD(leaves, U32), .max = 65536},
    {FIELD(shuffle_window, U32), .max = UINT32_MAX},
    {FIELD(check_finite, FLAG)},
    {FIELD(early_height, U32), .max = 16384},
    {FIELD(early_width, U32), .max = 16384},
    {FIELD(class_weighting, WORD),
     .words =
         (sv_words){
             [SVIT_CLASS_WEIGHTING_GIVEN] = "given", [SVIT_CLASS_WEIGHTING_BALANCED] = "balanced"}},
    {FIELD(early_fraction, REAL), .max = 1},
};
static void set_defaults(void *out)
{
    svit_trainer_config *config = out;
    config->epochs = 100;
    config->batch = 256;
    config->accumulate = 1;
    config->patience = 5;
    config->keep = SVIT_KEEP_LAST;
    config->warmup_fraction = 0.15;
    config->compute = SVIT_COMPUTE_F32;
    config->prefetch = 2;
    config->memory = SVIT_MEMORY_STORE;
    config->existing = SVIT_EXISTING_REFUSE;
}

static svit_status check(const void *checked, svit_error *err)
{
    const svit_trainer_config *config = checked;
    if (config->accumulate > config->batch)
        return sv_fail(err, SVIT_E_ARGUMENT, "accumulate is %u; it is at most batch, %u",
                       config->accumulate, config->batch);
    if (config->leaves > config->batch)
        return sv_fail(err, SVIT_E_ARGUMENT, "leaves is %u; it is at most batch, %u",
                       config->leaves, config->batch);
    if (config->leaves > 0 && config->accumulate > 1)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "accumulate is %u and leaves is %u; with leaves, accumulate is 1",
                       config->accumulate, config->leaves);
    if (config->early_fraction > 0 && (config->early_height < 1 || config->early_width < 1))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "early_fraction is %g and the size is %u x %u; early_height and early_width "
                       "are 1 or more",
                       config->early_fraction, config->early_height, config->early_width);
    const bool balanced = config->class_weighting == SVIT_CLASS_WEIGHTING_BALANCED;
    if (config->loss == SVIT_LOSS_MSE &&
        (config->label_smoothing > 0 || config->class_weight_count || balanced))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "loss is 'mse', which has neither label_smoothing nor class_weights, given "
                       "or balanced; 0 and none are accepted");
    if (config->sampling == SVIT_SAMPLING_BALANCED && balanced)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "class_weighting and sampling are 'balanced', which together make rare "
                       "classes count more than others; one of the two is accepted");
    if (config->class_weight_count && balanced)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "class_weighting is 'balanced' and there are %u class_weights; one of the "
                       "two is accepted",
                       config->class_weight_count);
    return SVIT_OK;
}

const sv_config_type sv_trainer_config_type = {
    SV_CONFIG(svit_trainer_config, FIELDS, "the trainer configuration"),
    .min_size = offsetof(svit_trainer_config, loss), /* where the struct of library 0.1 ends */
    .set_defaults = set_defaults, .null_is_default = true, .check = check};

SV_CONFIG_FUNCTIONS(svit_trainer_config, sv_trainer_config_type)

void sv_training_parts(sv_training_part parts[SV_TRAINING_PARTS], sv_training *training)
{
    parts[0] = (sv_training_part){&sv_trainer_config_type, &training->trainer};
    parts[1] = (sv_training_part){&sv_optimizer_config_type, &training->optimizer};
    parts[2] = (sv_training_part){&sv_pipeline_config_type, &training->pipeline};
}

svit_status sv_training_begin(sv_training *training, void *const callers[SV_TRAINING_PARTS],
                              const size_t sizes[SV_TRAINING_PARTS], svit_error *err)
{
    sv_training_part parts[SV_TRAINING_PARTS];
    sv_training_parts(parts, training);
    for (size_t i = 0; i < SV_TRAINING_PARTS; i++) {
        sv_config_defaults(parts[i].type, parts[i].config);
        if (callers[i] && (sizes[i] < sizeof(uint32_t) || sizes[i] > 65536))
            return sv_fail(err, SVIT_E_ARGUMENT, "size of %s is %zu; give its sizeof",
                           parts[i].type->table.type, sizes[i]);
    }
    return SVIT_OK;
}

svit_status sv_training_write(void *const callers[SV_TRAINING_PARTS],
                              const size_t sizes[SV_TRAINING_PARTS], sv_training *training,
                              svit_error *err)
{
    sv_training_part parts[SV_TRAINING_PARTS];
    sv_training_parts(parts, training);
    for (size_t i = 0; i < SV_TRAINING_PARTS; i++)
        if (callers[i])
            SVIT_TRY(sv_config_check_room(parts[i].type, sizes[i], parts[i].config, err));
    for (size_t i = 0; i < SV_TRAINING_PARTS; i++)
        if (callers[i])
            SVIT_TRY(sv_config_write(parts[i].type, callers[i], sizes[i], parts[i].config, err));
    return SVIT_OK;
}

#define NOUN "the training settings"

/* Reads the caller's three structs into *training and lists them. */
static svit_status read_all(sv_training_part parts[SV_TRAINING_PARTS],
                            sv_field_struct structs[SV_TRAINING_PARTS], sv_training *training,
                            const void *const callers[SV_TRAINING_PARTS], svit_error *err)
{
    sv_training_parts(parts, training);
    for (size_t i = 0; i < SV_TRAINING_PARTS; i++) {
        SVIT_TRY(sv_config_read(parts[i].type, parts[i].config, callers[i], err));
        structs[i] = (sv_field_struct){&parts[i].type->table, parts[i].config};
    }
    return SVIT_OK;
}

SVIT_API svit_status svit_training_from_json(svit_trainer_config *trainer,
                                             svit_optimizer_config *optimizer,
                                             svit_pipeline_config *pipeline, const char *json,
                                             svit_error *err)
{
    SV_REQUIRE(trainer);
    SV_REQUIRE(optimizer);
    SV_REQUIRE(pipeline);
    SV_REQUIRE(json);
    void *const callers[] = {trainer, optimizer, pipeline};
    const size_t sizes[] = {trainer->struct_size, optimizer->struct_size, pipeline->struct_size};
    sv_training training;
    sv_training_part parts[SV_TRAINING_PARTS];
    sv_field_struct structs[SV_TRAINING_PARTS];
    SVIT_TRY(read_all(parts, structs, &training, (const void *const *)callers, err));
    SVIT_TRY(sv_fields_of_structs_from_text(structs, SV_TRAINING_PARTS, NOUN, json, err));
    /* The fields may each be in range and yet not fit together. */
    for (size_t i = 0; i < SV_TRAINING_PARTS; i++)
        SVIT_TRY(sv_config_check(parts[i].type, parts[i].config, err));
    return sv_training_write(callers, sizes, &training, err);
}

SVIT_API svit_status svit_training_to_json(const svit_trainer_config *trainer,
                                           const svit_optimizer_config *optimizer,
                                           const svit_pipeline_config *pipeline, char *buffer,
                                           size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(trainer);
    SV_REQUIRE(optimizer);
    SV_REQUIRE(pipeline);
    const void *const callers[] = {trainer, optimizer, pipeline};
    sv_training training;
    sv_training_part parts[SV_TRAINING_PARTS];
    sv_field_struct structs[SV_TRAINING_PARTS];
    SVIT_TRY(read_all(parts, structs, &training, callers, err));
    training.trainer.existing = SVIT_EXISTING_REFUSE;
    return sv_fields_of_structs_to_buffer(structs, SV_TRAINING_PARTS, NOUN, buffer, capacity,
                                          needed, err);
}
