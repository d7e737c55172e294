/* The options of a training run, as its folder stores them. */
#include "stored_options.h"

#include "path_text.h"

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

json_t *stored_options(const train_options *options)
{
    json_t *list = json_object();
    char *data = data_spec_absolute(options->data.spec);
    static const char *const limits[] = {"limit-train", "limit-test", "limit-val"};
    if (options->config.preset)
        json_object_set_new(list, "preset", json_string(options->config.preset));
    /* Not there if the path is no UTF-8: then json_string returns NULL. */
    json_object_set_new(list, "data", json_string(data ? data : options->data.spec));
    free(data);
    if (options->init_from) {
        char *from = path_absolute(options->init_from);
        json_object_set_new(list, "init-from", json_string(from ? from : options->init_from));
        free(from);
    }
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
