/* Preloaded into one process of a job: it cannot write its settings as text. */
#include <shiftvit/trainer.h>

svit_status svit_training_to_json(const svit_trainer_config *trainer,
                                  const svit_optimizer_config *optimizer,
                                  const svit_pipeline_config *pipeline, char *buffer,
                                  size_t capacity, size_t *needed, svit_error *err)
{
    (void)trainer;
    (void)optimizer;
    (void)pipeline;
    (void)buffer;
    (void)capacity;
    (void)needed;
    return svit_error_set(err, SVIT_E_MEMORY, "no memory for the text of the settings");
}
