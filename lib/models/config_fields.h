/* The table of a model configuration's fields. Its selector, the first of them, is the
 * architecture. */
#ifndef SV_CONFIG_FIELDS_H
#define SV_CONFIG_FIELDS_H

#include "base/fields.h"

#include <shiftvit/model.h>

extern const sv_field_table sv_model_fields;

#endif
