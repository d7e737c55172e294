/* The options that select a data set: --data SPEC, --labels, --val-fraction and the limits. */
#include "data/data_option.h"

#include "data/data_folder.h"
#include "program/path_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    KEY_DATA = 'd',
    KEY_LABELS = 0x100,
    KEY_VAL_FRACTION,
    KEY_LIMIT_TRAIN,
    KEY_LIMIT_VAL,
    KEY_LIMIT_TEST
};
enum { SYNTHETIC_TRAIN = 4000, SYNTHETIC_OTHER = 1000, SYNTHETIC_MAX = 100000000 };

/* The fraction of the images of a folder or list that validate by default. */
#define FOLDER_FRACTION 0.1

const char *const data_split_names[] = {"train", "test", "val", "all", NULL};
const char *const data_label_names[] = {"fine", "coarse", NULL};

/* The options. `numbers` says what the program needs for columns of numbers. */
#define DATA_OPTIONS(numbers)                                                                      \
    {"data", KEY_DATA, "SPEC", 0,                                                                  \
     "procedural[:COUNT] (default of shiftvit-train): synthetic images from the seed, COUNT "      \
     "(4000) to train, 1000 each to validate and to test; "                                        \
     "cifar10:DIR, cifar100:DIR: the official binary files, whose training images are split into " \
     "40,000 + 10,000 (CIFAR-10) or 90 % + 10 % (CIFAR-100) to train and to validate; "            \
     "folder:DIR: the JPEG, PNG and WebP files in DIR/train/CLASS and in folders inside of it, "   \
     "with DIR/val/CLASS/... (or valid, validation, dev) and DIR/test/CLASS/...; if one of these " \
     "two is missing, a part of DIR/train, drawn by class, takes its place; or DIR/CLASS/... "     \
     "alone, with a part to validate and another one to test; "                                    \
     "list:FILE.csv: the images that FILE.csv lists in lines PATH,LABEL after the header "         \
     "path,label, or with columns of numbers in place of label" numbers                            \
     "; if it is called train.csv, val.csv and test.csv beside it are the other splits; "          \
     "shards:PATTERN: WebDataset's tar archives, such as train-{000..127}.tar or train-*.tar, "    \
     "with an image and cls or json for each sample; if the name begins with train, val*.tar and " \
     "test*.tar beside it are the other splits"},                                                  \
        {"labels", KEY_LABELS, "WHICH", 0,                                                         \
         "For cifar100:DIR, the fine labels (default, 100 classes) or the coarse ones (20 "        \
         "classes)"},                                                                              \
        {"val-fraction", KEY_VAL_FRACTION, "F", 0,                                                 \
         "Validate on the fraction F (0 to 0.4) of the training images: of CIFAR the last ones "   \
         "instead of the usual part; of a folder, list or shards without a validation split "      \
         "random "                                                                                 \
         "ones (default 0.1), and without a test split another part of the same size tests. 0: "   \
         "train "                                                                                  \
         "on all training images; only a split of its own then validates or tests"},               \
        {"limit-train", KEY_LIMIT_TRAIN, "N", 0, "Take the first N training images"},              \
        {"limit-val", KEY_LIMIT_VAL, "N", 0, "Take the first N validation images"},                \
        {"limit-test", KEY_LIMIT_TEST, "N", 0, "Take the first N test images"},                    \
        {NULL, 0, NULL, 0, NULL},

static const struct option_line options[] = {DATA_OPTIONS("")};
static const struct option_line training_options[] = {
    DATA_OPTIONS(" (--set loss=binary or loss=mse)")};

/* Returns what follows `name` and a colon in `spec`, or NULL if it does not begin with them. */
static const char *spec_after(const char *spec, const char *name)
{
    size_t length = strlen(name);
    return strncmp(spec, name, length) == 0 && spec[length] == ':' ? spec + length + 1 : NULL;
}

