/* Reads parts of a weights file into a model. */
#include "models/load_parts.h"

#include <stdlib.h>
#include <string.h>

enum { REPORT_CAPACITY = 1 << 20 };

int load_parts_is_head(const char *parameter)
{
    static const char *const PREFIXES[] = {"head.", "head_dist.", "mlp_head.1."};
    for (size_t i = 0; i < sizeof PREFIXES / sizeof *PREFIXES; i++)
        if (strncmp(parameter, PREFIXES[i], strlen(PREFIXES[i])) == 0)
            return 1;
    return 0;
}

/* `lines` are those of a report: "missing NAME", "mismatched NAME" and so on. */
static svit_status judge_lines(struct program *self, char *lines, const load_parts_call *call)
{
    char *rest = NULL;
    for (char *kind = strtok_r(lines, "\n", &rest); kind; kind = strtok_r(NULL, "\n", &rest)) {
        char *space = strchr(kind, ' ');
        *space = '\0';
        TRY(call->judge(self, kind, space + 1, call->source, call->user));
    }
    return SVIT_OK;
}

svit_status load_parts(struct program *self, svit_model *model, const load_parts_call *call)
{
    char *text = calloc(1, REPORT_CAPACITY);
    svit_load_report report = {
        .struct_size = sizeof report, .text = text, .capacity = REPORT_CAPACITY};
    if (!text)
        return program_fail(self, SVIT_E_MEMORY, "no memory for a report of %d bytes",
                            REPORT_CAPACITY);
    svit_status status =
        svit_model_load_into(model, call->path, call->map, call->flags, &report, &self->err);
    if (status == SVIT_OK)
        status = judge_lines(self, text, call);
    free(text);
    return status;
}
