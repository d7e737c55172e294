//! Sessions: the forward and backward passes of a model, on memory that is allocated in advance.

// Written by bindings/rust/generate from the C headers.

use crate::context::*;
use crate::model::*;
use crate::reducer::*;
use crate::status::*;
use std::os::raw::c_char;

// What a session does.

/// inference
pub const SVIT_MODE_INFER: i32 = 0;
/// training, with dropout and a backward pass
pub const SVIT_MODE_TRAIN: i32 = 1;

// The precision of matrix products. Weights, gradients, optimiser slots, sums, norms, GELU and
// softmax are float32 in all three. Results differ between CPUs by the rounding described here.

/// float32
pub const SVIT_COMPUTE_F32: i32 = 0;
/// rounds A and B to bfloat16 where the bfloat16 arithmetic of the CPU
/// is used: AMX, AVX-512 BF16 of AMD, BFMMLA of 64-bit Arm. Elsewhere it
/// rounds only the weights, in the forward pass and in the gradients of
/// activations, which saves memory but no time
pub const SVIT_COMPUTE_BF16: i32 = 1;
/// for inference only: rounds the weights to 8 bits with a scale for each
/// output channel, and the activations with a scale for each row
pub const SVIT_COMPUTE_INT8: i32 = 2;

// Activation checkpointing (Chen et al. 2016): which activations a training forward saves. The
// others are recomputed in the backward pass with the same dropout masks. Logits and gradients are
// the same bits with all three.

/// all that the backward pass reads
pub const SVIT_MEMORY_STORE: i32 = 0;
/// of each transformer or shift block, its input
pub const SVIT_MEMORY_RECOMPUTE_BLOCKS: i32 = 1;
/// of each segment of consecutive layers, the input of the
/// first; segments are chosen for the smallest session
pub const SVIT_MEMORY_RECOMPUTE_STAGES: i32 = 2;

// Test-time augmentation: the logits of an image are the mean over several versions of it. With a
// text head the embeddings are averaged, and a predictor computes the similarities from their mean.
// The logits of a masked autoencoder are the pixels of patches, so that it takes SVIT_TTA_NONE
// alone.

/// the image alone
pub const SVIT_TTA_NONE: i32 = 0;
/// the image and its left-right mirror
pub const SVIT_TTA_FLIP: i32 = 1;
/// these two, and the two of the image moved by one pixel up and left
/// and of the image moved by one pixel down and right, where the first
/// two count twice as much as the other four (Jordan 2024)
pub const SVIT_TTA_FLIP_SHIFT: i32 = 2;

/// A session is the execution plan of one model: activations, gradients, packed weights and
/// workspaces, all allocated at its creation. It keeps the model alive. One thread at a time may use
/// a session; many sessions may share a model, and those created with SVIT_MODE_INFER share one
/// packed copy of its weights for each compute type.
#[repr(C)]
pub struct svit_session {
    _data: [u8; 0],
    _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
}

