/* What shiftvit-head says of a class that it adds. */
#include "results/added_class.h"

#include "results/feature_results.h"

#include <stdio.h>
#include <stdlib.h>

svit_status added_class_found(struct program *program, svit_model *model,
                              const svit_features *features, size_t *found)
{
    svit_model_config config;
    float *logits = NULL;
    TRY(svit_model_get_config(model, &config, sizeof config, &program->err));
    TRY(feature_logits(program, model, features, &logits));
    const size_t classes = config.num_classes;
    const int several = svit_model_output(model) == SVIT_OUTPUT_SIGMOID;
    *found = 0;
    for (size_t i = 0; i < svit_features_count(features); i++) {
        size_t best = 0;
        for (size_t k = 1; k < classes; k++)
            if (logits[i * classes + k] > logits[i * classes + best])
                best = k;
        *found += several ? logits[(i + 1) * classes - 1] > 0 : best == classes - 1;
    }
    free(logits);
    return SVIT_OK;
}

void added_class_note(const svit_model *model, int had_texts)
{
    if (!svit_model_class_name(model, 0))
        fprintf(stderr, "the model has no class names, so it keeps none for the new class\n");
    if (had_texts)
        fprintf(stderr,
                "the classes of texts are left out; the classes are those of the classifier\n");
}
