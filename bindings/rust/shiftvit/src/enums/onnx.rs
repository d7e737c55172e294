//! The choices of `onnx.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// The output of the graph.
    pub enum OnnxOutput {
        /// "logits", what `Session::forward` writes.
        Logits = SVIT_ONNX_LOGITS,
        /// "probabilities", what predictors make of them: the softmax, or
        /// with `Output::Sigmoid` the sigmoid; of a model with a text
        /// head those of the texts.
        Probabilities = SVIT_ONNX_PROBABILITIES,
    }
}
