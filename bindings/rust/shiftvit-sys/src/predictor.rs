//! Predictors: from one model file and images to class probabilities, or to numbers.

// Written by bindings/rust/generate from the C headers.

use crate::context::*;
use crate::model::*;
use crate::status::*;
use std::os::raw::{c_char, c_void};

/// A predictor combines a model, its preprocessing and its class names. One thread at a time may use
/// it.
///
/// It reads the pipeline, the output (svit_model_set_output) and the threshold of its model when it
/// is created, and is created anew after a change of these. It follows changes of the weights and
/// the class names.
#[repr(C)]
pub struct svit_predictor {
    _data: [u8; 0],
    _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
}

/// The configuration of a predictor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_predictor_config {
    /// sizeof(svit_predictor_config)
    pub struct_size: u32,
    /// images in one forward pass, 1..65536; a call with more runs several.
    /// Predictors with at most 8 may differ by rounding from larger ones
    /// and from each other
    pub max_batch: u32,
    /// SVIT_COMPUTE_\* of session.h
    pub compute: i32,
    /// SVIT_OUTPUT_\* of model.h: what it makes of the logits
    pub output: i32,
    /// whose workers run it, as in svit_session_config; NULL: the model's
    pub context: *mut svit_context,
    /// SVIT_TTA_\* of session.h: versions of each image whose logits, or with
    /// a text head whose embeddings, are averaged, which takes two or six
    /// times as long
    pub tta: i32,
    /// 0
    pub reserved: u32,
}

