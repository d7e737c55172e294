/* Opens image files as a data set: DIR/train, DIR/val and DIR/test, or DIR/CLASS alone, or a CSV
 * list, or shards. */
#include "data_folder.h"

#include "data_draw.h"
#include "path_text.h"
#include "shown.h"
#include "split_folders.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The data sets of DIR. `whole` is the training folder or list, from which splits without a folder
 * or list of their own are taken. */
typedef struct folder_splits {
    svit_dataset *whole;
    svit_dataset *given[3]; /* by SVIT_SPLIT_*: validation and test if they have folders */
    int in_order;           /* 1: splits that are drawn keep the order of the images */
} folder_splits;

static svit_status open_one(svit_dataset **out, struct program *self, const char *path,
                            const svit_pipeline_config *pipeline)
{
    return svit_dataset_folder_pipeline(out, self->context, path, pipeline, &self->err);
}

/* The index of the first class of `other` that `train` lacks; the number of classes if it has all.
 * Both lists are in byte order. */
static size_t unknown_class(const svit_dataset *train, const svit_dataset *other)
{
    size_t at = 0;
    size_t class = 0;
    for (; class < svit_dataset_classes(other); class ++) {
        const char *name = svit_dataset_class_name(other, class);
        while (at < svit_dataset_classes(train) &&
               strcmp(svit_dataset_class_name(train, at), name) < 0)
            at++;
        if (at == svit_dataset_classes(train) ||
            strcmp(svit_dataset_class_name(train, at), name) != 0)
            break;
    }
    return class;
}

/* Says that the split `name` has no images of some classes. */
static void note_missing(const struct program *self, const svit_dataset *train,
                         const svit_dataset *other, const char *name)
{
    const size_t first = unknown_class(other, train);
    char shown[SHOWN_CAPACITY];
    if (!self->quiet)
        fprintf(
            stderr, "%s: %s has no images of %zu of the %zu classes, such as '%s'\n",
            option_program_name, name, svit_dataset_classes(train) - svit_dataset_classes(other),
            svit_dataset_classes(train), shown_text(shown, svit_dataset_class_name(train, first)));
}

/* Whether a split has the class names of the training split in the same order, or both have none.
 */
static int same_names(const svit_dataset *train, const svit_dataset *other)
{
    const size_t count = svit_dataset_classes(other);
    int same = count <= svit_dataset_classes(train);
    for (size_t k = 0; k < count && same; k++) {
        const char *a = svit_dataset_class_name(train, k), *b = svit_dataset_class_name(other, k);
        same = a && b ? strcmp(a, b) == 0 : a == b;
    }
    return same && (count == svit_dataset_classes(train) || !svit_dataset_class_name(train, 0));
}

/* Gives the split `name` the labels of the training split, whose classes it may lack. Columns of
 * numbers must be the same. */
static svit_status match_classes(struct program *self, const svit_dataset *train,
                                 svit_dataset **other, const char *name)
{
    const size_t count = svit_dataset_classes(train);
    const size_t others = svit_dataset_classes(*other);
    if (svit_dataset_has_targets(train) != svit_dataset_has_targets(*other))
        return program_fail(self, SVIT_E_FORMAT, "%s has %s; train has %s, and so has every split",
                            name, svit_dataset_has_targets(*other) ? "numbers" : "labels",
                            svit_dataset_has_targets(train) ? "numbers" : "labels");
    if (same_names(train, *other))
        return SVIT_OK;
    if (!svit_dataset_class_name(train, 0) || !svit_dataset_class_name(*other, 0))
        return program_fail(self, SVIT_E_FORMAT,
                            "%s has %zu classes and train %zu, and their names are not known; at "
                            "most as many, or names of all, are accepted",
                            name, others, count);
    const size_t unknown = svit_dataset_has_targets(train) ? others : unknown_class(train, *other);
    if (unknown < others)
        return program_fail(self, SVIT_E_FORMAT,
                            "%s has the class '%.80s', which train lacks; train has %zu classes, "
                            "and those of %s must be among them",
                            name, svit_dataset_class_name(*other, unknown), count, name);
    const char **names = calloc(count, sizeof *names);
    svit_dataset *matched = NULL;
    if (!names)
        return program_fail(self, SVIT_E_MEMORY, "no memory for the names of %zu classes", count);
    for (size_t k = 0; k < count; k++)
        names[k] = svit_dataset_class_name(train, k);
    svit_status status = svit_dataset_match_classes(&matched, *other, names, count, &self->err);
    free(names);
    if (status != SVIT_OK)
        return program_fail(self, SVIT_E_FORMAT, "%s and train: %s", name, self->err.message);
    if (others < count)
        note_missing(self, train, *other, name);
    svit_dataset_free(*other);
    *other = matched;
    return SVIT_OK;
}

