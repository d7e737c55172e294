/* Loads a model file and prints the likeliest classes of one image:
 *     predict_minimal MODEL.safetensors IMAGE.png */
#include <shiftvit/shiftvit.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOP = 3 };

/* Prints the class with the largest probability and excludes it from the next call. */
static void print_best(const svit_predictor *predictor, float *probabilities, size_t classes)
{
    size_t best = 0;
    for (size_t label = 1; label < classes; label++)
        if (probabilities[label] > probabilities[best])
            best = label;
    const char *name = svit_predictor_class_name(predictor, best); /* NULL: the file has no names */
    printf("%6.2f %%  class %zu  %s\n", 100 * (double)probabilities[best], best, name ? name : "");
    probabilities[best] = -1;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: predict_minimal MODEL.safetensors IMAGE\n");
        return 2;
    }
    svit_error err = {.struct_size = sizeof err};
    svit_context *context = NULL;
    svit_predictor *predictor = NULL; /* the model, its preprocessing and its class names */
    float *probabilities = NULL;

    if (svit_context_create(&context, NULL, &err) != SVIT_OK ||
        svit_predictor_create(&predictor, context, argv[1], NULL, &err) != SVIT_OK)
        goto done;
    size_t classes = svit_predictor_classes(predictor);
    probabilities = calloc(classes, sizeof *probabilities);
    if (!probabilities)
        svit_error_set(&err, SVIT_E_MEMORY, "no memory for the probabilities");
    else if (svit_predict_file(predictor, argv[2], probabilities, &err) == SVIT_OK)
        for (size_t i = 0; i < TOP && i < classes; i++)
            print_best(predictor, probabilities, classes);
done:
    if (err.code != SVIT_OK)
        fprintf(stderr, "predict_minimal: %s\n", err.message);
    free(probabilities);
    svit_predictor_free(predictor); /* NULL may be freed */
    svit_context_free(context);
    return err.code != SVIT_OK;
}
