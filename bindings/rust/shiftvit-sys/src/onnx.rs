//! ONNX files, which other runtimes read.

// Written by bindings/rust/generate from the C headers.

use crate::model::*;
use crate::status::*;
use std::os::raw::c_char;

// The output of the graph.

/// "logits", what svit_forward writes
pub const SVIT_ONNX_LOGITS: i32 = 0;
/// "probabilities", what predictors make of them: the softmax, or
/// with SVIT_OUTPUT_SIGMOID the sigmoid; of a model with a text
/// head those of the texts
pub const SVIT_ONNX_PROBABILITIES: i32 = 1;

/// How svit_model_export_onnx writes a model.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_onnx_options {
    /// sizeof(svit_onnx_options)
    pub struct_size: u32,
    /// SVIT_ONNX_\*
    pub output: i32,
    /// 0: the input is "images", float32 \[N, input_height, input_width,
    /// in_channels\], which the caller has preprocessed. 1: it is "bytes",
    /// uint8 \[N, source_height, source_width, channels\] of the model's
    /// pipeline, and the graph does the evaluation's steps after the source
    /// step; its image has the evaluation size
    pub preprocessing: i32,
}

extern "C" {
    /// Fills `options` with the defaults: 0 in each field. `size` is sizeof(svit_onnx_options) as the
    /// caller was compiled. Any thread may call it.
    pub fn svit_onnx_options_init(options: *mut svit_onnx_options, size: usize) -> svit_status;

    /// Writes the model as an ONNX file (opset 17) and replaces an existing file atomically, as
    /// svit_file_replace. The graph has one input and one output, \[N, num_classes\] float32, of the
    /// probabilities of a text head \[N, texts\], and any batch N. The initialisers are the parameters
    /// with their names; weights of linear maps are transposed to \[in, out\]. `options` NULL means the
    /// defaults.
    ///
    /// SVIT_E_ARGUMENT names an option that is not accepted, such as the probabilities of a model that
    /// predicts numbers, or says that the pipeline does not fit the model. SVIT_E_STATE: preprocessing
    /// is wanted, and the model has no pipeline. SVIT_E_UNSUPPORTED: the file would have 2 GiB or more,
    /// which the format does not allow, the model is a masked autoencoder, a number of the pipeline, 255
    /// times its scale included, is beyond float32, or the build exports no ONNX.
    /// SVIT_E_NUMERIC names a parameter with a value that is not finite; an existing file stays.
    /// SVIT_E_IO names the path. Any thread may call it.
    pub fn svit_model_export_onnx(
        model: *const svit_model,
        path: *const c_char,
        options: *const svit_onnx_options,
        err: *mut svit_error,
    ) -> svit_status;
}
