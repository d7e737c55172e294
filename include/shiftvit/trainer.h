/* Trainers: the training loop with validation, early stopping, history, checkpoints and
 * resuming. */
#ifndef SHIFTVIT_TRAINER_H
#define SHIFTVIT_TRAINER_H

#include <shiftvit/checkpoint.h>
#include <shiftvit/loader.h>
#include <shiftvit/loss.h>
#include <shiftvit/reducer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A trainer trains one model on one dataset. What it does can be written on the other functions of
 * this library (examples/own_loop.c). If the optimiser keeps a moving average of the weights, the
 * average is what is validated, kept as the best and left in the model at the end. One thread at a
 * time may use a trainer.
 *
 * With a reducer of several ranks, each rank creates a trainer with the same settings, data and
 * weights and calls its functions in the same order, and all get the same results. Each rank
 * decodes and computes its share of each batch and of the validation set. Rank 0 alone locks and
 * writes the folder; the others read it when they resume, so that all need to see it. A failure of
 * one rank is returned on all, with "rank R of N: " before its message, and ends the run: later
 * calls return it again. What keeps a rank from beginning is told the others too, with the name of
 * its status alone ("rank R of N could not begin: ") if the rank has no trainer yet, but for what
 * hides them from it: a trainer's configuration that is NULL or whose struct_size is refused, a
 * reducer that is not accepted, or one whose `gather` is NULL. The callback of svit_trainer_run is
 * called on all ranks, and a value of any of them stops all after the same event. Ranks compare
 * what they begin with, and their weights at the end of each epoch; SVIT_E_ARGUMENT says what
 * differs. SVIT_E_STATE: a rank has called another function than the others. The bits of the result
 * do not depend on the ranks, and a run may be resumed with another number of them. */
typedef struct svit_trainer svit_trainer;

/* The weights that the model has after the last epoch. */
enum {
    SVIT_KEEP_LAST = 0, /* those of the last step */
    SVIT_KEEP_BEST = 1  /* those of the best epoch (svit_trainer_event.best_epoch) */
};

/* What a trainer does if its folder already holds a run, that is, checkpoint.safetensors,
 * best.safetensors, history.csv or run.json. */
enum {
    SVIT_EXISTING_REFUSE = 0,   /* svit_trainer_create fails with SVIT_E_STATE */
    SVIT_EXISTING_RESUME = 1,   /* svit_trainer_resume must precede the first step */
    SVIT_EXISTING_OVERWRITE = 2 /* the first checkpoint of the new run replaces the files of the old
                                   run, events.out.tfevents.shiftvit included; other files stay. If
                                   the process is killed, the old run or the new one can be
                                   resumed */
};

/* The capacity of `class_weights` in svit_trainer_config. */
enum {
    SVIT_MAX_CLASS_WEIGHTS = 128 /* classes */
};

/* Where the factors of the classes in the loss come from. SVIT_CLASS_WEIGHTING_BALANCED takes any
 * number of classes: the factor is the samples, divided by the classes that have some and by the
 * samples of the class, so that all classes count alike and the mean factor of a sample is 1
 * (scikit-learn's "balanced"); with SVIT_LOSS_BINARY it is the negatives of the class by its
 * positives. Targets count as parts of samples. The factor is 1 for a class that no sample has,
 * and, with SVIT_LOSS_BINARY, for one that all have. SVIT_SAMPLING_BALANCED would balance once more
 * and is refused. SVIT_E_UNSUPPORTED: a custom dataset that gives labels with images alone. */
enum {
    SVIT_CLASS_WEIGHTING_GIVEN = 0,   /* `class_weights`, or 1 for each class */
    SVIT_CLASS_WEIGHTING_BALANCED = 1 /* from the training set */
};

/* What svit_trainer_step has completed. */
enum {
    SVIT_EVENT_STEP = 0,    /* one optimiser step */
    SVIT_EVENT_EPOCH = 1,   /* an epoch with its validation */
    SVIT_EVENT_FINISHED = 2 /* the run: the last epoch, or early stopping */
};

