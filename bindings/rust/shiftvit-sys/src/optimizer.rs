//! Optimisers: parameter updates, learning-rate schedules, and moving averages of the weights.

// Written by bindings/rust/generate from the C headers.

use crate::model::*;
use crate::session::*;
use crate::status::*;
use std::os::raw::c_char;

// The update rule. w is a weight, g its gradient after clipping, lr the learning rate of the
// schedule.

/// AdamW (Loshchilov, Hutter 2019), with epsilon added outside the
/// bias correction as in Keras. Slots m and v
pub const SVIT_OPTIMIZER_ADAMW: i32 = 0;
/// v = momentum v - lr g; w += v, or with Nesterov's momentum
/// w += momentum v - lr g. Slot momentum
pub const SVIT_OPTIMIZER_SGD: i32 = 1;
/// Muon (Jordan et al. 2024) for matrices: m = momentum m +
/// (1 - momentum) g; u = m, or with Nesterov's momentum
/// momentum m + (1 - momentum) g; w -= lr sqrt(max(1, rows / columns))
/// NS(u), where NS orthogonalises by five Newton-Schulz steps. AdamW
/// is for the first weight of the model (patch embedding, of a stem of
/// two maps the first one), the last one (classifier, of a distilled
/// model that of the second head), adapters of LoRA, and all that is
/// no weight of a layer. Slots m and v
pub const SVIT_OPTIMIZER_MUON: i32 = 2;
/// Lion (Chen et al. 2023): w -= lr sign(beta1 m + (1 - beta1) g);
/// m = beta2 m + (1 - beta2) g. Slot m
pub const SVIT_OPTIMIZER_LION: i32 = 3;

// The form of SVIT_OPTIMIZER_SGD.

/// the velocity includes the learning rate; weight decay is decoupled
pub const SVIT_SGD_KERAS: i32 = 0;
/// d = g + weight_decay w; v = momentum v + d; w -= lr v, or with Nesterov's
/// momentum w -= lr (d + momentum v)
pub const SVIT_SGD_TORCH: i32 = 1;

// Where AdamW adds epsilon.

/// to sqrt(v), before the bias correction
pub const SVIT_EPSILON_KERAS: i32 = 0;
/// to sqrt(v / (1 - beta2^t)), after it
pub const SVIT_EPSILON_TORCH: i32 = 1;

// The size of the decoupled weight decay, which is subtracted before the update.

/// w -= lr \* weight_decay \* w (Keras, PyTorch)
pub const SVIT_DECAY_SCALED: i32 = 0;
/// w -= weight_decay \* w (TensorFlow Addons)
pub const SVIT_DECAY_UNSCALED: i32 = 1;

// The learning rate as a function of the step; svit_learning_rate has the formulas. All but the
// first and SVIT_SCHEDULE_STEP and SVIT_SCHEDULE_COSINE_RESTARTS have a length, total_steps.

/// the same for all steps
pub const SVIT_SCHEDULE_CONSTANT: i32 = 0;
/// a linear rise, then half a cosine down to 0
pub const SVIT_SCHEDULE_WARMUP_COSINE: i32 = 1;
/// a linear rise, then a linear fall to 0
pub const SVIT_SCHEDULE_LINEAR: i32 = 2;
/// half a cosine up, half a cosine down
pub const SVIT_SCHEDULE_ONE_CYCLE: i32 = 3;
/// falls by a factor every step_size steps
pub const SVIT_SCHEDULE_STEP: i32 = 4;
/// half a cosine down, again and again
pub const SVIT_SCHEDULE_COSINE_RESTARTS: i32 = 5;
/// straight lines between the points of `points`
pub const SVIT_SCHEDULE_PIECEWISE: i32 = 6;

// The update rule of a parameter group.

