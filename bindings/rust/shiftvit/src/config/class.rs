//! `ClassConfig`.

// Written by bindings/rust/generate from the C headers.

use crate::field::{config, json};
use shiftvit_sys as sys;

config! {
    /// How `Model::fit_class` finds the row of a new class.
    pub struct ClassConfig: svit_class_config, svit_class_config_init {
        /// With old features, at least 0: the penalty is weight_decay \|w\|^2 / 2 on
        /// features divided by their standard deviation, one
        /// number for all channels.
        weight_decay: f64;
        /// With old features, (0, 1e30\]: the weight of all new samples together in
        /// the loss, divided by that of an average old class. A larger one finds
        /// more of the new class and takes more from the old ones.
        new_weight: f64;
        /// Without old features, (0, 1\]: the fraction of the new samples whose new
        /// logit exceeds those of all old classes, or 0 in a model of several
        /// labels (`Output::Sigmoid`).
        recall: f64;
    }
    lists {
    }
    held {
    }
}

json!(ClassConfig, svit_class_config_from_json, svit_class_config_to_json);
