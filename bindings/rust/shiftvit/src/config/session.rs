//! `SessionConfig`.

// Written by bindings/rust/generate from the C headers.

use crate::context::Context;
use crate::enums::Compute;
use crate::enums::Memory;
use crate::enums::Mode;
use crate::field::{config, json};
use shiftvit_sys as sys;

config! {
    /// The configuration of a session.
    pub struct SessionConfig: svit_session_config, svit_session_config_init {
        /// Largest number of images in one forward pass, 1..65536. Sessions
        /// with at most 8 may differ by rounding from larger ones and from
        /// each other.
        max_batch: u32;
        /// `Mode`; a session created with `Mode::Infer` has no memory for
        /// training and cannot switch to it.
        mode: Mode;
        /// `Compute`.
        compute: Compute;
        /// Of the dropout masks.
        seed: u64;
        /// Pixels; 0: as in the model. A model without position embeddings
        /// accepts every size that leaves its feature maps at least 1 x 1; a
        /// ViT without them whole patches, unless its pool is
        /// `Pool::Flatten`.
        input_height: u32;
        /// Pixels; 0: as in the model.
        input_width: u32;
        /// `Memory`; no effect in a session created with `Mode::Infer`.
        memory: Memory;
        /// True: inference fuses no layers, so that `Session::forward_features` reaches
        /// the output of every one.
        features: bool;
        /// "": the session takes images. Otherwise the name of a layer
        /// (`Session::layers`): the session takes its output, as
        /// `Session::forward_features` computes it, in place of images. The layers up
        /// to this one never run, and their parameters have no gradient.
        /// input_height and input_width are those of the images from which the
        /// features came. Where inference fuses the layer with a later one, the
        /// session fuses no layers.
        input_layer: String;
        /// True: `Session::backward_input` computes the gradient of the input. The
        /// session needs `Mode::Train`, and all parameters may be frozen. A
        /// training forward runs frozen layers as it runs all others, with
        /// dropout, and saves their activations.
        input_gradient: bool;
        /// True: a pass looks at the output of every layer, and a backward at the
        /// gradients of outputs and parameters; `Status::Numeric` names the first
        /// tensor that is not finite, and the training forward. Passes run layer
        /// by layer then. The same bits, and some percent slower.
        check_finite: bool;
    }
    lists {
    }
    held {
        /// Whose workers run the passes and whose allocator the session uses;
        /// `None`: the model's. It has the same instruction set and GEMM backend
        /// as the model's context. No field of the JSON object.
        context: Option<Context>;
    }
}

json!(SessionConfig, svit_session_config_from_json, svit_session_config_to_json);
