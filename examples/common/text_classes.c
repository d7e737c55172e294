/* Classes of a model that are embeddings of texts. */
#include "text_classes.h"

#include <stdlib.h>

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
