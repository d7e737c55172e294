/* The folder of a run: its checkpoints, its best weights and its lock. */
#ifndef SV_TRAINER_CHECKPOINT_H
#define SV_TRAINER_CHECKPOINT_H

#include "base/files/path.h"
#include "trainer/trainer.h"

#include <shiftvit/file.h>

/* folder.c */

#define SV_TRAINER_CHECKPOINT_FILE "checkpoint.safetensors"
#define SV_TRAINER_BEST_FILE "best.safetensors"
#define SV_TRAINER_HISTORY_FILE "history.csv"
#define SV_TRAINER_RUN_FILE "run.json"
#define SV_TRAINER_EVENTS_FILE "events.out.tfevents.shiftvit"

/* Writes the path of a file of the run's folder. A path that does not fit is longer than the system
 * accepts, even truncated. Returns `out`. */
enum { SV_TRAINER_PATH = SV_PATH_MAX + 64 };
const char *sv_trainer_path(char out[SV_TRAINER_PATH], const svit_trainer *trainer,
                            const char *name);

/* Whether this process writes the run's files: there is a folder, and the rank is 0. */
bool sv_trainer_writes(const svit_trainer *trainer);

/* Creates and locks the folder, and looks for another run in it; rank 0 alone does. */
svit_status sv_trainer_folder_open(svit_trainer *trainer, svit_error *err);

/* SVIT_E_STATE if the trainer may not work: in a child by fork, or before the resume that the
 * configuration demands. */
svit_status sv_trainer_folder_check(const svit_trainer *trainer, svit_error *err);

/* After the first checkpoint, or before the first step of a resumed run: removes what another run
 * has left in the folder, writes run.json, and in a resumed run the best weights if the process may
 * have been killed before it wrote them.
 * A file that this run has not written yet (best weights before a best epoch, history and events
 * before the first row) can only be from another run. */
svit_status sv_trainer_folder_settle(svit_trainer *trainer, svit_error *err);

/* best.c */

/* Copies all parameters of `from` to the best weights. */
void sv_trainer_best_copy(svit_trainer *trainer, const svit_model *from);

/* Copies the best weights to the trainer's model. */
void sv_trainer_best_restore(svit_trainer *trainer);

/* Reads the best weights from the run's folder. */
svit_status sv_trainer_best_load(svit_trainer *trainer, svit_error *err);

/* Whether the best epoch has just ended, so that the trainer has its weights. */
bool sv_trainer_best_is_last(const sv_progress *at);

/* Copies the weights of the epoch that has just ended, averaged if there is an average, to the best
 * ones. It is called only if that epoch is the best. */
void sv_trainer_best_take(svit_trainer *trainer);

/* Writes these weights, likewise, to the run's folder. */
svit_status sv_trainer_best_save(svit_trainer *trainer, svit_error *err);

/* save.c */

/* Writes a checkpoint, if this process writes the run's files. */
svit_status sv_trainer_save(svit_trainer *trainer, svit_error *err);

typedef enum sv_entry_kind {
    SV_ENTRY_U32,
    SV_ENTRY_U64,
    SV_ENTRY_F64,
    SV_ENTRY_FINGERPRINT, /* uint64_t; library 0.1 wrote none */
    SV_ENTRY_LATER        /* uint64_t; older libraries wrote none */
} sv_entry_kind;

/* Which other values of a setting than the checkpoint's a resumed run may have. */
typedef enum sv_entry_change {
    SV_CHANGE_NONE,
    SV_CHANGE_EXTENDED, /* any if the run is extended by more epochs */
    SV_CHANGE_LATER,    /* that, and on any resume a larger one, or 0 for no end */
    SV_CHANGE_TO_LAST   /* SVIT_KEEP_LAST on any resume: it needs less of the folder */
} sv_entry_change;