/// as the optimiser chooses
pub const SVIT_RULE_AUTO: i32 = 0;
/// SVIT_OPTIMIZER_MUON: AdamW
pub const SVIT_RULE_ELEMENT: i32 = 1;
/// SVIT_OPTIMIZER_MUON: the rule for matrices, where the parameter has at
/// least two dimensions
pub const SVIT_RULE_MATRIX: i32 = 2;

// The capacities of `groups` and `points` in svit_optimizer_config.

/// of `groups`
pub const SVIT_MAX_GROUPS: i32 = 16;
/// of `points`
pub const SVIT_MAX_SCHEDULE_POINTS: i32 = 16;

// Bits of `decay_exclude`: parameters without weight decay.

/// biases, temperatures and lambdas of attention, factors of
/// LayerScale
pub const SVIT_EXCLUDE_BIAS: i32 = 1;
/// scales and biases of norms
pub const SVIT_EXCLUDE_NORM: i32 = 2;
/// position embeddings; class, distillation, register and mask
/// tokens; the query of attention pooling; learnt frequencies of
/// rotary positions
pub const SVIT_EXCLUDE_POSITION: i32 = 4;

// The exponential moving average (EMA) of the weights (Polyak, Juditsky 1992):
// average = ema_momentum * average + (1 - ema_momentum) * w after each step, computed from the
// difference of the two, so that the average of constant weights is these weights.

/// no average
pub const SVIT_EMA_NONE: i32 = 0;
/// starts as the weights before the first step
pub const SVIT_EMA_PLAIN: i32 = 1;
/// starts as the weights after the first step
pub const SVIT_EMA_KERAS: i32 = 2;
/// stochastic weight averaging (Izmailov et al. 2018) instead: the mean of
/// the weights after every swa_every steps beyond the fraction swa_start of
/// total_steps (rounded down); until then, the weights themselves
pub const SVIT_EMA_SWA: i32 = 3;

/// An optimiser has the slots (state arrays), the step count and the schedule for one model, which
/// it keeps alive. One thread at a time may use it, together with the session and the model.
#[repr(C)]
pub struct svit_optimizer {
    _data: [u8; 0],
    _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
}

/// A point of SVIT_SCHEDULE_PIECEWISE: the rate is factor \* learning_rate at the step
/// fraction \* total_steps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_schedule_point {
    /// \[0, 1\], above that of the point before
    pub fraction: f64,
    /// at least 0
    pub factor: f64,
}

/// Settings of the parameters whose names match a pattern. Of several groups that match, the last
/// one counts. Every field has to be set: `lr_scale` 1, `weight_decay` -1, `trainable` 1 and `rule`
/// 0, the values of a field that is missing in JSON, leave parameters as they are. A group of zeros
/// freezes them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_parameter_group {
    /// the whole name, in which \* stands for any characters and ? for one
    pub pattern: [c_char; 96],
    /// at least 0: factor of the learning rate, beside that of layer_decay
    pub lr_scale: f64,
    /// -1: that of the optimiser, with its decay_exclude; else at least 0
    pub weight_decay: f64,
    /// 0: the parameters keep their bits: no update, no decay, no part in the
    /// gradient's norm
    pub trainable: i32,
    /// SVIT_RULE_\*
    pub rule: i32,
}

