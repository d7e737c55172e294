/* Reads parts of a weights file into a model. */
#ifndef LOAD_PARTS_H
#define LOAD_PARTS_H

#include "program/program.h"

/* Decides on one line of the report: `kind` is "missing", "mismatched", "extra" or "buffer", `name`
 * the parameter or the tensor, `source` how the user named the file, `user` what the call got. An
 * error ends the program. */
typedef svit_status (*load_parts_judge)(struct program *self, const char *kind, const char *name,
                                        const char *source, const void *user);

/* A part of a file that is read. */
typedef struct load_parts_call {
    const char *path;
    const char *map;    /* the name map; NULL: the model's own names */
    const char *source; /* how the user named the file */
    uint32_t flags;     /* SVIT_LOAD_*: what `judge` decides about instead of the library */
    load_parts_judge judge;
    const void *user;
} load_parts_call;

/* Reads what fits into the model, and asks the judge about the rest. */
svit_status load_parts(struct program *self, svit_model *model, const load_parts_call *call);

/* Whether a parameter belongs to the head of a model: the classifier and the layers right before
 * it. */
int load_parts_is_head(const char *parameter);

#endif
