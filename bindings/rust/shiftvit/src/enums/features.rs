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
    }
}
