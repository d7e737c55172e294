/* Pipeline configurations: how they are read from callers, and what is legal. */
#ifndef SV_PIPELINE_CONFIG_H
#define SV_PIPELINE_CONFIG_H

#include "base/fields.h"

#include <shiftvit/pipeline.h>

#include <stddef.h>

/* The size that a struct_size must have at least. */
enum { SV_PIPELINE_CONFIG_MIN_SIZE = sizeof(svit_pipeline_config) };

/* The table of the fields, in the order of the JSON. */
extern const sv_field_table sv_pipeline_fields;

/* The pipeline of the Keras ShiftViT example. */
svit_pipeline_config sv_pipeline_config_default(void);

/* Reads a caller's configuration into *out and checks it. */
svit_status sv_pipeline_config_read(svit_pipeline_config *out, const svit_pipeline_config *in,
                                    svit_error *err);

/* Fails, naming the field, its value and what is accepted, where a field is out of range. */
svit_status sv_pipeline_config_check(const svit_pipeline_config *config, svit_error *err);

#endif
