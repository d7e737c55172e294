/* Lists of class names, and labels that go by name from one list to another. */
#include "data/class_list.h"

#include "program/shown.h"

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

static svit_status fail_memory(struct program *self, size_t classes)
{
    return program_fail(self, SVIT_E_MEMORY, "no memory for the names of %zu classes", classes);
}

/* A class of a list that is sorted by names, those of one name by labels. */
typedef struct named_class {
    const char *name;
    size_t label;
} named_class;

static int by_name(const void *a, const void *b)
{
    const named_class *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->label > y->label) - (x->label < y->label);
}

/* Returns the classes in the order of their names, NULL without memory; free it with free(). */
static named_class *sort_classes(const class_list *self)
{
    named_class *sorted = calloc(self->count, sizeof *sorted);
    for (size_t k = 0; sorted && k < self->count; k++)
        sorted[k] = (named_class){name_of(self, k), k};
    if (sorted)
        qsort(sorted, self->count, sizeof *sorted, by_name);
    return sorted;
}

/* Returns the first of sorted[count] that is not before the class of this name and label. */
static size_t lower_bound(const named_class *sorted, size_t count, const char *name, size_t label)
{
    const named_class wanted = {name, label};
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_name(&sorted[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the label of `name`, or `count` if no class has it. Of classes of one name the first from
 * the label `from` on counts, or else the first of all, so that those of two lists in one order are
 * the same. */
static size_t find_label(const named_class *sorted, size_t count, const char *name, size_t from)
{
    size_t at = lower_bound(sorted, count, name, from);
    if (at == count || strcmp(sorted[at].name, name) != 0)
        at = lower_bound(sorted, count, name, 0);
    return at < count && strcmp(sorted[at].name, name) == 0 ? sorted[at].label : count;
}

/* Finds the first class of `list` whose name `in` lacks; the number of classes if it has all. */
static svit_status first_missing(size_t *first, struct program *self, const class_list *list,
                                 const class_list *in)
{
    named_class *sorted = sort_classes(in);
    if (!sorted)
        return fail_memory(self, in->count);
    for (*first = 0; *first < list->count; ++*first)
        if (find_label(sorted, in->count, name_of(list, *first), 0) == in->count)
            break;
    free(sorted);
    return SVIT_OK;
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
static svit_status note_missing(struct program *self, const class_list *to, const class_list *from)
{
    size_t first;
    char shown[SHOWN_CAPACITY];
    if (self->quiet)
        return SVIT_OK;
    TRY(first_missing(&first, self, to, from));
    if (first < to->count)
        fprintf(stderr, "%s: %s has no images of %zu of the %zu classes, such as '%s'\n",
                option_program_name, from->of, to->count - from->count, to->count,
                shown_text(shown, name_of(to, first)));
    return SVIT_OK;
}

/* Fails, as only one of the two lists has names. */
static svit_status fail_named(struct program *self, const class_list *to, const class_list *from)
{
    const char *named = class_list_is_named(to) ? to->of : from->of;
    return program_fail(self, SVIT_E_FORMAT,
                        "the classes of %s have names and those of %s do not; names of both, or of "
                        "neither, are accepted (classes.txt names those of shards)",
                        named, named == to->of ? from->of : to->of);
}

/* Fails, as the classes of `from` are more, and go by their number. */
static svit_status fail_unnamed(struct program *self, const class_list *to, const class_list *from)
{
    const char *unnamed = class_list_is_named(to)     ? from->of
                          : class_list_is_named(from) ? to->of
                                                      : "both";
    return program_fail(self, SVIT_E_FORMAT,
                        "%s has %zu classes and %s %zu, and the names of %s are not known; at most "
                        "as many, or names of all, are accepted",
                        from->of, from->count, to->of, to->count, unnamed);
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
    named_class *sorted = sort_classes(to);
    if (!sorted)
        return fail_memory(self, to->count);
    size_t k = 0;
    for (size_t at = 0; k < from->count; k++, at++) {
        at = find_label(sorted, to->count, name_of(from, k), at);
        if (at == to->count)
            break;
        labels[k] = (int32_t)at;
    }
    free(sorted);
    return k < from->count ? fail_unknown(self, to, from, k) : note_missing(self, to, from);
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
        return fail_memory(self, of->count);
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
    status = note_missing(self, to, from);
    svit_dataset_free(*data);
    *data = matched;
    return status;
}

svit_status class_list_match_dataset(struct program *self, const class_list *to, const char *of,
                                     svit_dataset **data)
{
    const class_list from = classes_of_dataset(*data, of);
    if (is_same(to, &from))
        return SVIT_OK;
    if (class_list_is_named(to) != class_list_is_named(&from))
        return fail_named(self, to, &from);
    if (!class_list_is_named(to))
        return fail_unnamed(self, to, &from);
    size_t unknown = from.count;
    if (!svit_dataset_has_targets(*data))
        TRY(first_missing(&unknown, self, &from, to));
    return unknown < from.count ? fail_unknown(self, to, &from, unknown)
                                : open_view(self, to, &from, data);
}