extern "C" {
    /// Fills `config` with the defaults: max_batch 32, SVIT_COMPUTE_F32, SVIT_OUTPUT_AUTO, the model's
    /// context, SVIT_TTA_NONE. `size` is sizeof(svit_predictor_config) as the caller was compiled. Any
    /// thread may call it.
    pub fn svit_predictor_config_init(
        config: *mut svit_predictor_config,
        size: usize,
    ) -> svit_status;

    /// Creates a predictor from a model file, which it maps into memory: svit_model_map says what must
    /// not be done to the file meanwhile. A run's folder and checkpoints of other libraries are opened
    /// by svit_model_open, for svit_predictor_create_from_model. `config` may be NULL for the defaults.
    /// The caller owns \*out and frees it with svit_predictor_free. SVIT_E_ARGUMENT: the file carries no
    /// preprocessing, its channels are not the in_channels of the model, or a field of `config` is not
    /// accepted. Other errors are those of svit_model_load. Any thread may call it.
    pub fn svit_predictor_create(
        out: *mut *mut svit_predictor,
        context: *mut svit_context,
        path: *const c_char,
        config: *const svit_predictor_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a predictor from data\[bytes\], the bytes of a model file. They are copied, so the caller
    /// may free them when the call returns. Errors are those of svit_predictor_create, but for
    /// SVIT_E_IO; messages say "the model in memory" instead of a path. The caller owns \*out and frees
    /// it with svit_predictor_free. Any thread may call it.
    pub fn svit_predictor_create_from_memory(
        out: *mut *mut svit_predictor,
        context: *mut svit_context,
        data: *const c_void,
        bytes: usize,
        config: *const svit_predictor_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a predictor from a model, which it keeps alive. The model needs a pipeline
    /// (svit_model_set_pipeline). `config` may be NULL for the defaults. The caller owns \*out and frees
    /// it with svit_predictor_free. SVIT_E_STATE: the model has no pipeline. Other errors are those of
    /// svit_predictor_create and svit_session_create. Any thread may call it.
    pub fn svit_predictor_create_from_model(
        out: *mut *mut svit_predictor,
        model: *mut svit_model,
        config: *const svit_predictor_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Frees a predictor. NULL is allowed.
    pub fn svit_predictor_free(predictor: *mut svit_predictor);

    /// Returns the number of classes; 0 for NULL.
    pub fn svit_predictor_classes(predictor: *const svit_predictor) -> usize;

    /// Returns the channels of the images that the predictor takes as pixels: those of the model's
    /// pipeline. 0 for NULL.
    pub fn svit_predictor_channels(predictor: *const svit_predictor) -> usize;

    /// Returns the name of class `label`, or NULL past the end or if the model has no names. The text is
    /// the model's: borrowed until its names are set again (svit_model_set_classes, svit_model_fit_head)
    /// or svit_predictor_free, whichever comes first.
    pub fn svit_predictor_class_name(
        predictor: *const svit_predictor,
        label: usize,
    ) -> *const c_char;

    /// Returns what the predictor makes of the logits, SVIT_OUTPUT_SOFTMAX, _SIGMOID or _LOGITS; 0 for
    /// NULL.
    pub fn svit_predictor_output(predictor: *const svit_predictor) -> i32;

    /// Writes to labels\[n\] the class of the largest of each row of probabilities\[n, classes\], as the
    /// predictor has computed them, of equal ones the first; or -1, none of these, if it is below the
    /// model's threshold (svit_model_set_threshold) or the row has a NaN. SVIT_E_STATE: the predictor
    /// makes no probabilities of classes (SVIT_OUTPUT_SOFTMAX). Any thread may call it.
    pub fn svit_predictor_labels(
        predictor: *const svit_predictor,
        probabilities: *const f32,
        n: usize,
        labels: *mut i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Computes probabilities\[n, classes\] of n images pixels\[n, height, width, channels\], n at least 1,
    /// of one size with sides of 1..16384 pixels, with svit_predictor_channels channels, such as RGB,
    /// in rows from top to bottom without padding between them. It runs the evaluation pipeline
    /// with its source step, the model, and the softmax. The call allocates memory for the
    /// preprocessing, some kilobytes, or a few images for each worker where the source step is
    /// antialiased, and frees it again. With SVIT_OUTPUT_SIGMOID it is the sigmoid instead, and with
    /// SVIT_OUTPUT_LOGITS `probabilities` gets the logits. SVIT_E_NUMERIC names the first image, from 0,
    /// and the class of a logit that is not finite; `probabilities` are then undefined.
    pub fn svit_predict_u8(
        predictor: *mut svit_predictor,
        pixels: *const u8,
        n: usize,
        height: usize,
        width: usize,
        probabilities: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Does the same for float images\[n, height, width, channels\], whose values take the place of bytes
    /// in the pipeline. SVIT_E_ARGUMENT names the first image with a value that is not finite, or as
    /// large as svit_pipeline_apply_evaluation_f32 refuses. SVIT_E_UNSUPPORTED: the images would need an
    /// antialiased source step.
    pub fn svit_predict_f32(
        predictor: *mut svit_predictor,
        images: *const f32,
        n: usize,
        height: usize,
        width: usize,
        probabilities: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Computes probabilities\[classes\] of one image file, decoded to the channels of the model's
    /// pipeline. Errors are those of svit_image_read and svit_predict_u8.
    pub fn svit_predict_file(
        predictor: *mut svit_predictor,
        path: *const c_char,
        probabilities: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Does the same for the data\[bytes\] of such a file, as they came over the wire. Errors are those of
    /// svit_image_decode and svit_predict_u8.
    pub fn svit_predict_encoded(
        predictor: *mut svit_predictor,
        data: *const c_void,
        bytes: usize,
        probabilities: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Computes probabilities\[n, classes\] of n image files, n at least 1, whose sizes may differ, in
    /// batches of max_batch. The workers decode and preprocess the images of a batch side by side, each
    /// with the memory that svit_predict_file takes; other threads that use the context wait meanwhile.
    /// Bits are those of svit_predict_file.
    ///
    /// With errors\[n\], whose struct_size the caller has set in each, images that cannot be had do not
    /// fail the call: errors\[i\] gets the code SVIT_OK and no message, or why image i could not be read,
    /// decoded or preprocessed, and its row is NaN. Otherwise `errors` is NULL, and the first such image
    /// fails the call. Other errors fail it in both cases, and `probabilities` and `errors` are then
    /// undefined: SVIT_E_NUMERIC as of svit_predict_u8, SVIT_E_STOPPED, and SVIT_E_ARGUMENT.
    pub fn svit_predict_files(
        predictor: *mut svit_predictor,
        paths: *const *const c_char,
        n: usize,
        probabilities: *mut f32,
        errors: *mut svit_error,
        err: *mut svit_error,
    ) -> svit_status;

    /// Does the same for n images in memory, the bytes\[i\] bytes of such a file in data\[i\]. Messages call
    /// them "encoded image 0" and so on.
    pub fn svit_predict_encoded_images(
        predictor: *mut svit_predictor,
        data: *const *const c_void,
        bytes: *const usize,
        n: usize,
        probabilities: *mut f32,
        errors: *mut svit_error,
        err: *mut svit_error,
    ) -> svit_status;
}
