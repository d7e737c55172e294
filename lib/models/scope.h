/* Adds the parameters of linear maps and norms to a table, under a common prefix of their names. */
#ifndef SV_MODEL_SCOPE_H
#define SV_MODEL_SCOPE_H

#include "autograd/parameter.h"

/* Where and how the functions below add parameters: the table, the prefix of all names, such as
 * "blocks.0.", and the depth in the model: 0 for the embedding, i + 1 for block i, and
 * table->depths for what follows the blocks. */
typedef struct sv_scope {
    sv_parameter_table *table;
    const char *prefix;
    svit_error *err;
    uint32_t depth; /* of its parameters, as sv_parameter.depth */
    bool rms_norm;  /* norms are root-mean-square norms */
} sv_scope;

/* Adds the parameter prefix + name + suffix. */
svit_status sv_scope_add(const sv_scope *in, const char *name, const char *suffix,
                         sv_parameter_role role, const int64_t *shape, size_t rank);

/* Adds a parameter [c]. */
svit_status sv_scope_vector(const sv_scope *in, const char *name, const char *suffix,
                            sv_parameter_role role, size_t c);

/* Adds `name`.weight and `name`.bias [c] of a norm; of a root-mean-square norm the weight alone. */
svit_status sv_scope_norm(const sv_scope *in, const char *name, size_t c);

/* Adds `name`.weight [out, c], and `name`.bias [out] if `bias`, of a linear map. */
svit_status sv_scope_linear(const sv_scope *in, const char *name, size_t out, size_t c, bool bias);

/* Adds the linear map of c features to the classes. */
svit_status sv_scope_classifier(const sv_scope *in, const char *name, size_t classes, size_t c);

/* Adds `name`.weight [out, c, size, size], and `name`.bias [out] if `bias`, of a convolution. */
svit_status sv_scope_convolution(const sv_scope *in, const char *name, size_t out, size_t c,
                                 size_t size, bool bias);

#endif