const char *data_spec_path(const char *spec)
{
    const char *folder = spec_after(spec, "cifar10");
    if (!folder)
        folder = spec_after(spec, "cifar100");
    if (!folder)
        folder = spec_after(spec, "list");
    if (!folder)
        folder = spec_after(spec, "shards");
    return folder ? folder : spec_after(spec, "folder");
}

static void refuse_path(const struct option_state *state, const char *path, const char *form)
{
    option_error(state, "--data: '%s' is a path; %s:%s is the data of such a %s", path, form, path,
                 form);
}

static void check_spec(const struct option_state *state, const char *spec)
{
    const char *count = spec_after(spec, "procedural");
    const char *folder = data_spec_path(spec);
    struct stat found;
    if (count)
        option_unsigned(state, "--data procedural", count, 10, SYNTHETIC_MAX);
    else if (!folder && strcmp(spec, "procedural") != 0 && stat(spec, &found) == 0)
        refuse_path(state, spec, S_ISDIR(found.st_mode) ? "folder" : "list");
    else if (!(folder && folder[0]) && strcmp(spec, "procedural") != 0)
        option_error(state,
                     "--data: '%s' is none of procedural[:COUNT], cifar10:DIR, cifar100:DIR, "
                     "folder:DIR, list:FILE.csv, shards:PATTERN",
                     spec);
}

