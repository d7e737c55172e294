//! The choices of `dataset.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// A part of a dataset: for updates of the parameters, for the final result, for early stopping.
    pub enum Split {
        /// `SVIT_SPLIT_TRAIN` in C.
        Train = SVIT_SPLIT_TRAIN,
        /// `SVIT_SPLIT_TEST` in C.
        Test = SVIT_SPLIT_TEST,
        /// `SVIT_SPLIT_VALIDATION` in C.
        Validation = SVIT_SPLIT_VALIDATION,
    }
}

enumeration! {
    /// The labels of CIFAR-100: 100 classes or 20 superclasses.
    pub enum Cifar100Labels {
        /// `SVIT_LABELS_FINE` in C.
        Fine = SVIT_LABELS_FINE,
        /// `SVIT_LABELS_COARSE` in C.
        Coarse = SVIT_LABELS_COARSE,
    }
}
