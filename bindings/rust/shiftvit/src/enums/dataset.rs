//! The choices of `dataset.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// A part of a dataset.
    pub enum Split {
        /// For updates of the parameters.
        Train = SVIT_SPLIT_TRAIN,
        /// For the final result.
        Test = SVIT_SPLIT_TEST,
        /// For early stopping.
        Validation = SVIT_SPLIT_VALIDATION,
    }
}

enumeration! {
    /// The labels of CIFAR-100.
    pub enum Cifar100Labels {
        /// 100 classes.
        Fine = SVIT_LABELS_FINE,
        /// 20 superclasses.
        Coarse = SVIT_LABELS_COARSE,
    }
}
