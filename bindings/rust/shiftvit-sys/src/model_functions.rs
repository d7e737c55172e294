//! The functions on what `model` declares.

// Written by bindings/rust/generate from the C headers.

use crate::context::*;
use crate::model::*;
use crate::pipeline::*;
use crate::status::*;
use std::os::raw::{c_char, c_void};

extern "C" {
    /// Fills `config` with the default ShiftViT, the preset shiftvit-cifar10. `size` is
    /// sizeof(svit_model_config) as the caller was compiled. Any thread may call it.
    pub fn svit_model_config_init(config: *mut svit_model_config, size: usize) -> svit_status;

    /// Fills `config` from the preset of this name; svit_model_preset_name lists them. SVIT_E_ARGUMENT
    /// means that there is no such preset. SVIT_E_VERSION: a struct of this `size` lacks a field that is
    /// not at its default. Any thread may call it.
    pub fn svit_model_config_preset(
        config: *mut svit_model_config,
        size: usize,
        preset: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns the name of preset number `index`, from 0, or NULL past the end. The text has static
    /// storage. Any thread may call it.
    pub fn svit_model_preset_name(index: usize) -> *const c_char;

    /// Returns the name of an architecture by its index, which is its SVIT_ARCHITECTURE_\*: static
    /// storage, or NULL past the end. Any thread may call it.
    pub fn svit_model_architecture_name(index: usize) -> *const c_char;

    /// Fills `config` from a JSON object whose keys are the names of the fields, but for `stages` and
    /// `head_layers`, which follow from the lengths of "blocks" and "head_units"; a missing one takes
    /// the default of the architecture. Fields that are 0 or 1 are true or false, and enumerators words,
    /// which svit_config_fields lists. `config` is written only on success. SVIT_E_ARGUMENT names a key
    /// that is unknown or belongs to another architecture, or a value that is not accepted;
    /// SVIT_E_FORMAT means that the text is no JSON object. SVIT_E_VERSION: a struct of this `size`
    /// lacks a field that is not at its default. Any thread may call it.
    pub fn svit_model_config_from_json(
        config: *mut svit_model_config,
        size: usize,
        json: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes `config` as a JSON object with every field of its architecture. `buffer`, `capacity` and
    /// `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field that is out of range. Any
    /// thread may call it.
    pub fn svit_model_config_to_json(
        config: *const svit_model_config,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a model with random initial weights, which depend on the configuration and `seed` alone.
    /// The caller owns \*out and frees it with svit_model_free. SVIT_E_ARGUMENT names the field that is
    /// not accepted; SVIT_E_MEMORY says how much memory is missing. Any thread may call it.
    pub fn svit_model_create(
        out: *mut *mut svit_model,
        context: *mut svit_context,
        config: *const svit_model_config,
        seed: u64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Drops the caller's reference to a model. Sessions and optimisers keep their model alive. NULL is
    /// allowed.
    pub fn svit_model_free(model: *mut svit_model);

    /// Reads a model from a safetensors file with a configuration in its header, such as those of
    /// svit_model_save and svit_checkpoint_save. F16, BF16, F64 and I8 tensors are converted to float32.
    /// The caller owns \*out and frees it with svit_model_free.
    ///
    /// SVIT_E_IO: the file cannot be read. SVIT_E_FORMAT: it is truncated, its offsets are inconsistent,
    /// or a tensor is missing or has another shape. SVIT_E_ARGUMENT: the file has no configuration;
    /// svit_model_load_with_config opens it. Any thread may call it.
    pub fn svit_model_load(
        out: *mut *mut svit_model,
        context: *mut svit_context,
        path: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Loads a model as svit_model_load does, but maps the file into memory instead of copying the
    /// weights. Processes that map the same file share its pages, and sessions that pack the weights
    /// release them again. All checks of svit_model_load are made. A file that cannot be used in place
    /// (tensors that are not F32, or an order of tensors other than that of svit_model_save) is loaded
    /// as svit_model_load does. Changes of the model's parameters are private: they never reach the
    /// file.
    ///
    /// While the model lives, the file may be removed, renamed, or replaced by a rename as
    /// svit_model_save does it. It must not be written or truncated in place: the model might then take
    /// on the new bytes, and an access beyond the end raises SIGBUS, as with every mapped file. The
    /// caller owns \*out and frees it with svit_model_free. Errors are those of svit_model_load. Any
    /// thread may call it.
    pub fn svit_model_map(
        out: *mut *mut svit_model,
        context: *mut svit_context,
        path: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Loads a file as svit_model_load does, with the caller's configuration. The file needs no
    /// configuration; if it has one, the caller's is used instead.
    pub fn svit_model_load_with_config(
        out: *mut *mut svit_model,
        context: *mut svit_context,
        config: *const svit_model_config,
        path: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes a model file as svit_model_save does, with parameters stored as `dtype`, one of
    /// SVIT_DTYPE_\*. svit_model_load reads all of them. SVIT_E_ARGUMENT names an element that F16 or
    /// BF16 cannot hold.
    pub fn svit_model_save_as(
        model: *const svit_model,
        path: *const c_char,
        dtype: i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the configuration, parameters (float32), class names and preprocessing as a
    /// safetensors file, and replaces an existing file atomically, as svit_file_replace. SVIT_E_NUMERIC
    /// names a parameter with a value that is not finite; an existing file stays. SVIT_E_IO names the
    /// path.
    pub fn svit_model_save(
        model: *const svit_model,
        path: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Reads a model from data\[bytes\], the bytes of a model file. The bytes are copied, so the caller
    /// may free them when the call returns. All checks and errors are those of svit_model_load, but for
    /// SVIT_E_IO; messages say "the model in memory" instead of a path. The caller owns \*out and frees
    /// it with svit_model_free. Any thread may call it.
    pub fn svit_model_load_memory(
        out: *mut *mut svit_model,
        context: *mut svit_context,
        data: *const c_void,
        bytes: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes to buffer\[capacity\] the bytes of the file that svit_model_save writes. Writes the number
    /// of these bytes into \*needed, which may be NULL; with a capacity of 0 it does nothing else and
    /// succeeds, and `buffer` may be NULL. SVIT_E_ARGUMENT means that they do not fit; `buffer` is then
    /// unchanged. SVIT_E_NUMERIC names a parameter with a value that is not finite, for which a capacity
    /// of 0 does not look.
    pub fn svit_model_save_memory(
        model: *const svit_model,
        buffer: *mut c_void,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Copies the configuration of the model to \*config. `size` is sizeof(svit_model_config) as the
    /// caller was compiled. SVIT_E_VERSION: a struct of this `size` lacks a field that is not at its
    /// default.
    pub fn svit_model_get_config(
        model: *const svit_model,
        config: *mut svit_model_config,
        size: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Counts the multiply-adds of all matmuls and convolutions, attention included, for one image of
    /// the configuration's input size: \*forward of a forward pass, and \*training of a forward and a
    /// backward pass, which has the gradients of both operands of each product, but none of the image.
    /// Either may be NULL. Norms, softmax and other element-wise work do not count, nor does
    /// recomputation. UINT64_MAX stands for more. Errors are those of svit_model_create for the
    /// configuration. Any thread may call it.
    pub fn svit_model_multiply_adds(
        config: *const svit_model_config,
        forward: *mut u64,
        training: *mut u64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns the number of parameter tensors; 0 for NULL.
    pub fn svit_model_parameter_count(model: *const svit_model) -> usize;

    /// Returns the number of elements of all parameter tensors, each a float; 0 for NULL.
    pub fn svit_model_parameter_elements(model: *const svit_model) -> u64;

    /// Returns the name of parameter tensor number `index`, in the order of the file, or NULL past the
    /// end. The text is borrowed until the model is freed.
    pub fn svit_model_parameter_name(model: *const svit_model, index: usize) -> *const c_char;

    /// Writes the shape of a parameter tensor to `shape` and its number of axes to \*rank. The shape is
    /// that of the tensor in files, for example \[out, in, height, width\] for a convolution; the rest of
    /// `shape` is 0. SVIT_E_ARGUMENT: there is no parameter of this name.
    pub fn svit_model_parameter_shape(
        model: *const svit_model,
        name: *const c_char,
        shape: *mut i64,
        rank: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Copies a parameter tensor to out\[elements\], row-major in the shape of svit_model_parameter_shape.
    /// SVIT_E_ARGUMENT: there is no parameter of this name, or `elements` is not exactly its size.
    pub fn svit_model_get_parameter(
        model: *const svit_model,
        name: *const c_char,
        out: *mut f32,
        elements: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Sets a parameter tensor from in\[elements\], in the layout of svit_model_get_parameter.
    /// SVIT_E_NUMERIC: a value is not finite; the model is then unchanged. SVIT_E_ARGUMENT as
    /// svit_model_get_parameter, or a bias of keys is not 0 in a model that has none (no_key_bias).
    pub fn svit_model_set_parameter(
        model: *mut svit_model,
        name: *const c_char,
        input: *const f32,
        elements: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Makes the parameters whose names match `pattern` trainable (1) or frozen (0). In a pattern \*
    /// stands for any characters and ? for one. All parameters of a new or loaded model are trainable.
    ///
    /// A frozen parameter is never changed by svit_step: it has no gradient, no weight decay and no
    /// momentum. Sessions that are created afterwards compute no gradients of layers whose parameters
    /// are all frozen. The backward ends at the lowest trainable layer; layers below it are run as in
    /// inference, without dropout and DropPath, and save nothing. Sessions that train and optimisers
    /// which were created before are refused with SVIT_E_STATE. Checkpoints carry the setting, model
    /// files do not. The call needs the model alone. SVIT_E_ARGUMENT: no parameter matches.
    pub fn svit_model_set_trainable(
        model: *mut svit_model,
        pattern: *const c_char,
        trainable: i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes 1 to \*trainable if the parameter `name` is trainable, otherwise 0. SVIT_E_ARGUMENT: there
    /// is no such parameter.
    pub fn svit_model_get_trainable(
        model: *const svit_model,
        name: *const c_char,
        trainable: *mut i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Gives the stem of a model with SVIT_STEM_WHITENED the whitening filters of the patches of n
    /// images nhwc\[n, input_height, input_width, in_channels\], which are normalised as the model's input
    /// is. With patch_size p, the patches of p x p pixels lie side by side; pixels that fill no patch
    /// are left out. Filter i is v_i / sqrt(l_i + 5e-4), where v_i is an eigenvector of the patches'
    /// second moments (without subtracting the mean) and l_i its eigenvalue, from the largest on; filter
    /// k + i is its negative, k = p \* p \* in_channels. The largest element of each v_i is positive. The
    /// biases become 0.
    ///
    /// SVIT_E_STATE: the model has another stem. SVIT_E_ARGUMENT: n is 0. SVIT_E_NUMERIC: a value is not
    /// finite. SVIT_E_MEMORY. SVIT_E_STOPPED. The model is unchanged in all cases. The time is that of
    /// k^2 operations for each patch, and of some dozens of times k^3.
    pub fn svit_model_whiten(
        model: *mut svit_model,
        nhwc: *const f32,
        n: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Sets the class names, in the order of the labels. The texts are copied and saved with the model.
    /// `count` is the number of classes, or 0 to remove the names; SVIT_E_ARGUMENT otherwise, and for a
    /// name that is not UTF-8.
    pub fn svit_model_set_classes(
        model: *mut svit_model,
        names: *const *const c_char,
        count: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns the name of class `label`, or NULL past the end or if the model has no names. The text is
    /// borrowed until svit_model_set_classes or svit_model_free.
    pub fn svit_model_class_name(model: *const svit_model, label: usize) -> *const c_char;

    /// States what predictors make of the model's logits: SVIT_OUTPUT_\*. It is saved with the model;
    /// svit_trainer_create states it by the loss. SVIT_OUTPUT_AUTO removes the statement. Predictors
    /// read it when they are created. SVIT_E_ARGUMENT: `output` is none of them.
    pub fn svit_model_set_output(
        model: *mut svit_model,
        output: i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns what predictors make of the model's logits: SVIT_OUTPUT_SOFTMAX if nothing was stated,
    /// never SVIT_OUTPUT_AUTO. 0 for NULL.
    pub fn svit_model_output(model: *const svit_model) -> i32;

    /// Gives a model whose logits are embeddings of images, such as the image tower of CLIP, classes
    /// that are embeddings of texts: embeddings\[classes, channels\] with names\[classes\], where `channels`
    /// is the model's num_classes. Predictors that are created afterwards have these classes, whose
    /// logits are logit_scale \* the cosine similarity + logit_bias. CLIP's scale is the exponential of
    /// its parameter logit_scale, about 100, and its bias 0; SigLIP has a bias and SVIT_OUTPUT_SIGMOID.
    /// Sessions, evaluation and training see the embeddings as before. All is copied, and saved with the
    /// model and in ONNX files, but not in checkpoints; another head removes it. `classes` 0 removes it.
    /// SVIT_E_STATE: a session or predictor of the model exists. SVIT_E_ARGUMENT names what is not
    /// accepted: a name that is NULL, an embedding whose length is 0 or not finite, a scale not in
    /// (0, 1e30\], a bias not in \[-1e30, 1e30\].
    pub fn svit_model_set_text_head(
        model: *mut svit_model,
        embeddings: *const f32,
        names: *const *const c_char,
        classes: usize,
        channels: usize,
        logit_scale: f64,
        logit_bias: f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns the name of a class that is an embedding of a text; NULL if there is none, beyond the
    /// last one, and for NULL. The name is borrowed until the texts change or the model is freed.
    pub fn svit_model_text_class_name(model: *const svit_model, label: usize) -> *const c_char;

    /// Sets the probability below which svit_predictor_labels takes an image for none of the classes: 0
    /// for never, at most 1. It is saved with the model (the metadata key "known_threshold"), and
    /// predictors read it when they are created; what they predict stays the same. It belongs to
    /// probabilities that change: a step of an optimizer (svit_step), a head for other classes or with
    /// more of them (svit_model_add_classes), the end after a block (svit_model_truncate), other texts
    /// (svit_model_set_text_head) and an output that is not SVIT_OUTPUT_SOFTMAX remove it; weights that
    /// are set, loaded or restored keep it. svit_choose_threshold finds it. SVIT_E_ARGUMENT: it is none
    /// of these numbers.
    pub fn svit_model_set_threshold(
        model: *mut svit_model,
        threshold: f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns that threshold; 0 if there is none, and for NULL.
    pub fn svit_model_threshold(model: *const svit_model) -> f64;

    /// Sets the pipeline that turns an image into the model's input. It is copied and saved with the
    /// model, and predictors read it when they are created. NULL removes it. SVIT_E_ARGUMENT names the
    /// field that is not accepted.
    pub fn svit_model_set_pipeline(
        model: *mut svit_model,
        config: *const svit_pipeline_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Copies the pipeline of the model to \*config. `size` is sizeof(svit_pipeline_config) as the caller
    /// was compiled. SVIT_E_STATE: the model has none. SVIT_E_VERSION: a struct of this `size` lacks a
    /// field that is not at its default.
    pub fn svit_model_get_pipeline(
        model: *const svit_model,
        config: *mut svit_pipeline_config,
        size: usize,
        err: *mut svit_error,
    ) -> svit_status;
}
