/* The parts of svit_trainer and the functions that its source files share. */
#ifndef SV_TRAINER_H
#define SV_TRAINER_H

#include "base/arrays.h"
#include "data/resampling/shrink.h"
#include "models/model.h"
#include "session/views.h"
#include "trainer/batch.h"
#include "trainer/config.h"
#include "trainer/ranks.h"

#include <shiftvit/loss.h>
#include <shiftvit/trainer.h>

/* A session, a loader and buffers that evaluate a model on one dataset. */
typedef struct sv_evaluator {
    sv_ranks *ranks; /* among which the batches are divided */
    svit_session *session;
    const svit_context *context;
    int32_t asked; /* what its stop function has returned last; 0: not to stop */
    svit_loader *loader;
    sv_objective objective; /* without smoothing and class weights */
    sv_batch data; /* images [batch, image_floats], labels [batch], and targets [batch, classes] if
                      the loss needs them */
    float *logits; /* [batch, classes] */
    sv_views views;
    size_t batch;
    sv_metrics *own; /* [batches] the sums of each of this rank's batches, from
                                       element 0 on */
    sv_metrics *all; /* [batches] the sums of each batch of all ranks */
    sv_arrays arrays;
} sv_evaluator;

/* What the forward of one leaf of a batch leaves behind. */
typedef struct sv_leaf {
    double divisor; /* sv_objective_divisor; 0 of an empty leaf */
    sv_metrics metrics;
} sv_leaf;

/* The progress of the run: all that a checkpoint restores besides model, optimiser and session. The
 * names of the fields are keys in checkpoints. */
typedef struct sv_progress {
    uint64_t epoch;      /* completed epochs */
    uint64_t position;   /* completed steps of the current epoch */
    sv_metrics train;    /* of the current epoch */
    uint64_t best_epoch; /* from 1; 0: none yet */
    double best_top1;    /* score of the best epoch (sv_objective_score); -infinity before the first
                            validation */
    uint64_t waited;     /* epochs since the best one */
    uint64_t rows;       /* of the history */
    uint64_t early;      /* smaller images that the run has trained on so far */
} sv_progress;

struct svit_trainer {
    svit_context *context;
    svit_context
        *passes;       /* runs passes and updates: `context`, or the model's (sv_session_context) */
    svit_model *model; /* the session keeps it alive */
    svit_session *session;
    bool session_is_early; /* the session takes the smaller images of the first epochs */
    sv_shrink *shrink;     /* makes them; NULL without early_fraction */
    svit_optimizer *optimizer;
    svit_loader *loader;
    sv_evaluator validation; /* its loader is NULL if there is no validation */

    svit_folder_lock *lock;     /* NULL if there is no folder */
    svit_trainer_config config; /* folder and description are copies */
    char *home;                 /* where a relative config.folder begins, by sv_path_home; NULL
                                   without a folder */
    svit_optimizer_config optimizer_config;
    svit_pipeline_config pipeline;
    uint64_t multiply_adds;                                /* of a forward pass for one image */
    uint64_t early_multiply_adds;                          /* of one of the smaller images */
    uint64_t training_count, validation_count;             /* samples */
    uint64_t training_fingerprint, validation_fingerprint; /* 0 without a folder */
    uint64_t steps;                                        /* in an epoch */
    uint64_t schedule_epochs; /* epochs from which the length of the schedule was computed; 0: the
                                 caller gave it, or it has none */
    uint64_t warmup_steps;    /* as the caller gave them; 0: warmup_fraction of the schedule */

    sv_ranks ranks;               /* one where the trainer works alone */
    size_t micro_batch;           /* samples of one forward and backward pass */
    size_t image_floats, classes; /* elements of an image of the loader and of a row of logits */
    sv_objective objective;
    sv_batch data; /* of this rank: images [batch, image_floats], labels [batch], and targets
                      [batch, classes] if the loss needs them */
    float *logits, *dlogits;          /* [micro_batch, classes] */
    sv_leaf *own_leaves, *all_leaves; /* [leaves of this rank], [leaves]; NULL without leaves */

    sv_arrays arrays;

