//! Trainers: the training loop with validation, early stopping, history, checkpoints and
//! resuming.

// Written by bindings/rust/generate from the C headers.

use crate::context::*;
use crate::dataset::*;
use crate::loss::*;
use crate::model::*;
use crate::optimizer::*;
use crate::pipeline::*;
use crate::reducer::*;
use crate::status::*;
use std::os::raw::{c_char, c_void};

// The weights that the model has after the last epoch.

/// those of the last step
pub const SVIT_KEEP_LAST: i32 = 0;
/// those of the best epoch (svit_trainer_event.best_epoch)
pub const SVIT_KEEP_BEST: i32 = 1;

// What a trainer does if its folder already holds a run, that is, checkpoint.safetensors,
// best.safetensors, history.csv or run.json.

/// svit_trainer_create fails with SVIT_E_STATE
pub const SVIT_EXISTING_REFUSE: i32 = 0;
/// svit_trainer_resume must precede the first step
pub const SVIT_EXISTING_RESUME: i32 = 1;
/// the first checkpoint of the new run replaces the files of the old
/// run; other files stay. If the process is killed, the old run or
/// the new one can be resumed
pub const SVIT_EXISTING_OVERWRITE: i32 = 2;

// Test-time augmentation: the logits of an image are the mean over several versions of it.

/// the image alone
pub const SVIT_TTA_NONE: i32 = 0;
/// the image and its left-right mirror
pub const SVIT_TTA_FLIP: i32 = 1;
/// these two, and the two of the image moved by one pixel up and left
/// and of the image moved by one pixel down and right, where the first
/// two count twice as much as the other four (Jordan 2024)
pub const SVIT_TTA_FLIP_SHIFT: i32 = 2;

// The capacity of `class_weights` in svit_trainer_config.

/// classes
pub const SVIT_MAX_CLASS_WEIGHTS: i32 = 128;

// What svit_trainer_step has completed.

/// one optimiser step
pub const SVIT_EVENT_STEP: i32 = 0;
/// an epoch with its validation
pub const SVIT_EVENT_EPOCH: i32 = 1;
/// the run: the last epoch, or early stopping
pub const SVIT_EVENT_FINISHED: i32 = 2;

/// A trainer trains one model on one dataset. What it does can be written on the other functions of
/// this library (examples/own_loop.c). If the optimiser keeps a moving average of the weights, the
/// average is what is validated, kept as the best and left in the model at the end. One thread at a
/// time may use a trainer.
///
/// With a reducer of several ranks, each rank creates a trainer with the same settings, data and
/// weights and calls its functions in the same order, and all get the same results. Each rank
/// decodes and computes its share of each batch and of the validation set. Rank 0 alone locks and
/// writes the folder; the others read it when they resume, so that all need to see it. A failure of
/// one rank is returned on all, with "rank R of N: " before its message, and ends the run: later
/// calls return it again. The callback of svit_trainer_run is called on all ranks, and a value of
/// any of them stops all after the same event. The bits of the result do not depend on the ranks,
/// and a run may be resumed with another number of them.
#[repr(C)]
pub struct svit_trainer {
    _data: [u8; 0],
    _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
}