static int parse_option(int key, char *text, struct option_state *state)
{
    data_option *self = state->input;
    switch (key) {
    case KEY_DATA:
        check_spec(state, text);
        self->spec = text;
        return 0;
    case KEY_LABELS:
        self->labels = option_choice(state, "--labels", text, data_label_names);
        return 0;
    case KEY_VAL_FRACTION:
        self->val_fraction = option_real(state, "--val-fraction", text, 0, DATA_MOST_FRACTION);
        return 0;
    case KEY_LIMIT_TRAIN:
        self->limit[SVIT_SPLIT_TRAIN] = option_unsigned(state, "--limit-train", text, 1, SIZE_MAX);
        return 0;
    case KEY_LIMIT_VAL:
        self->limit[SVIT_SPLIT_VALIDATION] =
            option_unsigned(state, "--limit-val", text, 1, SIZE_MAX);
        return 0;
    case KEY_LIMIT_TEST:
        self->limit[SVIT_SPLIT_TEST] = option_unsigned(state, "--limit-test", text, 1, SIZE_MAX);
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

const struct option_table data_table = {options, parse_option, NULL, NULL, NULL, NULL};
const struct option_table data_training_table = {
    training_options, parse_option, NULL, NULL, NULL, NULL};

int data_has_own_size(const data_option *option)
{
    return !spec_after(option->spec, "folder") && !spec_after(option->spec, "list") &&
           !spec_after(option->spec, "shards");
}

static svit_status open_synthetic(data_splits *out, struct program *self, const data_option *option,
                                  unsigned wanted)
{
    const char *count = spec_after(option->spec, "procedural");
    size_t train = count ? strtoull(count, NULL, 10) : SYNTHETIC_TRAIN;
    if (option->val_fraction > 0)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--val-fraction is %g; procedural images that validate are extra ones, "
                            "and only 0 is accepted, which leaves them out",
                            option->val_fraction);
    if (option->val_fraction == 0)
        wanted &= ~(unsigned)WANT_VALIDATION;
    for (int32_t split = 0; split < 3; split++)
        if (wanted & (1u << split))
            TRY(svit_dataset_synthetic(&out->split[split], self->context, self->seed, split,
                                       split == SVIT_SPLIT_TRAIN ? train : SYNTHETIC_OTHER,
                                       &self->err));
    return SVIT_OK;
}

/* Splits `whole` in its order: the last `validation` images validate, and the others train. */
static svit_status split_in_order(data_splits *out, struct program *self, svit_dataset *whole,
                                  size_t validation, unsigned wanted)
{
    size_t train = svit_dataset_count(whole) - validation;
    if (wanted & WANT_TRAIN)
        TRY(svit_dataset_slice(&out->split[SVIT_SPLIT_TRAIN], whole, 0, train, &self->err));
    if ((wanted & WANT_VALIDATION) && validation > 0)
        TRY(svit_dataset_slice(&out->split[SVIT_SPLIT_VALIDATION], whole, train, validation,
                               &self->err));
    return SVIT_OK;
}

static svit_status open_cifar_files(svit_dataset **out, struct program *self,
                                    const data_option *option, int32_t split)
{
    const char *folder = spec_after(option->spec, "cifar10");
    if (folder)
        return svit_dataset_cifar10(out, self->context, folder, split, &self->err);
    return svit_dataset_cifar100(out, self->context, spec_after(option->spec, "cifar100"), split,
                                 option->labels, &self->err);
}

static svit_status open_cifar(data_splits *out, struct program *self, const data_option *option,
                              unsigned wanted)
{
    svit_dataset *whole = NULL;
    if (wanted & WANT_TEST)
        TRY(open_cifar_files(&out->split[SVIT_SPLIT_TEST], self, option, SVIT_SPLIT_TEST));
    if (!(wanted & ~(unsigned)WANT_TEST))
        return SVIT_OK;
    TRY(open_cifar_files(&whole, self, option, SVIT_SPLIT_TRAIN));
    double usual = spec_after(option->spec, "cifar100") ? 0.1 : 0.2;
    double fraction = option->val_fraction < 0 ? usual : option->val_fraction;
    size_t validation = (size_t)lround((double)svit_dataset_count(whole) * fraction);
    svit_status status = split_in_order(out, self, whole, validation, wanted);
    svit_dataset_free(whole);
    return status;
}

static svit_status apply_limits(data_splits *out, struct program *self, const data_option *option)
{
    for (size_t split = 0; split < 3; split++) {
        svit_dataset *whole = out->split[split];
        if (!whole || option->limit[split] == 0 ||
            option->limit[split] >= svit_dataset_count(whole))
            continue;
        svit_dataset *first = NULL;
        TRY(svit_dataset_slice(&first, whole, 0, option->limit[split], &self->err));
        svit_dataset_free(whole);
        out->split[split] = first;
    }
    return SVIT_OK;
}

/* A limit of a split that is not read would have no effect. */
static svit_status check_limits(struct program *self, const data_option *option, unsigned wanted)
{
    static const char *const names[] = {"--limit-train", "--limit-test", "--limit-val"};
    int32_t read = 0;
    while (!(wanted & 1u << read))
        read++;
    for (int32_t split = 0; split < 3; split++)
        if (option->limit[split] && !(wanted & 1u << split))
            return program_fail(self, SVIT_E_ARGUMENT, "%s has no effect with --split %s",
                                names[split], data_split_names[read]);
    return SVIT_OK;
}

/* Whether an option says how the splits are made, or how much of one is read. */
static int has_part(const data_option *option)
{
    return option->val_fraction >= 0 || option->limit[0] || option->limit[1] || option->limit[2];
}

/* Opens image files, whose channels are those of the pipeline. */
static svit_status open_files(data_splits *out, struct program *self, const data_option *option,
                              const svit_pipeline_config *pipeline, unsigned wanted)
{
    const double fraction = option->val_fraction < 0 ? FOLDER_FRACTION : option->val_fraction;
    const char *list = spec_after(option->spec, "list"),
               *shards = spec_after(option->spec, "shards");
    if (pipeline->channels == 2 || pipeline->channels > 4)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--data: '%s' is of files, which give images of 1, 3 or 4 channels, "
                            "and in_channels is %" PRIu32,
                            option->spec, pipeline->channels);
    if (list)
        return data_list_open(out, self, list, fraction, pipeline, wanted);
    if (shards)
        return data_shards_open(out, self, shards, fraction, pipeline, wanted);
    return data_folder_open(out, self, spec_after(option->spec, "folder"), fraction, pipeline,
                            wanted);
}

