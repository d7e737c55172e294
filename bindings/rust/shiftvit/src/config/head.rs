//! `HeadConfig`.

// Written by bindings/rust/generate from the C headers.

use crate::field::{config, json};
use shiftvit_sys as sys;

config! {
    /// How `Model::fit_head` trains: AdamW, whose learning rate falls to 0 as half a cosine.
    pub struct HeadConfig: svit_head_config, svit_head_config_init {
        /// 1\..1000000.
        epochs: u32;
        /// Samples in an update, 1..65536; all of them if there are fewer.
        batch: u32;
        /// True: each class counts as much as any other in the loss.
        balanced: bool;
        /// Above 0: of the first update.
        learning_rate: f64;
        /// AdamW's, of weights; biases have none. Negative: 5000 divided
        /// by the number of samples, at most 10, since few need more.
        weight_decay: f64;
        /// \[0, 1).
        label_smoothing: f64;
        /// Of the order of the samples and of dropout in the head.
        seed: u64;
    }
    lists {
    }
    held {
    }
}

json!(HeadConfig, svit_head_config_from_json, svit_head_config_to_json);
