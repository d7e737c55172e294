//! The choices of `features.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// What becomes of a layer with several tokens for each image.
    pub enum Tokens {
        /// The mean over the patches, without class, distillation and register
        /// tokens.
        Mean = SVIT_TOKENS_MEAN,
        /// The class token.
        Class = SVIT_TOKENS_CLASS,
        /// Each patch is a sample with the label of its image: those of an
        /// image follow each other, row by row.
        Patches = SVIT_TOKENS_PATCHES,
        /// The same, each patch the mean of itself and those of the eight
        /// around it that lie within the image.
        Patches3x3 = SVIT_TOKENS_PATCHES_3X3,
    }
}

enumeration! {
    /// How samples are compared.
    pub enum Metric {
        /// The cosine similarity; 0 for a feature of zeros, for which one of
        /// subnormal numbers passes.
        Cosine = SVIT_METRIC_COSINE,
        /// The Euclidean distance; of c channels: below
        /// 1\.1e-19 \* sqrt(c) it may be 0, above 1.8e19 it is infinite.
        Euclidean = SVIT_METRIC_EUCLIDEAN,
    }
}
