/* A checkpoint in a folder: weights of a golden file under names of the test's choice, and JSON
 * files beside them. */
#ifndef TEST_OPEN_CASE_H
#define TEST_OPEN_CASE_H

#include "fit.h"
#include "golden.h"

#include "base/files/file.h"
#include "context/context.h"
#include "tensor/convert.h"

#include <math.h>

enum { CASE_TENSORS = 160 };

typedef struct open_case {
    svit_context *context;
    sv_safetensors *golden;
    fit_folder folder;
    svit_error err;
    unsigned warnings; /* of the context's log */
    char warning[256]; /* the last of them */
} open_case;

static inline void case_log(void *user, int32_t level, const char *message)
{
    open_case *self = user;
    if (level != SVIT_LOG_WARNING)
        return;
    self->warnings++;
    snprintf(self->warning, sizeof self->warning, "%s", message);
}

static inline svit_context *case_context(open_case *self)
{
    svit_context_config config;
    svit_context *context = NULL;
    WORKS(svit_context_config_init(&config, sizeof config));
    config.threads = 1;
    config.log = case_log;
    config.log_user = self;
    WORKS(svit_context_create(&context, &config, err));
    return context;
}

static inline void case_begin(open_case *self, const char *golden)
{
    *self = (open_case){.context = case_context(self),
                        .golden = golden_open(golden),
                        .folder = fit_folder_make(),
                        .err = {.struct_size = sizeof self->err}};
}

/* Removes the files of the folder. */
static inline void case_clear(const open_case *self)
{
    const sv_allocator allocator = sv_allocator_default();
    sv_listing listing = {0};
    WORKS(sv_folder_list(&listing, &allocator, self->folder.path, err));
    for (size_t i = 0; i < listing.count; i++)
        unlink(fit_path(&self->folder, listing.names[i]));
    sv_listing_free(&allocator, &listing);
}

static inline void case_end(open_case *self)
{
    case_clear(self);
    fit_folder_remove(&self->folder);
    sv_safetensors_close(self->golden);
    svit_context_free(self->context);
}

static inline void case_fill(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    const open_case *self = user;
    WORKS(sv_safetensors_read_f32(self->golden, tensor->source, out, err));
}

/* Writes the golden file's tensors "param.NAME" of number first, first + step and so on as
 * prefix + NAME. */
static inline void case_part(open_case *self, const char *file, const char *prefix, size_t first,
                             size_t step)
{
    static char names[CASE_TENSORS][160];
    sv_safetensors_tensor tensors[CASE_TENSORS];
    size_t count = 0, number = 0;
    for (size_t i = 0; i < sv_safetensors_count(self->golden); i++) {
        const sv_safetensors_entry *entry = sv_safetensors_at(self->golden, i);
        if (strncmp(entry->name, "param.", 6) != 0 || number++ % step != first)
            continue;
        snprintf(names[count], sizeof names[0], "%s%s", prefix, entry->name + 6);
        tensors[count] = (sv_safetensors_tensor){names[count], &entry->desc, entry};
        count++;
    }
    WORKS(sv_safetensors_write(&self->context->allocator, fit_path(&self->folder, file),
                               "{\"format\":\"pt\"}", tensors, count, case_fill, self, err));
}

static inline void case_weights(open_case *self, const char *prefix)
{
    case_part(self, "model.safetensors", prefix, 0, 1);
}

static inline void case_text(const open_case *self, const char *file, const char *text)
{
    fit_write(fit_path(&self->folder, file), text, strlen(text));
}

/* Opens the folder; `fields` is the option of that name, or NULL. */
static inline svit_status case_open(open_case *self, svit_model **out, const char *fields)
{
    const svit_open_options options = {.struct_size = sizeof options, .fields = fields};
    return svit_model_open(out, self->context, self->folder.path, &options, NULL, &self->err);
}