/* The configuration of a trainer. It is copied at creation, the texts included. */
typedef struct svit_trainer_config {
    uint32_t struct_size;   /* sizeof(svit_trainer_config) */
    uint32_t epochs;        /* 1..1000000; a checkpoint holds the history of some 520,000 */
    uint32_t batch;         /* samples in a step, 1..65536 */
    uint32_t accumulate;    /* 1..batch: at most so many forward and backward passes, over which the
                               gradients of a step are accumulated; more of them need less
                               memory */
    uint32_t patience;      /* epochs since the best one after which training stops; 0: it never
                               stops early */
    int32_t keep;           /* SVIT_KEEP_* */
    uint64_t seed;          /* of the order, the augmentation and the dropout masks */
    double label_smoothing; /* [0, 1); 0 with SVIT_LOSS_MSE */
    double warmup_fraction; /* [0, 1]: fraction of all steps that are warm-up steps, where the
                               optimiser's total_steps and warmup_steps are 0 */
    const char *folder;     /* where checkpoint.safetensors and history.csv are written,
                               best.safetensors if there is validation, and run.json if there is a
                               `description`. The trainer creates it if it does not exist and locks
                               it (svit_folder_lock). A relative path stays one from the working
                               folder in which the trainer was created, wherever the program works
                               later. NULL: nothing is written */
    double checkpoint_seconds; /* at least 0: shortest time between checkpoints within an epoch;
                                  0: they are written at the end of epochs only */
    int32_t compute;           /* SVIT_COMPUTE_F32 or SVIT_COMPUTE_BF16 */
    uint32_t prefetch;         /* batches that are prepared ahead, 0..16 */
    int32_t memory;            /* SVIT_MEMORY_*; a resumed run may use another one */
    int32_t existing;          /* SVIT_EXISTING_* */
    const char *description;   /* the caller's notes on the run, UTF-8: stored in each checkpoint as
                                  the entry "trainer.description", and as it is in
                                  `folder`/run.json, so that it is a JSON object if readers of JSON
                                  and the programs are to read it. NULL: none; in a resumed run,
                                  that of the checkpoint */
    int32_t loss;              /* SVIT_LOSS_*. The other losses than SVIT_LOSS_CROSS_ENTROPY take a
                                  label as targets: 1 for its class, 0 for the others */
    int32_t sampling;          /* SVIT_SAMPLING_* of loader.h: the samples of an epoch */
    int32_t tta;               /* SVIT_TTA_*: how validation evaluates */
    uint32_t class_weight_count; /* of `class_weights`: 0, or the model's number of classes */
    double class_weights[SVIT_MAX_CLASS_WEIGHTS]; /* 1.2e-38..3.4e38, the range of float32: factors
                                                     of the loss, by the class of the label, as in
                                                     svit_cross_entropy_weighted; with targets
                                                     and mixed images factors of each class's
                                                     part, of which the mean over the images
                                                     is taken, as PyTorch does with
                                                     probabilities; with
                                                     SVIT_LOSS_BINARY `pos_weight` of
                                                     svit_binary_cross_entropy */
    int32_t tensorboard;   /* 1: the history is written for TensorBoard too, to
                              `folder`/events.out.tfevents.shiftvit */
    int32_t schedule_anew; /* 1: svit_trainer_resume of a run that had fewer epochs computes its
                              schedule over all `epochs`; 0: the run's schedule keeps its length,
                              after which it stays at its last value, mostly 0; a schedule without a
                              length (constant, step, cosine-restarts) goes on */
    uint32_t leaves; /* 0..batch: parts of a batch whose gradients are added in one binary tree
                        (reducer.h), so that they can be computed by any number of processes; 0: the
                        gradients of a batch are one sum. With leaves, accumulate is 1 */
    uint32_t shuffle_window;     /* as in svit_loader_config: 0: an epoch is a permutation of all
                                samples; else shards are read nearly from end to end */
    const svit_reducer *reducer; /* the ranks that train together: copied at creation, its `user`
                                    lives longer than the trainer. `leaves` is 0 or its number of
                                    leaves. NULL: the trainer trains alone */
    int32_t check_finite; /* 1: a step that fails with SVIT_E_NUMERIC names the first tensor that is
                             not finite, as in svit_session_config */
    uint32_t early_height;   /* with early_fraction: pixels, 1..the model's input_height */
    uint32_t early_width;    /* with early_fraction: pixels, 1..the model's input_width */
    int32_t class_weighting; /* SVIT_CLASS_WEIGHTING_* */
    double early_fraction; /* [0, 1]: the part of the epochs, rounded to whole ones, that come first
                              and train on smaller images: those of the pipeline, reduced with
                              antialiasing to early_height x early_width, which a session of the
                              model accepts. Validation has the whole size. In a run that was
                              extended it is the part of the epochs from which total_steps was
                              computed, for the schedule or for SVIT_EMA_SWA; where it was given,
                              or neither needs it, of `epochs` */
} svit_trainer_config;

