/* Classes of a model that are embeddings of texts. */
#include "text_classes.h"

#include <stdlib.h>
#include <string.h>

/* A class and the row of its embedding. */
typedef struct text_row {
    const char *name;
    size_t row;
} text_row;

static int by_name(const void *a, const void *b)
{
    const text_row *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

/* Fails if two embeddings have one name: nothing could say which of them an image of it is. */
static svit_status check_names(struct program *self, const char *path, const char *const *names,
                               size_t count)
{
    text_row *rows = calloc(count, sizeof *rows);
    if (!rows)
        return program_fail(self, SVIT_E_MEMORY, "no memory for %zu classes", count);
    for (size_t i = 0; i < count; i++)
        rows[i] = (text_row){names[i], i};
    qsort(rows, count, sizeof *rows, by_name);
    svit_status status = SVIT_OK;
    for (size_t i = 1; i < count && status == SVIT_OK; i++)
        if (strcmp(rows[i - 1].name, rows[i].name) == 0)
            status = program_fail(self, SVIT_E_ARGUMENT,
                                  "--texts: embeddings %zu and %zu of '%s' are both of the class "
                                  "'%.80s'; one of each class is accepted, such as the mean of "
                                  "those of several prompts",
                                  rows[i - 1].row, rows[i].row, path, rows[i].name);
    free(rows);
    return status;
}

static svit_status set(struct program *self, svit_model *model, const text_classes *classes,
                       const svit_features *texts, const char **names)
{
    const size_t count = svit_features_count(texts);
    for (size_t i = 0; i < count; i++) {
        const int32_t label = svit_features_labels(texts)[i];
        names[i] = label < 0 ? NULL : svit_features_class_name(texts, (size_t)label);
        if (!names[i])
            return program_fail(self, SVIT_E_ARGUMENT,
                                "--texts: embedding %zu of '%s' has no class with a name", i,
                                classes->path);
    }
    TRY(check_names(self, classes->path, names, count));
    return svit_model_set_text_head(model, svit_features_values(texts), names, count,
                                    svit_features_channels(texts), classes->scale, classes->bias,
                                    &self->err);
}

svit_status text_classes_set(struct program *self, svit_model *model, const text_classes *classes)
{
    svit_features *texts = NULL;
    TRY(svit_features_load(&texts, self->context, classes->path, &self->err));
    const char **names = calloc(svit_features_count(texts), sizeof *names);
    svit_status status = names ? set(self, model, classes, texts, names)
                               : program_fail(self, SVIT_E_MEMORY, "no memory for %zu classes",
                                              svit_features_count(texts));
    free(names);
    svit_features_free(texts);
    return status;
}
