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
    /// Where the factors of the classes in the loss come from. `ClassWeighting::Balanced` takes any
    /// number of classes: the factor is the samples, divided by the classes that have some and by the
    /// samples of the class, so that all classes count alike and the mean factor of a sample is 1
    /// (scikit-learn's "balanced"); with `Loss::Binary` it is the negatives of the class by its
    /// positives. Targets count as parts of samples. The factor is 1 for a class that no sample has,
    /// and, with `Loss::Binary`, for one that all have. `Sampling::Balanced` would balance once more
    /// and is refused. `Status::Unsupported`: a custom dataset that gives labels with images alone.
    pub enum ClassWeighting {
        /// `class_weights`, or 1 for each class.
        Given = SVIT_CLASS_WEIGHTING_GIVEN,
        /// From the training set.
        Balanced = SVIT_CLASS_WEIGHTING_BALANCED,
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