/* Fills `config` with the defaults: 100 epochs, batch 256, no accumulation, patience 5,
 * SVIT_KEEP_LAST, seed 0, no label smoothing, a warm-up of 15 %, no folder, float32, 2 batches
 * ahead, SVIT_MEMORY_STORE, SVIT_EXISTING_REFUSE, SVIT_LOSS_CROSS_ENTROPY,
 * SVIT_SAMPLING_SHUFFLE, SVIT_TTA_NONE, SVIT_CLASS_WEIGHTING_GIVEN without class weights, no events
 * for TensorBoard, no leaves and no reducer, epochs that are permutations of all samples, on images
 * of the whole size, no look for what is not finite. `size` is sizeof(svit_trainer_config) as the
 * caller was compiled. Any thread may call it. */
SVIT_API svit_status svit_trainer_config_init(svit_trainer_config *config, size_t size);

/* Fills `config` from a JSON object whose keys are the names of the fields, but for
 * `class_weight_count`, which follows from the length of "class_weights"; a missing one takes its
 * default. Words: keep "last", "best"; compute "f32", "bf16"; memory "store", "blocks", "stages";
 * existing "refuse", "resume", "overwrite"; loss "cross-entropy", "binary", "mse"; sampling
 * "shuffle", "balanced"; tta "none", "flip", "flip-shift"; class_weighting "given", "balanced".
 * `folder`, `description` and `reducer` are not accepted, since a text cannot hold them; the caller
 * sets these fields itself.
 *
 * `config` is written only on success. SVIT_E_ARGUMENT names an unknown key or a value that is not
 * accepted; SVIT_E_FORMAT means that the text is no JSON object. SVIT_E_VERSION: a struct of this
 * `size` lacks a field that is not at its default. Any thread may call it. */
SVIT_API svit_status svit_trainer_config_from_json(svit_trainer_config *config, size_t size,
                                                   const char *json, svit_error *err);

/* Writes `config` as the JSON object that svit_trainer_config_from_json reads, without `folder`,
 * `description` and `reducer`. `buffer`, `capacity` and `needed` are as in svit_context_describe.
 * SVIT_E_ARGUMENT names a field that is out of range. Any thread may call it. */
SVIT_API svit_status svit_trainer_config_to_json(const svit_trainer_config *config, char *buffer,
                                                 size_t capacity, size_t *needed, svit_error *err);

/* Sets training settings from a JSON object whose keys are the names of the fields of the three
 * configurations, as svit_trainer_config_from_json, svit_optimizer_config_from_json and
 * svit_pipeline_config_from_json read them; no two of the structs share a key. The structs must be
 * initialised, by svit_training_preset for example: fields that the object lacks keep their values.
 *
 * The structs are written only on success. SVIT_E_ARGUMENT names an unknown key, with the most
 * similar known one, or a value that is not accepted; SVIT_E_FORMAT means that the text is no JSON
 * object. SVIT_E_VERSION: a struct of an older size lacks a field that is not at its default. Any
 * thread may call it. */
SVIT_API svit_status svit_training_from_json(svit_trainer_config *trainer,
                                             svit_optimizer_config *optimizer,
                                             svit_pipeline_config *pipeline, const char *json,
                                             svit_error *err);

/* Writes the three configurations as the JSON object that svit_training_from_json reads. `folder`
 * and `description` are left out and `existing` has its default, since they belong to one run.
 * `buffer`, `capacity` and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field
 * that is out of range. Any thread may call it. */
