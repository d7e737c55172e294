/* Opens image files as a data set: DIR/train, DIR/val and DIR/test, or DIR/CLASS alone, or a CSV
 * list, or shards. */
#include "data/data_folder.h"

#include "data/class_list.h"
#include "data/data_draw.h"
#include "data/split_folders.h"
#include "program/path_text.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The data sets of DIR. `whole` is the training folder or list, from which splits without a folder
 * or list of their own are taken. */
typedef struct folder_splits {
    svit_dataset *whole;
    svit_dataset *given[3]; /* by SVIT_SPLIT_*: validation and test if they have folders */
} folder_splits;

static svit_status open_one(svit_dataset **out, struct program *self, const char *path,
                            const svit_pipeline_config *pipeline)
{
    return svit_dataset_folder_pipeline(out, self->context, path, pipeline, &self->err);
}

/* Gives the split `name` the labels of the training split, whose classes it may lack. */
static svit_status match_classes(struct program *self, const svit_dataset *train,
                                 svit_dataset **other, const char *name)
{
    const class_list to = classes_of_dataset(train, "train");
    if (svit_dataset_has_targets(train) != svit_dataset_has_targets(*other))
        return program_fail(self, SVIT_E_FORMAT, "%s has %s; train has %s, and so has every split",
                            name, svit_dataset_has_targets(*other) ? "numbers" : "labels",
                            svit_dataset_has_targets(train) ? "numbers" : "labels");
    return class_list_match_dataset(self, &to, name, other);
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
    const data_draw how = {splits->whole, fraction, drawn, wanted};
    return wanted ? data_draw_splits(out, self, &how) : SVIT_OK;
}

/* Hands over all images. */
static svit_status take_whole(data_splits *out, struct program *self, folder_splits *splits)
{
    if (splits->given[SVIT_SPLIT_TEST] || splits->given[SVIT_SPLIT_VALIDATION])
        return program_fail(
            self, SVIT_E_ARGUMENT,
            "--split all: the data has splits of its own; train, val or test, or --data "
            "with one of them, is accepted");
    out->split[DATA_SPLIT_ALL] = splits->whole;
    splits->whole = NULL;
    return SVIT_OK;
}

/* Hands over the wanted splits that were given, takes the others from the training set, and frees
 * the rest. */
static svit_status finish_splits(data_splits *out, struct program *self, folder_splits *splits,
                                 double fraction, unsigned wanted, svit_status status)
{
    if (status == SVIT_OK)
        status = wanted & WANT_WHOLE ? take_whole(out, self, splits)
                                     : split_training_folder(out, self, splits, fraction, wanted);
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
    folder_splits splits = {NULL, {NULL, NULL, NULL}};
    split_folders found;
    svit_status status = split_folders_find(&found, self, folder);
    if (status == SVIT_OK)
        status = found.name[SVIT_SPLIT_TRAIN] ? open_splits(&splits, self, folder, &found, pipeline)
                                              : open_one(&splits.whole, self, folder, pipeline);
    split_folders_free(&found);
    return finish_splits(out, self, &splits, fraction, wanted, status);
}

/* Says why the only class of a folder is no data for a classifier. */
static svit_status refuse_only_class(struct program *self, const char *folder, const char *name)
{
    folder_contents has = {0, 0};
    TRY(split_folders_look(&has, self, folder, name));
    if (has.folders && !has.images)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--data: '%s' has one class, '%s', with subfolders; 'folder:%s/%s' "
                            "takes these as the classes",
                            folder, name, folder, name);
    return program_fail(self, SVIT_E_ARGUMENT,
                        "--data: '%s' has one class, '%s'; a classifier needs two or more, a "
                        "subfolder for each",
                        folder, name);
}

svit_status data_folder_check_classes(struct program *self, const char *folder,
                                      const svit_dataset *train)
{
    char path[PATH_CAPACITY];
    split_folders found;
    const char *name = svit_dataset_class_name(train, 0);
    if (svit_dataset_classes(train) != 1 || !name)
        return SVIT_OK;
    const int quiet = self->quiet;
    self->quiet = 1; /* what is left out was said when the data were opened */
    svit_status status = split_folders_find(&found, self, folder);
    self->quiet = quiet;
    if (status == SVIT_OK && found.name[SVIT_SPLIT_TRAIN])
        status = path_join(self, path, folder, found.name[SVIT_SPLIT_TRAIN]);
    if (status == SVIT_OK)
        status = refuse_only_class(self, found.name[SVIT_SPLIT_TRAIN] ? path : folder, name);
    split_folders_free(&found);
    return status;
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
    if (!path_is_there(path))
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
    folder_splits splits = {NULL, {NULL, NULL, NULL}};
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
    folder_splits splits = {NULL, {NULL, NULL, NULL}};
    svit_status status = open_shards(&splits, self, pattern, pipeline);
    return finish_splits(out, self, &splits, fraction, wanted, status);
}
