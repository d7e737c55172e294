//! The choices of `loader.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// Which samples an epoch of a shuffled loader reads.
    pub enum Sampling {
        /// Each sample once.
        Shuffle = SVIT_SAMPLING_SHUFFLE,
        /// As many as the dataset has, in each class equally many: the
        /// classes take turns, each in random order through its samples again
        /// and again. Small classes repeat, and each reading of a sample is
        /// augmented by itself; large ones are not read to their end.
        Balanced = SVIT_SAMPLING_BALANCED,
    }
}
