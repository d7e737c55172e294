/* The parts of svit_trainer and the functions that its source files share. */
#ifndef SV_TRAINER_INTERNAL_H
#define SV_TRAINER_INTERNAL_H

#include "config/config.h"
#include "models/model.h"
#include "trainer/objective.h"

#include <shiftvit/file.h>
#include <shiftvit/loss.h>
#include <shiftvit/trainer.h>

#include <limits.h>

/* Arrays that are freed together. */
typedef struct sv_arrays {
    const sv_allocator *allocator;
    struct {
        void *memory;
        size_t bytes;
    } list[8];
    size_t count;
} sv_arrays;

/* Allocates [rows, row_bytes], all zero, and writes its address to the pointer at `out`. */
svit_status sv_arrays_add(sv_arrays *arrays, void *out, size_t rows, size_t row_bytes,
                          svit_error *err);

/* Frees the arrays; none are left. */
void sv_arrays_free(sv_arrays *arrays);

/* A session, a loader and buffers that evaluate a model on one dataset. */
typedef struct sv_evaluator {
    svit_session *session;
    svit_loader *loader;
    sv_objective objective; /* without smoothing and class weights */
    sv_batch data;          /* [batch, image_floats], [batch], [batch, classes] if it has targets */
    float *logits;          /* [batch, classes] */
    float *mean_logits;     /* [batch, classes] with test-time augmentation; otherwise NULL */
    float *moved;           /* [batch, image_floats] with SVIT_TTA_FLIP_SHIFT; otherwise NULL */
    size_t batch, image_floats;
    size_t height, width, channels; /* of an image */
    int32_t tta;                    /* SVIT_TTA_* */
    sv_arrays arrays;
} sv_evaluator;

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
} sv_progress;

struct svit_trainer {
    svit_context *context;
    svit_model *model; /* the session keeps it alive */
    svit_session *session;
    svit_optimizer *optimizer;
    svit_loader *loader;
    sv_evaluator validation; /* its loader is NULL if there is no validation */

    svit_folder_lock *lock;     /* NULL if there is no folder */
    svit_trainer_config config; /* folder and description are copies */
    svit_optimizer_config optimizer_config;
    svit_pipeline_config pipeline;
    uint64_t multiply_adds;                                /* of a forward pass for one image */
    uint64_t training_count, validation_count;             /* samples */
    uint64_t training_fingerprint, validation_fingerprint; /* 0 without a folder */
    uint64_t steps;                                        /* in an epoch */
    uint64_t schedule_epochs; /* epochs from which the length of the schedule was computed; 0: the
                                 caller gave it, or it has none */
    uint64_t warmup_steps;    /* as the caller gave them; 0: warmup_fraction of the schedule */

    size_t micro_batch;           /* samples of one forward and backward pass */
    size_t image_floats, classes; /* elements of an image and of a row of logits */
    sv_objective objective;
    sv_batch data; /* [batch, image_floats], [batch], [batch, classes] if it has targets */
    float *logits, *dlogits; /* [micro_batch, classes] */

    sv_arrays arrays;

    sv_progress progress;
    svit_trainer_event *history; /* [history_capacity], of which progress.rows are in use */
    size_t history_capacity;
    float
        *best; /* SVIT_KEEP_BEST: the weights of the best epoch [parameters.elements]; else NULL */
    int32_t started, finished;
    int32_t
        has_other_run;  /* 1: the folder holds a run that this trainer neither wrote nor resumed */
    int32_t has_events; /* 1: this process has written the event file */
    int32_t is_settled; /* 1: all files of a run in the folder belong to this run */
    int32_t stop_value; /* what the callback returned to stop svit_trainer_run */

    /* Times in seconds and counts of the current epoch, in this process only. */
    double epoch_start, training_seconds, validation_seconds, last_checkpoint;
    uint64_t timed_samples, timed_steps;
};

/* trainer_config.c */

/* Copies the caller's configuration, NULL for the defaults, into `local` and checks it. The texts
 * still belong to the caller, and the description is not checked. */
svit_status sv_trainer_config_import(svit_trainer_config *local, const svit_trainer_config *config,
                                     svit_error *err);

/* trainer_create.c */