static svit_status open_splits(folder_splits *splits, struct program *self, const char *folder,
                               const split_folders *found, const svit_pipeline_config *pipeline)
{
    char path[PATH_CAPACITY];
    TRY(path_join(self, path, folder, found->name[SVIT_SPLIT_TRAIN]));
    TRY(open_one(&splits->whole, self, path, pipeline));
    for (size_t split = SVIT_SPLIT_TEST; split <= SVIT_SPLIT_VALIDATION; split++) {
        if (!found->name[split])
            continue;
        TRY(path_join(self, path, folder, found->name[split]));
        TRY(open_one(&splits->given[split], self, path, pipeline));
        TRY(match_classes(self, splits->whole, &splits->given[split], found->name[split]));
    }
    return SVIT_OK;
}

/* Draws the wanted splits that have no folder from the training folder. */
static svit_status split_training_folder(data_splits *out, struct program *self,
                                         const folder_splits *splits, double fraction,
                                         unsigned wanted)
{
    unsigned drawn = WANT_TEST | WANT_VALIDATION;
    for (size_t split = 0; split < 3; split++)
        if (splits->given[split]) {
            wanted &= ~(1u << split);
            drawn &= ~(1u << split);
        }
    const data_draw how = {splits->whole, fraction, drawn, wanted, splits->in_order};
    return wanted ? data_draw_splits(out, self, &how) : SVIT_OK;
}

/* Hands over the wanted splits that were given, takes the others from the training set, and frees
 * the rest. */
static svit_status finish_splits(data_splits *out, struct program *self, folder_splits *splits,
                                 double fraction, unsigned wanted, svit_status status)
{
    if (status == SVIT_OK)
        status = split_training_folder(out, self, splits, fraction, wanted);
    for (size_t split = 0; split < 3; split++)
        if (status == SVIT_OK && splits->given[split] && (wanted & (1u << split)))
            out->split[split] = splits->given[split];
        else
            svit_dataset_free(splits->given[split]);
    svit_dataset_free(splits->whole);
    return status;
}

svit_status data_folder_open(data_splits *out, struct program *self, const char *folder,
                             double fraction, const svit_pipeline_config *pipeline, unsigned wanted)
{
    folder_splits splits = {NULL, {NULL, NULL, NULL}, 0};
    split_folders found;
    svit_status status = split_folders_find(&found, self, folder);
    if (status == SVIT_OK)
        status = found.name[SVIT_SPLIT_TRAIN] ? open_splits(&splits, self, folder, &found, pipeline)
                                              : open_one(&splits.whole, self, folder, pipeline);
    split_folders_free(&found);
    return finish_splits(out, self, &splits, fraction, wanted, status);
}

static svit_status open_list(svit_dataset **out, struct program *self, const char *path,
                             const svit_pipeline_config *pipeline)
{
    return svit_dataset_list(out, self->context, path, pipeline, &self->err);
}

