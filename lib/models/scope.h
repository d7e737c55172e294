/* Adding parameters to a table: names are prefix + name + ".weight" or ".bias". */
#ifndef SV_MODEL_SCOPE_H
#define SV_MODEL_SCOPE_H

#include "autograd/parameter.h"

/* Where parameters go, and what comes before their names. */
typedef struct sv_scope {
    sv_parameter_table *table;
    const char *prefix;
    svit_error *err;
} sv_scope;

/* prefix + name + suffix */
svit_status sv_scope_add(const sv_scope *in, const char *name, const char *suffix,
                         sv_parameter_role role, const int64_t *shape, size_t rank);

svit_status sv_scope_vector(const sv_scope *in, const char *name, const char *suffix,
                            sv_parameter_role role, size_t c);

/* weight and bias, [c] each */
svit_status sv_scope_norm(const sv_scope *in, const char *name, size_t c);

/* weight [out, c], and a bias [out] where there is one */
svit_status sv_scope_linear(const sv_scope *in, const char *name, size_t out, size_t c, int bias);

#endif
