/* Lists of class names, and labels that go by name from one list to another. */
#include "class_list.h"

#include "shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *dataset_name(const void *handle, size_t label)
{
    return svit_dataset_class_name(handle, label);
}

static const char *features_name(const void *handle, size_t label)
{
    return svit_features_class_name(handle, label);
}

static const char *model_name(const void *handle, size_t label)
{
    return svit_model_class_name(handle, label);
}

static const char *predictor_name(const void *handle, size_t label)
{
    return svit_predictor_class_name(handle, label);
}

class_list classes_of_dataset(const svit_dataset *data, const char *of)
{
    return (class_list){of, svit_dataset_classes(data), dataset_name, data};
}

class_list classes_of_features(const svit_features *set, const char *of)
{
    return (class_list){of, svit_features_classes(set), features_name, set};
}

class_list classes_of_model(const svit_model *model, size_t count)
{
    return (class_list){"the model", count, model_name, model};
}

class_list classes_of_predictor(const svit_predictor *predictor)
{
    return (class_list){"the model", svit_predictor_classes(predictor), predictor_name, predictor};
}

static const char *name_of(const class_list *self, size_t label)
{
    return self->name(self->handle, label);
}

/* Returns the label of `name`, or `count` if no class has it. Both lists are usually in the same
 * order, so the search begins at the label `from`. */
static size_t find_label(const class_list *self, const char *name, size_t from)
{
    for (size_t tried = 0; tried < self->count; tried++) {
        const size_t label = (from + tried) % self->count;
        if (strcmp(name_of(self, label), name) == 0)
            return label;
    }
    return self->count;
}

/* Returns the first class of `list` whose name `in` lacks; the number of classes if it has all. */
static size_t first_missing(const class_list *list, const class_list *in)
{
    size_t at = 0;
    for (size_t k = 0; k < list->count; k++) {
        const size_t label = find_label(in, name_of(list, k), at);
        if (label == in->count)
            return k;
        at = label + 1;
    }
    return list->count;
}

const char *class_list_label(char number[24], const class_list *self, size_t label)
{
    const char *name = name_of(self, label);
    if (!name)
        snprintf(number, 24, "%zu", label);
    return name ? name : number;
}

int class_list_is_named(const class_list *self)
{
    return self->count > 0 && name_of(self, 0);
}

/* Says that no image has some classes. */
static void note_missing(const struct program *self, const class_list *to, const class_list *from)
{
    const size_t first = first_missing(to, from);
    char shown[SHOWN_CAPACITY];
    if (!self->quiet && first < to->count)
        fprintf(stderr, "%s: %s has no images of %zu of the %zu classes, such as '%s'\n",
                option_program_name, from->of, to->count - from->count, to->count,
                shown_text(shown, name_of(to, first)));
}

static svit_status fail_unnamed(struct program *self, const class_list *to, const class_list *from)
{
    return program_fail(self, SVIT_E_FORMAT,
                        "%s has %zu classes and %s %zu, and their names are not known; at most as "
                        "many, or names of all, are accepted",
                        from->of, from->count, to->of, to->count);
}

static svit_status fail_unknown(struct program *self, const class_list *to, const class_list *from,
                                size_t unknown)
{
    return program_fail(
        self, SVIT_E_FORMAT,
        "%s has the class '%.80s', which %s lacks; %s has %zu classes, and those of "
        "%s must be among them",
        from->of, name_of(from, unknown), to->of, to->of, to->count, from->of);
}

static svit_status fill_labels(struct program *self, const class_list *to, const class_list *from,
                               int32_t *labels)
{
    if (!class_list_is_named(to) || !class_list_is_named(from)) {
        for (size_t k = 0; k < from->count; k++)
            labels[k] = (int32_t)k;
        return from->count <= to->count ? SVIT_OK : fail_unnamed(self, to, from);
    }
    for (size_t k = 0, at = 0; k < from->count; k++, at++) {
        at = find_label(to, name_of(from, k), at);
        if (at == to->count)
            return fail_unknown(self, to, from, k);
        labels[k] = (int32_t)at;
    }
    note_missing(self, to, from);
    return SVIT_OK;
}

svit_status class_list_match(struct program *self, const class_list *to, const class_list *from,
                             int32_t **labels)
{
    *labels = calloc(from->count ? from->count : 1, sizeof **labels);
    return *labels ? fill_labels(self, to, from, *labels)
                   : program_fail(self, SVIT_E_MEMORY, "no memory for %zu labels", from->count);
}

/* Whether the classes have the same names in the same order, or neither list has names. */
static int is_same(const class_list *to, const class_list *from)
{
    if (!class_list_is_named(to) && !class_list_is_named(from))
        return from->count <= to->count;
    int same = to->count == from->count && class_list_is_named(to) && class_list_is_named(from);
    for (size_t k = 0; k < from->count && same; k++)
        same = strcmp(name_of(to, k), name_of(from, k)) == 0;
    return same;
}

svit_status class_list_names(struct program *self, const class_list *of, const char ***names)
{
    *names = calloc(of->count, sizeof **names);
    if (!*names)
        return program_fail(self, SVIT_E_MEMORY, "no memory for the names of %zu classes",
                            of->count);
    for (size_t k = 0; k < of->count; k++)
        (*names)[k] = name_of(of, k);
    return SVIT_OK;
}

static svit_status open_view(struct program *self, const class_list *to, const class_list *from,
                             svit_dataset **data)
{
    const char **names;
    svit_dataset *matched = NULL;
    TRY(class_list_names(self, to, &names));
    svit_status status = svit_dataset_match_classes(&matched, *data, names, to->count, &self->err);
    free(names);
    if (status != SVIT_OK)
        return program_fail(self, SVIT_E_FORMAT, "%s and %s: %s", from->of, to->of,
                            self->err.message);
    note_missing(self, to, from);
    svit_dataset_free(*data);
    *data = matched;
    return SVIT_OK;
}

svit_status class_list_match_dataset(struct program *self, const class_list *to, const char *of,
                                     svit_dataset **data)
{
    const class_list from = classes_of_dataset(*data, of);
    if (is_same(to, &from))
        return SVIT_OK;
    if (!class_list_is_named(to) || !class_list_is_named(&from))
        return fail_unnamed(self, to, &from);
    const size_t unknown = svit_dataset_has_targets(*data) ? from.count : first_missing(&from, to);
    return unknown < from.count ? fail_unknown(self, to, &from, unknown)
                                : open_view(self, to, &from, data);
}
