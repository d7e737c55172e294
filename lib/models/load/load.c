/* Loads files with name maps, and parts of files into a model. */
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "models/architecture.h"
#include "models/config.h"
#include "models/load/load_internal.h"
#include "models/model.h"
#include "models/model_file.h"

#include <string.h>

enum {
    ALL_FLAGS = SVIT_LOAD_SKIP_SHAPE_MISMATCH | SVIT_LOAD_IGNORE_EXTRA | SVIT_LOAD_ALLOW_MISSING
};

/* Marks the tensors of a match as taken, and reports those that lose precision. */
static void mark_taken(const sv_load *load, const sv_parameter *parameter,
                       const sv_name_match *match, svit_load_report *report)
{
    const sv_safetensors_entry *first = sv_safetensors_at(load->file, 0);
    for (size_t i = 0; i < match->count; i++) {
        const sv_safetensors_entry *entry = sv_name_match_at(match, i);
        if (!entry)
            continue;
        sv_taken *taken = &load->taken[entry - first];
        taken->any = true;
        if (match->kind == SV_RULE_SHARE)
            taken->shared += parameter->desc.elements;
        if (entry->desc.dtype == SV_DTYPE_F64)
            sv_report_add(report, "converted", entry->name);
    }
}

/* The adapter's file, as the one that is read. */
static sv_load second_of(const sv_load *load)
{
    return (sv_load){.allocator = load->allocator,
                     .file = load->adapter->file,
                     .path = load->adapter->path,
                     .map = load->adapter->map,
                     .interpolation = load->interpolation,
                     .grid = load->grid};
}

/* Whether the adapter has the parameter whole. */
static bool find_replaced(sv_name_match *match, const sv_load *load, const char *const *name)
{
    const sv_adapter *by = load->adapter;
    return by && sv_name_map_find(match, &by->map, by->file, name);
}

/* SVIT_E_FORMAT if the adapter has the parameter in another shape. */
static svit_status check_replaced(bool *replaced, const sv_load *load,
                                  const sv_parameter *parameter, svit_error *err)
{
    const char *name = parameter->name;
    sv_name_match match;
    bool fits;
    *replaced = find_replaced(&match, load, &name);
    if (!*replaced)
        return SVIT_OK;
    for (size_t i = 0; i < match.count; i++)
        if (sv_name_match_at(&match, i))
            sv_adapter_take(load->adapter, sv_name_match_at(&match, i));
    const sv_load second = second_of(load);
    return sv_load_parameter(&second, NULL, parameter, &match, false, &fits, err);
}

/* Checks that one parameter can be read, or reports why it cannot. */
static svit_status check_one(const sv_load *load, const sv_parameter *parameter, uint32_t flags,
                             svit_load_report *report, svit_error *err)
{
    const char *name = parameter->name;
    sv_name_match match;
    bool fits, replaced;
    SVIT_TRY(check_replaced(&replaced, load, parameter, err));
    /* The adapter's tensor counts as loaded; the file's own may be absent or have another shape. */
    if (replaced) {
        flags |= SVIT_LOAD_SKIP_SHAPE_MISMATCH;
        if (report)
            report->loaded++;
    }
    if (!sv_name_map_find(&match, &load->map, load->file, &name)) {
        if (replaced)
            return SVIT_OK;
        if (report)
            report->missing++;
        sv_report_add(report, "missing", parameter->name);
        if (flags & SVIT_LOAD_ALLOW_MISSING)
            return SVIT_OK;
        char hint[SV_PREFIX_HINT];
        return sv_fail(err, SVIT_E_FORMAT, "%s: tensor '%.100s' for parameter '%s' is missing%s",
                       load->path, match.wanted, parameter->name,
                       sv_safetensors_prefix_hint(hint, load->file, match.wanted));
    }
    mark_taken(load, parameter, &match, report);
    const svit_status status = sv_load_parameter(load, NULL, parameter, &match,
                                                 flags & SVIT_LOAD_SKIP_SHAPE_MISMATCH, &fits, err);
    if (replaced)
        return status;
    if (report) {
        report->loaded += fits && status == SVIT_OK;
        report->mismatched += !fits;
    }
    if (!fits)
        sv_report_add(report, "mismatched", parameter->name);
    return status;
}