/// The configuration of an optimiser. Fields of another update rule are ignored.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_optimizer_config {
    /// sizeof(svit_optimizer_config)
    pub struct_size: u32,
    /// SVIT_OPTIMIZER_\*
    pub kind: i32,
    /// at least 0: the constant rate, or the maximum of the schedule
    pub learning_rate: f64,
    /// \[0, 1): AdamW, and Muon's AdamW: decay rate of the first moment;
    /// Lion: weight of m in the update
    pub beta1: f64,
    /// \[0, 1): AdamW, and Muon's AdamW: decay rate of the second moment;
    /// Lion: decay rate of m
    pub beta2: f64,
    /// AdamW, and Muon's AdamW: above 0, a normal float32; it counts
    /// as at least sqrt(1.2e-38 / (1 - beta2)), 3.4e-18 by default,
    /// divided by sqrt(1 - beta2^t) with SVIT_EPSILON_TORCH
    pub epsilon: f64,
    /// at least 0
    pub weight_decay: f64,
    /// SGD and Muon, \[0, 1)
    pub momentum: f64,
    /// at least 0: gradients are scaled by
    /// clip_norm / max(global norm, clip_norm); 0: never
    pub clip_norm: f64,
    /// \[0, 1)
    pub ema_momentum: f64,
    /// 0\..learning_rate: the rate at which the warm-up starts
    pub lr_start: f64,
    /// at most total_steps; 0: none, or, in a trainer that computes
    /// total_steps, its warmup_fraction of them
    pub warmup_steps: u64,
    /// length of a schedule that has one, at least 1; 0: a trainer
    /// computes it
    pub total_steps: u64,
    /// SVIT_SCHEDULE_\*
    pub schedule: i32,
    /// SVIT_DECAY_\*
    pub decay_rule: i32,
    /// sum of SVIT_EXCLUDE_\*
    pub decay_exclude: u32,
    /// 1: Nesterov's momentum, of SGD and Muon
    pub nesterov: i32,
    /// SVIT_EMA_\*
    pub ema: i32,
    /// 0; another value is SVIT_E_VERSION
    pub reserved: u32,
    /// SVIT_SGD_\*
    pub sgd_form: i32,
    /// SVIT_EPSILON_\*
    pub epsilon_form: i32,
    /// Muon, at least 0: the rate of the parameters that take AdamW, at
    /// the maximum of the schedule
    pub adamw_learning_rate: f64,
    /// \[0, 1\]: Lookahead (Zhang et al. 2019): every `lookahead` steps,
    /// slow += lookahead_alpha (w - slow) and w = slow. Slot slow, which
    /// starts as the weights before the first step
    pub lookahead_alpha: f64,
    /// \[0, 1\]
    pub swa_start: f64,
    /// (0, 1\]: layer-wise decay of the learning rate (BEiT, Bao et al.
    /// 2021): the rate of a parameter of depth d is multiplied by
    /// layer_decay ^ (depths - d), and by the lr_scale of its group. The
    /// embedding (patches, tokens, positions) has depth 0, block i of
    /// the model, from 0, i + 1, the final norm and the head `depths`,
    /// blocks + 1. In a ShiftViT the patch merging before a stage has
    /// the depth of the stage's first block
    pub layer_decay: f64,
    /// steps; 0: those of an epoch in a trainer, otherwise 1
    pub swa_every: u64,
    /// SVIT_SCHEDULE_STEP: steps between two falls, at least 1;
    /// the default 0 is refused there
    pub step_size: u64,
    /// SVIT_SCHEDULE_STEP, at least 0: factor of a fall
    pub step_factor: f64,
    /// SVIT_SCHEDULE_COSINE_RESTARTS: steps of the first period, at least
    /// 2; the default 0 is refused there
    pub restart_steps: u64,
    /// SVIT_SCHEDULE_COSINE_RESTARTS, 1..16: growth of the periods
    pub restart_factor: u32,
    /// steps; 0: no Lookahead
    pub lookahead: u32,
    /// of `groups`
    pub group_count: u32,
    /// of `points`
    pub point_count: u32,
    /// settings of some parameters
    pub groups: [svit_parameter_group; SVIT_MAX_GROUPS as usize],
    /// SVIT_SCHEDULE_PIECEWISE, at least 2
    pub points: [svit_schedule_point; SVIT_MAX_SCHEDULE_POINTS as usize],
}

