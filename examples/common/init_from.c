/* Starts a training from the weights of another model. */
#include "init_from.h"

#include "model_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 8 };

/* The shape of a parameter; rank 0: the model has no parameter of that name. */
typedef struct shape {
    int64_t sides[MAX_RANK];
    size_t rank, elements;
} shape;

static shape shape_of(const svit_model *model, const char *name)
{
    shape found = {.elements = 1};
    if (svit_model_parameter_shape(model, name, found.sides, &found.rank, NULL) != SVIT_OK)
        return (shape){0};
    for (size_t i = 0; i < found.rank; i++)
        found.elements *= (size_t)found.sides[i];
    return found;
}

static int same_shape(const shape *a, const shape *b)
{
    return a->rank == b->rank && memcmp(a->sides, b->sides, a->rank * sizeof *a->sides) == 0;
}

/* Copies a parameter of that many elements. */
static svit_status copy(struct program *self, svit_model *model, const svit_model *from,
                        const char *name, size_t elements)
{
    float *values = calloc(elements, sizeof *values);
    if (!values)
        return program_fail(self, SVIT_E_MEMORY, "no memory for '%s'", name);
    svit_status status = svit_model_get_parameter(from, name, values, elements, &self->err);
    if (status == SVIT_OK)
        status = svit_model_set_parameter(model, name, values, elements, &self->err);
    free(values);
    return status;
}

static svit_status refuse(struct program *self, const char *given, const char *name,
                          const shape *wanted, const shape *found)
{
    if (found->rank == 0)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--init-from: '%s' has no parameter '%s'; the models must be alike but "
                            "for the number of classes",
                            given, name);
    return program_fail(self, SVIT_E_ARGUMENT,
                        "--init-from: '%s' of '%s' has %zu elements in another shape; the model's "
                        "has %zu",
                        name, given, found->elements, wanted->elements);
}

/* Copies all parameters. The classifier is the last layer of a model, so where the classes differ,
 * its weight and bias are the last parameters whose first side is the number of classes. A
 * distilled model has two classifiers. */
static svit_status copy_all(struct program *self, svit_model *model, const svit_model *from,
                            const char *given)
{
    svit_model_config mine, other;
    TRY(svit_model_get_config(model, &mine, sizeof mine, &self->err));
    TRY(svit_model_get_config(from, &other, sizeof other, &self->err));
    size_t count = svit_model_parameter_count(model), last = mine.distilled ? 4 : 2;
    for (size_t i = 0; i < count; i++) {
        const char *name = svit_model_parameter_name(model, i);
        shape wanted = shape_of(model, name);
        shape found = shape_of(from, name);
        if (same_shape(&wanted, &found))
            TRY(copy(self, model, from, name, wanted.elements));
        else if (i + last >= count && mine.num_classes != other.num_classes &&
                 wanted.sides[0] == (int64_t)mine.num_classes)
            fprintf(stderr, "'%s' is not taken: %u classes there, %u here\n", name,
                    other.num_classes, mine.num_classes);
        else
            return refuse(self, given, name, &wanted, &found);
    }
    return SVIT_OK;
}

svit_status init_from(struct program *self, svit_model *model, const char *given)
{
    char path[PATH_CAPACITY];
    svit_model *from = NULL;
    svit_model_config config;
    TRY(model_path(self, path, given));
    svit_status status = svit_model_load(&from, self->context, path, &self->err);
    if (status == SVIT_E_ARGUMENT) { /* the file has no configuration */
        TRY(svit_model_get_config(model, &config, sizeof config, &self->err));
        status = svit_model_load_with_config(&from, self->context, &config, path, &self->err);
    }
    if (status == SVIT_OK)
        status = copy_all(self, model, from, given);
    svit_model_free(from);
    return status;
}
