/* Reads the names of classes from the metadata of a file. */
#include "io/metadata_names.h"

#include "io/metadata_json.h"

/* Elements of the list: an array of no names is an allocation, too. */
static size_t room(size_t count)
{
    return count + 1;
}

static svit_status list_names(sv_metadata_names *out, const sv_json_value *array, const char *path,
                              svit_error *err)
{
    if (array->kind != SV_JSON_ARRAY || array->count != out->count)
        return sv_fail(err, SVIT_E_FORMAT, "%s: classes is not an array of %zu names", path,
                       out->count);
    SVIT_TRY(sv_allocate_array(out->allocator, (void **)&out->list, room(out->count),
                               sizeof *out->list, "class names", err));
    const sv_json_value *name = array + 1;
    for (size_t i = 0; i < out->count; i++, name = name->after) {
        out->list[i] = sv_json_text(name);
        if (!out->list[i])
            return sv_fail(err, SVIT_E_FORMAT, "%s: the name of class %zu is not text", path, i);
    }
    return SVIT_OK;
}

svit_status sv_metadata_names_read(sv_metadata_names *out, const sv_allocator *allocator,
                                   const sv_safetensors *file, size_t count, const char *path,
                                   svit_error *err)
{
    *out = (sv_metadata_names){.allocator = allocator, .count = count};
    SVIT_TRY(sv_metadata_json_read(&out->json, allocator, file, "classes", path, err));
    return out->json ? list_names(out, sv_json_root(out->json), path, err) : SVIT_OK;
}

void sv_metadata_names_free(sv_metadata_names *names)
{
    sv_release(names->allocator, names->list, room(names->count) * sizeof *names->list);
    sv_json_free(names->json);
}