/// The configuration of a session.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_session_config {
    /// sizeof(svit_session_config)
    pub struct_size: u32,
    /// largest number of images in one forward pass, 1..65536. Sessions
    /// with at most 8 may differ by rounding from larger ones and from
    /// each other
    pub max_batch: u32,
    /// SVIT_MODE_\*; a session created with SVIT_MODE_INFER has no memory for
    /// training and cannot switch to it
    pub mode: i32,
    /// SVIT_COMPUTE_\*
    pub compute: i32,
    /// of the dropout masks
    pub seed: u64,
    /// pixels; 0: as in the model. A model without position embeddings
    /// accepts every size that leaves its feature maps at least 1 x 1; a
    /// ViT without them whole patches, unless its pool is
    /// SVIT_POOL_FLATTEN
    pub input_height: u32,
    /// pixels; 0: as in the model
    pub input_width: u32,
    /// SVIT_MEMORY_\*; no effect in a session created with SVIT_MODE_INFER
    pub memory: i32,
    /// 1: inference fuses no layers, so that svit_forward_features reaches
    /// the output of every one
    pub features: i32,
    /// whose workers run the passes and whose allocator the session uses;
    /// NULL: the model's. It has the same instruction set and GEMM backend
    /// as the model's context. No field of the JSON object
    pub context: *mut svit_context,
    /// "": the session takes images. Otherwise the name of a layer
    /// (svit_session_layer_name): the session takes its output, as
    /// svit_forward_features computes it, in place of images. The layers up
    /// to this one never run, and their parameters have no gradient.
    /// input_height and input_width are those of the images from which the
    /// features came. Where inference fuses the layer with a later one, the
    /// session fuses no layers
    pub input_layer: [c_char; 32],
    /// 1: svit_backward_input computes the gradient of the input. The
    /// session needs SVIT_MODE_TRAIN, and all parameters may be frozen. A
    /// training forward runs frozen layers as it runs all others, with
    /// dropout, and saves their activations
    pub input_gradient: i32,
    /// 1: a pass looks at the output of every layer, and a backward at the
    /// gradients of outputs and parameters; SVIT_E_NUMERIC names the first
    /// tensor that is not finite, and the training forward. Passes run layer
    /// by layer then. The same bits, and some percent slower
    pub check_finite: i32,
}