SVIT_API svit_status svit_training_to_json(const svit_trainer_config *trainer,
                                           const svit_optimizer_config *optimizer,
                                           const svit_pipeline_config *pipeline, char *buffer,
                                           size_t capacity, size_t *needed, svit_error *err);

/* Writes a JSON array that describes the fields of a configuration, for help texts and bindings:
 * of svit_training_from_json if `of` is "training", of svit_model_config_from_json if it is the
 * name of an architecture (svit_model_architecture_name). Each element is an object of "name",
 * "type" and "accepted", which are texts, and "default", the value without any preset. `buffer`,
 * `capacity` and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT: `of` is neither. Any
 * thread may call it. */
SVIT_API svit_status svit_config_fields(const char *of, char *buffer, size_t capacity,
                                        size_t *needed, svit_error *err);

/* Fills three configurations with the training settings of a model preset: epochs, batch,
 * optimiser, pipeline and so on of the example or paper that it comes from. Each of the three may
 * be NULL; each size is that of the struct as the caller was compiled. The pipelines of Keras' ViTs
 * of CIFAR-100 have scale 1, mean 0 and variance 1: the caller sets mean and variance of the
 * training images, by svit_dataset_statistics. SVIT_E_ARGUMENT: there is no such preset.
 * SVIT_E_VERSION: a struct of this `size` lacks a field that is not at its default. Any thread may
 * call it. */
SVIT_API svit_status svit_training_preset(const char *preset, svit_trainer_config *trainer,
                                          size_t trainer_size, svit_optimizer_config *optimizer,
                                          size_t optimizer_size, svit_pipeline_config *pipeline,
                                          size_t pipeline_size, svit_error *err);

/* Fills three configurations with settings for the fine-tuning of `model` on `images` images:
 * epochs, batch and the average of the weights follow from their number by the table in
 * docs/fine-tuning.md. Learning rate and layer_decay are the same for any number, and others with
 * adapters (svit_model_add_lora) than without. No group is set: what the model has frozen stays as
 * it is. The model has the head for the classes of these images (svit_model_replace_head). The
 * pipeline is the model's, or, if it has none, a resize to its input and values in -1..1.
 *
 * Each of the three may be NULL; each size is that of the struct as the caller was compiled.
 * SVIT_E_ARGUMENT: `images` is 0. SVIT_E_VERSION: a struct of this `size` lacks a field that is not
 * at its default. The model is only read, so any number of threads may call it. */
SVIT_API svit_status svit_fine_tuning_settings(const svit_model *model, uint64_t images,
                                               svit_trainer_config *trainer, size_t trainer_size,
                                               svit_optimizer_config *optimizer,
                                               size_t optimizer_size,
                                               svit_pipeline_config *pipeline, size_t pipeline_size,
                                               svit_error *err);

/* A description of what was completed. top-1 and top-5 are fractions in 0..1, of samples whose
 * label has the largest logit, or one of the five largest. Of samples that have targets the largest
 * one counts as the label. With SVIT_LOSS_BINARY top-1 is the fraction of samples in which every
 * label is right, and top-5 is NaN; with SVIT_LOSS_MSE both are NaN. The reader must not look
 * beyond struct_size. */
typedef struct svit_trainer_event {
    uint32_t struct_size;     /* bytes that the library filled */
    int32_t kind;             /* SVIT_EVENT_* */
    uint64_t epoch;           /* from 1 */
    uint64_t epochs;          /* the largest number of epochs */
    uint64_t step;            /* steps of this epoch so far */
    uint64_t steps;           /* steps in an epoch */
    double train_loss;        /* mean over this epoch so far */
    double train_top1;        /* over this epoch so far */
    double train_top5;        /* over this epoch so far */
    double val_loss;          /* mean over the validation set; NaN if there is none */
    double val_top1;          /* NaN without validation */
    double val_top5;          /* NaN without validation */
    double learning_rate;     /* of the last step */
    double images_per_second; /* of training in this epoch and process */
    double seconds;           /* time spent in this epoch in this process, validation included */
    double eta_seconds;       /* expected time to the end of the last epoch; 0: the run is done, or
                                 this process has made no step of this epoch, so that the time is
                                 unknown */
    uint64_t best_epoch;      /* epoch with the highest validation top-1, of equal ones the one with
                                 the lowest validation loss; if the loss is not
                                 SVIT_LOSS_CROSS_ENTROPY, the one with the lowest validation loss;
                                 0 without validation */
    int32_t stopped_early;    /* 1: the run finished because `patience` was exhausted */
    uint32_t reserved;        /* 0 */
    double pflop;             /* 1e15 operations of training so far: 3 * 2 * the multiply-adds of a
                                 forward pass (svit_model_multiply_adds) for each image. This is
                                 the measure in which recipes are compared; it counts the gradient
                                 of the first layer's input, which is left out */
} svit_trainer_event;

