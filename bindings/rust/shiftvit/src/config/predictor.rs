//! `PredictorConfig`.

// Written by bindings/rust/generate from the C headers.

use crate::context::Context;
use crate::enums::Compute;
use crate::enums::Output;
use crate::enums::Tta;
use crate::field::config;
use shiftvit_sys as sys;

config! {
    /// The configuration of a predictor.
    pub struct PredictorConfig: svit_predictor_config, svit_predictor_config_init {
        /// Images in one forward pass, 1..65536; a call with more runs several.
        /// Predictors with at most 8 may differ by rounding from larger ones
        /// and from each other.
        max_batch: u32;
        /// `Compute` of session.h.
        compute: Compute;
        /// `Output` of model.h: what it makes of the logits.
        output: Output;
        /// `Tta` of session.h: versions of each image whose logits, or with
        /// a text head whose embeddings, are averaged, which takes two or six
        /// times as long.
        tta: Tta;
    }
    lists {
    }
    held {
        /// Whose workers run it, as in `SessionConfig`; `None`: the model's.
        context: Option<Context>;
    }
}