/// The configuration of a trainer. It is copied at creation, the texts included.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_trainer_config {
    /// sizeof(svit_trainer_config)
    pub struct_size: u32,
    /// 1\..1000000
    pub epochs: u32,
    /// samples in a step, 1..65536
    pub batch: u32,
    /// 1\..batch: forward and backward passes over which the gradients of a
    /// step are accumulated; more of them need less memory
    pub accumulate: u32,
    /// epochs since the best one after which training stops; 0: it never
    /// stops early
    pub patience: u32,
    /// SVIT_KEEP_\*
    pub keep: i32,
    /// of the order, the augmentation and the dropout masks
    pub seed: u64,
    /// \[0, 1)
    pub label_smoothing: f64,
    /// \[0, 1\]: fraction of all steps that are warm-up steps, where the
    /// optimiser's total_steps and warmup_steps are 0
    pub warmup_fraction: f64,
    /// where checkpoint.safetensors, best.safetensors, history.csv and
    /// run.json are written. The trainer creates it if it does not exist
    /// and locks it (svit_folder_lock). NULL: nothing is written
    pub folder: *const c_char,
    /// at least 0: shortest time between checkpoints within an epoch;
    /// 0: they are written at the end of epochs only
    pub checkpoint_seconds: f64,
    /// SVIT_COMPUTE_F32 or SVIT_COMPUTE_BF16
    pub compute: i32,
    /// batches that are prepared ahead, 0..16
    pub prefetch: u32,
    /// SVIT_MEMORY_\*; a resumed run may use another one
    pub memory: i32,
    /// SVIT_EXISTING_\*
    pub existing: i32,
    /// the caller's notes on the run, UTF-8: stored in each checkpoint as
    /// the entry "trainer.description" and in `folder`/run.json. NULL:
    /// none; in a resumed run, that of the checkpoint
    pub description: *const c_char,
    /// SVIT_LOSS_\*. The other losses than SVIT_LOSS_CROSS_ENTROPY take a
    /// label as targets: 1 for its class, 0 for the others
    pub loss: i32,
    /// SVIT_SAMPLING_\* of loader.h: the samples of an epoch
    pub sampling: i32,
    /// SVIT_TTA_\*: how validation evaluates
    pub tta: i32,
    /// of `class_weights`: 0, or the model's number of classes
    pub class_weight_count: u32,
    /// above 0: factors of the loss, by the class of
    /// the label, as in svit_cross_entropy_weighted;
    /// with SVIT_LOSS_BINARY `pos_weight` of
    /// svit_binary_cross_entropy
    pub class_weights: [f64; SVIT_MAX_CLASS_WEIGHTS as usize],
    /// 1: the history is written for TensorBoard too, to
    /// `folder`/events.out.tfevents.shiftvit
    pub tensorboard: i32,
    /// 1: svit_trainer_resume of a run that had fewer epochs computes its
    /// schedule over all `epochs`; 0: the run's schedule keeps its length,
    /// after which a rate other than a constant one stays at its last value,
    /// mostly 0
    pub schedule_anew: i32,
    /// 0\..batch: parts of a batch whose gradients are added in one binary tree
    /// (reducer.h), so that they can be computed by any number of processes; 0: the
    /// gradients of a batch are one sum. With leaves, accumulate is 1
    pub leaves: u32,
    /// as in svit_loader_config: 0: an epoch is a permutation of all
    /// samples; else shards are read nearly from end to end
    pub shuffle_window: u32,
    /// the ranks that train together: copied at creation, its `user`
    /// lives longer than the trainer. `leaves` is 0 or its number of
    /// leaves. NULL: the trainer trains alone
    pub reducer: *const svit_reducer,
}

/// A description of what was completed. top-1 and top-5 are fractions in 0..1, of samples whose
/// label has the largest logit, or one of the five largest. Of samples that have targets the largest
/// one counts as the label. With SVIT_LOSS_BINARY top-1 is the fraction of samples in which every
/// label is right, and top-5 is NaN; with SVIT_LOSS_MSE both are NaN. The reader must not look
/// beyond struct_size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_trainer_event {
    /// bytes that the library filled
    pub struct_size: u32,
    /// SVIT_EVENT_\*
    pub kind: i32,
    /// from 1
    pub epoch: u64,
    /// the largest number of epochs
    pub epochs: u64,
    /// steps of this epoch so far
    pub step: u64,
    /// steps in an epoch
    pub steps: u64,
    /// mean over this epoch so far
    pub train_loss: f64,
    /// over this epoch so far
    pub train_top1: f64,
    /// over this epoch so far
    pub train_top5: f64,
    /// mean over the validation set; NaN if there is none
    pub val_loss: f64,
    /// NaN without validation
    pub val_top1: f64,
    /// NaN without validation
    pub val_top5: f64,
    /// of the last step
    pub learning_rate: f64,
    /// of training in this epoch and process
    pub images_per_second: f64,
    /// time spent in this epoch in this process, validation included
    pub seconds: f64,
    /// expected time to the end of the last epoch
    pub eta_seconds: f64,
    /// epoch with the highest validation top-1, of equal ones the one with
    /// the lowest validation loss; if the loss is not
    /// SVIT_LOSS_CROSS_ENTROPY, the one with the lowest validation loss;
    /// 0 without validation
    pub best_epoch: u64,
    /// 1: the run finished because `patience` was exhausted
    pub stopped_early: i32,
    /// 0
    pub reserved: u32,
    /// 1e15 operations of training so far: 3 \* 2 \* the multiply-adds of a
    /// forward pass (svit_model_multiply_adds) for each image. This is
    /// the measure in which recipes are compared; it counts the gradient
    /// of the first layer's input, which is left out
    pub pflop: f64,
}

