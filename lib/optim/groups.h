/* The settings of single parameters: those of the optimiser, changed by its groups. */
#ifndef SV_GROUPS_H
#define SV_GROUPS_H

#include "autograd/parameter.h"
#include "config/fields.h"
#include "optim/optimizer_ops.h"

typedef struct sv_parameter_settings {
    double lr_scale;     /* the group's factor of the learning rate times depth_scale */
    double depth_scale;  /* factor of the learning rate, by layer_decay and the depth */
    double weight_decay; /* 0 where decay_exclude excludes the parameter */
    bool inherits_decay; /* weight_decay is that of the optimiser */
    bool trainable;
    bool is_matrix;   /* the optimiser's rule for matrices applies, while it is trainable */
    uint64_t skipped; /* updates so far that have left the parameter out */
} sv_parameter_settings;

static inline bool sv_updates_as_matrix(const sv_parameter_settings *settings)
{
    return settings->is_matrix && settings->trainable;
}

/* Writes the settings of each parameter to list[table->count]. SVIT_E_ARGUMENT names a group whose
 * pattern matches no parameter. */
svit_status sv_parameter_settings_make(sv_parameter_settings *list, const sv_parameter_table *table,
                                       const svit_optimizer_config *config,
                                       const sv_optimizer_ops *ops, svit_error *err);

/* Rows and columns of a parameter as a matrix: its first dimension, and all others together. */
size_t sv_matrix_rows(const sv_parameter *parameter);
size_t sv_matrix_columns(const sv_parameter *parameter);

/* How groups and schedule points are read from JSON, written and checked. */
extern const sv_field_elements sv_group_elements;
extern const sv_field_elements sv_point_elements;

#endif
