//! Trainers: the training loop with validation, early stopping, history, checkpoints and
//! resuming.

// Written by bindings/rust/generate from the C headers.

use crate::reducer::*;
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
/// run, events.out.tfevents.shiftvit included; other files stay. If
/// the process is killed, the old run or the new one can be
/// resumed
pub const SVIT_EXISTING_OVERWRITE: i32 = 2;

// The capacity of `class_weights` in svit_trainer_config.

/// classes
pub const SVIT_MAX_CLASS_WEIGHTS: i32 = 128;

// Where the factors of the classes in the loss come from. SVIT_CLASS_WEIGHTING_BALANCED takes any
// number of classes: the factor is the samples, divided by the classes that have some and by the
// samples of the class, so that all classes count alike and the mean factor of a sample is 1
// (scikit-learn's "balanced"); with SVIT_LOSS_BINARY it is the negatives of the class by its
// positives. Targets count as parts of samples. The factor is 1 for a class that no sample has,
// and, with SVIT_LOSS_BINARY, for one that all have. SVIT_SAMPLING_BALANCED would balance once more
// and is refused. SVIT_E_UNSUPPORTED: a custom dataset that gives labels with images alone.

/// `class_weights`, or 1 for each class
pub const SVIT_CLASS_WEIGHTING_GIVEN: i32 = 0;
/// from the training set
pub const SVIT_CLASS_WEIGHTING_BALANCED: i32 = 1;

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
/// calls return it again. What keeps a rank from beginning is told the others too, with the name of
/// its status alone ("rank R of N could not begin: ") if the rank has no trainer yet, but for what
/// hides them from it: a trainer's configuration that is NULL or whose struct_size is refused, a
/// reducer that is not accepted, or one whose `gather` is NULL. The callback of svit_trainer_run is
/// called on all ranks, and a value of any of them stops all after the same event. Ranks compare
/// what they begin with, and their weights at the end of each epoch; SVIT_E_ARGUMENT says what
/// differs. SVIT_E_STATE: a rank has called another function than the others. The bits of the result
/// do not depend on the ranks, and a run may be resumed with another number of them.
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
    /// 1\..1000000; a checkpoint holds the history of some 520,000
    pub epochs: u32,
    /// samples in a step, 1..65536
    pub batch: u32,
    /// 1\..batch: at most so many forward and backward passes, over which the
    /// gradients of a step are accumulated; more of them need less
    /// memory
    pub accumulate: u32,
    /// epochs since the best one after which training stops; 0: it never
    /// stops early
    pub patience: u32,
    /// SVIT_KEEP_\*
    pub keep: i32,
    /// of the order, the augmentation and the dropout masks
    pub seed: u64,
    /// \[0, 1); 0 with SVIT_LOSS_MSE
    pub label_smoothing: f64,
    /// \[0, 1\]: fraction of all steps that are warm-up steps, where the
    /// optimiser's total_steps and warmup_steps are 0
    pub warmup_fraction: f64,
    /// where checkpoint.safetensors and history.csv are written,
    /// best.safetensors if there is validation, and run.json if there is a
    /// `description`. The trainer creates it if it does not exist and locks
    /// it (svit_folder_lock). A relative path stays one from the working
    /// folder in which the trainer was created, wherever the program works
    /// later. NULL: nothing is written
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
    /// the entry "trainer.description", and as it is in
    /// `folder`/run.json, so that it is a JSON object if readers of JSON
    /// and the programs are to read it. NULL: none; in a resumed run,
    /// that of the checkpoint
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
    /// 1\.2e-38..3.4e38, the range of float32: factors
    /// of the loss, by the class of the label, as in
    /// svit_cross_entropy_weighted; with targets
    /// and mixed images factors of each class's
    /// part, of which the mean over the images
    /// is taken, as PyTorch does with
    /// probabilities; with
    /// SVIT_LOSS_BINARY `pos_weight` of
    /// svit_binary_cross_entropy
    pub class_weights: [f64; SVIT_MAX_CLASS_WEIGHTS as usize],
    /// 1: the history is written for TensorBoard too, to
    /// `folder`/events.out.tfevents.shiftvit
    pub tensorboard: i32,
    /// 1: svit_trainer_resume of a run that had fewer epochs computes its
    /// schedule over all `epochs`; 0: the run's schedule keeps its length,
    /// after which it stays at its last value, mostly 0; a schedule without a
    /// length (constant, step, cosine-restarts) goes on
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
    /// 1: a step that fails with SVIT_E_NUMERIC names the first tensor that is
    /// not finite, as in svit_session_config
    pub check_finite: i32,
    /// with early_fraction: pixels, 1..the model's input_height
    pub early_height: u32,
    /// with early_fraction: pixels, 1..the model's input_width
    pub early_width: u32,
    /// SVIT_CLASS_WEIGHTING_\*
    pub class_weighting: i32,
    /// \[0, 1\]: the part of the epochs, rounded to whole ones, that come first
    /// and train on smaller images: those of the pipeline, reduced with
    /// antialiasing to early_height x early_width, which a session of the
    /// model accepts. Validation has the whole size. In a run that was
    /// extended it is the part of the epochs from which total_steps was
    /// computed, for the schedule or for SVIT_EMA_SWA; where it was given,
    /// or neither needs it, of `epochs`
    pub early_fraction: f64,
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
    /// expected time to the end of the last epoch; 0: the run is done, or
    /// this process has made no step of this epoch, so that the time is
    /// unknown
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
///
/// At SVIT_EVENT_STEP and SVIT_EVENT_EPOCH the model has the weights of the last step. If the
/// optimiser keeps an average, val_\* describe the average instead: svit_optimizer_swap_ema of
/// svit_trainer_optimizer gives it to the model, and a second call takes it back, before the
/// function returns or calls svit_trainer_checkpoint. At SVIT_EVENT_FINISHED the model has its final
/// weights.
///
/// The function may evaluate and save the model (svit_model_load_memory opens a snapshot that
/// svit_model_save_memory wrote, with adapters of LoRA merged and nothing frozen), call
/// svit_trainer_checkpoint and read the history, and change settings of the optimiser and the loss
/// for the next step. svit_trainer_run, _step and _resume return SVIT_E_STATE there;
/// svit_trainer_free must not be called. The function must not throw, nor leave by longjmp.
pub type svit_trainer_callback = Option<
    unsafe extern "C" fn(event: *const svit_trainer_event, user: *mut c_void) -> i32,
>;