/* Receives an event, which is borrowed until the function returns. Returns 0 to continue. Another
 * value stops the run: a checkpoint is written, and svit_trainer_run returns SVIT_E_STOPPED.
 *
 * At SVIT_EVENT_STEP and SVIT_EVENT_EPOCH the model has the weights of the last step. If the
 * optimiser keeps an average, val_* describe the average instead: svit_optimizer_swap_ema of
 * svit_trainer_optimizer gives it to the model, and a second call takes it back, before the
 * function returns or calls svit_trainer_checkpoint. At SVIT_EVENT_FINISHED the model has its final
 * weights.
 *
 * The function may evaluate and save the model (svit_model_load_memory opens a snapshot that
 * svit_model_save_memory wrote, with adapters of LoRA merged and nothing frozen), call
 * svit_trainer_checkpoint and read the history, and change settings of the optimiser and the loss
 * for the next step. svit_trainer_run, _step and _resume return SVIT_E_STATE there;
 * svit_trainer_free must not be called. The function must not throw, nor leave by longjmp. */
typedef int32_t (*svit_trainer_callback)(const svit_trainer_event *event, void *user);

/* Creates a trainer. It keeps the context, the model and the datasets alive. The workers of
 * `context`, whatever the model's has, run its passes and updates; its allocator gives their
 * memory, but that of the layers, its log gets the trainer's warnings, and its stop function ends
 * the run. Where it has another instruction set or GEMM backend than the model's, the model's runs
 * passes and updates, and a warning says so. The trainer's loaders read the samples.
 * `validation` may be NULL, unless `keep` is SVIT_KEEP_BEST. NULL for a configuration means its
 * defaults, whatever pipeline the model has: svit_model_get_pipeline and svit_fine_tuning_settings
 * give the model's. The model takes over the pipeline, and the class names of a training set that
 * has as many classes as the model. SVIT_E_ARGUMENT: the model has one of these names under another
 * label (svit_dataset_match_classes takes the model's order, svit_model_replace_head begins a new
 * classifier). Both sets have the names that the model then has, in its order; a set of fewer
 * classes, which with other losses than SVIT_LOSS_CROSS_ENTROPY `validation` alone may be, has
 * those that are first in the model. If a group of `optimizer` has `trainable` 0, the groups decide
 * in the model, too, and for good, what of the parameters that they match is frozen, as
 * svit_model_set_trainable does one after the other: one with `trainable` 1 also trains what the
 * caller has frozen. With a folder, some samples of both datasets are read
 * (svit_dataset_fingerprint), and the folder is created and locked after all other checks but the
 * comparison of ranks. The caller owns *out and frees it with svit_trainer_free.
 *
 * SVIT_E_ARGUMENT names the field that is not accepted, or the size or class that model, pipeline
 * and datasets do not share (svit_dataset_match_classes and svit_model_replace_head bring classes
 * together); with SVIT_LOSS_CROSS_ENTROPY also a model with one output, or a sample whose targets
 * are no probabilities: each at least 0, with the sum 1 to within 0.05. SVIT_E_STATE: another
 * trainer uses the folder, or it holds a run and `existing` is SVIT_EXISTING_REFUSE. */
SVIT_API svit_status svit_trainer_create(svit_trainer **out, svit_context *context,
                                         svit_model *model, svit_dataset *training,
                                         svit_dataset *validation,
                                         const svit_trainer_config *config,
                                         const svit_optimizer_config *optimizer,
                                         const svit_pipeline_config *pipeline, svit_error *err);

/* Frees a trainer and unlocks its folder, which is removed if the trainer created it and it is
 * empty. NULL is allowed. */