/* Writes a copy of `text` to *out, or NULL for NULL. Release it with sv_release_text. */
svit_status sv_trainer_copy_text(const char **out, const svit_trainer *trainer, const char *text,
                                 svit_error *err);

/* Creates a session that trains as the trainer's configuration says. */
svit_status sv_trainer_open_session(svit_trainer *trainer, svit_session **out, svit_error *err);

/* trainer_evaluate.c */

/* Fails unless the model accepts the images and the labels of the dataset. `what` names the dataset
 * in messages. */
svit_status sv_trainer_check_fit(const svit_model *model, const svit_dataset *dataset,
                                 const char *what, svit_error *err);

/* How an evaluator computes. */
typedef struct sv_evaluation {
    size_t batch; /* the largest number of samples in a forward pass */
    int32_t compute, tta, loss;
    uint32_t prefetch;
} sv_evaluation;

/* Creates an evaluator. */
svit_status sv_evaluator_open(sv_evaluator *evaluator, svit_context *context, svit_model *model,
                              svit_dataset *dataset, const svit_pipeline_config *pipeline,
                              const sv_evaluation *how, svit_error *err);

/* Frees what the evaluator owns and clears it. It may be partly created. */
void sv_evaluator_close(sv_evaluator *evaluator);

/* trainer_tta.c: computes the logits of evaluator->data, whose images it may change. Writes their
 * address, evaluator->logits or evaluator->mean_logits, to *logits. */
svit_status sv_evaluator_forward(sv_evaluator *evaluator, const float **logits, svit_error *err);

/* Evaluates the whole dataset and writes the sums to *metrics. */
svit_status sv_evaluator_run(sv_evaluator *evaluator, sv_metrics *metrics, svit_error *err);

/* trainer_best.c */

/* Copies all parameters of `from` to the best weights. */
void sv_trainer_best_copy(svit_trainer *trainer, const svit_model *from);

/* Copies the best weights to the trainer's model. */
void sv_trainer_best_restore(svit_trainer *trainer);

/* Reads the best weights from the run's folder. */
svit_status sv_trainer_best_load(svit_trainer *trainer, svit_error *err);

/* Writes the trainer's model to the run's folder as the best one. */
svit_status sv_trainer_best_save(svit_trainer *trainer, svit_error *err);

/* trainer_folder.c */

#define SV_TRAINER_CHECKPOINT_FILE "checkpoint.safetensors"
#define SV_TRAINER_BEST_FILE "best.safetensors"
#define SV_TRAINER_HISTORY_FILE "history.csv"
#define SV_TRAINER_RUN_FILE "run.json"
#define SV_TRAINER_EVENTS_FILE "events.out.tfevents.shiftvit"

/* Writes the path of a file of the run's folder. A path that does not fit is longer than the system
 * accepts, even truncated. Returns `out`. */
enum { SV_TRAINER_PATH = PATH_MAX + 64 };
const char *sv_trainer_path(char out[SV_TRAINER_PATH], const svit_trainer *trainer,
                            const char *name);

/* Creates and locks the folder, and looks for another run in it. */
svit_status sv_trainer_folder_open(svit_trainer *trainer, svit_error *err);

/* SVIT_E_STATE if the trainer may not work: in a child by fork, or before the resume that the
 * configuration demands. */
svit_status sv_trainer_folder_check(const svit_trainer *trainer, svit_error *err);

/* Replaces or removes the files of another run, after the trainer's first checkpoint. */
svit_status sv_trainer_folder_settle(svit_trainer *trainer, svit_error *err);

/* trainer_check.c */

/* Checks the progress `at` that was read from a checkpoint, and the checkpoint's counters of
 * optimiser and session. SVIT_E_FORMAT names the damaged entry. */
svit_status sv_trainer_check_progress(const svit_trainer *trainer, const sv_progress *at,
                                      const svit_checkpoint *checkpoint, svit_error *err);

/* Checks the history that was read from a checkpoint into the trainer; `at` is the progress of the
 * same checkpoint. SVIT_E_FORMAT names the damaged entry. */
svit_status sv_trainer_check_history(const svit_trainer *trainer, const sv_progress *at,
                                     svit_error *err);

/* trainer_history.c */

