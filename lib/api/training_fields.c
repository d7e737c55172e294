/* All settings of a training run in one JSON object: the fields of the trainer's, the optimiser's
 * and the pipeline's configuration. It stands apart from lib/trainer, which uses the public
 * functions alone. */
#include "api/fields.h"
#include "config/config.h"
#include "data/augmentation/pipeline_config.h"
#include "optim/optimizer.h"

#include <shiftvit/trainer.h>

#include <string.h>

#define NOUN "the training settings"

enum { STRUCTS = 3 };

/* Copies of the caller's three structs in the library's own sizes. */
typedef struct settings {
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
} settings;

static void list_structs(sv_field_struct out[STRUCTS], settings *self)
{
    out[0] = (sv_field_struct){&sv_trainer_fields, &self->trainer};
    out[1] = (sv_field_struct){sv_optim_fields(), &self->optimizer};
    out[2] = (sv_field_struct){&sv_pipeline_fields, &self->pipeline};
}

static svit_status import(settings *self, const svit_trainer_config *trainer,
                          const svit_optimizer_config *optimizer,
                          const svit_pipeline_config *pipeline, svit_error *err)
{
    SVIT_TRY(sv_trainer_config_read(&self->trainer, trainer, err));
    SVIT_TRY(sv_optim_config_import_unplanned(&self->optimizer, optimizer, err));
    return sv_pipeline_config_read(&self->pipeline, pipeline, err);
}

/* Checks the structs again, whose fields may each be in range and yet not fit together. */
static svit_status check(const settings *self, svit_error *err)
{
    settings copy;
    return import(&copy, &self->trainer, &self->optimizer, &self->pipeline, err);
}

/* All three structs have been imported, so each struct_size is one that an export accepts. */
static svit_status export(const settings *self, svit_trainer_config *trainer,
                          svit_optimizer_config *optimizer, svit_pipeline_config *pipeline,
                          svit_error *err)
{
    SVIT_TRY(sv_config_export(trainer, trainer->struct_size, &self->trainer, sizeof self->trainer,
                              sv_trainer_fields.type, err));
    SVIT_TRY(sv_config_export(optimizer, optimizer->struct_size, &self->optimizer,
                              sizeof self->optimizer, sv_optim_fields()->type, err));
    return sv_config_export(pipeline, pipeline->struct_size, &self->pipeline, sizeof self->pipeline,
                            sv_pipeline_fields.type, err);
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
    settings local;
    sv_field_struct structs[STRUCTS];
    SVIT_TRY(import(&local, trainer, optimizer, pipeline, err));
    list_structs(structs, &local);
    SVIT_TRY(sv_fields_of_structs_from_text(structs, STRUCTS, NOUN, json, err));
    SVIT_TRY(check(&local, err));
    return export(&local, trainer, optimizer, pipeline, err);
}

SVIT_API svit_status svit_training_to_json(const svit_trainer_config *trainer,
                                           const svit_optimizer_config *optimizer,
                                           const svit_pipeline_config *pipeline, char *buffer,
                                           size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(trainer);
    SV_REQUIRE(optimizer);
    SV_REQUIRE(pipeline);
    settings local;
    sv_field_struct structs[STRUCTS];
    SVIT_TRY(import(&local, trainer, optimizer, pipeline, err));
    local.trainer.folder = local.trainer.description = NULL;
    local.trainer.existing = sv_trainer_config_default().existing;
    list_structs(structs, &local);
    return sv_fields_of_structs_to_buffer(structs, STRUCTS, NOUN, buffer, capacity, needed, err);
}
