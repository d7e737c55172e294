/* Writes images of a data set as PNG files, or the data set as shards. */
#include "data/bad_option.h"
#include "data/shard_writer.h"
#include "data/split_folders.h"
#include "outputs/out_folder.h"
#include "program/json_line.h"
#include "program/path_text.h"
#include "program/shown.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct export_options {
    struct program program;
    data_option data;
    const char *out;
    const char *shards; /* the beginning of their paths, or NULL */
    size_t per_shard;
    int32_t split; /* SVIT_SPLIT_* */
    size_t count;  /* SIZE_MAX: not given */
    int by_class;
    size_t size;
    int32_t on_bad; /* ON_BAD_* */
} export_options;

enum {
    KEY_OUT = 'o',
    KEY_COUNT = 'n',
    KEY_SPLIT = 0x300,
    KEY_BY_CLASS,
    KEY_SIZE,
    KEY_SHARDS,
    KEY_PER_SHARD
};

static const struct option_line option_list[] = {
    {"out", KEY_OUT, "DIR", 0, "Write to the folder DIR (this or --shards is needed)"},
    {"count", KEY_COUNT, "N", 0, "Write the first N images (default 9, of shards all; 0: all)"},
    {"split", KEY_SPLIT, "NAME", 0,
     "train, val or test (default); all: every image of a folder, list or shards without splits"},
    {"by-class", KEY_BY_CLASS, NULL, 0,
     "A subfolder for each class, as --data folder:DIR reads them"},
    {"size", KEY_SIZE, "N", 0,
     "Bring images of folder:DIR to N x N by their shorter side, 1 to 8000 (default 32)"},
    {"shards", KEY_SHARDS, "DIR/PREFIX", 0,
     "Write WebDataset's tar archives DIR/PREFIX-000000.tar, ..., with the files of the images as "
     "they "
     "are, or PNG files of images that are no files, their classes as cls, and the names of the "
     "classes in DIR/classes.txt"},
    {"samples-per-shard", KEY_PER_SHARD, "N", 0, "Images in an archive (default 10000)"},
    {NULL, 0, NULL, 0, NULL},
};

static const struct option_rule rules[] = {
    {"by-class", {NULL}, "shards"},
    {"size", {NULL}, "shards"},
    {"samples-per-shard", {"shards"}, NULL},
    {NULL, {NULL}, NULL},
};

static int parse_option(int key, char *text, struct option_state *state)
{
    export_options *self = state->input;
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = &self->data;
        state->child_inputs[1] = &self->on_bad;
        state->child_inputs[2] = &self->program;
        return 0;
    case KEY_OUT:
        self->out = text;
        return 0;
    case KEY_COUNT:
        self->count = option_unsigned(state, "--count", text, 0, SIZE_MAX - 1);
        return 0;
    case KEY_SPLIT:
        self->split = option_choice(state, "--split", text, data_split_names);
        return 0;
    case KEY_BY_CLASS:
        self->by_class = 1;
        return 0;
    case KEY_SIZE:
        self->size = option_unsigned(state, "--size", text, 1, 8000);
        return 0;
    case KEY_SHARDS:
        self->shards = text;
        return 0;
    case KEY_PER_SHARD:
        self->per_shard = option_unsigned(state, "--samples-per-shard", text, 1, UINT32_MAX);
        return 0;
    case OPTION_END:
        if (!self->out == !self->shards)
            option_error(state, "one of --out DIR and --shards DIR/PREFIX is needed");
        if (self->shards && strncmp(self->data.spec, "shards:", 7) == 0)
            option_error(state, "--shards does not take --data shards:, whose images it would make "
                                "smaller; files, lists and folders are accepted");
        option_check_rules(state, rules);
        if (self->size && data_has_own_size(&self->data))
            option_error(state,
                         "--size: '%s' has images of one size; folder:DIR, list:FILE.csv and "
                         "shards:PATTERN have others",
                         self->data.spec);
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

static const struct option_child children[] = {{&data_table, "The data:"},
                                               {&bad_table, NULL},
                                               {&program_table, "Common options:"},
                                               {NULL, NULL}};
static const struct option_table parser = {
    option_list,
    parse_option,
    NULL,
    "Writes images of a data set as PNG files, named by their number and class, or as shards.",
    children,
    NULL};

enum { NAME_CAPACITY = 201 };

/* Writes the name of a class as one of a file: at most 200 bytes without slashes, control
 * characters and a leading dot. */
static void class_file_name(char name[NAME_CAPACITY], const svit_dataset *data, size_t label)
{
    char number[32];
    snprintf(number, sizeof number, "class-%zu", label);
    const char *known = svit_dataset_class_name(data, label);
    text_cut(name, NAME_CAPACITY, known ? known : number);
    for (char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '_';
    if (name[0] == '.')
        name[0] = '_';
    else if (name[0] == '\0')
        strcpy(name, "_");
}

/* A class and its folder's name. */
typedef struct class_folder {
    char name[NAME_CAPACITY];
    size_t label;
} class_folder;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const class_folder *)a)->name, ((const class_folder *)b)->name);
}

