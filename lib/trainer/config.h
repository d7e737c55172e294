/* The configuration of a trainer, and all settings of a training run. */
#ifndef SV_TRAINER_CONFIG_H
#define SV_TRAINER_CONFIG_H

#include "config/config.h"
#include "data/augmentation/pipeline_config.h"
#include "optim/optimizer.h"

#include <shiftvit/trainer.h>

extern const sv_config_type sv_trainer_config_type;

/* The settings of a training run. */
typedef struct sv_training {
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
} sv_training;

/* One of the three structs and its type. */
typedef struct sv_training_part {
    const sv_config_type *type;
    void *config;
} sv_training_part;

enum { SV_TRAINING_PARTS = 3 };

/* Lists the three structs. */
void sv_training_parts(sv_training_part parts[SV_TRAINING_PARTS], sv_training *training);

/* Writes the defaults to *training. SVIT_E_ARGUMENT names a caller's struct whose size is none;
 * callers that are NULL are passed over, here and below. */
svit_status sv_training_begin(sv_training *training, void *const callers[SV_TRAINING_PARTS],
                              const size_t sizes[SV_TRAINING_PARTS], svit_error *err);

/* Copies *training to the callers' structs, all or none. SVIT_E_VERSION as sv_config_write. */
svit_status sv_training_write(void *const callers[SV_TRAINING_PARTS],
                              const size_t sizes[SV_TRAINING_PARTS], sv_training *training,
                              svit_error *err);

#endif
