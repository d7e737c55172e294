/* The one table of a model configuration's fields: whose they are, their JSON names, kinds, words
 * and ranges. */
#ifndef SV_CONFIG_FIELDS_H
#define SV_CONFIG_FIELDS_H

#include "base/json.h"

#include <shiftvit/model.h>

typedef enum sv_field_kind {
    SV_FIELD_SIZE, /* uint32_t, a whole number */
    SV_FIELD_WORD, /* int32_t, one of `words` */
    SV_FIELD_FLAG, /* int32_t, true or false */
    SV_FIELD_REAL, /* double */
    SV_FIELD_LIST  /* uint32_t[], an array of whole numbers, and a uint32_t that counts them */
} sv_field_kind;

/* The architecture that a field is for. */
typedef enum sv_field_owner {
    SV_FIELD_OF_SHIFTVIT = SVIT_ARCHITECTURE_SHIFTVIT,
    SV_FIELD_OF_VIT = SVIT_ARCHITECTURE_VIT,
    SV_FIELD_OF_BOTH
} sv_field_owner;

typedef struct sv_config_field {
    const char *name;
    size_t offset;
    sv_field_owner owner;
    sv_field_kind kind;
    const char *words[4]; /* SV_FIELD_WORD: by value, NULL at the end */
    double least;         /* of a size, an element of a list, a real */
    double greatest;
    int least_is_open;      /* 1: above `least`; 0: at least it */
    int greatest_is_open;   /* 1: below `greatest` */
    const char *count_name; /* SV_FIELD_LIST: the field that counts it, and its range */
    size_t count_offset;
    uint32_t fewest, most;
} sv_config_field;

extern const sv_config_field sv_config_fields[];
extern const size_t sv_config_field_count;

/* NULL where there is none of that name. */
const sv_config_field *sv_config_field_find(const char *name);

/* 1 where the field is one of the configuration's architecture. */
int sv_config_field_applies(const sv_config_field *field, const svit_model_config *config);

/* The elements of a list. */
uint32_t sv_config_list_count(const sv_config_field *field, const svit_model_config *config);

/* Fails, naming the field, where its value is outside its range. */
svit_status sv_config_field_check(const sv_config_field *field, const svit_model_config *config,
                                  svit_error *err);

/* The value as JSON, NULL where there is no memory; and from JSON, range included. */
json_t *sv_config_field_to_json(const sv_config_field *field, const svit_model_config *config);
svit_status sv_config_field_from_json(const sv_config_field *field, svit_model_config *config,
                                      const json_t *value, svit_error *err);

#endif
