//! The choices of `image.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// The order of the five image copies in shifted patch tokenization (SPT).
    pub enum SptOrder {
        /// Original, left-up, left-down, right-up, right-down (Keras example).
        Keras = SVIT_SPT_KERAS,
        /// Original, right-down, left-down, right-up, left-up (the paper's code).
        Paper = SVIT_SPT_PAPER,
    }
}
