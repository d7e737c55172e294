/* The fields of a trainer's configuration, for the files that read and write settings as JSON. */
#ifndef SV_API_FIELDS_H
#define SV_API_FIELDS_H

#include "config/fields.h"

#include <shiftvit/trainer.h>

/* The table of the fields of svit_trainer_config. */
extern const sv_field_table sv_trainer_fields;

/* Returns the defaults of svit_trainer_config_init. */
svit_trainer_config sv_trainer_config_default(void);

/* Copies a caller's configuration over the defaults in *local and checks it. The texts still belong
 * to the caller. SVIT_E_ARGUMENT, SVIT_E_VERSION. */
svit_status sv_trainer_config_read(svit_trainer_config *local, const svit_trainer_config *config,
                                   svit_error *err);

#endif