/* Fails if two classes would share a folder. */
static svit_status check_classes(export_options *self, const svit_dataset *data)
{
    const size_t classes = svit_dataset_classes(data);
    class_folder *folders = calloc(classes, sizeof *folders);
    if (!folders)
        return program_fail(&self->program, SVIT_E_MEMORY, "no memory for %zu classes", classes);
    for (size_t k = 0; k < classes; k++) {
        class_file_name(folders[k].name, data, k);
        folders[k].label = k;
    }
    qsort(folders, classes, sizeof *folders, by_name);
    svit_status status = SVIT_OK;
    for (size_t k = 1; status == SVIT_OK && k < classes; k++) {
        const char *first = svit_dataset_class_name(data, folders[k - 1].label);
        const char *second = svit_dataset_class_name(data, folders[k].label);
        if (strcmp(folders[k - 1].name, folders[k].name) == 0)
            status = program_fail(&self->program, SVIT_E_UNSUPPORTED,
                                  "--by-class: the classes '%.80s' and '%.80s' would share the "
                                  "folder '%s'",
                                  first ? first : "", second ? second : "", folders[k].name);
    }
    free(folders);
    return status;
}

/* Fails if the folders of the classes that are written are not read as classes again. */
static svit_status check_splits(export_options *self, const svit_dataset *data, size_t count)
{
    const size_t classes = svit_dataset_classes(data);
    size_t written = 0;
    svit_status status = SVIT_OK;
    const char **names = calloc(classes, sizeof *names), **all = calloc(classes, sizeof *all);
    if (!names || !all)
        status = program_fail(&self->program, SVIT_E_MEMORY, "no memory for %zu classes", classes);
    for (size_t i = 0; status == SVIT_OK && i < count; i++) {
        int32_t label = 0;
        status = svit_dataset_label(data, i, &label, &self->program.err);
        if (status == SVIT_OK)
            all[label] = svit_dataset_class_name(data, (size_t)label);
    }
    for (size_t k = 0; status == SVIT_OK && k < classes; k++)
        if (all[k])
            names[written++] = all[k];
    if (status == SVIT_OK && split_folders_hide(names, written))
        status = program_fail(&self->program, SVIT_E_UNSUPPORTED,
                              "--by-class: classes that are called as splits, such as train and "
                              "val, would be folders that --data folder:DIR does not read as "
                              "classes; --shards DIR/PREFIX keeps such names");
    free(names);
    free(all);
    return status;
}

/* Whether the program writes files of this name: 00007.png, where the class is in the folder or
 * there is none, or 00007-circle.png. */
static int is_exported(const char *name, int is_bare)
{
    const size_t digits = strspn(name, "0123456789");
    const char *dot = strrchr(name, '.');
    if (digits < 5 || !dot || strcmp(dot, ".png") != 0)
        return 0;
    return is_bare ? name + digits == dot : name[digits] == '-';
}

/* Fails if the folder has images of an earlier export. No folder is no failure. */
static svit_status check_free(export_options *self, const char *path, int is_bare)
{
    char found[256] = "";
    DIR *folder = opendir(path);
    if (!folder)
        return SVIT_OK;
    for (const struct dirent *entry; !found[0] && (entry = readdir(folder));)
        if (is_exported(entry->d_name, is_bare))
            text_cut(found, sizeof found, entry->d_name);
    closedir(folder);
    if (found[0])
        return program_fail(&self->program, SVIT_E_STATE,
                            "'%s/%s' is there already; remove the images, or take another folder: "
                            "--out DIR",
                            path, found);
    return SVIT_OK;
}

static svit_status check_folders(export_options *self, const svit_dataset *data, size_t count)
{
    const int has_targets = svit_dataset_has_targets(data);
    if (self->by_class && has_targets)
        return program_fail(&self->program, SVIT_E_ARGUMENT,
                            "--by-class: the data has columns of numbers in place of classes");
    if (!self->by_class)
        return check_free(self, self->out, has_targets);
    TRY(check_classes(self, data));
    TRY(check_splits(self, data, count));
    for (size_t k = 0; k < svit_dataset_classes(data); k++) {
        char name[NAME_CAPACITY], folder[PATH_CAPACITY];
        class_file_name(name, data, k);
        TRY(path_join(&self->program, folder, self->out, name));
        TRY(check_free(self, folder, 1));
    }
    return SVIT_OK;
}

/* Writes the path of an image: DIR/00007-circle.png, without classes DIR/00007.png, or with
 * --by-class DIR/circle/00007.png, whose folder is created. */
static svit_status image_path(export_options *self, char *path, const svit_dataset *data,
                              size_t index, int32_t label)
{
    char name[512];
    char folder[PATH_CAPACITY];
    char class_name[NAME_CAPACITY];
    if (svit_dataset_has_targets(data)) {
        snprintf(name, sizeof name, "%05zu.png", index);
        return path_join(&self->program, path, self->out, name);
    }
    class_file_name(class_name, data, (size_t)label);
    if (!self->by_class) {
        snprintf(name, sizeof name, "%05zu-%s.png", index, class_name);
        return path_join(&self->program, path, self->out, name);
    }
    TRY(path_join(&self->program, folder, self->out, class_name));
    TRY(path_make_folder(&self->program, folder));
    snprintf(name, sizeof name, "%05zu.png", index);
    return path_join(&self->program, path, folder, name);
}

