/* The options of a training run, as its folder stores them. */
#include "training/stored_options.h"

#include "program/path_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 3, 4))) static void add_option(json_t *list, const char *name,
                                                             const char *format, ...)
{
    char text[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_object_set_new(list, name, json_string(text));
}

/* Adds a number with 15 significant digits, or with 17 if 15 do not keep it. */
static void add_real(json_t *list, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof text, "%.17g", value);
    json_object_set_new(list, name, json_string(text));
}

/* Adds a path, whose meaning does not depend on the working folder. */
static void add_path(json_t *list, const char *name, const char *path)
{
    char *whole = path_absolute(path);
    json_object_set_new(list, name, json_string(whole ? whole : path));
    free(whole);
}

/* Adds where the weights began, and what the command line said of that checkpoint. A resumed run
 * does not read it again, but a training that starts from this description does. */
static void add_start(json_t *list, const train_options *options)
{
    add_path(list, "init-from", options->init_from);
    if (options->config.name)
        json_object_set_new(list, "name", json_string(options->config.name));
    if (options->config.prefix)
        json_object_set_new(list, "prefix", json_string(options->config.prefix));
    if (options->config.base)
        add_path(list, "base", options->config.base);
}

void stored_options_note(const train_options *options, const json_t *list)
{
    if (options->program.quiet)
        return;
    if (!json_object_get(list, "data"))
        fprintf(stderr, "the path of --data is no UTF-8 text, which the run cannot store: --resume "
                        "will need --data\n");
    const struct {
        const char *name, *value;
    } start[] = {{"init-from", options->init_from},
                 {"name", options->config.name},
                 {"prefix", options->config.prefix},
                 {"base", options->config.base}};
    for (size_t i = 0; options->init_from && i < sizeof start / sizeof *start; i++)
        if (start[i].value && !json_object_get(list, start[i].name))
            fprintf(stderr,
                    "--%s is no UTF-8 text, which the run cannot store: --config with its run.json "
                    "will need --%s\n",
                    start[i].name, start[i].name);
}

json_t *stored_options(const train_options *options)
{
    json_t *list = json_object();
    char *data = data_spec_absolute(options->data.spec);
    static const char *const limits[] = {"limit-train", "limit-test", "limit-val"};
    if (options->config.preset && !options->config.repeats_rule)
        json_object_set_new(list, "preset", json_string(options->config.preset));
    /* Not there if the path is no UTF-8: then json_string returns NULL. */
    json_object_set_new(list, "data", json_string(data ? data : options->data.spec));
    free(data);
    if (options->init_from)
        add_start(list, options);
    add_option(list, "labels", "%s", data_label_names[options->data.labels]);
    if (options->data.val_fraction >= 0)
        add_real(list, "val-fraction", options->data.val_fraction);
    for (size_t split = 0; split < 3; split++)
        if (options->data.limit[split] > 0)
            add_option(list, limits[split], "%zu", options->data.limit[split]);
    add_option(list, "on-bad", "%s", on_bad_names[options->on_bad]);
    add_option(list, "threads", "%" PRIu32, options->program.threads);
    if (options->program.gemm)
        add_option(list, "gemm", "%s", options->program.gemm);
    return list;
}