/// Receives an event, which is borrowed until the function returns. Returns 0 to continue. Another
/// value stops the run: a checkpoint is written, and svit_trainer_run returns SVIT_E_STOPPED.
pub type svit_trainer_callback = Option<
    unsafe extern "C" fn(event: *const svit_trainer_event, user: *mut c_void) -> i32,
>;

extern "C" {
    /// Fills `config` with the defaults: 100 epochs, batch 256, no accumulation, patience 5,
    /// SVIT_KEEP_LAST, seed 0, no label smoothing, a warm-up of 15 %, no folder, float32, 2 batches
    /// ahead, SVIT_MEMORY_STORE, SVIT_EXISTING_REFUSE, SVIT_LOSS_CROSS_ENTROPY, SVIT_SAMPLING_SHUFFLE,
    /// SVIT_TTA_NONE, no class weights. `size` is sizeof(svit_trainer_config) as the
    /// caller was compiled. Any thread may call it.
    pub fn svit_trainer_config_init(config: *mut svit_trainer_config, size: usize) -> svit_status;

    /// Fills `config` from a JSON object whose keys are the names of the fields; a missing one takes its
    /// default. Words: keep "last", "best"; compute "f32", "bf16"; memory "store", "blocks", "stages";
    /// existing "refuse", "resume", "overwrite"; loss "cross-entropy", "binary", "mse"; sampling
    /// "shuffle", "balanced"; tta "none", "flip", "flip-shift". `folder`, `description` and `reducer`
    /// are not accepted, since a text cannot hold them; the caller sets these fields itself.
    ///
    /// `config` is written only on success. SVIT_E_ARGUMENT names an unknown key or a value that is not
    /// accepted; SVIT_E_FORMAT means that the text is no JSON object. Any thread may call it.
    pub fn svit_trainer_config_from_json(
        config: *mut svit_trainer_config,
        size: usize,
        json: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes `config` as the JSON object that svit_trainer_config_from_json reads, without `folder`,
    /// `description` and `reducer`. `buffer`, `capacity` and `needed` are as in svit_context_describe.
    /// SVIT_E_ARGUMENT names a field that is out of range. Any thread may call it.
    pub fn svit_trainer_config_to_json(
        config: *const svit_trainer_config,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Sets training settings from a JSON object whose keys are the names of the fields of the three
    /// configurations, as svit_trainer_config_from_json, svit_optimizer_config_from_json and
    /// svit_pipeline_config_from_json read them; no two of the structs share a key. The structs must be
    /// initialised, by svit_training_preset for example: fields that the object lacks keep their values.
    ///
    /// The structs are written only on success. SVIT_E_ARGUMENT names an unknown key, with the most
    /// similar known one, or a value that is not accepted; SVIT_E_FORMAT means that the text is no JSON
    /// object. Any thread may call it.
    pub fn svit_training_from_json(
        trainer: *mut svit_trainer_config,
        optimizer: *mut svit_optimizer_config,
        pipeline: *mut svit_pipeline_config,
        json: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the three configurations as the JSON object that svit_training_from_json reads. `folder`
    /// and `description` are left out and `existing` has its default, since they belong to one run.
    /// `buffer`, `capacity` and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field
    /// that is out of range. Any thread may call it.
    pub fn svit_training_to_json(
        trainer: *const svit_trainer_config,
        optimizer: *const svit_optimizer_config,
        pipeline: *const svit_pipeline_config,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes a JSON array that describes the fields of a configuration, for help texts and bindings:
    /// of svit_training_from_json if `of` is "training", of svit_model_config_from_json if it is the
    /// name of an architecture (svit_model_architecture_name). Each element is an object of "name",
    /// "type" and "accepted", which are texts, and "default", the value without any preset. `buffer`,
    /// `capacity` and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT: `of` is neither. Any
    /// thread may call it.
    pub fn svit_config_fields(
        of: *const c_char,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Fills three configurations with the training settings of a model preset: epochs, batch,
    /// optimiser, pipeline and so on of the example or paper that it comes from. Each of the three may
    /// be NULL; each size is that of the struct as the caller was compiled. SVIT_E_ARGUMENT: there is no
    /// such preset. Any thread may call it.
    pub fn svit_training_preset(
        preset: *const c_char,
        trainer: *mut svit_trainer_config,
        trainer_size: usize,
        optimizer: *mut svit_optimizer_config,
        optimizer_size: usize,
        pipeline: *mut svit_pipeline_config,
        pipeline_size: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a trainer. It keeps the context, the model and the datasets alive. `validation` may be
    /// NULL, unless `keep` is SVIT_KEEP_BEST. NULL for a configuration means its defaults. The model
    /// takes over the pipeline and the class names of the training set. With a folder, some samples of
    /// both datasets are read (svit_dataset_fingerprint), and the folder is created and locked last. The
    /// caller owns \*out and frees it with svit_trainer_free.
    ///
    /// SVIT_E_ARGUMENT names the field that is not accepted, or the size that model, pipeline and
    /// datasets do not share; with SVIT_LOSS_CROSS_ENTROPY also a model with one output, or a sample
    /// whose targets are no probabilities: each at least 0, with the sum 1 to within 0.05. SVIT_E_STATE:
    /// another trainer uses the folder, or it holds a run and `existing` is SVIT_EXISTING_REFUSE.
    pub fn svit_trainer_create(
        out: *mut *mut svit_trainer,
        context: *mut svit_context,
        model: *mut svit_model,
        training: *mut svit_dataset,
        validation: *mut svit_dataset,
        config: *const svit_trainer_config,
        optimizer: *const svit_optimizer_config,
        pipeline: *const svit_pipeline_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Frees a trainer and unlocks its folder, which is removed if the trainer created it and it is
    /// empty. NULL is allowed.
    pub fn svit_trainer_free(trainer: *mut svit_trainer);

    /// Restores the run of `folder`/checkpoint.safetensors. It must be called before the first step.
    /// Training then continues with the same bits as a run that was never interrupted. On failure the
    /// trainer is unchanged. The parameters that the run does not train are frozen again
    /// (svit_model_set_trainable). If these are others than the model's, a failure of memory or of the
    /// file may come after that; further calls are then refused with SVIT_E_STATE, and another trainer
    /// is needed.
    ///
    /// A trainer with more epochs than the run extends it, whether the run was finished or not.
    /// Patience, schedule and learning rate may then differ from those of the run. A schedule whose
    /// length the trainer computes (total_steps 0) keeps the length that it had; after its end it stays
    /// at its last value.
    ///
    /// SVIT_E_IO: there is no checkpoint. SVIT_E_ARGUMENT: it belongs to another model, to other data
    /// (svit_dataset_fingerprint) or to another configuration; the message names the field.
    /// SVIT_E_FORMAT names the damaged entry. SVIT_E_STATE: the run has begun, or `existing` is
    /// SVIT_EXISTING_OVERWRITE. A checkpoint of library 0.1 has no fingerprints: it is accepted with a
    /// warning in the log.
    pub fn svit_trainer_resume(trainer: *mut svit_trainer, err: *mut svit_error) -> svit_status;

    /// Lets the trainer minimise `function`, which is called with `user` on the thread of the step, in
    /// place of the loss of its configuration; NULL: that loss again. It may be called between any two
    /// calls for the trainer, and counts from the next step on.
    ///
    /// label_smoothing and class_weights do not apply to a function. The loss of a batch is the mean of
    /// those of its micro-batches, weighted by their samples. If the configured loss is
    /// SVIT_LOSS_CROSS_ENTROPY and images are not mixed, the function gets labels, otherwise targets.
    /// train_loss is the mean of the function. Validation, the best epoch and the model's output follow
    /// the configured loss. A failure of the function fails the step as any other does: nothing of the
    /// step has happened, and the next call repeats it.
    ///
    /// A checkpoint says that a function was set, but cannot hold it: set it before svit_trainer_resume,
    /// which refuses a run with a function where none is set, and the reverse.
    pub fn svit_trainer_set_loss(
        trainer: *mut svit_trainer,
        function: svit_loss_function,
        user: *mut c_void,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns the optimiser, borrowed until svit_trainer_resume or svit_trainer_free; NULL for NULL.
    /// Settings may change between steps (svit_optimizer_set_f64, svit_optimizer_set_parameter_f64).
    /// They are not in checkpoints, so a resumed run sets them again. The trainer itself calls svit_step
    /// and svit_optimizer_swap_ema.
    pub fn svit_trainer_optimizer(trainer: *mut svit_trainer) -> *mut svit_optimizer;

    /// Runs the training to its end and calls `callback`, which may be NULL, after each event.
    /// SVIT_E_STOPPED: the callback stopped the run; svit_trainer_stop_value returns its value. After
    /// any failure the last checkpoint is still valid.
    pub fn svit_trainer_run(
        trainer: *mut svit_trainer,
        callback: svit_trainer_callback,
        user: *mut c_void,
        err: *mut svit_error,
    ) -> svit_status;

    /// Works up to the next event and writes it to \*event. After SVIT_EVENT_FINISHED it returns this
    /// event again. `size` is sizeof(svit_trainer_event) as the caller was compiled. Errors are those of
    /// svit_loader_next, svit_forward, svit_cross_entropy, svit_backward, svit_step and
    /// svit_checkpoint_save.
    pub fn svit_trainer_step(
        trainer: *mut svit_trainer,
        event: *mut svit_trainer_event,
        size: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes a checkpoint; all ranks call it. After SVIT_EVENT_FINISHED the checkpoint of the last
    /// epoch stays as it is. SVIT_E_STATE: the trainer has no folder, or svit_trainer_resume must come
    /// first.
    pub fn svit_trainer_checkpoint(trainer: *mut svit_trainer, err: *mut svit_error) -> svit_status;

    /// Returns the value with which the callback stopped the last svit_trainer_run; 0 if it did not.
    pub fn svit_trainer_stop_value(trainer: *const svit_trainer) -> i32;

    /// Returns the number of completed epochs, those before a resume included; 0 for NULL.
    pub fn svit_trainer_history_count(trainer: *const svit_trainer) -> usize;

    /// Writes completed epoch number `index`, from 0, to \*event as an SVIT_EVENT_EPOCH event. `size`
    /// is sizeof(svit_trainer_event) as the caller was compiled. SVIT_E_ARGUMENT: there is no such
    /// epoch.
    pub fn svit_trainer_history(
        trainer: *const svit_trainer,
        index: usize,
        event: *mut svit_trainer_event,
        size: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Evaluates a model in float32 on a dataset with the evaluation pipeline, `batch` samples in a
    /// forward pass. Writes the mean cross-entropy to \*loss and fractions in 0..1 to \*top1 and \*top5;
    /// each may be NULL. SVIT_E_ARGUMENT: the sizes or the classes of model, pipeline and dataset do not
    /// match, or both have class names and these differ. If the dataset has targets, they are
    /// probabilities: each at least 0, with the sum 1. Others, and a model with one output, are
    /// SVIT_E_ARGUMENT; svit_evaluate_logits serves them.
    pub fn svit_evaluate(
        context: *mut svit_context,
        model: *mut svit_model,
        dataset: *mut svit_dataset,
        pipeline: *const svit_pipeline_config,
        batch: usize,
        loss: *mut f64,
        top1: *mut f64,
        top5: *mut f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Evaluates a model as svit_evaluate does, in the precision `compute`, one of SVIT_COMPUTE_\*.
    pub fn svit_evaluate_with_compute(
        context: *mut svit_context,
        model: *mut svit_model,
        dataset: *mut svit_dataset,
        pipeline: *const svit_pipeline_config,
        batch: usize,
        compute: i32,
        loss: *mut f64,
        top1: *mut f64,
        top5: *mut f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Computes the logits of a model for every sample of a dataset, in its order, with the evaluation
    /// pipeline: logits\[count, classes\], with the number of the model's classes, and labels\[count\],
    /// which may be NULL and are -1 if the dataset has targets. `tta` is one of SVIT_TTA_\*, `compute`
    /// one of SVIT_COMPUTE_\*; `pipeline` and `batch` are as in svit_evaluate. All other measures can be
    /// computed from these. Errors are those of svit_evaluate; what the arrays then hold is undefined.
    pub fn svit_evaluate_logits(
        context: *mut svit_context,
        model: *mut svit_model,
        dataset: *mut svit_dataset,
        pipeline: *const svit_pipeline_config,
        batch: usize,
        compute: i32,
        tta: i32,
        logits: *mut f32,
        labels: *mut i32,
        err: *mut svit_error,
    ) -> svit_status;
}
