/* Reads parts of a weights file into a model. */
#include "load_parts.h"

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
static svit_status judge_lines(struct program *self, char *lines, const char *source,
                               load_parts_judge judge)
{
    char *rest = NULL;
    for (char *kind = strtok_r(lines, "\n", &rest); kind; kind = strtok_r(NULL, "\n", &rest)) {
        char *space = strchr(kind, ' ');
        *space = '\0';
        TRY(judge(self, kind, space + 1, source));
    }
    return SVIT_OK;
}

svit_status load_parts(struct program *self, svit_model *model, const char *path, const char *map,
                       const char *source, load_parts_judge judge)
{
    const uint32_t flags =
        SVIT_LOAD_SKIP_SHAPE_MISMATCH | SVIT_LOAD_IGNORE_EXTRA | SVIT_LOAD_ALLOW_MISSING;
    char *text = calloc(1, REPORT_CAPACITY);
    svit_load_report report = {
        .struct_size = sizeof report, .text = text, .capacity = REPORT_CAPACITY};
    if (!text)
        return program_fail(self, SVIT_E_MEMORY, "no memory for a report of %d bytes",
                            REPORT_CAPACITY);
    svit_status status = svit_model_load_into(model, path, map, flags, &report, &self->err);
    if (status == SVIT_OK)
        status = judge_lines(self, text, source, judge);
    free(text);
    return status;
}
