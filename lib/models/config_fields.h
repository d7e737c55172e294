/* The one table of a model configuration's fields: their JSON names, kinds, words and ranges. */
#ifndef SV_CONFIG_FIELDS_H
#define SV_CONFIG_FIELDS_H

#include "base/json.h"

#include <shiftvit/model.h>

typedef enum sv_field_kind {
    SV_FIELD_SIZE,  /* uint32_t, a whole number */
    SV_FIELD_WORD,  /* int32_t, one of `words` */
    SV_FIELD_FLAG,  /* int32_t, true or false */
    SV_FIELD_REAL,  /* double */
    SV_FIELD_BLOCKS /* uint32_t stages and blocks[], an array of whole numbers */
} sv_field_kind;

typedef struct sv_config_field {
    const char *name;
    size_t offset;
    sv_field_kind kind;
    const char *words[4]; /* SV_FIELD_WORD: by value, NULL at the end */
    double least;         /* of a size, a block count, a real */
    double greatest;
    int least_is_open;    /* 1: above `least`; 0: at least it */
    int greatest_is_open; /* 1: below `greatest` */
} sv_config_field;

extern const sv_config_field sv_config_fields[];
extern const size_t sv_config_field_count;

/* Fails, naming the field, where its value is outside its range. */
svit_status sv_config_field_check(const sv_config_field *field, const svit_model_config *config,
                                  svit_error *err);

/* The value as JSON, NULL where there is no memory; and from JSON, range included. */
json_t *sv_config_field_to_json(const sv_config_field *field, const svit_model_config *config);
svit_status sv_config_field_from_json(const sv_config_field *field, svit_model_config *config,
                                      const json_t *value, svit_error *err);

#endif
