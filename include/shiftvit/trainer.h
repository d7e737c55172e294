/* The trainer: epochs, validation, early stopping, history, checkpoints, resume. */
#ifndef SHIFTVIT_TRAINER_H
#define SHIFTVIT_TRAINER_H

#include <shiftvit/checkpoint.h>
#include <shiftvit/loader.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The fit loop over one model. One thread. It is written on the public functions of this library
 * alone, so whatever it does can be done without it. Where the optimiser keeps an average of the
 * weights, validation, the best weights and those at the end are the average's. */
typedef struct svit_trainer svit_trainer;

enum { SVIT_KEEP_LAST = 0, SVIT_KEEP_BEST = 1 };

/* What becomes of a run whose files (checkpoint.safetensors, best.safetensors, history.csv or
 * run.json) `folder` holds already. */
enum {
    SVIT_EXISTING_REFUSE = 0, /* svit_trainer_create fails with SVIT_E_STATE */
    SVIT_EXISTING_RESUME = 1, /* it goes on: svit_trainer_resume comes before the first step */
    SVIT_EXISTING_OVERWRITE =
        2 /* its files stay whole until this run's first checkpoint is written,
             and are then replaced or removed; other files stay. A process that
             is killed leaves the one run or the other to be resumed */
};
enum {
    SVIT_EVENT_STEP = 0,    /* after each optimiser step */
    SVIT_EVENT_EPOCH = 1,   /* after validation: `epoch` is complete */
    SVIT_EVENT_FINISHED = 2 /* no more epochs, or stopped early */
};

/* Copied at creation, strings too. */
typedef struct svit_trainer_config {
    uint32_t struct_size; /* sizeof(svit_trainer_config) */
    uint32_t epochs;      /* 1..1000000 */
    uint32_t batch;       /* samples a step, 1..65536 */
    uint32_t accumulate;  /* a step's batch is computed in this many parts, 1..batch */
    uint32_t patience;    /* epochs without a better validation top-1 before stopping; 0 = never */
    int32_t keep;         /* SVIT_KEEP_*: the weights at the end; the best by validation top-1 */
    uint64_t seed;        /* of order, augmentation and dropout */
    double label_smoothing;    /* [0, 1) */
    double warmup_fraction;    /* of all steps; used where the schedule is WarmUpCosine with
                                  total_steps 0 */
    const char *folder;        /* where checkpoint.safetensors, best.safetensors, history.csv and
                                  run.json go; it is made where it is not there, and no second
                                  trainer, of any process, can have it at the same time. NULL:
                                  nothing is written */
    double checkpoint_seconds; /* within an epoch, a checkpoint at the first step after so many
                                  seconds; 0 = only at the end of epochs */
    int32_t compute;           /* SVIT_COMPUTE_* */
    uint32_t prefetch;         /* as svit_loader_config */
    int32_t memory;          /* SVIT_MEMORY_*: a run may go on with another one, to the same bits */
    int32_t existing;        /* SVIT_EXISTING_* */
    const char *description; /* a text in UTF-8, the caller's own notes of the run: kept in each
                                checkpoint as its entry "trainer.description", and written to
                                `folder`/run.json after the run's first checkpoint. NULL: none, or
                                that of the checkpoint where the run is resumed */
} svit_trainer_config;

/* Fills `config`: 100 epochs of batch 256, patience 5, the last weights kept, warm-up 15 %,
 * SVIT_MEMORY_STORE, SVIT_EXISTING_REFUSE. */
SVIT_API svit_status svit_trainer_config_init(svit_trainer_config *config, size_t size);

/* Fills `config` from a JSON object, and back. A field left out takes its default; one that is
 * unknown, of the wrong kind or out of range is SVIT_E_ARGUMENT and named, text that is no JSON
 * object is SVIT_E_FORMAT. `config` is written only on success. Names are those of the fields;
 * words: keep "last", "best"; compute "f32", "bf16"; memory "store", "blocks", "stages"; existing
 * "refuse", "resume", "overwrite". `folder` and `description` are written if they are set, and
 * refused when they are read, as the struct could only point into `json`: set the fields
 * themselves. Buffer rules as svit_context_describe. Any thread. */
SVIT_API svit_status svit_trainer_config_from_json(svit_trainer_config *config, size_t size,
                                                   const char *json, svit_error *err);
SVIT_API svit_status svit_trainer_config_to_json(const svit_trainer_config *config, char *buffer,
                                                 size_t capacity, size_t *needed, svit_error *err);

/* The training settings that belong to a model preset (its example's epochs, batch, patience,
 * optimiser and pipeline). Each of the three may be NULL. */
SVIT_API svit_status svit_training_preset(const char *preset, svit_trainer_config *trainer,
                                          size_t trainer_size, svit_optimizer_config *optimizer,
                                          size_t optimizer_size, svit_pipeline_config *pipeline,
                                          size_t pipeline_size, svit_error *err);

