/* Starts a training from the weights of another model. */
#include "init_from.h"

#include "load_parts.h"
#include "model_path.h"

#include <stdio.h>
#include <string.h>

/* The classifier may differ, and starts anew where it does. Anything else is an error. */
static svit_status judge(struct program *self, const char *kind, const char *name,
                         const char *source, const void *user)
{
    (void)user;
    if (strcmp(kind, "buffer") == 0)
        return SVIT_OK;
    if (!load_parts_is_head(name))
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--init-from: '%s': %s %s; the models must be alike but for the "
                            "classifier: --preset NAME, or --config with the run.json of the "
                            "file's run, says what the file has",
                            source, kind, name);
    if (!self->quiet)
        fprintf(stderr, "--init-from: %s %s: the classifier starts anew there\n", kind, name);
    return SVIT_OK;
}

svit_status init_from(struct program *self, svit_model *model, const char *given)
{
    char path[PATH_CAPACITY];
    TRY(model_path(self, path, given));
    const load_parts_call call = {.path = path,
                                  .source = given,
                                  .flags = SVIT_LOAD_SKIP_SHAPE_MISMATCH | SVIT_LOAD_IGNORE_EXTRA |
                                           SVIT_LOAD_ALLOW_MISSING,
                                  .judge = judge};
    return load_parts(self, model, &call);
}