extern "C" {
    /// Fills `config` with the defaults: AdamW, constant learning rate 1e-3, betas 0.9 and 0.999,
    /// epsilon 1e-7, weight decay 1e-4 scaled by the learning rate on every parameter, no clipping, no
    /// average, layer decay 1. `size` is sizeof(svit_optimizer_config) as the caller was compiled. Any
    /// thread may call it.
    pub fn svit_optimizer_config_init(
        config: *mut svit_optimizer_config,
        size: usize,
    ) -> svit_status;

    /// Fills `config` from a JSON object whose keys are the names of the fields, except that `kind` is
    /// "optimizer", and that `group_count` and `point_count` follow from the lengths of "groups" and
    /// "points"; a missing one takes its default. Words: optimizer "adamw", "sgd", "muon", "lion";
    /// schedule "constant", "warmup-cosine", "linear", "one-cycle", "step", "cosine-restarts",
    /// "piecewise"; decay_rule "scaled", "unscaled"; decay_exclude a list of "bias", "norm", "position";
    /// ema "none", "plain", "keras", "swa"; sgd_form and epsilon_form "keras", "torch". `groups` is a
    /// list of objects with "pattern" and, where they differ from "as the optimiser", "lr_scale",
    /// "weight_decay", "trainable" and "rule" ("auto", "element", "matrix"); `points` is a list of pairs
    /// \[fraction, factor\]. A schedule without total_steps is accepted, because a trainer computes them;
    /// svit_optimizer_create does not accept it.
    ///
    /// `config` is written only on success. SVIT_E_ARGUMENT names an unknown key or a value that is not
    /// accepted; SVIT_E_FORMAT means that the text is no JSON object. SVIT_E_VERSION: a struct of this
    /// `size` lacks a field that is not at its default. Any thread may call it.
    pub fn svit_optimizer_config_from_json(
        config: *mut svit_optimizer_config,
        size: usize,
        json: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes `config` as the JSON object that svit_optimizer_config_from_json reads. `buffer`,
    /// `capacity` and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field that is
    /// out of range. Any thread may call it.
    pub fn svit_optimizer_config_to_json(
        config: *const svit_optimizer_config,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates an optimiser for `model`. `config` may be NULL for the defaults. The caller owns \*out and
    /// frees it with svit_optimizer_free. Its slots and averages take memory for the parameters that are
    /// trainable now (svit_model_set_trainable). SVIT_E_ARGUMENT names the field that is not accepted,
    /// or a group whose pattern matches no parameter.
    pub fn svit_optimizer_create(
        out: *mut *mut svit_optimizer,
        model: *mut svit_model,
        config: *const svit_optimizer_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Frees an optimiser. NULL is allowed.
    pub fn svit_optimizer_free(optimizer: *mut svit_optimizer);

    /// Updates the model once from the gradients of `session` and sets these to zero. Parameters that
    /// have none, because they are frozen or because the session begins behind their layer, are left
    /// alone, by weight decay and averages too. Without a backward since the last update the gradients
    /// are zero, and the update counts all the same. The first update uses step 0 of the schedule. It
    /// allocates no memory and treats the floating-point environment as svit_forward does.
    ///
    /// SVIT_E_ARGUMENT: the session belongs to another model. SVIT_E_STATE: the session was created with
    /// SVIT_MODE_INFER, the model holds its average (svit_optimizer_swap_ema), or its trainable
    /// parameters have changed since the session or the optimiser was created. SVIT_E_NUMERIC names a
    /// parameter whose gradient is not finite, a learning rate that is above all floats, by itself or
    /// with the lr_scale of a parameter, or gradients so large that clip_norm asks for a factor below
    /// the normal floats. Weights, slots and gradients are unchanged in all cases.
    pub fn svit_step(
        optimizer: *mut svit_optimizer,
        session: *mut svit_session,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the learning rate of update number `step`, from 0, to \*learning_rate. With T total_steps,
    /// W warmup_steps and lr learning_rate:
    ///
    /// SVIT_SCHEDULE_CONSTANT         lr
    /// SVIT_SCHEDULE_WARMUP_COSINE    rises linearly from lr_start to lr over W steps, then falls to 0
    /// at T as half a cosine (Loshchilov, Hutter 2017), and stays 0
    /// SVIT_SCHEDULE_LINEAR           rises likewise, then falls linearly to 0 at T, and stays 0
    /// SVIT_SCHEDULE_ONE_CYCLE        (Smith, Topin 2018) rises as half a cosine from lr_start, or lr
    /// / 25 if that is 0, to lr at step W - 1, then falls as half a
    /// cosine to 1e-4 of the start at T - 1, and stays there
    /// SVIT_SCHEDULE_STEP             lr \* step_factor ^ floor(step / step_size), which may overflow
    /// SVIT_SCHEDULE_COSINE_RESTARTS  falls from lr to lr_start as half a cosine over restart_steps,
    /// starts again, and so on; each period is restart_factor times as
    /// long as the one before
    /// SVIT_SCHEDULE_PIECEWISE        lr times the linear interpolation of `points` at step / T, whose
    /// first and last factors hold beyond them
    /// SVIT_E_ARGUMENT as svit_optimizer_create. Any thread may call it.
    pub fn svit_learning_rate(
        config: *const svit_optimizer_config,
        step: u64,
        learning_rate: *mut f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns the number of updates so far; 0 for NULL.
    pub fn svit_optimizer_steps(optimizer: *const svit_optimizer) -> u64;

    /// Changes a setting during training. `key` is "learning_rate", "weight_decay", "momentum",
    /// "clip_norm" or "ema_momentum". "weight_decay" is that of the parameters whose group or
    /// svit_optimizer_set_parameter_f64 has not given them another one, and which decay_exclude does not
    /// exclude. "learning_rate" of Muon is that of its matrices: the other parameters keep
    /// adamw_learning_rate, on the same schedule, unless the rate is 0. SVIT_E_ARGUMENT names an unknown
    /// key, or a value outside svit_optimizer_bounds; SVIT_E_MEMORY, of "weight_decay". The optimiser is
    /// unchanged then.
    pub fn svit_optimizer_set_f64(
        optimizer: *mut svit_optimizer,
        key: *const c_char,
        value: f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Changes a setting of the parameters whose names match `pattern`, as in svit_parameter_group,
    /// between two updates. `key` is "lr_scale" or "weight_decay" (both in \[0, 1e30\]) or "trainable" (0
    /// or 1). AdamW's t counts the updates that a parameter takes part in, as in PyTorch.
    /// SVIT_E_ARGUMENT names the key, the value, or a pattern that matches no parameter;
    /// SVIT_E_STATE a parameter that is frozen in the model and was to be trainable; SVIT_E_MEMORY. The
    /// optimiser is unchanged then.
    pub fn svit_optimizer_set_parameter_f64(
        optimizer: *mut svit_optimizer,
        pattern: *const c_char,
        key: *const c_char,
        value: f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the value of a setting of svit_optimizer_set_f64 to \*value. "learning_rate" is the setting
    /// from which a schedule starts: the rate of the next step is svit_learning_rate(&config,
    /// svit_optimizer_steps(optimizer)). The key "gradient_norm" is accepted too: the global norm of the
    /// gradients in the last update, before clipping.
    pub fn svit_optimizer_get_f64(
        optimizer: *const svit_optimizer,
        key: *const c_char,
        value: *mut f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the smallest and the largest value that svit_optimizer_set_f64 accepts for `key` to \*min
    /// and \*max. SVIT_E_ARGUMENT names an unknown key.
    pub fn svit_optimizer_bounds(
        optimizer: *const svit_optimizer,
        key: *const c_char,
        min: *mut f64,
        max: *mut f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Exchanges the model's weights and their moving average. A first call lets the model use the
    /// average, and a second one restores the weights, without which training cannot go on.
    /// SVIT_E_STATE: there is no average, or no update yet.
    pub fn svit_optimizer_swap_ema(
        optimizer: *mut svit_optimizer,
        err: *mut svit_error,
    ) -> svit_status;
}