/* The number of images to write; `usual` if the user does not say, where 0 is all. */
static size_t count_of(const export_options *self, const svit_dataset *data, size_t usual)
{
    const size_t all = svit_dataset_count(data);
    const size_t wanted = self->count == SIZE_MAX ? usual : self->count;
    return wanted > 0 && wanted < all ? wanted : all;
}

/* Says what was written. `shards` is SIZE_MAX for a folder of images. */
static void report(const export_options *self, size_t count, size_t shards)
{
    char shown[SHOWN_CAPACITY];
    const int is_folder = shards == SIZE_MAX;
    if (self->program.json) {
        json_t *object =
            json_pack("{s:o, s:I}", "out", json_line_text(is_folder ? self->out : self->shards),
                      "images", (json_int_t)count);
        if (!is_folder)
            json_object_set_new(object, "shards", json_integer((json_int_t)shards));
        json_line_print(object, JSON_LINE_DIGITS);
    } else if (!self->program.quiet && is_folder) {
        fprintf(stderr, "%zu images in %s/\n", count, shown_text(shown, self->out));
    } else if (!self->program.quiet) {
        fprintf(stderr, "%zu images in %zu shards %s-*.tar\n", count, shards,
                shown_text(shown, self->shards));
    }
}

static svit_status export_shards(export_options *self, const svit_dataset *data)
{
    const size_t count = count_of(self, data, 0);
    size_t shards = 0;
    TRY(shards_write(&self->program, data, self->shards, count, self->per_shard, &shards));
    report(self, count, shards);
    return SVIT_OK;
}

static svit_status export_images(export_options *self, const svit_dataset *data, uint8_t *rgb)
{
    struct program *program = &self->program;
    const size_t count = count_of(self, data, 9);
    TRY(check_folders(self, data, count));
    TRY(path_make_folder(program, self->out));
    for (size_t i = 0; i < count; i++) {
        char path[PATH_CAPACITY];
        int32_t label = 0;
        TRY(svit_dataset_sample(data, i, rgb, &label, &program->err));
        TRY(image_path(self, path, data, i, label));
        TRY(svit_image_write_png(program->context, path, rgb, svit_dataset_height(data),
                                 svit_dataset_width(data), &program->err));
    }
    report(self, count, SIZE_MAX);
    return SVIT_OK;
}

/* Leaves out the images that are not written, which need not be good ones. */
static svit_status keep_first(export_options *self, svit_dataset **data)
{
    const size_t count = count_of(self, *data, self->shards ? 0 : 9);
    svit_dataset *first = NULL;
    if (count == svit_dataset_count(*data))
        return SVIT_OK;
    TRY(svit_dataset_slice(&first, *data, 0, count, &self->program.err));
    svit_dataset_free(*data);
    *data = first;
    return SVIT_OK;
}

/* What is written is no class of the data, which would be read with it. */
static svit_status check_place(export_options *self)
{
    char folder[PATH_CAPACITY];
    if (self->out)
        return out_folder_check(&self->program, &self->data, "--out", self->out, 0);
    TRY(shards_folder(&self->program, folder, self->shards));
    return out_folder_check(&self->program, &self->data, "--shards", folder, 0);
}

static svit_status export_split(export_options *self, data_splits *parts)
{
    TRY(check_place(self));
    TRY(program_open(&self->program));
    svit_pipeline_config pipeline;
    TRY(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = self->size ? (uint32_t)self->size : 32;
    pipeline.source_filter = SVIT_SOURCE_SHORTER_SIDE;
    TRY(data_open(parts, &self->program, &self->data, &pipeline, 1u << self->split));
    if (!parts->split[self->split])
        return program_fail(&self->program, SVIT_E_ARGUMENT, "--split: '%s' has no images for '%s'",
                            self->data.spec, data_split_names[self->split]);
    if (self->on_bad == ON_BAD_FAIL)
        TRY(keep_first(self, &parts->split[self->split]));
    TRY(bad_check(parts, &self->program, &self->data, self->on_bad));
    const svit_dataset *data = parts->split[self->split];
    if (self->shards)
        return export_shards(self, data);
    uint8_t *rgb = calloc(svit_dataset_height(data) * svit_dataset_width(data), 3);
    svit_status status = rgb ? export_images(self, data, rgb)
                             : program_fail(&self->program, SVIT_E_MEMORY, "no memory");
    free(rgb);
    return status;
}

int main(int argc, char **argv)
{
    export_options options = {.program = PROGRAM_INIT,
                              .data = DATA_OPTION_INIT,
                              .split = SVIT_SPLIT_TEST,
                              .count = SIZE_MAX,
                              .per_shard = 10000};
    data_splits parts = {.drawn = NULL};
    program_parse(&parser, argc, argv, &options);
    svit_status status = export_split(&options, &parts);
    data_close(&parts);
    return program_exit(&options.program, status);
}
