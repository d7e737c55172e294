/* Progressive resolution: the first epochs of a run train on smaller images, which cost less. */
#include "data/resampling/shrink.h"
#include "trainer/trainer.h"

bool sv_trainer_is_early(const svit_trainer *trainer, uint64_t epoch)
{
    return epoch < sv_trainer_early_epochs(trainer);
}

uint64_t sv_trainer_early_part(const svit_trainer *trainer, uint64_t epochs)
{
    return (uint64_t)(int64_t)(trainer->config.early_fraction * (double)(int64_t)epochs + 0.5);
}

uint64_t sv_trainer_early_epochs(const svit_trainer *trainer)
{
    return sv_trainer_early_part(trainer, trainer->schedule_epochs ? trainer->schedule_epochs
                                                                   : trainer->config.epochs);
}

svit_status sv_trainer_open_early(svit_trainer *trainer, svit_error *err)
{
    const svit_trainer_config *config = &trainer->config;
    const svit_model_config *model = &trainer->model->config;
    uint64_t with_backward;
    if (config->early_fraction == 0)
        return SVIT_OK;
    if (config->early_height > model->input_height || config->early_width > model->input_width)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "early_height and early_width are %u x %u; the model's input, %u x %u, is "
                       "the largest size that is accepted",
                       config->early_height, config->early_width, model->input_height,
                       model->input_width);
    svit_status status =
        sv_model_multiply_adds(trainer->model, config->early_height, config->early_width,
                               &trainer->early_multiply_adds, &with_backward, err);
    if (status != SVIT_OK)
        return sv_fail_in(err, status, "early_height and early_width");
    return sv_shrink_create(&trainer->shrink, &trainer->context->allocator, model->input_height,
                            model->input_width, model->in_channels, config->early_height,
                            config->early_width, err);
}

svit_status sv_trainer_fit_session(svit_trainer *trainer, svit_error *err)
{
    const bool early = sv_trainer_is_early(trainer, trainer->progress.epoch);
    svit_session *session;
    if (trainer->session_is_early == early)
        return SVIT_OK;
    SVIT_TRY(sv_trainer_open_session(trainer, early, &session, err));
    svit_session_set_counter(session, svit_session_counter(trainer->session), NULL);
    svit_session_free(trainer->session);
    trainer->session = session;
    trainer->session_is_early = early;
    return SVIT_OK;
}

size_t sv_trainer_input_floats(const svit_trainer *trainer)
{
    const svit_trainer_config *config = &trainer->config;
    return trainer->session_is_early ? (size_t)config->early_height * config->early_width *
                                           trainer->model->config.in_channels
                                     : trainer->image_floats;
}

void sv_trainer_shrink_batch(svit_trainer *trainer)
{
    const size_t floats = sv_trainer_input_floats(trainer);
    float *images = trainer->data.images;
    for (size_t i = 0; trainer->session_is_early && i < trainer->data.n; i++)
        sv_shrink_run(trainer->shrink, images + i * floats, images + i * trainer->image_floats);
}
