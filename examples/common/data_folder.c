/* Opens image files as a data set: DIR/train, DIR/val and DIR/test, or DIR/CLASS alone, or a CSV
 * list. */
#include "data_folder.h"

#include "path_text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The data sets of DIR. `whole` is the training folder or list, from which splits without a folder
 * or list of their own are taken. */
typedef struct folder_splits {
    svit_dataset *whole;
    svit_dataset *given[3]; /* by SVIT_SPLIT_*: validation and test if they have folders */
    const char *name[3];    /* names of these folders or lists */
} folder_splits;

/* Returns 1 if DIR/train has subfolders for classes. If it has images itself, it is a class with
 * the name "train". */
static int has_splits(const char *train)
{
    DIR *entries = opendir(train);
    int images = 0;
    if (!entries)
        return 0;
    for (const struct dirent *entry; !images && (entry = readdir(entries));)
        images = path_is_image(entry->d_name);
    closedir(entries);
    return !images;
}

static svit_status open_one(svit_dataset **out, struct program *self, const char *path,
                            const svit_pipeline_config *pipeline)
{
    return svit_dataset_folder_pipeline(out, self->context, path, pipeline, &self->err);
}

/* Opens the folder of a split under one of its names, if there is one. */
static svit_status open_split(folder_splits *splits, struct program *self, const char *folder,
                              int32_t split, const char *const *names,
                              const svit_pipeline_config *pipeline)
{
    for (; *names; names++) {
        char path[PATH_CAPACITY];
        TRY(path_join(self, path, folder, *names));
        if (!path_is_folder(path))
            continue;
        if (splits->given[split])
            return program_fail(self, SVIT_E_FORMAT, "'%s' has both %s/ and %s/; one is accepted",
                                folder, splits->name[split], *names);
        TRY(open_one(&splits->given[split], self, path, pipeline));
        splits->name[split] = *names;
    }
    return SVIT_OK;
}

/* Lists the quoted class names from `first` on, as many as fit. */
static void list_classes(char *out, size_t capacity, const svit_dataset *data, size_t first)
{
    size_t used = 0;
    size_t classes = svit_dataset_classes(data);
    out[0] = '\0';
    if (first == classes)
        snprintf(out, capacity, "no more");
    for (size_t i = first; i < classes; i++) {
        const char *name = svit_dataset_class_name(data, i);
        if (used + strlen(name) + sizeof "'', ..." > capacity) {
            snprintf(out + used, capacity - used, "...");
            return;
        }
        used += (size_t)snprintf(out + used, capacity - used, "'%s'%s", name,
                                 i + 1 < classes ? ", " : "");
    }
}

/* Fails if the classes differ. Labels are indices of the list of classes, so it must be the same in
 * all splits. */
static svit_status check_classes(struct program *self, const svit_dataset *train,
                                 const svit_dataset *other, const char *name)
{
    size_t classes = svit_dataset_classes(train);
    size_t others = svit_dataset_classes(other);
    size_t same = 0;
    while (same < classes && same < others &&
           strcmp(svit_dataset_class_name(train, same), svit_dataset_class_name(other, same)) == 0)
        same++;
    if (same == classes && same == others)
        return SVIT_OK;
    char text[80];
    char other_text[80];
    list_classes(text, sizeof text, train, same);
    list_classes(other_text, sizeof other_text, other, same);
    return program_fail(self, SVIT_E_FORMAT,
                        "train has %zu classes, %s %zu; from class %zu on train has %s, %s has %s",
                        classes, name, others, same, text, name, other_text);
}

static svit_status open_splits(folder_splits *splits, struct program *self, const char *folder,
                               const char *train, const svit_pipeline_config *pipeline)
{
    static const char *const validation[] = {"val", "valid", "validation", NULL};
    static const char *const test[] = {"test", NULL};
    TRY(open_one(&splits->whole, self, train, pipeline));
    TRY(open_split(splits, self, folder, SVIT_SPLIT_VALIDATION, validation, pipeline));
    TRY(open_split(splits, self, folder, SVIT_SPLIT_TEST, test, pipeline));
    for (size_t split = 0; split < 3; split++)
        if (splits->given[split])
            TRY(check_classes(self, splits->whole, splits->given[split], splits->name[split]));
    return SVIT_OK;
}

/* splitmix64 (Steele, Lea, Flood 2014): good enough for a shuffle, and the same on every
 * machine. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void shuffle(size_t *indices, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        indices[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t j = next_random(&seed) % i;
        size_t held = indices[i - 1];
        indices[i - 1] = indices[j];
        indices[j] = held;
    }
}

static svit_status fail_few(struct program *self, size_t count)
{
    return program_fail(self, SVIT_E_FORMAT,
                        "%zu images are too few to split; --val-fraction F with a larger F, or "
                        "--val-fraction 0 to train on all of them, is accepted",
                        count);
}

/* Splits `whole` at random: the first `validation` images of a shuffle validate, the next `test`
 * images test, and the rest trains. */
static svit_status split_by_seed(data_splits *out, struct program *self, svit_dataset *whole,
                                 size_t validation, size_t test, unsigned wanted)
{
    size_t count = svit_dataset_count(whole);
    if (validation + test >= count)
        return fail_few(self, count);
    size_t *indices = calloc(count, sizeof *indices);
    if (!indices)
        return program_fail(self, SVIT_E_MEMORY, "no memory for %zu indices", count);
    shuffle(indices, count, self->seed);
    const size_t first[3] = {validation + test, validation, 0};
    const size_t sizes[3] = {count - validation - test, test, validation};
    svit_status status = SVIT_OK;
    for (size_t split = 0; split < 3 && status == SVIT_OK; split++)
        if ((wanted & (1u << split)) && sizes[split] > 0)
            status = svit_dataset_select(&out->split[split], whole, indices + first[split],
                                         sizes[split], &self->err);
    free(indices);
    return status;
}

/* Takes the wanted splits without a folder from the training folder. */
static svit_status split_training_folder(data_splits *out, struct program *self,
                                         const folder_splits *splits, double fraction,
                                         unsigned wanted)
{
    size_t part = (size_t)((double)svit_dataset_count(splits->whole) * fraction);
    size_t validation = splits->given[SVIT_SPLIT_VALIDATION] ? 0 : part;
    size_t test = splits->given[SVIT_SPLIT_TEST] ? 0 : part;
    for (size_t split = 0; split < 3; split++)
        if (splits->given[split])
            wanted &= ~(1u << split);
    if (!wanted)
        return SVIT_OK;
    if (part == 0 && fraction > 0 &&
        !(splits->given[SVIT_SPLIT_VALIDATION] && splits->given[SVIT_SPLIT_TEST]))
        return fail_few(self, svit_dataset_count(splits->whole));
    return split_by_seed(out, self, splits->whole, validation, test, wanted);
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
    char train[PATH_CAPACITY];
    folder_splits splits = {NULL, {NULL, NULL, NULL}, {NULL, NULL, NULL}};
    TRY(path_join(self, train, folder, "train"));
    svit_status status = has_splits(train) ? open_splits(&splits, self, folder, train, pipeline)
                                           : open_one(&splits.whole, self, folder, pipeline);
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
    splits->name[split] = name;
    return check_classes(self, splits->whole, splits->given[split], name);
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
    folder_splits splits = {NULL, {NULL, NULL, NULL}, {NULL, NULL, NULL}};
    svit_status status = open_lists(&splits, self, path, pipeline);
    return finish_splits(out, self, &splits, fraction, wanted, status);
}
