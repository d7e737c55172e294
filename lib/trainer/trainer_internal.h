/* The inside of svit_trainer. */
#ifndef SV_TRAINER_INTERNAL_H
#define SV_TRAINER_INTERNAL_H

#include "trainer/trainer_support.h"

#include <shiftvit/loss.h>
#include <shiftvit/trainer.h>

/* Sums over samples, from which means are made. */
typedef struct sv_metrics {
    double loss; /* of means times their samples */
    uint64_t top1, top5, samples;
} sv_metrics;

/* A model over one dataset with the evaluation pipeline. */
typedef struct sv_evaluator {
    svit_context *context;
    svit_session *session;
    svit_loader *loader;
    float *images, *logits;
    int32_t *labels;
    size_t batch, image_floats, classes;
} sv_evaluator;

/* Where the run stands: all that a checkpoint must bring back besides the model, the optimiser and
 * the session. */
typedef struct sv_progress {
    uint64_t epoch;    /* complete ones */
    uint64_t position; /* steps done of the present one */
    sv_metrics train;  /* of the present one */
    uint64_t best_epoch;
    double best_top1;
    uint64_t waited; /* epochs since the best */
    uint64_t rows;   /* of the history */
} sv_progress;

struct svit_trainer {
    svit_context *context;
    svit_model *model; /* kept alive by the session */
    svit_session *session;
    svit_optimizer *optimizer;
    svit_loader *loader;
    sv_evaluator validation; /* without loader: there is none */

    svit_folder_lock *claim;    /* NULL: no folder */
    svit_trainer_config config; /* its folder and description are copies */
    svit_optimizer_config optimizer_config;
    svit_pipeline_config pipeline;
    uint64_t training_count, validation_count;
    uint64_t training_fingerprint, validation_fingerprint; /* where there is a folder */
    uint64_t steps;                                        /* in an epoch */

    size_t part, image_floats, classes; /* samples of a part, floats of an image */
    float *images, *logits, *dlogits;
    int32_t *labels;

    sv_progress progress;
    svit_trainer_event *history;
    size_t history_capacity;
    float *best; /* with SVIT_KEEP_BEST: all parameters of the best epoch, in file order */
    size_t best_elements;
    int32_t started, finished;
    int32_t has_other_run; /* the folder holds a run that this trainer neither wrote nor resumed */
    int32_t is_settled;    /* what the folder holds is this run's: a checkpoint has been written */
    int32_t stop_value;

    /* Of this process only. */
    double epoch_start, training_seconds, validation_seconds, last_checkpoint;
    uint64_t timed_samples, timed_steps;
};

/* trainer_config.c */
svit_status sv_trainer_config_import(svit_trainer_config *own, const svit_trainer_config *config,
                                     svit_error *err);

/* trainer_evaluate.c: `what` names the dataset in messages. */
svit_status sv_trainer_check_fit(const svit_model *model, const svit_dataset *dataset,
                                 const char *what, svit_error *err);
svit_status sv_evaluator_open(sv_evaluator *evaluator, svit_context *context, svit_model *model,
                              svit_dataset *dataset, const svit_pipeline_config *pipeline,
                              size_t batch, int32_t compute, uint32_t prefetch, svit_error *err);
void sv_evaluator_close(sv_evaluator *evaluator);
svit_status sv_evaluator_run(sv_evaluator *evaluator, sv_metrics *metrics, svit_error *err);
svit_status sv_metrics_add(sv_metrics *metrics, const float *logits, const int32_t *labels,
                           size_t n, size_t classes, double loss, svit_error *err);

/* trainer_best.c: the weights of the best epoch. */
svit_status sv_trainer_best_allocate(svit_trainer *trainer, svit_error *err);
svit_status sv_trainer_best_take(svit_trainer *trainer, const svit_model *from, svit_error *err);
svit_status sv_trainer_best_give(svit_trainer *trainer, svit_error *err);
svit_status sv_trainer_best_load(svit_trainer *trainer, svit_error *err);
svit_status sv_trainer_best_save(svit_trainer *trainer, svit_error *err);

/* trainer_folder.c: the files of a run, and the claim of their folder. */
#define SV_TRAINER_CHECKPOINT_FILE "checkpoint.safetensors"
#define SV_TRAINER_BEST_FILE "best.safetensors"
#define SV_TRAINER_HISTORY_FILE "history.csv"
#define SV_TRAINER_RUN_FILE "run.json"

/* Makes and claims the folder, and looks for another run in it. */
svit_status sv_trainer_folder_open(svit_trainer *trainer, svit_error *err);

/* SVIT_E_STATE where the trainer may not go on yet: in a child by fork, or before a resume. */
svit_status sv_trainer_folder_check(const svit_trainer *trainer, svit_error *err);

/* After the trainer's first checkpoint: removes or replaces the other files of another run. */
svit_status sv_trainer_folder_settle(svit_trainer *trainer, svit_error *err);

/* trainer_check.c: SVIT_E_FORMAT names the entry of the checkpoint that is damaged. The second is
 * for the history of a checkpoint whose progress is `at`, unpacked into the trainer. */
svit_status sv_trainer_check_progress(const svit_trainer *trainer, const sv_progress *at,
                                      const svit_checkpoint *checkpoint, svit_error *err);
svit_status sv_trainer_check_history(const svit_trainer *trainer, const sv_progress *at,
                                     svit_error *err);

/* trainer_history.c */
svit_status sv_trainer_history_reserve(svit_trainer *trainer, size_t rows, svit_error *err);
svit_status sv_trainer_history_write(svit_trainer *trainer, svit_error *err);
void sv_trainer_history_pack(sv_trainer_text *text, const svit_trainer *trainer);
svit_status sv_trainer_history_unpack(svit_trainer *trainer, const char *text, uint64_t rows,
                                      svit_error *err);
void sv_trainer_describe(const svit_trainer *trainer, svit_trainer_event *event, int32_t kind);

/* trainer_save.c: the entries of a checkpoint, one table for what must be equal and what comes
 * back. `folder`/`name` into a text. */
typedef enum sv_entry_kind {
    SV_ENTRY_U32,
    SV_ENTRY_U64,
    SV_ENTRY_F64,
    SV_ENTRY_DATA /* a fingerprint; older libraries wrote none */
} sv_entry_kind;
typedef struct sv_trainer_entry {
    const char *key;
    size_t offset; /* in svit_trainer */
    sv_entry_kind kind;
    int32_t returns; /* 1: comes back at a resume; 0: must be equal */
} sv_trainer_entry;
extern const sv_trainer_entry sv_trainer_entries[];
extern const size_t sv_trainer_entry_count;
enum { SV_TRAINER_VALUE = 24 };
void sv_trainer_entry_print(char out[SV_TRAINER_VALUE], const sv_trainer_entry *entry,
                            const svit_trainer *trainer);
svit_status sv_trainer_pipeline_text(sv_trainer_text *text, const svit_trainer *trainer,
                                     svit_error *err);
#define SV_TRAINER_PIPELINE_KEY "trainer.pipeline"
#define SV_TRAINER_HISTORY_KEY "trainer.history"
#define SV_TRAINER_DESCRIPTION_KEY "trainer.description"
#define SV_TRAINER_EPOCH_KEY "trainer.state.epoch"

#endif
