/* An adapter of PEFT in a folder, which changes the checkpoint of an open_case. */
#ifndef TEST_ADAPTER_CASE_H
#define TEST_ADAPTER_CASE_H

#include "open_case.h"

/* Writes the tensors of an adapter into its folder, and its configuration: alpha is 4, the rank 2
 * and `more` its other members. */
static inline void adapter_write(const open_case *self, const fit_folder *folder, const char *more,
                                 const own_tensor *list, size_t count)
{
    char text[512];
    sv_safetensors_tensor tensors[CASE_TENSORS];
    for (size_t i = 0; i < count; i++)
        tensors[i] = (sv_safetensors_tensor){list[i].name, &list[i].desc, &list[i]};
    WORKS(sv_safetensors_write(&self->context->allocator,
                               fit_path(folder, "adapter_model.safetensors"), "{}", tensors, count,
                               own_fill, NULL, err));
    snprintf(text, sizeof text, "{\"peft_type\":\"LORA\",\"lora_alpha\":4,\"r\":2%s}", more);
    fit_write(fit_path(folder, "adapter_config.json"), text, strlen(text));
}

static inline svit_status adapter_try(open_case *self, svit_model **model, const fit_folder *folder,
                                      const char *fields, svit_load_report *report)
{
    const svit_open_options options = {
        .struct_size = sizeof options, .base = self->folder.path, .fields = fields};
    return svit_model_open(model, self->context, folder->path, &options, report, &self->err);
}

static inline svit_model *adapter_open(open_case *self, const fit_folder *folder,
                                       svit_load_report *report)
{
    svit_model *model = NULL;
    const svit_status status = adapter_try(self, &model, folder, NULL, report);
    ck_assert_msg(status == SVIT_OK, "%s", self->err.message);
    return model;
}

static inline void adapter_end(open_case *self, const fit_folder *folder)
{
    unlink(fit_path(folder, "adapter_model.safetensors"));
    unlink(fit_path(folder, "adapter_config.json"));
    fit_folder_remove(folder);
    case_end(self);
}

#endif
