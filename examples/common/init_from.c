/* Starts a training from the weights of another model. */
#include "init_from.h"

#include "model_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The parameters of the classifier, whatever the model: they start anew if the file's differ. */
static const char *const HEADS[] = {"head", "mlp_head.1"};

static int is_head(const char *name)
{
    for (size_t i = 0; i < sizeof HEADS / sizeof *HEADS; i++)
        if (strncmp(name, HEADS[i], strlen(HEADS[i])) == 0)
            return 1;
    return 0;
}

/* Says what of the classifier is not taken. Anything else that differs is an error. `lines` are
 * those of a report: "missing NAME", "mismatched NAME" and so on. */
static svit_status check_report(struct program *self, const char *given, char *lines)
{
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
        const char *name = strchr(line, ' ') + 1;
        if (strncmp(line, "buffer ", 7) == 0)
            continue;
        if (!is_head(name))
            return program_fail(self, SVIT_E_ARGUMENT,
                                "--init-from: '%s': %s; the models must be alike but for the "
                                "classifier",
                                given, line);
        fprintf(stderr, "--init-from: %s: the classifier starts anew there\n", line);
    }
    return SVIT_OK;
}

svit_status init_from(struct program *self, svit_model *model, const char *given)
{
    enum { CAPACITY = 1 << 20 };
    char path[PATH_CAPACITY];
    svit_load_report report = {.struct_size = sizeof report, .capacity = CAPACITY};
    TRY(model_path(self, path, given));
    report.text = malloc(CAPACITY);
    if (!report.text)
        return program_fail(self, SVIT_E_MEMORY, "no memory for a report of %d bytes", CAPACITY);
    svit_status status = svit_model_load_into(model, path, NULL,
                                              SVIT_LOAD_SKIP_SHAPE_MISMATCH |
                                                  SVIT_LOAD_IGNORE_EXTRA | SVIT_LOAD_ALLOW_MISSING,
                                              &report, &self->err);
    if (status == SVIT_OK)
        status = check_report(self, given, report.text);
    free(report.text);
    return status;
}
