/* Reads parts of a weights file into a model. */
#ifndef LOAD_PARTS_H
#define LOAD_PARTS_H

#include "program.h"

/* Decides on one line of the report: `kind` is "missing", "mismatched", "extra" or "buffer", `name`
 * the parameter or the tensor, `source` what load_parts got. An error ends the program. */
typedef svit_status (*load_parts_judge)(struct program *self, const char *kind, const char *name,
                                        const char *source);

/* Reads what fits from the file `path` by the name map `map`, and asks `judge` about the rest.
 * `source` is how the user named the file. */
svit_status load_parts(struct program *self, svit_model *model, const char *path, const char *map,
                       const char *source, load_parts_judge judge);

/* Whether a parameter belongs to the head of a model: the classifier and the layers right before
 * it. */
int load_parts_is_head(const char *parameter);

#endif
