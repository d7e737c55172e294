/* Adds parameters under a prefix to a table. */
#include "models/scope.h"

#include <stdio.h>

svit_status sv_scope_add(const sv_scope *in, const char *name, const char *suffix,
                         sv_parameter_role role, const int64_t *shape, size_t rank)
{
    char full[sizeof((sv_parameter *)NULL)->name];
    snprintf(full, sizeof full, "%s%s%s", in->prefix, name, suffix);
    size_t index;
    SVIT_TRY(sv_parameter_add(in->table, &index, full, role, shape, rank, in->err));
    in->table->list[index].depth = in->depth;
    return SVIT_OK;
}

svit_status sv_scope_vector(const sv_scope *in, const char *name, const char *suffix,
                            sv_parameter_role role, size_t c)
{
    int64_t shape[1] = {(int64_t)c};
    return sv_scope_add(in, name, suffix, role, shape, 1);
}

svit_status sv_scope_norm(const sv_scope *in, const char *name, size_t c)
{
    SVIT_TRY(sv_scope_vector(in, name, ".weight", SV_ROLE_NORM_WEIGHT, c));
    return in->rms_norm ? SVIT_OK : sv_scope_vector(in, name, ".bias", SV_ROLE_NORM_BIAS, c);
}

static svit_status add_map(const sv_scope *in, const char *name, const int64_t *shape, size_t rank,
                           bool bias)
{
    SVIT_TRY(sv_scope_add(in, name, ".weight", SV_ROLE_WEIGHT, shape, rank));
    return bias ? sv_scope_vector(in, name, ".bias", SV_ROLE_BIAS, (size_t)shape[0]) : SVIT_OK;
}

svit_status sv_scope_linear(const sv_scope *in, const char *name, size_t out, size_t c, bool bias)
{
    return add_map(in, name, (int64_t[]){(int64_t)out, (int64_t)c}, 2, bias);
}

svit_status sv_scope_classifier(const sv_scope *in, const char *name, size_t classes, size_t c)
{
    const size_t first = in->table->count;
    if (in->table->head == 0)
        in->table->head = first;
    SVIT_TRY(sv_scope_linear(in, name, classes, c, true));
    in->table->list[first].classes = in->table->list[first + 1].classes = true;
    return SVIT_OK;
}

svit_status sv_scope_convolution(const sv_scope *in, const char *name, size_t out, size_t c,
                                 size_t size, bool bias)
{
    const int64_t side = (int64_t)size;
    return add_map(in, name, (int64_t[]){(int64_t)out, (int64_t)c, side, side}, 4, bias);
}