/* Opens val.csv or test.csv in the folder of train.csv, if it exists. */
static svit_status open_list_beside(folder_splits *splits, struct program *self, const char *train,
                                    int32_t split, const char *name,
                                    const svit_pipeline_config *pipeline)
{
    char path[PATH_CAPACITY];
    size_t front = strlen(train) - strlen("train.csv");
    if (front + strlen(name) >= sizeof path)
        return program_fail(self, SVIT_E_ARGUMENT, "--data: the path is too long");
    memcpy(path, train, front);
    memcpy(path + front, name, strlen(name) + 1);
    if (access(path, F_OK) != 0)
        return SVIT_OK;
    TRY(open_list(&splits->given[split], self, path, pipeline));
    return match_classes(self, splits->whole, &splits->given[split], name);
}

static svit_status open_lists(folder_splits *splits, struct program *self, const char *path,
                              const svit_pipeline_config *pipeline)
{
    const char *slash = strrchr(path, '/');
    TRY(open_list(&splits->whole, self, path, pipeline));
    if (strcmp(slash ? slash + 1 : path, "train.csv") != 0)
        return SVIT_OK;
    TRY(open_list_beside(splits, self, path, SVIT_SPLIT_VALIDATION, "val.csv", pipeline));
    return open_list_beside(splits, self, path, SVIT_SPLIT_TEST, "test.csv", pipeline);
}

svit_status data_list_open(data_splits *out, struct program *self, const char *path,
                           double fraction, const svit_pipeline_config *pipeline, unsigned wanted)
{
    folder_splits splits = {NULL, {NULL, NULL, NULL}, 0};
    svit_status status = open_lists(&splits, self, path, pipeline);
    return finish_splits(out, self, &splits, fraction, wanted, status);
}

static svit_status open_pattern(svit_dataset **out, struct program *self, const char *pattern,
                                const svit_pipeline_config *pipeline)
{
    return svit_dataset_shards(out, self->context, pattern, pipeline, &self->err);
}

/* Whether a folder has an entry whose name matches a pattern of the shell. */
static int has_match(const char *folder, const char *names)
{
    DIR *open = opendir(folder);
    const struct dirent *entry;
    int found = 0;
    while (open && !found && (entry = readdir(open)))
        found = fnmatch(names, entry->d_name, FNM_PERIOD) == 0;
    if (open)
        closedir(open);
    return found;
}

/* Opens the shards in the folder of `train` that match `names`, if there are any. */
static svit_status open_shards_beside(folder_splits *splits, struct program *self,
                                      const char *train, int32_t split, const char *names,
                                      const svit_pipeline_config *pipeline)
{
    char path[PATH_CAPACITY];
    const char *slash = strrchr(train, '/');
    const int front = slash ? (int)(slash + 1 - train) : 0;
    if (snprintf(path, sizeof path, "%.*s%s", front, train, names) >= (int)sizeof path)
        return program_fail(self, SVIT_E_ARGUMENT, "--data: the path is too long");
    const char kept = path[front];
    path[front] = '\0';
    const int found = has_match(front ? path : ".", names);
    path[front] = kept;
    if (!found)
        return SVIT_OK;
    TRY(open_pattern(&splits->given[split], self, path, pipeline));
    return match_classes(self, splits->whole, &splits->given[split], names);
}

static svit_status open_shards(folder_splits *splits, struct program *self, const char *pattern,
                               const svit_pipeline_config *pipeline)
{
    const char *slash = strrchr(pattern, '/');
    TRY(open_pattern(&splits->whole, self, pattern, pipeline));
    if (strncmp(slash ? slash + 1 : pattern, "train", strlen("train")) != 0)
        return SVIT_OK;
    TRY(open_shards_beside(splits, self, pattern, SVIT_SPLIT_VALIDATION, "val*.tar", pipeline));
    return open_shards_beside(splits, self, pattern, SVIT_SPLIT_TEST, "test*.tar", pipeline);
}

svit_status data_shards_open(data_splits *out, struct program *self, const char *pattern,
                             double fraction, const svit_pipeline_config *pipeline, unsigned wanted)
{
    folder_splits splits = {NULL, {NULL, NULL, NULL}, 1};
    svit_status status = open_shards(&splits, self, pattern, pipeline);
    return finish_splits(out, self, &splits, fraction, wanted, status);
}
