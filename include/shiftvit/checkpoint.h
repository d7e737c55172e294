/* Checkpoints: the complete state of a training run, which resumes to the same bits. */
#ifndef SHIFTVIT_CHECKPOINT_H
#define SHIFTVIT_CHECKPOINT_H

#include <shiftvit/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A checkpoint file that was read and checked. Any number of threads may read it. */
typedef struct svit_checkpoint svit_checkpoint;

/* Writes a checkpoint: the model and which of its parameters are frozen, the optimiser's slots,
 * weight average, step count and the updates that have left a parameter out (0 in files of older
 * libraries), and the session's seed and counter of dropout masks. `optimizer`
 * and `session` may be NULL. The caller may add `count` text entries keys[i] = values[i] in UTF-8.
 * Keys must be unique, must not begin with "svit." and must not be "format", "format_version",
 * "config", "classes", "preprocessing", "output", "known_threshold" or "text_head".
 *
 * The file is a safetensors file, which svit_model_load reads too. It replaces the old one
 * atomically, as svit_file_replace. SVIT_E_ARGUMENT names a key that is not accepted; SVIT_E_IO
 * names the path; SVIT_E_STATE: the model's trainable parameters have changed since the optimiser
 * was created. No other thread may change the handles during the call. */
SVIT_API svit_status svit_checkpoint_save(const char *path, const svit_model *model,
                                          const svit_optimizer *optimizer,
                                          const svit_session *session, const char *const *keys,
                                          const char *const *values, size_t count, svit_error *err);

/* Reads and checks a checkpoint file. The caller owns *out and frees it with svit_checkpoint_free.
 * SVIT_E_IO and SVIT_E_FORMAT name the file and the problem. Any thread may call it. */
SVIT_API svit_status svit_checkpoint_open(svit_checkpoint **out, svit_context *context,
                                          const char *path, svit_error *err);

/* Frees a checkpoint. NULL is allowed. */
SVIT_API void svit_checkpoint_free(svit_checkpoint *checkpoint);

/* Returns the value of one of the caller's text entries, or NULL if there is none of this key. The
 * text is borrowed until svit_checkpoint_free. */
SVIT_API const char *svit_checkpoint_value(const svit_checkpoint *checkpoint, const char *key);

/* Writes a number of the stored state to *value. `key` is one of
 *   "optimizer.steps"    updates so far
 *   "optimizer.swapped"  1 if the model holds the weight average and the optimiser the weights
 *   "session.counter"    training forwards so far
 * The number is 0 if the checkpoint was saved without that handle. SVIT_E_ARGUMENT names an unknown
 * key and lists the known ones. */
SVIT_API svit_status svit_checkpoint_get_u64(const svit_checkpoint *checkpoint, const char *key,
                                             uint64_t *value, svit_error *err);

/* Restores the state of a model, an optimiser and a session; each may be NULL and is then skipped.
 * No other thread may use them during the call. On failure nothing is changed. The model's
 * parameters become frozen or trainable as they were (svit_model_set_trainable); a checkpoint of a
 * library before 0.2 does not say, and the model stays as it is in this. Gradients that the session
 * has are not the checkpoint's: they stay, and svit_session_zero_gradients drops them.
 *
 * A model without an optimiser gets what svit_model_load reads of the file: the weights that it had
 * when the checkpoint was saved, or their average if it held this (svit_optimizer_swap_ema;
 * svit_checkpoint_get_u64 tells by "optimizer.swapped"). The weights are then in the optimiser's
 * part, and a training goes on from them only if both are restored in one call.
 *
 * SVIT_E_ARGUMENT: the checkpoint holds no optimiser or no session, and one is given; the model has
 * another configuration than the checkpoint, the optimiser another kind or average, or the session
 * another seed; optimiser or session are of another model than the one given (without one they may
 * be of two); or the optimiser is given without the model where this holds the average
 * (svit_optimizer_swap_ema), in the checkpoint or now. SVIT_E_FORMAT names an entry that
 * contradicts the others, for example an average in the model's place before the first update.
 * SVIT_E_STATE: an optimiser or session is given, and other parameters are frozen in the checkpoint
 * than in its model; restore the model alone, create optimiser and session, and restore all three.
 */
SVIT_API svit_status svit_checkpoint_restore(const svit_checkpoint *checkpoint, svit_model *model,
                                             svit_optimizer *optimizer, svit_session *session,
                                             svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