/* The largest difference of the model's logits from the golden file's tensor, of the largest. */
static inline double case_difference_from(const open_case *self, svit_model *model,
                                          const char *tensor)
{
    svit_session_config config;
    svit_session *session;
    size_t elements;
    float *input = golden_floats(self->golden, "input", NULL);
    float *wanted = golden_floats(self->golden, tensor, &elements);
    float *logits = malloc(elements * sizeof *logits);
    svit_session_config_init(&config, sizeof config);
    config.max_batch = 2;
    WORKS(svit_session_create(&session, model, &config, err));
    WORKS(svit_forward(session, input, 2, logits, err));
    const double difference =
        golden_difference(logits, wanted, elements) / golden_largest(wanted, elements);
    svit_session_free(session);
    free(logits);
    golden_free(input);
    golden_free(wanted);
    return difference;
}

static inline double case_difference(const open_case *self, svit_model *model)
{
    return case_difference_from(self, model, "logits");
}

/* Opens the folder and compares the logits with the golden file's. */
static inline void case_agrees(open_case *self, const char *fields)
{
    svit_model *model = NULL;
    const svit_status status = case_open(self, &model, fields);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    ck_assert_double_le(case_difference(self, model), 1e-5);
    svit_model_free(model);
}

/* A tensor of the test's own; one without `from` is zero. */
typedef struct own_tensor {
    char name[160];
    sv_tensor_desc desc;
    const float *from;
} own_tensor;

static inline own_tensor own(const char *name, size_t rank, const int64_t *shape, const float *from)
{
    own_tensor made = {.from = from};
    snprintf(made.name, sizeof made.name, "%.159s", name);
    ck_assert(sv_tensor_desc_init(&made.desc, SV_DTYPE_F32, shape, rank));
    return made;
}

static inline void own_fill(float *out, const sv_safetensors_tensor *tensor, void *user)
{
    (void)user;
    const own_tensor *of = tensor->source;
    for (size_t i = 0; i < tensor->desc->elements; i++)
        out[i] = of->from ? of->from[i] : 0;
}

static inline void own_write(const open_case *self, const own_tensor *list, size_t count)
{
    sv_safetensors_tensor tensors[CASE_TENSORS];
    for (size_t i = 0; i < count; i++)
        tensors[i] = (sv_safetensors_tensor){list[i].name, &list[i].desc, &list[i]};
    WORKS(sv_safetensors_write(&self->context->allocator,
                               fit_path(&self->folder, "model.safetensors"), "{}", tensors, count,
                               own_fill, NULL, err));
}

/* The golden file's parameters under `prefix`, after which a test may add or change some. */
static inline size_t own_golden(own_tensor *list, const open_case *self, const char *prefix)
{
    size_t count = 0;
    for (size_t i = 0; i < sv_safetensors_count(self->golden); i++) {
        const sv_safetensors_entry *entry = sv_safetensors_at(self->golden, i);
        char name[160];
        if (strncmp(entry->name, "param.", 6) != 0)
            continue;
        snprintf(name, sizeof name, "%s%s", prefix, entry->name + 6);
        list[count++] = own(name, entry->desc.rank, entry->desc.shape,
                            golden_floats(self->golden, entry->name, NULL));
    }
    return count;
}

static inline void own_free(own_tensor *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        golden_free((float *)(uintptr_t)list[i].from);
}

/* Opens the golden file's weights without those of the names that begin with one of `lost`. */
static inline svit_status case_open_without(open_case *self, svit_model **out,
                                            const char *const *lost, const char *config)
{
    static own_tensor list[CASE_TENSORS], kept[CASE_TENSORS];
    const size_t count = own_golden(list, self, "");
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_kept = true;
        for (const char *const *name = lost; *name; name++)
            is_kept = is_kept && strncmp(list[i].name, *name, strlen(*name)) != 0;
        if (is_kept)
            kept[left++] = list[i];
    }
    ck_assert((left < count) == (*lost != NULL));
    own_write(self, kept, left);
    own_free(list, count);
    case_text(self, "config.json", config);
    return case_open(self, out, NULL);
}

#endif