SVIT_API void svit_trainer_free(svit_trainer *trainer);

/* Restores the run of `folder`/checkpoint.safetensors, and with SVIT_KEEP_BEST, unless the last
 * epoch is the best, of `folder`/best.safetensors. It must be called before the first step.
 * Training then continues with the same bits as a run that was never interrupted. On failure the
 * trainer and the model are unchanged, unless ranks have resumed from different checkpoints. The
 * parameters that the run does not train are frozen again (svit_model_set_trainable).
 *
 * SVIT_KEEP_LAST is accepted for a run with SVIT_KEEP_BEST, which then goes on without
 * best.safetensors. A larger patience than the run's, or 0, is accepted: it changes where the run
 * ends, and one that stopped early goes on. A trainer with more epochs than the run extends it,
 * whether the run was finished or not. Patience, schedule and learning rate may then differ from
 * those of the run.
 *
 * A schedule whose length the trainer computes (total_steps 0) keeps the length that it had,
 * computed or given. With a given length it keeps its warm-up too, if warmup_steps is 0. After its
 * end it stays at its last value.
 *
 * SVIT_E_IO: a file is missing or cannot be read. To tell which, look for the files in the folder;
 * in one without a run the trainer may begin one then. SVIT_E_ARGUMENT: it belongs to
 * another model, to other data (svit_dataset_fingerprint, which does not see the images of
 * functions) or to another configuration; the message names the field. SVIT_E_FORMAT names the
 * damaged entry. SVIT_E_STATE: the run has begun, or `existing` is SVIT_EXISTING_OVERWRITE. A
 * checkpoint of library 0.1 has no fingerprints: it is accepted with a warning in the log. */
SVIT_API svit_status svit_trainer_resume(svit_trainer *trainer, svit_error *err);

/* Lets the trainer minimise `function`, which is called with `user` on the thread of the step, in
 * place of the loss of its configuration; NULL: that loss again. It may be called between any two
 * calls for the trainer, by all ranks, and counts from the next step on.
 *
 * label_smoothing, class_weights and class_weighting do not apply to a function. The loss of a
 * batch is the mean of those of its micro-batches, weighted by their samples. If the configured
 * loss is SVIT_LOSS_CROSS_ENTROPY and images are not mixed, the function gets labels, otherwise
 * targets. train_loss is the mean of the function. Validation, the best epoch and the model's
 * output follow the configured loss. A failure of the function fails the step as any other does:
 * nothing of the step has happened, and the next call repeats it.
 *
 * A checkpoint says that a function was set, but cannot hold it: set it before svit_trainer_resume,
 * which refuses a run with a function where none is set, and the reverse. */
SVIT_API svit_status svit_trainer_set_loss(svit_trainer *trainer, svit_loss_function function,
                                           void *user, svit_error *err);

/* Returns the optimiser, borrowed until svit_trainer_resume or svit_trainer_free; NULL for NULL.
 * Settings may change between steps (svit_optimizer_set_f64, svit_optimizer_set_parameter_f64).
 * They are not in checkpoints, so a resumed run sets them again. The trainer itself calls svit_step
 * and svit_optimizer_swap_ema: where the model holds the average, steps and checkpoints of the
 * trainer fail with SVIT_E_STATE, and checkpoints where the program has stepped or restored the
 * optimiser itself. */
SVIT_API svit_optimizer *svit_trainer_optimizer(svit_trainer *trainer);

/* Runs the training to its end and calls `callback`, which may be NULL, after each event.
 * SVIT_E_STOPPED: the callback, or the context's stop function (svit_stop_function), stopped the
 * run; svit_trainer_stop_value returns its value, and with a folder a checkpoint was written. Where
 * a function of a dataset, of the loss or of the reducer stopped it, which is a failure as any
 * other, no checkpoint was written and svit_trainer_stop_value returns 0. After any failure the
 * last checkpoint is still valid. */
SVIT_API svit_status svit_trainer_run(svit_trainer *trainer, svit_trainer_callback callback,
                                      void *user, svit_error *err);

