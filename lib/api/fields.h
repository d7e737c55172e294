/* The fields of a trainer's configuration, for the files that read and write settings as JSON. */
#ifndef SV_API_FIELDS_H
#define SV_API_FIELDS_H

#include "config/config.h"
#include "data/augmentation/pipeline_config.h"
#include "optim/optimizer.h"

#include <shiftvit/trainer.h>

/* What training_fields.c calls the types of the other two configurations. */
#define sv_optim_fields() (&sv_optimizer_config_type.table)
#define sv_pipeline_fields sv_pipeline_config_type.table
#define sv_optim_config_import_unplanned(local, config, err)                                       \
    sv_config_read(&sv_optimizer_config_type, local, config, err)
#define sv_pipeline_config_read(local, config, err)                                                \
    sv_config_read(&sv_pipeline_config_type, local, config, err)

/* The table of the fields of svit_trainer_config. */
extern const sv_field_table sv_trainer_fields;

/* Returns the defaults of svit_trainer_config_init. */
svit_trainer_config sv_trainer_config_default(void);

/* Copies a caller's configuration over the defaults in *local and checks it. The texts still belong
 * to the caller. SVIT_E_ARGUMENT, SVIT_E_VERSION. */
svit_status sv_trainer_config_read(svit_trainer_config *local, const svit_trainer_config *config,
                                   svit_error *err);

#endif
