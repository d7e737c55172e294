//! The choices of `trainer.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// The weights that the model has after the last epoch.
    pub enum Keep {
        /// Those of the last step.
        Last = SVIT_KEEP_LAST,
        /// Those of the best epoch (`Event::best_epoch`).
        Best = SVIT_KEEP_BEST,
    }
}

enumeration! {
    /// What a trainer does if its folder already holds a run, that is, checkpoint.safetensors,
    /// best.safetensors, history.csv or run.json.
    pub enum Existing {
        /// `Trainer::new` fails with `Status::State`.
        Refuse = SVIT_EXISTING_REFUSE,
        /// `Trainer::resume` must precede the first step.
        Resume = SVIT_EXISTING_RESUME,
        /// The first checkpoint of the new run replaces the files of the old
        /// run, events.out.tfevents.shiftvit included; other files stay. If
        /// the process is killed, the old run or the new one can be
        /// resumed.
        Overwrite = SVIT_EXISTING_OVERWRITE,
    }
}

enumeration! {
    /// What `Trainer::step` has completed.
    pub enum EventKind {
        /// One optimiser step.
        Step = SVIT_EVENT_STEP,
        /// An epoch with its validation.
        Epoch = SVIT_EVENT_EPOCH,
        /// The run: the last epoch, or early stopping.
        Finished = SVIT_EVENT_FINISHED,
    }
}