extern "C" {
    /// Fills `config` with the defaults: max_batch 256, SVIT_MODE_INFER, SVIT_COMPUTE_F32, seed 0, the
    /// model's input size, SVIT_MEMORY_STORE, the model's context, no gradient of the input, no look for
    /// what is not finite. `size` is sizeof(svit_session_config) as the caller was compiled. Any thread
    /// may call it.
    pub fn svit_session_config_init(config: *mut svit_session_config, size: usize) -> svit_status;

    /// Fills `config` from a JSON object whose keys are the names of the fields; a missing one takes its
    /// default. Words: mode "infer", "train"; compute "f32", "bf16", "int8"; memory "store", "blocks",
    /// "stages". `config` is written only on success. SVIT_E_ARGUMENT names an unknown key or a value
    /// that is not accepted; SVIT_E_FORMAT means that the text is no JSON object. SVIT_E_VERSION: a
    /// struct of this `size` lacks a field that is not at its default. Any thread may call it.
    pub fn svit_session_config_from_json(
        config: *mut svit_session_config,
        size: usize,
        json: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes `config` as the JSON object that svit_session_config_from_json reads. `buffer`, `capacity`
    /// and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field that is out of range.
    /// Any thread may call it.
    pub fn svit_session_config_to_json(
        config: *const svit_session_config,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a session for `model`, whose weights the first forward packs. `config` may be NULL for
    /// the defaults. The session keeps config-\>context alive. The caller owns \*out and frees it with
    /// svit_session_free. SVIT_E_ARGUMENT names the field that is not accepted; SVIT_E_STATE: the
    /// session is to train, and every parameter that it reaches is frozen, without input_gradient;
    /// SVIT_E_UNSUPPORTED: the build computes in SVIT_COMPUTE_F32 alone, or a matmul has more rows or
    /// columns than the backend "cblas" takes; SVIT_E_MEMORY says how many bytes the plan needs. Any
    /// thread may call it.
    pub fn svit_session_create(
        out: *mut *mut svit_session,
        model: *mut svit_model,
        config: *const svit_session_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes to \*bytes the memory that a session would allocate, without creating it: the value of
    /// svit_session_memory for the same arguments, shared weights included. The descriptions of the
    /// layers come on top: less than 16 KiB and 4 KiB for each block. Errors are those of
    /// svit_session_create; \*bytes is written only on success. Any thread may call it.
    pub fn svit_session_memory_needed(
        bytes: *mut u64,
        model: *mut svit_model,
        config: *const svit_session_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Frees a session. NULL is allowed.
    pub fn svit_session_free(session: *mut svit_session);

    /// Returns the bytes that the session holds for activations, gradients, packed weights and
    /// workspaces. Each session that shares packed weights with others counts them in full, as if it
    /// were alone. 0 for NULL.
    pub fn svit_session_memory(session: *const svit_session) -> u64;

    /// Sets the mode to SVIT_MODE_INFER or SVIT_MODE_TRAIN and discards the saved activations, so that
    /// svit_backward needs a new forward pass. SVIT_E_STATE: the session was created with
    /// SVIT_MODE_INFER and cannot train.
    pub fn svit_session_set_mode(
        session: *mut svit_session,
        mode: i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns the number of training forwards so far. Together with the seed it selects the dropout
    /// masks of the next one.
    pub fn svit_session_counter(session: *const svit_session) -> u64;

    /// Sets the number of training forwards, so that a resumed run draws the same dropout masks as one
    /// that was never interrupted.
    pub fn svit_session_set_counter(
        session: *mut svit_session,
        counter: u64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns the elements of one row of the input of svit_forward: height \* width \* channels of an
    /// image, or tokens \* channels of the output of input_layer. 0 for NULL.
    pub fn svit_session_input_size(session: *const svit_session) -> usize;

    /// Computes logits\[n, classes\] of n images nhwc\[n, height, width, channels\], row-major; n is
    /// 1\..max_batch. A session with an input_layer takes its output, nhwc\[n, tokens, channels\], here and
    /// in every other call that takes images. In training mode each call draws new dropout masks and
    /// saves the activations for svit_backward. It allocates no memory. The floating-point environment
    /// of the calling thread (rounding mode, denormals) is neither used nor changed (docs/numerics.md).
    ///
    /// SVIT_E_NUMERIC names the first input that is not finite, or the image and the class of the first
    /// logit that is not, or with check_finite the first output of a layer. `logits` is then undefined,
    /// there are no saved activations, and the counter is unchanged.
    pub fn svit_forward(
        session: *mut svit_session,
        nhwc: *const f32,
        n: usize,
        logits: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the number of attention heads and the number of tokens, class token included, to \*heads
    /// and \*tokens. SVIT_E_UNSUPPORTED: the model has no attention.
    pub fn svit_session_attention_size(
        session: *const svit_session,
        heads: *mut usize,
        tokens: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Computes the logits as svit_forward does in inference, whatever the mode is, and the attention
    /// weights of the last layer, attention\[n, heads, tokens, tokens\], after the softmax: the last axis
    /// is the token that is attended to, and each row sums to 1; with SVIT_ATTENTION_DIFFERENTIAL they
    /// are the difference of a head's two maps, whose rows sum to 1 - lambda and may have elements below
    /// 0\. `elements` is the exact size of `attention`. The saved activations are discarded. After
    /// SVIT_E_NUMERIC for a logit, both outputs are undefined.
    pub fn svit_forward_attention(
        session: *mut svit_session,
        nhwc: *const f32,
        n: usize,
        logits: *mut f32,
        attention: *mut f32,
        elements: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Adds the gradients of the parameters to those of the session, given the gradient of the loss with
    /// respect to the logits, dlogits\[n, classes\], for the n images of the last training forward. The
    /// parameters must not have changed since then. It allocates no memory and treats the floating-point
    /// environment as svit_forward does. SVIT_E_STATE: there was no training forward since the last
    /// backward. SVIT_E_NUMERIC names the first element of dlogits that is not finite, or with
    /// check_finite the first gradient; the gradients then hold what the pass has added.
    pub fn svit_backward(
        session: *mut svit_session,
        dlogits: *const f32,
        n: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Does what svit_backward does, and writes the gradient of the loss with respect to the input of
    /// the last training forward to dnhwc\[n, height, width, channels\], or with an input_layer to
    /// dnhwc\[n, tokens, channels\]. The gradients of the parameters have the same bits as those of
    /// svit_backward. Errors are those of svit_backward, and SVIT_E_STATE if the session was created
    /// without input_gradient.
    pub fn svit_backward_input(
        session: *mut svit_session,
        dlogits: *const f32,
        n: usize,
        dnhwc: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Copies the gradient of a parameter to out\[elements\], in the layout of svit_model_get_parameter.
    /// SVIT_E_ARGUMENT: there is no parameter of this name, or `elements` is not exactly its size.
    /// SVIT_E_STATE: the session was created with SVIT_MODE_INFER, or the parameter has no gradient: it
    /// is frozen, or of a layer up to input_layer.
    pub fn svit_session_get_gradient(
        session: *const svit_session,
        name: *const c_char,
        out: *mut f32,
        elements: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Sets the gradient of a parameter from in\[elements\], for gradients that were reduced over several
    /// machines or computed elsewhere. Errors are those of svit_session_get_gradient. SVIT_E_ARGUMENT,
    /// too: with no_key_bias, an element of the keys' biases is not 0.
    pub fn svit_session_set_gradient(
        session: *mut svit_session,
        name: *const c_char,
        input: *const f32,
        elements: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Sets all gradients to zero. SVIT_E_STATE: the session was created with SVIT_MODE_INFER.
    pub fn svit_session_zero_gradients(
        session: *mut svit_session,
        err: *mut svit_error,
    ) -> svit_status;

    /// Cuts the batch of an optimiser step into reducer-\>leaves leaves, of which the session computes
    /// those of its rank: a svit_backward for each, in ascending order, and then svit_step. The
    /// gradients of a leaf are those of dlogits, which the caller divides by the size of the whole
    /// batch. A leaf without images takes a svit_backward of n = 0 without a svit_forward before. The
    /// reducer is copied; with one rank its functions may be NULL. The session holds at most 2
    /// log2(leaves) + 1 more arrays of gradients. Gradients that it has are dropped. Dropout is drawn by
    /// svit_session_set_counter, which a caller sets for each leaf to a number that does not depend on
    /// the ranks. `reducer` NULL: each svit_backward adds to the gradients again. SVIT_E_STATE: the
    /// session was created to infer. SVIT_E_ARGUMENT: a field of the reducer is out of its range.
    pub fn svit_session_set_reducer(
        session: *mut svit_session,
        reducer: *const svit_reducer,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns the name of a layer whose output svit_forward_features computes, by its index in the
    /// order of the model, from the first layer behind input_layer on, or NULL past the end:
    /// "patch_embed"; in a ViT "tokens", the tokens with their positions; "blocks.0" and so on, in a
    /// ShiftViT "layers.0.blocks.0" and so on; "features", the pooled input of the classifier. Of these,
    /// a session without `features` refuses those that inference fuses with others. The text is borrowed
    /// until svit_session_free.
    pub fn svit_session_layer_name(session: *const svit_session, index: usize) -> *const c_char;

    /// Writes the tokens and the channels of a layer's output for one image; pooled features are one
    /// token. SVIT_E_ARGUMENT: the session runs no layer of this name.
    pub fn svit_session_layer_shape(
        session: *const svit_session,
        layer: *const c_char,
        tokens: *mut usize,
        channels: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Computes the output of the layer `layer`, out\[n, tokens, channels\], of n images as svit_forward
    /// takes them, in inference whatever the session's mode. The tokens of a ViT begin with class,
    /// distillation and register tokens. `elements` is exactly that size. A backward needs a new forward
    /// afterwards. SVIT_E_ARGUMENT: there is no such layer, or an argument is not accepted.
    /// SVIT_E_STATE: inference fuses the layer with others; a session with features 1 does not.
    /// SVIT_E_NUMERIC as svit_forward.
    pub fn svit_forward_features(
        session: *mut svit_session,
        nhwc: *const f32,
        n: usize,
        layer: *const c_char,
        out: *mut f32,
        elements: usize,
        err: *mut svit_error,
    ) -> svit_status;
}
