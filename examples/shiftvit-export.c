/* Writes images of a data set as PNG files, or the data set as shards. */
#include "common/data_option.h"
#include "common/path_text.h"
#include "common/shard_writer.h"

#include <stdio.h>
#include <stdlib.h>

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
     "Bring images of folder:DIR to N x N by their shorter side (default 32)"},
    {"shards", KEY_SHARDS, "DIR/PREFIX", 0,
     "Write WebDataset's tar archives DIR/PREFIX-000000.tar, ..., with the files of the images as "
     "they "
     "are, or PNG files of images that are no files, their classes as cls, and the names of the "
     "classes in DIR/classes.txt"},
    {"samples-per-shard", KEY_PER_SHARD, "N", 0, "Images in an archive (default 10000)"},
    {NULL, 0, NULL, 0, NULL},
};

static int parse_option(int key, char *text, struct option_state *state)
{
    export_options *self = state->input;
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = &self->data;
        state->child_inputs[1] = &self->program;
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
        self->size = option_unsigned(state, "--size", text, 1, 8192);
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
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

static const struct option_child children[] = {
    {&data_table, "The data:"}, {&program_table, "Common options:"}, {NULL, NULL}};
static const struct option_table parser = {
    option_list,
    parse_option,
    NULL,
    "Writes images of a data set as PNG files, named by their number and class, or as shards.",
    children,
    NULL};

/* Turns a class name into a file name without slashes, control characters and a leading dot. */
static void file_name(char name[256], const char *class_name)
{
    size_t used = 0;
    for (; class_name[used] && used < 200; used++) {
        unsigned char byte = (unsigned char)class_name[used];
        name[used] = byte == '/' || byte < 0x20 || byte == 0x7f ? '_' : class_name[used];
    }
    name[used] = '\0';
    if (name[0] == '.' || name[0] == '\0')
        name[0] = '_';
    name[used ? used : 1] = '\0';
}

/* Writes the path of an image: DIR/00007-circle.png, or with --by-class DIR/circle/00007.png, whose
 * folder is created. */
static svit_status image_path(export_options *self, char *path, const svit_dataset *data,
                              size_t index, int32_t label)
{
    char name[512];
    char number[32];
    char folder[PATH_CAPACITY];
    snprintf(number, sizeof number, "class-%d", label);
    const char *known = svit_dataset_class_name(data, (size_t)label);
    char class_name[256];
    file_name(class_name, known ? known : number);
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

static svit_status export_shards(export_options *self, const svit_dataset *data)
{
    const size_t count = count_of(self, data, 0);
    size_t shards = 0;
    TRY(shards_write(&self->program, data, self->shards, count, self->per_shard, &shards));
    if (!self->program.quiet)
        fprintf(stderr, "%zu images in %zu shards %s-*.tar\n", count, shards, self->shards);
    return SVIT_OK;
}

static svit_status export_images(export_options *self, const svit_dataset *data, uint8_t *rgb)
{
    struct program *program = &self->program;
    const size_t count = count_of(self, data, 9);
    TRY(path_make_folder(program, self->out));
    for (size_t i = 0; i < count; i++) {
        char path[PATH_CAPACITY];
        int32_t label = 0;
        TRY(svit_dataset_sample(data, i, rgb, &label, &program->err));
        TRY(image_path(self, path, data, i, label));
        TRY(svit_image_write_png(program->context, path, rgb, svit_dataset_height(data),
                                 svit_dataset_width(data), &program->err));
    }
    if (!program->quiet)
        fprintf(stderr, "%zu images in %s/\n", count, self->out);
    return SVIT_OK;
}

static svit_status export_split(export_options *self, data_splits *parts)
{
    TRY(program_open(&self->program));
    svit_pipeline_config pipeline;
    TRY(svit_pipeline_config_init(&pipeline, sizeof pipeline));
    pipeline.source_height = pipeline.source_width = (uint32_t)self->size;
    pipeline.source_filter = SVIT_SOURCE_SHORTER_SIDE;
    TRY(data_open(parts, &self->program, &self->data, &pipeline, 1u << self->split));
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
                              .per_shard = 10000,
                              .size = 32};
    data_splits parts = {.drawn = NULL};
    program_parse(&parser, argc, argv, &options);
    svit_status status = export_split(&options, &parts);
    data_close(&parts);
    return program_exit(&options.program, status);
}