    sv_progress progress;
    svit_trainer_event *history; /* [history_capacity], of which progress.rows are in use */
    size_t history_capacity;
    float *best; /* [parameters.elements] the best epoch's weights; NULL without SVIT_KEEP_BEST */
    bool started, finished;
    bool resumed;         /* svit_trainer_resume has restored the run */
    bool has_other_run;   /* the folder holds a run that this trainer neither wrote nor resumed */
    uint64_t event_rows;  /* epochs that this process has written to the event file; 0: it has not
                            written it */
    bool is_settled;      /* all files of a run in the folder belong to this run */
    int32_t asked;        /* what the context's stop function has returned last before a step */
    int32_t stop_value;   /* what the callback returned to stop svit_trainer_run */
    bool in_callback;     /* the callback of svit_trainer_run is running */
    const char *activity; /* for messages: what is done beside the steps, "validation" */

    /* Times in seconds and counts of the current epoch, in this process only. */
    double epoch_start, training_seconds, validation_seconds, last_checkpoint;
    uint64_t timed_samples, timed_steps;
};

/* create.c */

/* Writes a copy of `text` to *out, or NULL for NULL. Release it with sv_release_text. */
svit_status sv_trainer_copy_text(const char **out, const svit_trainer *trainer, const char *text,
                                 svit_error *err);

/* Creates a session that trains as the trainer's configuration says, on the smaller images of the
 * first epochs if `early`. */
svit_status sv_trainer_open_session(const svit_trainer *trainer, bool early, svit_session **out,
                                    svit_error *err);

/* Creates the optimiser of the trainer, on the context of its passes. */
svit_status sv_trainer_open_optimizer(const svit_trainer *trainer, svit_optimizer **out,
                                      const svit_optimizer_config *config, svit_error *err);

/* class_weights.c */

/* Sets the objective's class_weights as the configuration says; NULL stays where it says nothing.
 * SVIT_E_UNSUPPORTED: they follow from labels that are known by reading the images alone. */
svit_status sv_trainer_set_class_weights(svit_trainer *trainer, const svit_dataset *training,
                                         svit_error *err);

/* notes.c */

/* Logs a warning for each setting of another schedule than the one that is chosen. */
void sv_trainer_note_unused(const svit_trainer *trainer);

/* Logs a warning where the average of the weights that is asked for is the weights themselves. The
 * steps of an epoch are known. */
void sv_trainer_note_no_average(const svit_trainer *trainer);

/* step.c */

/* SVIT_E_STATE while the callback of svit_trainer_run is running, which is inside of that call.
 * `where` is the public function, for the message. */
svit_status sv_trainer_check_outside(const svit_trainer *trainer, const char *where,
                                     svit_error *err);

/* early.c */

/* Whether an epoch, from 0, trains on smaller images; and how many epochs do. */
bool sv_trainer_is_early(const svit_trainer *trainer, uint64_t epoch);
uint64_t sv_trainer_early_epochs(const svit_trainer *trainer);

/* The same of a run whose schedule has `epochs` epochs. */
uint64_t sv_trainer_early_part(const svit_trainer *trainer, uint64_t epochs);

/* Plans the smaller images, if there are any. SVIT_E_ARGUMENT: they are larger than the model's
 * input. */
svit_status sv_trainer_open_early(svit_trainer *trainer, svit_error *err);

/* Replaces the session by one for the images of the current epoch, unless it is that already. */
svit_status sv_trainer_fit_session(svit_trainer *trainer, svit_error *err);

/* The elements of an image as the session takes it. */
size_t sv_trainer_input_floats(const svit_trainer *trainer);

/* Makes the images in trainer->data, which are those of the loader, those of the session. */
void sv_trainer_shrink_batch(svit_trainer *trainer);

/* step.c */

/* The images of the current batch, of all ranks. */
size_t sv_trainer_batch_images(const svit_trainer *trainer);

/* Forward and loss of one part of a batch: leaves the gradient of the logits in trainer->dlogits,
 * and adds the part to *metrics. `divisor` is that of the whole batch's loss. */
svit_status sv_trainer_run_forward(svit_trainer *trainer, const sv_batch *part, double divisor,
                                   sv_metrics *metrics, svit_error *err);

/* step_leaves.c */

