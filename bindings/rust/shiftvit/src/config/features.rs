//! `FeaturesConfig`.

// Written by bindings/rust/generate from the C headers.

use crate::context::Context;
use crate::enums::Compute;
use crate::enums::Tokens;
use crate::field::config;
use shiftvit_sys as sys;

config! {
    /// How features are computed.
    pub struct FeaturesConfig: svit_features_config, svit_features_config_init {
        /// Images in one forward pass, 1..65536; all if there are fewer.
        batch: u32;
        /// `Compute` of session.h.
        compute: Compute;
        /// `Tokens`; no effect on a layer with one token for each image.
        tokens: Tokens;
    }
    lists {
    }
    held {
        /// A name that `Session::layers` returns; `None`: "features", the
        /// input of the classifier. In a distilled model that is the class
        /// token, then the distillation token: 2 dim values.
        layer: Option<String>;
        /// Whose workers compute, as in `SessionConfig`; `None`: the model's.
        context: Option<Context>;
    }
}