/* Reads one parameter, which check_one has checked. */
static svit_status read_one(const sv_load *load, real *flat, const sv_parameter *parameter,
                            svit_load_report *report, svit_error *err)
{
    const char *name = parameter->name;
    sv_name_match match;
    bool fits = false;
    if (find_replaced(&match, load, &name)) {
        const sv_load second = second_of(load);
        SVIT_TRY(sv_load_parameter(&second, flat, parameter, &match, true, &fits, err));
    } else if (sv_name_map_find(&match, &load->map, load->file, &name)) {
        SVIT_TRY(sv_load_parameter(load, flat, parameter, &match, true, &fits, err));
    }
    if (report)
        report->loaded += fits;
    return SVIT_OK;
}

/* Tensors that no parameter takes: buffers are reported, others fail unless `flags` allow them. */
static svit_status check_extra(const sv_load *load, const sv_parameter_table *table, uint32_t flags,
                               svit_load_report *report, svit_error *err)
{
    for (size_t i = 0; i < sv_safetensors_count(load->file); i++) {
        const sv_safetensors_entry *entry = sv_safetensors_at(load->file, i);
        const bool buffer = sv_model_file_is_buffer(entry);
        if (load->taken[i].any || entry->desc.elements == 0 ||
            sv_name_map_ignores(&load->map, entry->name) ||
            (!buffer && sv_model_file_skips(table, load->file, entry)))
            continue;
        if (report) {
            report->extra++;
            report->buffers += buffer;
        }
        sv_report_add(report, buffer ? "buffer" : "extra", entry->name);
        if (!buffer && !(flags & SVIT_LOAD_IGNORE_EXTRA))
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: tensor '%.96s' belongs to no parameter of the model", load->path,
                           entry->name);
    }
    return SVIT_OK;
}

/* The parameters that share a tensor take all of it: the shapes of vectors do not tell where a
 * share begins. */
static svit_status check_shares(const sv_load *load, uint32_t flags, svit_error *err)
{
    if (flags & SVIT_LOAD_SKIP_SHAPE_MISMATCH)
        return SVIT_OK;
    for (size_t i = 0; i < sv_safetensors_count(load->file); i++) {
        const sv_safetensors_entry *entry = sv_safetensors_at(load->file, i);
        const size_t shared = load->taken[i].shared;
        if (shared > 0 && shared != entry->desc.elements)
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: tensor '%.96s' has %zu elements; the parameters that share it have "
                           "%zu",
                           load->path, entry->name, entry->desc.elements, shared);
    }
    return SVIT_OK;
}

/* All tensors are checked before memory is allocated for weights: empty tensors can tell of a model
 * that is much larger than their file. Of a file that fails, the report counts what fits before the
 * failure. */
static svit_status load_all(const sv_load *load, svit_model *model, real *flat, uint32_t flags,
                            svit_load_report *report, svit_error *err)
{
    const sv_parameter_table *table = &model->parameters;
    for (size_t i = 0; i < table->count; i++)
        SVIT_TRY(check_one(load, &table->list[i], flags, report, err));
    SVIT_TRY(check_shares(load, flags, err));
    SVIT_TRY(check_extra(load, table, flags, report, err));
    if (!flat)
        SVIT_TRY(sv_model_allocate_weights(model, err));
    if (report)
        report->loaded = 0;
    for (size_t i = 0; i < table->count; i++)
        SVIT_TRY(read_one(load, flat ? flat : model->weights, &table->list[i], report, err));
    return SVIT_OK;
}

/* Of positions whose grid the caller does not state: the grid that a file of this library states. A
 * configuration that cannot be read states none. */
