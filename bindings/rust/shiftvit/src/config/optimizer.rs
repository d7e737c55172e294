//! `OptimizerConfig`.

// Written by bindings/rust/generate from the C headers.

use crate::enums::DecayRule;
use crate::enums::Ema;
use crate::enums::EpsilonForm;
use crate::enums::Schedule;
use crate::enums::SgdForm;
use crate::enums::UpdateRule;
use crate::parts::DecayExclude;
use crate::parts::ParameterGroup;
use crate::parts::SchedulePoint;
use crate::field::{config, json};
use shiftvit_sys as sys;

config! {
    /// The configuration of an optimiser. Fields of another update rule are ignored.
    pub struct OptimizerConfig: svit_optimizer_config, svit_optimizer_config_init {
        /// `UpdateRule`.
        kind: UpdateRule;
        /// At least 0: the constant rate, or the maximum of the schedule.
        learning_rate: f64;
        /// \[0, 1): AdamW, and Muon's AdamW: decay rate of the first moment;
        /// Lion: weight of m in the update.
        beta1: f64;
        /// \[0, 1): AdamW, and Muon's AdamW: decay rate of the second moment;
        /// Lion: decay rate of m.
        beta2: f64;
        /// AdamW, and Muon's AdamW: above 0, a normal float32; it counts
        /// as at least sqrt(1.2e-38 / (1 - beta2)), 3.4e-18 by default,
        /// divided by sqrt(1 - beta2^t) with `EpsilonForm::Torch`.
        epsilon: f64;
        /// At least 0.
        weight_decay: f64;
        /// SGD and Muon, \[0, 1).
        momentum: f64;
        /// At least 0: gradients are scaled by
        /// clip_norm / max(global norm, clip_norm); 0: never.
        clip_norm: f64;
        /// \[0, 1).
        ema_momentum: f64;
        /// 0\..learning_rate: the rate at which the warm-up starts.
        lr_start: f64;
        /// At most total_steps; 0: none, or, in a trainer that computes
        /// total_steps, its warmup_fraction of them.
        warmup_steps: u64;
        /// Length of a schedule that has one, at least 1; 0: a trainer
        /// computes it.
        total_steps: u64;
        /// `Schedule`.
        schedule: Schedule;
        /// `DecayRule`.
        decay_rule: DecayRule;
        /// Sum of SVIT_EXCLUDE_\*.
        decay_exclude: DecayExclude;
        /// True: Nesterov's momentum, of SGD and Muon.
        nesterov: bool;
        /// `Ema`.
        ema: Ema;
        /// `SgdForm`.
        sgd_form: SgdForm;
        /// `EpsilonForm`.
        epsilon_form: EpsilonForm;
        /// Muon, at least 0: the rate of the parameters that take AdamW, at
        /// the maximum of the schedule.
        adamw_learning_rate: f64;
        /// \[0, 1\]: Lookahead (Zhang et al. 2019): every `lookahead` steps,
        /// slow += lookahead_alpha (w - slow) and w = slow. Slot slow, which
        /// starts as the weights before the first step.
        lookahead_alpha: f64;
        /// \[0, 1\].
        swa_start: f64;
        /// (0, 1\]: layer-wise decay of the learning rate (BEiT, Bao et al.
        /// 2021): the rate of a parameter of depth d is multiplied by
        /// layer_decay ^ (depths - d), and by the lr_scale of its group. The
        /// embedding (patches, tokens, positions) has depth 0, block i of
        /// the model, from 0, i + 1, the final norm and the head `depths`,
        /// blocks + 1. In a ShiftViT the patch merging before a stage has
        /// the depth of the stage's first block.
        layer_decay: f64;
        /// Steps; 0: those of an epoch in a trainer, otherwise 1.
        swa_every: u64;
        /// `Schedule::Step`: steps between two falls, at least 1;
        /// the default 0 is refused there.
        step_size: u64;
        /// `Schedule::Step`, at least 0: factor of a fall.
        step_factor: f64;
        /// `Schedule::CosineRestarts`: steps of the first period, at least
        /// 2; the default 0 is refused there.
        restart_steps: u64;
        /// `Schedule::CosineRestarts`, 1..16: growth of the periods.
        restart_factor: u32;
        /// Steps; 0: no Lookahead.
        lookahead: u32;
    }
    lists {
        /// Settings of some parameters.
        groups: ParameterGroup, group_count;
        /// `Schedule::Piecewise`, at least 2.
        points: SchedulePoint, point_count;
    }
    held {
    }
}

json!(OptimizerConfig, svit_optimizer_config_from_json, svit_optimizer_config_to_json);
