/* What the readers of JSON values assume of the values that json.c builds: a list's elements follow
 * each other, and texts end with a NUL byte. */
#ifndef SV_PROOF_ASSUMED_JSON_H
#define SV_PROOF_ASSUMED_JSON_H

#include "config/json.h"

/*@ axiomatic json {
      predicate json_chain{L}(sv_json_value *value, integer count)
          reads value->after, value->count, value->kind;
      predicate json_value{L}(sv_json_value *value) reads value->after, value->count, value->kind;
      axiom json_first{L}: \forall sv_json_value *value, integer count;
          json_chain(value, count) && count > 0 ==> json_value(value);
      axiom json_next{L}: \forall sv_json_value *value, integer count;
          json_chain(value, count) && count > 0 ==> json_chain(value->after, count - 1);
      axiom json_valid{L}: \forall sv_json_value *value; json_value(value) ==> \valid_read(value);
      axiom json_list{L}: \forall sv_json_value *value;
          json_value(value) && (value->kind == SV_JSON_ARRAY || value->kind == SV_JSON_OBJECT) ==>
          json_chain(value + 1, value->count);
    } */

/*@ requires value == \null || json_value((sv_json_value *)value);
    assigns \nothing; */
const char *sv_json_text(const sv_json_value *value);

/*@ requires value == \null || json_value((sv_json_value *)value);
    requires \valid(out);
    assigns *out; */
bool sv_json_u64(const sv_json_value *value, uint64_t *out);

#endif
