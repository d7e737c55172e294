/* The fields of augmentation steps. */
#ifndef SV_AUGMENT_STEP_FIELDS_H
#define SV_AUGMENT_STEP_FIELDS_H

#include "config/fields.h"
#include "data/decoding/image_shape.h"

#include <shiftvit/pipeline.h>

/* How the steps of svit_pipeline_config.augment are read from JSON, written and checked. */
extern const sv_field_elements sv_augment_elements;

/* What a step works on. A pipeline has its steps in this order. */
typedef enum sv_augment_stage {
    SV_ON_BYTES,  /* of an image */
    SV_ON_VALUES, /* of an image, normalised */
    SV_ON_BATCHES
} sv_augment_stage;

/* The stage of a step that has been checked. */
sv_augment_stage sv_augment_stage_of(const svit_augment_step *step);

/* SVIT_E_ARGUMENT if steps on bytes, values and batches are not in this order, or if the samples
 * are repeated twice. */
svit_status sv_augment_check_order(const svit_pipeline_config *config, svit_error *err);

/* SVIT_E_ARGUMENT if a step needs another number of channels. */
svit_status sv_augment_check_channels(const svit_pipeline_config *config, svit_error *err);

/* SVIT_E_ARGUMENT if a step does not suit images of that size. SVIT_E_UNSUPPORTED if a step does
 * not work on floats. */
svit_status sv_augment_check_images(const svit_pipeline_config *config, const sv_image_shape *shape,
                                    svit_error *err);

#endif