/* What happened; the reader must look no further than struct_size. Rates are fractions in 0..1. */
typedef struct svit_trainer_event {
    uint32_t struct_size;
    int32_t kind;      /* SVIT_EVENT_* */
    uint64_t epoch;    /* from 1 */
    uint64_t epochs;   /* at most */
    uint64_t step;     /* of this epoch, from 1 */
    uint64_t steps;    /* in an epoch */
    double train_loss; /* the epoch's mean so far, as the next two */
    double train_top1;
    double train_top5;
    double val_loss; /* NaN without validation, as the next two */
    double val_top1;
    double val_top5;
    double learning_rate;     /* of the last step */
    double images_per_second; /* of training, this epoch so far in this process */
    double seconds;           /* of this epoch so far in this process, validation included */
    double eta_seconds;       /* to the end of the last epoch, at the present speed */
    uint64_t best_epoch;      /* by validation top-1; 0 without validation */
    int32_t stopped_early;    /* 1: patience ran out */
    uint32_t reserved;        /* 0 */
} svit_trainer_event;

/* `event` is borrowed during the call. Return 0 to go on; anything else stops the run after a
 * checkpoint is written, and svit_trainer_run returns SVIT_E_STOPPED. */
typedef int32_t (*svit_trainer_callback)(const svit_trainer_event *event, void *user);

/* Creates a trainer; `*out` is owned by the caller, free with svit_trainer_free. The context, the
 * model and the datasets are kept alive. `validation` may be NULL. The pipeline becomes the
 * model's, and so do the training set's class names. NULL for a configuration means its defaults.
 * Where there is a folder, it reads some samples of both datasets (svit_dataset_fingerprint) and,
 * last of all, makes the folder and claims it (svit_folder_lock). SVIT_E_STATE: the folder is in
 * use by another trainer, or holds a run already (SVIT_EXISTING_REFUSE); SVIT_E_ARGUMENT names the
 * field. */
SVIT_API svit_status svit_trainer_create(svit_trainer **out, svit_context *context,
                                         svit_model *model, svit_dataset *training,
                                         svit_dataset *validation,
                                         const svit_trainer_config *config,
                                         const svit_optimizer_config *optimizer,
                                         const svit_pipeline_config *pipeline, svit_error *err);

/* Ends the trainer and its claim of the folder, which is removed if the trainer made it and it is
 * empty. NULL allowed. */
SVIT_API void svit_trainer_free(svit_trainer *trainer);

/* Goes on from `folder`/checkpoint.safetensors, exactly to the bit: the same weights as a run that
 * was never stopped. Call before the first step. SVIT_E_IO: there is none; SVIT_E_ARGUMENT: it is
 * of another model, other data (svit_dataset_fingerprint) or another configuration (the message
 * names the field); SVIT_E_FORMAT: it is damaged (the message names the entry); SVIT_E_STATE: the
 * run has begun, or `existing` is SVIT_EXISTING_OVERWRITE. On failure the trainer is as before. A
 * checkpoint of an older library may lack the fingerprints: it is accepted with a warning to the
 * context's log. */
SVIT_API svit_status svit_trainer_resume(svit_trainer *trainer, svit_error *err);

/* Runs to the end, with `callback` (NULL allowed) at each event. SVIT_E_STOPPED: see above; the
 * value that the callback returned: svit_trainer_stop_value. Any failure leaves the last checkpoint
 * as it was. */
SVIT_API svit_status svit_trainer_run(svit_trainer *trainer, svit_trainer_callback callback,
                                      void *user, svit_error *err);

/* Does the work up to the next event and describes it; after SVIT_EVENT_FINISHED it says so again.
 * `size` is sizeof *event as the caller was compiled. */
SVIT_API svit_status svit_trainer_step(svit_trainer *trainer, svit_trainer_event *event,
                                       size_t size, svit_error *err);

/* Writes a checkpoint now; SVIT_E_STATE without a folder, or where svit_trainer_resume must come
 * first. After SVIT_EVENT_FINISHED it leaves the one of the last epoch as it is. */
SVIT_API svit_status svit_trainer_checkpoint(svit_trainer *trainer, svit_error *err);

/* What the callback returned to stop the last svit_trainer_run; 0 if it did not. */
SVIT_API int32_t svit_trainer_stop_value(const svit_trainer *trainer);

/* Completed epochs in the history, those before a resume included; 0 for NULL. */
SVIT_API size_t svit_trainer_history_count(const svit_trainer *trainer);

/* Row `index` of the history as an SVIT_EVENT_EPOCH event. */
SVIT_API svit_status svit_trainer_history(const svit_trainer *trainer, size_t index,
                                          svit_trainer_event *event, size_t size, svit_error *err);

/* Loss, top-1 and top-5 of a model over a dataset with the evaluation pipeline; `batch` samples at
 * a time. Outputs may be NULL. SVIT_E_ARGUMENT: classes or sizes that do not fit, or class names of
 * model and dataset that differ, where both have names. */
SVIT_API svit_status svit_evaluate(svit_context *context, svit_model *model, svit_dataset *dataset,
                                   const svit_pipeline_config *pipeline, size_t batch, double *loss,
                                   double *top1, double *top5, svit_error *err);

/* As svit_evaluate, which computes in float32, in SVIT_COMPUTE_*. */
SVIT_API svit_status svit_evaluate_with_compute(svit_context *context, svit_model *model,
                                                svit_dataset *dataset,
                                                const svit_pipeline_config *pipeline, size_t batch,
                                                int32_t compute, double *loss, double *top1,
                                                double *top5, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