svit_status data_open(data_splits *out, struct program *self, const data_option *option,
                      const svit_pipeline_config *pipeline, unsigned wanted)
{
    const char *cifar100 = spec_after(option->spec, "cifar100");
    if (option->labels != SVIT_LABELS_FINE && !cifar100)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--labels: '%s' labels are those of cifar100:DIR; --data is '%s'",
                            data_label_names[option->labels], option->spec);
    if ((wanted & WANT_WHOLE) && data_has_own_size(option))
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--split all is for folder:DIR, list:FILE.csv and shards:PATTERN; of "
                            "'%s' train, val or test is accepted",
                            option->spec);
    if ((wanted & WANT_WHOLE) && has_part(option))
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--val-fraction and --limit-train, -val and -test are of splits; with "
                            "--split all every image is read");
    TRY(check_limits(self, option, wanted));
    if (cifar100 || spec_after(option->spec, "cifar10"))
        TRY(open_cifar(out, self, option, wanted));
    else if (data_has_own_size(option))
        TRY(open_synthetic(out, self, option, wanted));
    else
        TRY(open_files(out, self, option, pipeline, wanted));
    if (option->val_fraction > 0 && !option->fraction_is_stored && !data_has_own_size(option) &&
        !out->drawn)
        program_note_unused(self, "--val-fraction", "the data have splits of their own");
    return apply_limits(out, self, option);
}

void data_describe_drawn(data_drawn *out, const data_splits *data)
{
    static const char *const SPLITS[] = {
        [0] = "none",
        [WANT_TEST] = "test",
        [WANT_VALIDATION] = "val",
        [WANT_TEST | WANT_VALIDATION] = "val and test",
    };
    *out = (data_drawn){"", ""};
    if (data->drawn)
        snprintf(out->from, sizeof out->from, "%016" PRIx64, data->drawn_from);
    snprintf(out->splits, sizeof out->splits, "%s", SPLITS[data->drawn_parts]);
}

int data_has_own_splits(const data_splits *data)
{
    return data->drawn_parts != (WANT_TEST | WANT_VALIDATION);
}

svit_status data_check_drawn(const data_splits *data, struct program *self, const data_drawn *run,
                             const char *folder, const char *accepted)
{
    data_drawn now;
    data_describe_drawn(&now, data);
    if (!data->drawn)
        return SVIT_OK;
    if (run->splits[0] && strcmp(run->splits, now.splits) != 0)
        return program_fail(self, SVIT_E_STATE,
                            "the run of '%.200s' has drawn %s from the images to train, and now %s "
                            "would be drawn: a split was added or removed since, or --val-fraction "
                            "is another, and images that it has trained on would validate and "
                            "test; %s",
                            folder, run->splits, now.splits, accepted);
    if (!run->from[0] || strcmp(run->from, now.from) == 0)
        return SVIT_OK;
    return program_fail(self, SVIT_E_STATE,
                        "the images are not those that the run of '%.200s' has split at random: "
                        "some were added, removed or renamed since, and images that it has trained "
                        "on would validate and test; %s",
                        folder, accepted);
}

void data_drop(data_splits *parts, int32_t split)
{
    svit_dataset_free(parts->split[split]);
    parts->split[split] = NULL;
}

void data_close(data_splits *parts)
{
    for (int32_t split = 0; split < DATA_SPLITS; split++)
        data_drop(parts, split);
    parts->drawn = NULL;
    parts->drawn_parts = 0;
}

const char *data_spec_folder(const char *spec)
{
    return spec_after(spec, "folder");
}

char *data_spec_absolute(const char *spec)
{
    const char *folder = data_spec_path(spec);
    char *absolute = folder ? path_absolute(folder) : NULL;
    char *whole = NULL;
    if (!absolute)
        return strdup(spec);
    if (asprintf(&whole, "%.*s%s", (int)(folder - spec), spec, absolute) < 0)
        whole = NULL;
    free(absolute);
    return whole;
}
