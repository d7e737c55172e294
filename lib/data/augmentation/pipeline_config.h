/* Reading and checking of pipeline configurations. */
#ifndef SV_PIPELINE_CONFIG_H
#define SV_PIPELINE_CONFIG_H

#include "config/fields.h"

#include <shiftvit/pipeline.h>

#include <stddef.h>

/* The smallest struct_size that is accepted. */
enum { SV_PIPELINE_CONFIG_MIN_SIZE = sizeof(svit_pipeline_config) };

/* The table of the fields in the order of the JSON. */
extern const sv_field_table sv_pipeline_fields;

/* Returns the defaults: the pipeline of the Keras ShiftViT example. */
svit_pipeline_config sv_pipeline_config_default(void);

/* Copies a caller's configuration to *out and checks it. SVIT_E_ARGUMENT, SVIT_E_VERSION. */
svit_status sv_pipeline_config_read(svit_pipeline_config *out, const svit_pipeline_config *in,
                                    svit_error *err);

/* SVIT_E_ARGUMENT, naming the field, its value and what is accepted, if a field is out of range. */
svit_status sv_pipeline_config_check(const svit_pipeline_config *config, svit_error *err);

#endif