/* One field of svit_trainer that checkpoints store as a text entry. */
typedef struct sv_trainer_entry {
    const char *key;
    size_t offset; /* in svit_trainer */
    sv_entry_kind kind;
    bool is_state; /* a resume restores it; false: a setting that a resumed run must share */
    sv_entry_change change;
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

/* Reads decimal digits, or, if `base` is 16, the 16 hexadecimal digits of a real number's bits.
 * Returns false if `text` is something else. */
bool sv_trainer_read_digits(uint64_t *out, const char *text, unsigned base);

/* Writes the text by which a resume compares loss, sampling, test-time augmentation, class weights,
 * leaves, shuffle_window and the smaller images of the first epochs. A function of the program that
 * computes the loss, leaves, the window and the images are in the text only if the run has them. */
enum { SV_TRAINER_OBJECTIVE = 192 + SVIT_MAX_CLASS_WEIGHTS * 24 };
void sv_trainer_objective_text(char out[SV_TRAINER_OBJECTIVE], const svit_trainer_config *config,
                               int32_t has_function);

/* differences.c */

/* Fail because a resumed run has not the setting, or the objective, of the checkpoint. The texts
 * are those that checkpoints store. SVIT_E_ARGUMENT. */
svit_status sv_trainer_setting_differs(const sv_trainer_entry *entry, const char *saved,
                                       const char *present, svit_error *err);
svit_status sv_trainer_objective_differs(const char *saved, const char *present, svit_error *err);

/* extend.c */

#define SV_TRAINER_EPOCHS_KEY "trainer.epochs"
#define SV_TRAINER_SCHEDULE_KEY "trainer.schedule_epochs"

/* Reads an entry of decimal digits. SVIT_E_FORMAT: the entry is missing or something else. */
svit_status sv_trainer_read_entry(const svit_checkpoint *checkpoint, const char *key, uint64_t *out,
                                  svit_error *err);

/* Logs a warning if `checkpoint`, which was resumed, is of a run that the trainer extends at a
 * learning rate near 0, since its schedule has ended. */
void sv_trainer_warn_of_extension(const svit_trainer *trainer, const svit_checkpoint *checkpoint);

/* Whether `checkpoint` is of a run with fewer epochs than the trainer's, which thus extends it. */
bool sv_trainer_extends(const svit_trainer *trainer, const svit_checkpoint *checkpoint);

/* How many epochs the checkpoint's run trains on smaller images, as long as it is not extended. */
uint64_t sv_trainer_saved_early(const svit_trainer *trainer, const svit_checkpoint *checkpoint);

/* Computes the length of a schedule that covers that many epochs, and of its warm-up. */
void sv_trainer_compute_schedule(svit_trainer *trainer, uint64_t epochs);

/* Gives `copy`, a copy of a trainer, the schedule length of the checkpoint's run if both have the
 * same schedule and that of the trainer was computed: a resumed run keeps the length that it began
 * with, whether that was computed or given, unless it is extended and the configuration wants it
 * anew. SVIT_E_FORMAT names a damaged entry. */
svit_status sv_trainer_adopt_schedule(svit_trainer *copy, const svit_checkpoint *checkpoint,
                                      svit_error *err);

/* check.c */

/* SVIT_E_FORMAT, naming the checkpoint's entry, unless `value` is in min..max. */
svit_status sv_trainer_check_number(const char *key, uint64_t value, uint64_t min, uint64_t max,
                                    svit_error *err);

/* SVIT_E_STATE if the program has swapped the average into the model, or stepped or restored the
 * trainer's optimiser: a checkpoint could not be resumed. */
svit_status sv_trainer_check_optimizer(const svit_trainer *trainer, svit_error *err);

/* Checks the progress `at` that was read from a checkpoint, and the checkpoint's counters of
 * optimiser and session. SVIT_E_FORMAT names the damaged entry. */
svit_status sv_trainer_check_progress(const svit_trainer *trainer, const sv_progress *at,
                                      const svit_checkpoint *checkpoint, svit_error *err);

/* Checks the history that was read from a checkpoint into the trainer; `at` is the progress of the
 * same checkpoint. SVIT_E_FORMAT names the damaged entry. */
svit_status sv_trainer_check_history(const svit_trainer *trainer, const sv_progress *at,
                                     svit_error *err);

#endif
