/* Lists of class names, and labels that go by name from one list to another. */
#ifndef EXAMPLE_CLASS_LIST_H
#define EXAMPLE_CLASS_LIST_H

#include "program/program.h"

typedef struct class_list {
    const char *of; /* whose classes they are, for messages */
    size_t count;
    const char *(*name)(const void *handle, size_t label); /* NULL: it is not known */
    const void *handle;                                    /* borrowed */
} class_list;

class_list classes_of_dataset(const svit_dataset *data, const char *of);
class_list classes_of_features(const svit_features *set, const char *of);
/* `count` is the number of the model's outputs. */
class_list classes_of_model(const svit_model *model, size_t count);

/* Those of a predictor: texts, if the model has such classes. */
class_list classes_of_predictor(const svit_predictor *predictor);

/* The name of a class, or its number if its name is not known. */
const char *class_list_label(char number[24], const class_list *self, size_t label);

/* Returns 1 if the classes have names. */
int class_list_is_named(const class_list *self);

/* Writes the names, which are borrowed, to a new array *names; free it with free(). */
svit_status class_list_names(struct program *self, const class_list *of, const char ***names);

/* Writes the label in `to` of each class of `from` to *labels; free them with free(), also after a
 * failure. Labels go by name if both lists have names, and stay as they are otherwise. Says which
 * classes of `to` are missing in `from`. SVIT_E_FORMAT: `to` lacks a class of `from`. */
svit_status class_list_match(struct program *self, const class_list *to, const class_list *from,
                             int32_t **labels);

/* Replaces *data, which messages call `of`, by a view of it with the labels of `to`. If only one of
 * the two has names, that is SVIT_E_FORMAT too. Columns of numbers must be the same. */
svit_status class_list_match_dataset(struct program *self, const class_list *to, const char *of,
                                     svit_dataset **data);

#endif
