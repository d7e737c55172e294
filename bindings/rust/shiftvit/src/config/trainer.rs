//! `TrainerConfig`.

// Written by bindings/rust/generate from the C headers.

use crate::enums::ClassWeighting;
use crate::enums::Compute;
use crate::enums::Existing;
use crate::enums::Keep;
use crate::enums::Loss;
use crate::enums::Memory;
use crate::enums::Sampling;
use crate::enums::Tta;
use std::path::PathBuf;
use crate::field::{config, json};
use shiftvit_sys as sys;

config! {
    /// The configuration of a trainer. It is copied at creation, the texts included.
    pub struct TrainerConfig: svit_trainer_config, svit_trainer_config_init {
        /// 1\..1000000; a checkpoint holds the history of some 520,000.
        epochs: u32;
        /// Samples in a step, 1..65536.
        batch: u32;
        /// 1\..batch: at most so many forward and backward passes, over which the
        /// gradients of a step are accumulated; more of them need less
        /// memory.
        accumulate: u32;
        /// Epochs since the best one after which training stops; 0: it never
        /// stops early.
        patience: u32;
        /// `Keep`.
        keep: Keep;
        /// Of the order, the augmentation and the dropout masks.
        seed: u64;
        /// \[0, 1); 0 with `Loss::Mse`.
        label_smoothing: f64;
        /// \[0, 1\]: fraction of all steps that are warm-up steps, where the
        /// optimiser's total_steps and warmup_steps are 0.
        warmup_fraction: f64;
        /// At least 0: shortest time between checkpoints within an epoch;
        /// 0: they are written at the end of epochs only.
        checkpoint_seconds: f64;
        /// `Compute::F32` or `Compute::Bf16`.
        compute: Compute;
        /// Batches that are prepared ahead, 0..16.
        prefetch: u32;
        /// `Memory`; a resumed run may use another one.
        memory: Memory;
        /// `Existing`.
        existing: Existing;
        /// `Loss`. The other losses than `Loss::CrossEntropy` take a
        /// label as targets: 1 for its class, 0 for the others.
        loss: Loss;
        /// `Sampling` of loader.h: the samples of an epoch.
        sampling: Sampling;
        /// `Tta`: how validation evaluates.
        tta: Tta;
        /// True: the history is written for TensorBoard too, to
        /// `folder`/events.out.tfevents.shiftvit.
        tensorboard: bool;
        /// True: `Trainer::resume` of a run that had fewer epochs computes its
        /// schedule over all `epochs`; false: the run's schedule keeps its length,
        /// after which it stays at its last value, mostly 0; a schedule without a
        /// length (constant, step, cosine-restarts) goes on.
        schedule_anew: bool;
        /// 0\..batch: parts of a batch whose gradients are added in one binary tree
        /// (reducer.h), so that they can be computed by any number of processes; 0: the
        /// gradients of a batch are one sum. With leaves, accumulate is 1.
        /// A trainer of several processes, with its reducer, is one of raw calls:
        /// `svit_trainer_create` of [`sys`](crate::sys) on the handles of `as_ptr`.
        leaves: u32;
        /// As in `LoaderConfig`: 0: an epoch is a permutation of all
        /// samples; else shards are read nearly from end to end.
        shuffle_window: u32;
        /// True: a step that fails with `Status::Numeric` names the first tensor that is
        /// not finite, as in `SessionConfig`.
        check_finite: bool;
        /// With early_fraction: pixels, 1..the model's input_height.
        early_height: u32;
        /// With early_fraction: pixels, 1..the model's input_width.
        early_width: u32;
        /// `ClassWeighting`.
        class_weighting: ClassWeighting;
        /// \[0, 1\]: the part of the epochs, rounded to whole ones, that come first
        /// and train on smaller images: those of the pipeline, reduced with
        /// antialiasing to early_height x early_width, which a session of the
        /// model accepts. Validation has the whole size. In a run that was
        /// extended it is the part of the epochs from which total_steps was
        /// computed, for the schedule or for `Ema::Swa`; where it was given,
        /// or neither needs it, of `epochs`.
        early_fraction: f64;
    }
    lists {
        /// 1\.2e-38..3.4e38, the range of float32: factors
        /// of the loss, by the class of the label, as in
        /// `loss::cross_entropy`; with targets
        /// and mixed images factors of each class's
        /// part, of which the mean over the images
        /// is taken, as PyTorch does with
        /// probabilities; with
        /// `Loss::Binary` `pos_weight` of
        /// `loss::binary_cross_entropy`.
        class_weights: f64, class_weight_count;
    }
    held {
        /// Where checkpoint.safetensors and history.csv are written,
        /// best.safetensors if there is validation, and run.json if there is a
        /// `description`. The trainer creates it if it does not exist and locks
        /// it (`FolderLock`). A relative path stays one from the working
        /// folder in which the trainer was created, wherever the program works
        /// later. `None`: nothing is written.
        folder: Option<PathBuf>;
        /// The caller's notes on the run, UTF-8: stored in each checkpoint as
        /// the entry "trainer.description", and as it is in
        /// `folder`/run.json, so that it is a JSON object if readers of JSON
        /// and the programs are to read it. `None`: none; in a resumed run,
        /// that of the checkpoint.
        description: Option<String>;
    }
}

json!(TrainerConfig, svit_trainer_config_from_json, svit_trainer_config_to_json);
