/* Classes of a model that are embeddings of texts. */
#include "models/text_classes.h"

#include <stdlib.h>

/* Fails if two embeddings are of one class: nothing could say which of them an image of it is. Two
 * classes may have the same name. */
static svit_status check_labels(struct program *self, const char *path, const svit_features *texts)
{
    const int32_t *labels = svit_features_labels(texts);
    size_t *seen = calloc(svit_features_classes(texts), sizeof *seen); /* the row from 1; 0: none */
    if (!seen)
        return program_fail(self, SVIT_E_MEMORY, "no memory for %zu classes",
                            svit_features_classes(texts));
    svit_status status = SVIT_OK;
    for (size_t i = 0; i < svit_features_count(texts) && status == SVIT_OK; i++) {
        size_t *row = &seen[labels[i]];
        if (*row > 0)
            status =
                program_fail(self, SVIT_E_ARGUMENT,
                             "--texts: embeddings %zu and %zu of '%s' are both of the class "
                             "'%.80s'; one of each "
                             "class is accepted, such as the mean of those of several prompts",
                             *row - 1, i, path, svit_features_class_name(texts, (size_t)labels[i]));
        *row = i + 1;
    }
    free(seen);
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
    TRY(check_labels(self, classes->path, texts));
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
