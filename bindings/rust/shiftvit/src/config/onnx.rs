//! `OnnxOptions`.

// Written by bindings/rust/generate from the C headers.

use crate::enums::OnnxOutput;
use crate::field::config;
use shiftvit_sys as sys;

config! {
    /// How `Model::export_onnx` writes a model.
    pub struct OnnxOptions: svit_onnx_options, svit_onnx_options_init {
        /// `OnnxOutput`.
        output: OnnxOutput;
        /// False: the input is "images", float32 \[N, input_height, input_width,
        /// in_channels\], which the caller has preprocessed. True: it is "bytes",
        /// uint8 \[N, source_height, source_width, channels\] of the model's
        /// pipeline, and the graph does the evaluation's steps after the source
        /// step; its image has the evaluation size.
        preprocessing: bool;
    }
    lists {
    }
    held {
    }
}