/* Adds the gradients of the leaves in trainer->data to those of the session, and the metrics of the
 * leaves of all ranks to *sums. */
svit_status sv_trainer_run_leaves(svit_trainer *trainer, sv_metrics *sums, svit_error *err);

/* rank_checks.c */

/* SVIT_E_ARGUMENT on all ranks unless all begin with the same library, settings, model and data. */
svit_status sv_trainer_check_start(svit_trainer *trainer, const svit_dataset *training,
                                   const svit_dataset *validation, svit_error *err);

/* Does the same after a resume for the place in the run and the weights. */
svit_status sv_trainer_check_resumed(svit_trainer *trainer, svit_error *err);

/* Does the same at the end of an epoch for the weights. Each rank makes the update itself, so that
 * other settings of the optimiser, changed in the run, or a fault of one machine make them drift
 * apart. */
svit_status sv_trainer_check_epoch(svit_trainer *trainer, svit_error *err);

/* fit_checks.c */

/* Fails unless the model accepts the images of the dataset and, if they are read, its labels: it
 * has no more classes than the model, and the names of those that come first in the model, or none.
 * With `training`, which may be NULL, the model's names are those that it has after a training on
 * this set. Targets are always read, but by a model that reconstructs images, which reads neither.
 * `what` names the dataset in messages. */
svit_status sv_trainer_check_fit(const svit_model *model, const svit_dataset *training,
                                 const svit_dataset *dataset, const char *what, bool reads_labels,
                                 svit_error *err);

/* evaluate.c */

/* How an evaluator computes. */
typedef struct sv_evaluation {
    svit_context *passes;       /* runs the passes: as in svit_trainer */
    sv_ranks *ranks;            /* outlives the evaluator */
    size_t batch;               /* the largest number of samples in a forward pass */
    int32_t compute, tta, loss; /* SVIT_COMPUTE_*, SVIT_TTA_*, SVIT_LOSS_* */
    uint32_t prefetch;
} sv_evaluation;

/* Creates an evaluator. */
svit_status sv_evaluator_open(sv_evaluator *evaluator, svit_context *context, svit_model *model,
                              svit_dataset *dataset, const svit_pipeline_config *pipeline,
                              const sv_evaluation *how, svit_error *err);

/* Frees what the evaluator owns and clears it. It may be partly created. */
void sv_evaluator_close(sv_evaluator *evaluator);

/* Evaluates the whole dataset, this rank's share of it, and writes the sums of all ranks to
 * *metrics. */
svit_status sv_evaluator_run(sv_evaluator *evaluator, sv_metrics *metrics, svit_error *err);

/* history.c */

/* Fills an event with the current epoch. Its validation fields are NaN. */
void sv_trainer_describe(const svit_trainer *trainer, svit_trainer_event *event, int32_t kind);

/* Makes room in the history for at least `rows` rows. */
svit_status sv_trainer_history_reserve(svit_trainer *trainer, size_t rows, svit_error *err);

/* Writes history.csv. */
svit_status sv_trainer_history_write(svit_trainer *trainer, svit_error *err);

/* Returns the history in the form that checkpoints have. Release it with sv_release_text. NULL if
 * there is no memory. */
char *sv_trainer_history_pack(const svit_trainer *trainer);

/* Prints a number with 9 significant digits and a decimal point, whatever the locale is. Returns
 * `out`. */
enum { SV_TRAINER_NUMBER = 40 };
const char *sv_trainer_number(char out[SV_TRAINER_NUMBER], double value);

/* Reads `rows` rows of history, one an epoch, from a checkpoint's text into the trainer. An older
 * library wrote no arithmetic: its run trained on smaller images for `early` epochs. The message of
 * SVIT_E_FORMAT names the damaged epoch. */
svit_status sv_trainer_history_unpack(svit_trainer *trainer, const char *text, uint64_t rows,
                                      uint64_t early, svit_error *err);

/* events.c */

/* Appends the last epoch to the event file if the configuration asks for one. */
svit_status sv_trainer_events_write(svit_trainer *trainer, svit_error *err);

/* CRC-32C (Castagnoli 1993), as RFC 3720 has it. */
uint32_t sv_crc32c(const void *data, size_t bytes);

#endif
