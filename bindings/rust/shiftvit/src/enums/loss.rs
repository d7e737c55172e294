//! The choices of `loss.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// What a run minimises.
    pub enum Loss {
        /// Of one label for each sample, or of probabilities.
        CrossEntropy = SVIT_LOSS_CROSS_ENTROPY,
        /// `loss::binary_cross_entropy`, for several labels for each sample.
        Binary = SVIT_LOSS_BINARY,
        /// `loss::mean_squared_error`, for numbers.
        Mse = SVIT_LOSS_MSE,
    }
}