/* Makes room for at least `rows` rows. */
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

/* Reads `rows` rows of history, one an epoch, from a checkpoint's text into the trainer. The
 * message of SVIT_E_FORMAT names the damaged epoch. */
svit_status sv_trainer_history_unpack(svit_trainer *trainer, const char *text, uint64_t rows,
                                      svit_error *err);

/* events.c */

/* Appends the last epoch to the event file if the configuration asks for one. */
svit_status sv_trainer_events_write(svit_trainer *trainer, svit_error *err);

/* CRC-32C (Castagnoli 1993), as RFC 3720 has it. */
uint32_t sv_crc32c(const void *data, size_t bytes);

/* Fills an event with the current epoch. Its validation fields are NaN. */
void sv_trainer_describe(const svit_trainer *trainer, svit_trainer_event *event, int32_t kind);

/* trainer_save.c */

typedef enum sv_entry_kind {
    SV_ENTRY_U32,
    SV_ENTRY_U64,
    SV_ENTRY_F64,
    SV_ENTRY_FINGERPRINT /* uint64_t; library 0.1 wrote none */
} sv_entry_kind;

/* One field of svit_trainer that checkpoints store as a text entry. */
typedef struct sv_trainer_entry {
    const char *key;
    size_t offset; /* in svit_trainer */
    sv_entry_kind kind;
    int32_t is_state;   /* 1: a resume restores it; 0: a setting that a resumed run must share */
    int32_t may_extend; /* 1: a setting that may change if the run is extended by more epochs */
} sv_trainer_entry;

/* All entries, in the order of the file. */
extern const sv_trainer_entry sv_trainer_entries[];
extern const size_t sv_trainer_entry_count;

#define SV_TRAINER_PIPELINE_KEY "trainer.pipeline"
#define SV_TRAINER_OPTIMIZER_KEY "trainer.optimizer"
#define SV_TRAINER_HISTORY_KEY "trainer.history"
#define SV_TRAINER_OBJECTIVE_KEY "trainer.objective"
#define SV_TRAINER_DESCRIPTION_KEY "trainer.description"
#define SV_TRAINER_EPOCH_KEY "trainer.state.epoch"

/* Prints the value of an entry as checkpoints store it. */
enum { SV_TRAINER_VALUE = 24 };
void sv_trainer_entry_print(char out[SV_TRAINER_VALUE], const sv_trainer_entry *entry,
                            const svit_trainer *trainer);

/* Reads decimal digits, or, if `base` is 16, the 16 hexadecimal digits of a real number's bits. Returns
 * 0 if `text` is something else. */
int32_t sv_trainer_read_digits(uint64_t *out, const char *text, int base);

/* Writes loss, sampling, test-time augmentation and class weights; and whether a function of the
 * program computes the loss, which is text of a run that has one alone. */
enum { SV_TRAINER_OBJECTIVE = 128 + SVIT_MAX_CLASS_WEIGHTS * 24 };
void sv_trainer_objective_text(char out[SV_TRAINER_OBJECTIVE], const svit_trainer_config *config,
                               int32_t has_function);

/* trainer_extend.c */

#define SV_TRAINER_SCHEDULE_KEY "trainer.schedule_epochs"

/* Logs a warning if `checkpoint`, which was resumed, is of a run that the trainer extends at a rate
 * of nothing. */
void sv_trainer_warn_of_extension(const svit_trainer *trainer, const svit_checkpoint *checkpoint);

/* Whether `checkpoint` is of a run with fewer epochs than the trainer's, which thus extends it. */
int32_t sv_trainer_extends(const svit_trainer *trainer, const svit_checkpoint *checkpoint);

/* Computes the length of a schedule that covers that many epochs, and of its warm-up. */
void sv_trainer_compute_schedule(svit_trainer *trainer, uint64_t epochs);

/* Gives `copy`, a copy of a trainer, the schedule length of the checkpoint's run if both have the
 * same schedule and the length was computed: an extended run keeps the length that it began with,
 * unless the configuration wants it anew.
 * SVIT_E_FORMAT names a damaged entry. */
svit_status sv_trainer_adopt_schedule(svit_trainer *copy, const svit_checkpoint *checkpoint,
                                      svit_error *err);

#endif
