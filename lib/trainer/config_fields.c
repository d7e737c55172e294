/* Describes the fields of all configurations that users set by name. */
#include "base/threads/fp_env.h"
#include "models/architecture.h"
#include "trainer/config.h"

#include <stdio.h>
#include <string.h>

static void describe_training(sv_json_writer *writer)
{
    sv_training training;
    sv_training_part parts[SV_TRAINING_PARTS];
    sv_training_parts(parts, &training);
    for (size_t i = 0; i < SV_TRAINING_PARTS; i++) {
        sv_config_defaults(parts[i].type, parts[i].config);
        sv_fields_describe(&parts[i].type->table, parts[i].config, writer);
    }
}

/* Returns whether there is an architecture of that name. */
static bool describe_architecture(const char *name, sv_json_writer *writer)
{
    for (size_t i = 0; i < sv_architecture_count; i++) {
        if (strcmp(sv_architectures[i].name, name) != 0)
            continue;
        sv_fields_describe(sv_architectures[i].fields, &sv_architectures[i].presets->config,
                           writer);
        return true;
    }
    return false;
}

/* Writes the accepted values of `of`: "'training', 'shiftvit', 'vit', 'mixer'". */
static void list_names(char *text, size_t capacity)
{
    size_t used = (size_t)snprintf(text, capacity, "'training'");
    for (size_t i = 0; i < sv_architecture_count && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, ", '%s'", sv_architectures[i].name);
}

SVIT_API svit_status svit_config_fields(const char *of, char *buffer, size_t capacity,
                                        size_t *needed, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(of);
    sv_allocator allocator = sv_allocator_default();
    sv_json_writer writer = sv_json_writer_make(&allocator);
    sv_json_begin(&writer, '[');
    bool known = strcmp(of, "training") == 0;
    if (known)
        describe_training(&writer);
    else
        known = describe_architecture(of, &writer);
    sv_json_end(&writer, ']');
    if (known)
        return sv_json_writer_finish(&writer, "a description of fields", buffer, capacity, needed,
                                     err);
    char names[128];
    list_names(names, sizeof names);
    sv_json_writer_free(&writer);
    return sv_fail(err, SVIT_E_ARGUMENT, "of is '%.40s'; known are %s", of, names);
}
