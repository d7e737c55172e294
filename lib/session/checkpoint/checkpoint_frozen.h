/* The parameters that a model, or that of a checkpoint, does not train. */
#ifndef SV_CHECKPOINT_FROZEN_H
#define SV_CHECKPOINT_FROZEN_H

#include "config/json.h"
#include "io/safetensors.h"
#include "models/model.h"

#include <shiftvit/checkpoint.h>

/* Which parameters of a model are frozen. */
typedef struct sv_frozen_set {
    bool *list; /* [count], in the order of the parameter table; NULL: the file does not say */
    size_t count;
    uint64_t version; /* of sv_frozen_set_keep: the model's trainable_version */
} sv_frozen_set;

/* Writes the names of the frozen parameters as a member of the metadata object that has been
 * begun. */
svit_status sv_frozen_set_write(sv_json_writer *metadata, const svit_model *model, svit_error *err);

/* Reads the set from a file's metadata, for a model of the file's configuration. SVIT_E_FORMAT
 * names what is not a parameter of it. Free the set with sv_frozen_set_free, also after a failure.
 */
svit_status sv_frozen_set_read(sv_frozen_set *set, const svit_model *model,
                               const sv_safetensors *file, const char *path, svit_error *err);

/* The same of an open checkpoint. SVIT_E_ARGUMENT: its model has another configuration. */
svit_status sv_frozen_set_of_checkpoint(sv_frozen_set *set, const svit_model *model,
                                        const svit_checkpoint *checkpoint, svit_error *err);

/* Copies the set that the model has. SVIT_E_MEMORY. Free it likewise. */
svit_status sv_frozen_set_keep(sv_frozen_set *set, const svit_model *model, svit_error *err);

/* Freezes in the model what it had frozen when the set was kept, so that sessions and optimisers of
 * then are as good as before. Does nothing if none was kept. */
void sv_frozen_set_bring_back(const sv_frozen_set *set, svit_model *model);

/* A set without a list is allowed. */
void sv_frozen_set_free(sv_frozen_set *set, const svit_model *model);

/* SVIT_E_STATE, naming a parameter and what to do, unless the model's frozen parameters are those
 * of the set. */
svit_status sv_frozen_set_check(const sv_frozen_set *set, const svit_model *model, const char *path,
                                svit_error *err);

/* Freezes in the model what the set has, and nothing else. */
void sv_frozen_set_apply(const sv_frozen_set *set, svit_model *model);

#endif
