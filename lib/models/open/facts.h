/* What is known about a model before it exists: the fields of a ViT's configuration that something
 * states, and what states each. */
#ifndef SV_OPEN_FACTS_H
#define SV_OPEN_FACTS_H

#include "models/architecture.h"
#include "models/config.h"

enum { SV_FACT_SOURCE = 96 };

typedef struct sv_fact {
    double value;              /* of a word its index, of a flag 0 or 1 */
    char from[SV_FACT_SOURCE]; /* what states it, for messages; "": nothing does */
    bool is_final;             /* the caller states it: others are not heard */
    bool is_assumed;           /* what states it knows better */
} sv_fact;

/* The facts, by the index of the field in sv_vit_fields. */
typedef struct sv_facts {
    const char *path; /* of the file, for messages; borrowed */
    sv_fact list[SV_VIT_MAX_FIELDS];
} sv_facts;

/* Nothing is known. */
void sv_facts_init(sv_facts *facts, const char *path);

/* States the field `name`. `from` tells by whom, as by printf. SVIT_E_FORMAT, naming both, if it is
 * stated with another value already; the caller's value stays without a word. */
svit_status sv_facts_state(sv_facts *facts, const char *name, double value, svit_error *err,
                           const char *from, ...) SV_PRINTF(5, 6);

/* Forgets what the caller or a file has said of the field `name` if it is 0. */
void sv_facts_forget_zero(sv_facts *facts, const char *name);

/* Assumes a value, which the first statement replaces, unless something is known already or the
 * field cannot hold it. */
void sv_facts_assume(sv_facts *facts, const char *name, double value, const char *from);

/* Gives a fact that is not the caller's another value, and says why behind what states it. */
void sv_facts_correct(sv_facts *facts, const char *name, double value, const char *why);

/* States the fields of the JSON object `json` as the caller's. SVIT_E_ARGUMENT names what is not
 * accepted, SVIT_E_FORMAT what is no JSON. */
svit_status sv_facts_state_json(sv_facts *facts, const sv_allocator *allocator, const char *json,
                                svit_error *err);

/* The fact about a field; NULL: nothing states it. */
const sv_fact *sv_facts_find(const sv_facts *facts, const char *name);

/* Its value, or `otherwise`. */
double sv_facts_value(const sv_facts *facts, const char *name, double otherwise);

/* Writes `value` as one of the field `name` is written in JSON. Returns `text`. */
const char *sv_facts_value_text(char text[SV_FIELD_NUMBER_TEXT], const char *name, double value);

/* Writes the value of a field as in JSON, without quotes. Returns `text`. */
const char *sv_facts_text(char text[SV_FIELD_NUMBER_TEXT], const sv_facts *facts, size_t index);

/* Sets the fields of `config` that are stated. */
void sv_facts_apply(const sv_facts *facts, svit_model_config *config);

#endif