static svit_status find_grid(sv_load *load, svit_error *err)
{
    svit_model_config stored;
    if (load->grid.height > 0)
        return SVIT_OK;
    const svit_status status = sv_model_file_config(&stored, load->file, load->path, NULL);
    if (status == SVIT_E_MEMORY)
        return sv_fail(err, status, "no memory for the configuration of %s", load->path);
    if (status == SVIT_OK && stored.architecture == SVIT_ARCHITECTURE_VIT)
        load->grid = (sv_stored_grid){stored.input_height / stored.patch_size,
                                      stored.input_width / stored.patch_size};
    return SVIT_OK;
}

svit_status sv_load_open_file(svit_model *model, real *flat, const sv_safetensors *file,
                              const char *path, const sv_name_map *map, const sv_adapter *adapter,
                              uint32_t flags, svit_load_report *report, svit_error *err)
{
    sv_load load = {.allocator = &model->context->allocator,
                    .file = file,
                    .path = path,
                    .map = *map,
                    .interpolation = sv_position_interpolation(map, file),
                    .adapter = adapter,
                    .adapts_channels = flags & SV_LOAD_ADAPT_CHANNELS,
                    .grid = model->stored_grid};
    const size_t count = sv_safetensors_count(file);
    SVIT_TRY(find_grid(&load, err));
    SVIT_TRY(sv_allocate_array(load.allocator, (void **)&load.taken, count ? count : 1,
                               sizeof *load.taken, "the tensors of a file", err));
    const svit_status status = load_all(&load, model, flat, flags, report, err);
    sv_release(load.allocator, load.taken, (count ? count : 1) * sizeof *load.taken);
    return status;
}

/* Opens the file and the map, and reads the parameters as sv_load_open_file does. */
static svit_status load_file(svit_model *model, real *flat, const char *path, const char *map,
                             uint32_t flags, svit_load_report *report, svit_error *err)
{
    const sv_allocator *allocator = &model->context->allocator;
    sv_safetensors *file = NULL;
    sv_name_map rules;
    SVIT_TRY(sv_name_map_open(&rules, allocator, map, err));
    svit_status status = sv_safetensors_open(&file, allocator, path, err);
    if (status == SVIT_OK)
        status = sv_load_open_file(model, flat, file, path, &rules, NULL, flags, report, err);
    sv_safetensors_close(file);
    sv_name_map_free(allocator, &rules);
    return status;
}

SVIT_API svit_status svit_model_load_mapped(svit_model **out, svit_context *context,
                                            const svit_model_config *config, const char *path,
                                            const char *map, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(config);
    SV_REQUIRE(path);
    svit_model_config local;
    svit_model *model;
    SVIT_TRY(sv_config_read(&sv_model_config_type, &local, config, err));
    SVIT_TRY(sv_model_open(&model, context, &local, err));
    const svit_status status = load_file(model, NULL, path, map, 0, NULL, err);
    if (status == SVIT_OK)
        *out = model;
    else
        svit_model_free(model);
    return status;
}

SVIT_API svit_status svit_model_load_into(svit_model *model, const char *path, const char *map,
                                          uint32_t flags, svit_load_report *report, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(model);
    SV_REQUIRE(path);
    SVIT_TRY(sv_report_begin(report, err));
    if (flags & ~(uint32_t)ALL_FLAGS)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "flags is %u; sums of SVIT_LOAD_* up to %d are accepted", flags, ALL_FLAGS);
    const sv_allocator *allocator = &model->context->allocator;
    const size_t elements = model->parameters.elements;
    real *flat;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&flat, elements, sizeof *flat,
                               "the weights of a file", err));
    memcpy(flat, model->weights, elements * sizeof *flat);
    svit_status status = load_file(model, flat, path, map, flags, report, err);
    if (status == SVIT_OK) {
        memcpy(model->weights, flat, elements * sizeof *flat);
        sv_model_touch(model);
    }
    sv_release(allocator, flat, elements * sizeof *flat);
    return status;
}
