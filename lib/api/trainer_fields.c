/* The configuration of a trainer: defaults, ranges of the fields, and JSON. It stands apart from
 * lib/trainer, which uses the public functions alone. */
#include "api/fields.h"
#include "config/config.h"
#include "session/session.h"

#include <float.h>

enum { CONFIG_MIN_SIZE = offsetof(svit_trainer_config, loss) }; /* of library 0.1 */

#define FIELD(field, kind) SV_FIELD(svit_trainer_config, field, kind)

static svit_status check_weight(const void *element, svit_error *err)
{
    double weight = *(const double *)element;
    if (weight > 0 && weight <= FLT_MAX)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "it is %g; numbers above 0 are accepted", weight);
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
    {FIELD(keep, WORD), .words = {[SVIT_KEEP_LAST] = "last", [SVIT_KEEP_BEST] = "best"}},
    {FIELD(seed, U64)},
    {FIELD(label_smoothing, REAL), .max = 1, .max_is_open = 1},
    {FIELD(warmup_fraction, REAL), .max = 1},
    {FIELD(folder, TEXT)},
    {FIELD(checkpoint_seconds, REAL), .max = DBL_MAX},
    {FIELD(compute, WORD), .words = {SV_COMPUTE_WORDS}},
    {FIELD(prefetch, U32), .max = 16},
    {FIELD(memory, WORD), .words = {SV_MEMORY_WORDS}},
    {FIELD(existing, WORD), .words = {[SVIT_EXISTING_REFUSE] = "refuse",
                                      [SVIT_EXISTING_RESUME] = "resume",
                                      [SVIT_EXISTING_OVERWRITE] = "overwrite"}},
    {FIELD(description, TEXT)},
    {FIELD(loss, WORD), .words = {[SVIT_LOSS_CROSS_ENTROPY] = "cross-entropy",
                                  [SVIT_LOSS_BINARY] = "binary",
                                  [SVIT_LOSS_MSE] = "mse"}},
    {FIELD(sampling, WORD),
     .words = {[SVIT_SAMPLING_SHUFFLE] = "shuffle", [SVIT_SAMPLING_BALANCED] = "balanced"}},
    {FIELD(tta, WORD), .words = {[SVIT_TTA_NONE] = "none",
                                 [SVIT_TTA_FLIP] = "flip",
                                 [SVIT_TTA_FLIP_SHIFT] = "flip-shift"}},
    {FIELD(class_weights, ELEMENTS), .count_name = "class_weight_count",
     .count_offset = offsetof(svit_trainer_config, class_weight_count),
     .max_count = SVIT_MAX_CLASS_WEIGHTS, .is_optional = 1, .elements = &WEIGHTS},
    {FIELD(tensorboard, FLAG)},
    {FIELD(schedule_anew, FLAG)},
};
const sv_field_table sv_trainer_fields = {.type = "svit_trainer_config",
                                          .noun = "the trainer configuration",
                                          .fields = FIELDS,
                                          .count = sizeof FIELDS / sizeof *FIELDS};

svit_trainer_config sv_trainer_config_default(void)
{
    return (svit_trainer_config){.struct_size = sizeof(svit_trainer_config),
                                 .epochs = 100,
                                 .batch = 256,
                                 .accumulate = 1,
                                 .patience = 5,
                                 .keep = SVIT_KEEP_LAST,
                                 .warmup_fraction = 0.15,
                                 .compute = SVIT_COMPUTE_F32,
                                 .prefetch = 2,
                                 .memory = SVIT_MEMORY_STORE,
                                 .existing = SVIT_EXISTING_REFUSE};
}

/* Checks every field of a copy in the library's own size. */
static svit_status check(const svit_trainer_config *config, svit_error *err)
{
    SVIT_TRY(sv_fields_check(&sv_trainer_fields, config, err));
    if (config->accumulate > config->batch)
        return sv_fail(err, SVIT_E_ARGUMENT, "accumulate is %u; it is at most batch, %u",
                       config->accumulate, config->batch);
    if (config->loss == SVIT_LOSS_MSE &&
        (config->label_smoothing > 0 || config->class_weight_count))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "loss is 'mse', which has neither label_smoothing nor class_weights; 0 and "
                       "none are accepted");
    return SVIT_OK;
}

svit_status sv_trainer_config_read(svit_trainer_config *local, const svit_trainer_config *config,
                                   svit_error *err)
{
    *local = sv_trainer_config_default();
    SVIT_TRY(sv_config_import(local, sizeof *local, config, CONFIG_MIN_SIZE, sv_trainer_fields.type,
                              err));
    return check(local, err);
}

SVIT_API svit_status svit_trainer_config_init(svit_trainer_config *config, size_t size)
{
    svit_trainer_config local = sv_trainer_config_default();
    return sv_config_export(config, size, &local, sizeof local, sv_trainer_fields.type, NULL);
}

SVIT_API svit_status svit_trainer_config_from_json(svit_trainer_config *config, size_t size,
                                                   const char *json, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(json);
    svit_trainer_config local = sv_trainer_config_default();
    SVIT_TRY(sv_fields_from_text(&sv_trainer_fields, &local, json, err));
    SVIT_TRY(check(&local, err));
    return sv_config_export(config, size, &local, sizeof local, sv_trainer_fields.type, err);
}

SVIT_API svit_status svit_trainer_config_to_json(const svit_trainer_config *config, char *buffer,
                                                 size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(config);
    svit_trainer_config local;
    SVIT_TRY(sv_trainer_config_read(&local, config, err));
    return sv_fields_to_buffer(&sv_trainer_fields, &local, buffer, capacity, needed, err);
}