/* Works up to the next event and writes it to *event. After SVIT_EVENT_FINISHED it returns this
 * event again. `size` is sizeof(svit_trainer_event) as the caller was compiled. SVIT_E_STOPPED: the
 * context's stop function came before a step, or ended a validation, which the next call begins
 * again; or a function of a dataset, of the loss or of the reducer stopped. Other errors are those
 * of svit_loader_next, svit_forward, svit_cross_entropy, svit_backward, svit_step and
 * svit_checkpoint_save. */
SVIT_API svit_status svit_trainer_step(svit_trainer *trainer, svit_trainer_event *event,
                                       size_t size, svit_error *err);

/* Writes a checkpoint; all ranks call it. After SVIT_EVENT_FINISHED the checkpoint of the last
 * epoch stays as it is. SVIT_E_STATE: the trainer has no folder, or svit_trainer_resume must come
 * first. */
SVIT_API svit_status svit_trainer_checkpoint(svit_trainer *trainer, svit_error *err);

/* Returns the value with which the callback, or the context's stop function, stopped the last
 * svit_trainer_run; 0 if neither did. */
SVIT_API int32_t svit_trainer_stop_value(const svit_trainer *trainer);

/* Returns the number of completed epochs, those before a resume included; 0 for NULL. */
SVIT_API size_t svit_trainer_history_count(const svit_trainer *trainer);

/* Writes completed epoch number `index`, from 0, to *event as an SVIT_EVENT_EPOCH event. `size`
 * is sizeof(svit_trainer_event) as the caller was compiled. SVIT_E_ARGUMENT: there is no such
 * epoch. */
SVIT_API svit_status svit_trainer_history(const svit_trainer *trainer, size_t index,
                                          svit_trainer_event *event, size_t size, svit_error *err);

/* Evaluates a model in float32 on a dataset with the evaluation steps of `pipeline`, `batch`
 * samples in a forward pass. The workers, allocator, log and stop function are those of `context`,
 * as in svit_trainer_create. A `pipeline` of NULL is that of the model, or, with a warning in the
 * log, the default if it has none. The model computes at the evaluation size of the pipeline
 * (svit_pipeline_evaluation_size). Writes the mean cross-entropy to *loss and fractions in 0..1 to
 * *top1 and *top5; each may be NULL. SVIT_E_ARGUMENT: the model takes no images of that size
 * (input_height in svit_session_config), the channels of model, pipeline and dataset differ, the
 * dataset has more classes than the model, or both have class names and these differ; a dataset of
 * fewer classes has those that are first in the model. If the dataset has targets, they are
 * probabilities: each at least 0, with the sum 1. Others, and a model with one output, are
 * SVIT_E_ARGUMENT; svit_evaluate_logits serves them. The loss of a masked autoencoder is the mean
 * squared error of its patches, and its fractions are NaN. */
SVIT_API svit_status svit_evaluate(svit_context *context, svit_model *model, svit_dataset *dataset,
                                   const svit_pipeline_config *pipeline, size_t batch, double *loss,
                                   double *top1, double *top5, svit_error *err);

/* Evaluates a model as svit_evaluate does, in the precision `compute`, one of SVIT_COMPUTE_*. */
SVIT_API svit_status svit_evaluate_with_compute(svit_context *context, svit_model *model,
                                                svit_dataset *dataset,
                                                const svit_pipeline_config *pipeline, size_t batch,
                                                int32_t compute, double *loss, double *top1,
                                                double *top5, svit_error *err);

/* Computes the logits of a model for every sample of a dataset, in its order, with the evaluation
 * pipeline: logits[count, classes], with the number of the model's classes, and labels[count],
 * which are -1 if the dataset has targets or the model is a masked autoencoder. If `labels` is
 * NULL, a dataset without targets may have any classes. `tta` is one of SVIT_TTA_*, `compute` one
 * of SVIT_COMPUTE_*; `pipeline` and `batch` are as in svit_evaluate. All other measures can be
 * computed from these. Errors are those of svit_evaluate; what the arrays then hold is undefined.
 */
SVIT_API svit_status svit_evaluate_logits(svit_context *context, svit_model *model,
                                          svit_dataset *dataset,
                                          const svit_pipeline_config *pipeline, size_t batch,
                                          int32_t compute, int32_t tta, float *logits,
                                          int32_t *labels, svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
