/* The weights of the best epoch: a copy in memory and a model file beside the checkpoint. */
#include "trainer/trainer_internal.h"

/* Writes the number of elements of a parameter tensor to *elements. */
static svit_status elements_of(size_t *elements, const svit_model *model, const char *name,
                               svit_error *err)
{
    int64_t shape[8];
    size_t rank;
    TRAINER_TRY(svit_model_parameter_shape(model, name, shape, &rank, err));
    *elements = 1;
    for (size_t i = 0; i < rank; i++)
        *elements *= (size_t)shape[i];
    return SVIT_OK;
}

svit_status sv_trainer_best_allocate(svit_trainer *trainer, svit_error *err)
{
    trainer->best_elements = (size_t)svit_model_parameter_elements(trainer->model);
    return sv_trainer_allocate(trainer->context, &trainer->best, trainer->best_elements,
                               sizeof *trainer->best, err);
}

svit_status sv_trainer_best_copy(svit_trainer *trainer, const svit_model *from, svit_error *err)
{
    float *at = trainer->best;
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(from, i)) != NULL; i++) {
        size_t elements;
        TRAINER_TRY(elements_of(&elements, from, name, err));
        TRAINER_TRY(svit_model_get_parameter(from, name, at, elements, err));
        at += elements;
    }
    return SVIT_OK;
}

svit_status sv_trainer_best_restore(svit_trainer *trainer, svit_error *err)
{
    const float *at = trainer->best;
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(trainer->model, i)) != NULL; i++) {
        size_t elements;
        TRAINER_TRY(elements_of(&elements, trainer->model, name, err));
        TRAINER_TRY(svit_model_set_parameter(trainer->model, name, at, elements, err));
        at += elements;
    }
    return SVIT_OK;
}

svit_status sv_trainer_best_load(svit_trainer *trainer, svit_error *err)
{
    svit_model_config config;
    TRAINER_TRY(svit_model_get_config(trainer->model, &config, sizeof config, err));
    sv_trainer_text path = {.context = trainer->context};
    TRAINER_TRY(sv_trainer_path(&path, trainer->config.folder, SV_TRAINER_BEST_FILE, err));
    svit_model *model = NULL;
    svit_status status =
        svit_model_load_with_config(&model, trainer->context, &config, path.data, err);
    if (status == SVIT_OK)
        status = sv_trainer_best_copy(trainer, model, err);
    svit_model_free(model);
    sv_trainer_text_free(&path);
    return status;
}

svit_status sv_trainer_best_save(svit_trainer *trainer, svit_error *err)
{
    sv_trainer_text path = {.context = trainer->context};
    svit_model_config config;
    TRAINER_TRY(svit_model_get_config(trainer->model, &config, sizeof config, err));
    TRAINER_TRY(sv_trainer_path(&path, trainer->config.folder, SV_TRAINER_BEST_FILE, err));
    /* A checkpoint has the adapters of LoRA, which a resumed run needs; a model file has not. */
    svit_status status = config.lora_rank > 0 ? svit_checkpoint_save(path.data, trainer->model,
                                                                     NULL, NULL, NULL, NULL, 0, err)
                                              : svit_model_save(trainer->model, path.data, err);
    sv_trainer_text_free(&path);
    return status;
}
