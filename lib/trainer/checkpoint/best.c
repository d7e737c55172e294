/* The weights of the best epoch: a copy in memory and a model file beside the checkpoint.
 *
 * The file is written after the checkpoint of its epoch. If the process is killed in between, the
 * file is that of an earlier epoch, but the checkpoint has the weights itself. */
#include "trainer/checkpoint/checkpoint.h"

#include <string.h>

void sv_trainer_best_copy(svit_trainer *trainer, const svit_model *from)
{
    memcpy(trainer->best, from->weights, from->parameters.elements * sizeof *trainer->best);
}

void sv_trainer_best_restore(svit_trainer *trainer)
{
    svit_model *model = trainer->model;
    memcpy(model->weights, trainer->best, model->parameters.elements * sizeof *trainer->best);
    sv_model_touch(model);
}

svit_status sv_trainer_best_load(svit_trainer *trainer, svit_error *err)
{
    svit_model_config config;
    SVIT_TRY(svit_model_get_config(trainer->model, &config, sizeof config, err));
    svit_model *model;
    char path[SV_TRAINER_PATH];
    sv_trainer_path(path, trainer, SV_TRAINER_BEST_FILE);
    const svit_status status =
        svit_model_load_with_config(&model, trainer->context, &config, path, err);
    if (err && (status == SVIT_E_IO || status == SVIT_E_FORMAT))
        return sv_fail(err, status, "%s; keep 'last' goes on without it", err->message);
    SVIT_TRY(status);
    sv_trainer_best_copy(trainer, model);
    svit_model_free(model);
    return SVIT_OK;
}

bool sv_trainer_best_is_last(const sv_progress *at)
{
    return at->best_epoch > 0 && at->best_epoch == at->epoch && at->position == 0;
}

static svit_status save(const svit_trainer *trainer, svit_error *err)
{
    char path[SV_TRAINER_PATH];
    sv_trainer_path(path, trainer, SV_TRAINER_BEST_FILE);
    /* A checkpoint has the adapters of LoRA, which a resumed run needs; a model file has not. */
    if (trainer->model->config.lora_rank > 0)
        return svit_checkpoint_save(path, trainer->model, NULL, NULL, NULL, NULL, 0, err);
    return svit_model_save(trainer->model, path, err);
}

/* Exchanges the model's weights with their average, if there is one, which is what is validated. */
static svit_status swap_average(svit_trainer *trainer, svit_error *err)
{
    return trainer->optimizer_config.ema != SVIT_EMA_NONE
               ? svit_optimizer_swap_ema(trainer->optimizer, err)
               : SVIT_OK;
}

svit_status sv_trainer_best_save(svit_trainer *trainer, svit_error *err)
{
    SVIT_TRY(swap_average(trainer, err));
    const svit_status status = save(trainer, err);
    swap_average(trainer, NULL);
    return status;
}

void sv_trainer_best_take(svit_trainer *trainer)
{
    swap_average(trainer, NULL);
    sv_trainer_best_copy(trainer, trainer->model);
    swap_average(trainer, NULL);
}
