//! The choices of `optimizer.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// The update rule. w is a weight, g its gradient after clipping, lr the learning rate of the
    /// schedule.
    pub enum UpdateRule {
        /// AdamW (Loshchilov, Hutter 2019), with epsilon added outside the
        /// bias correction as in Keras. Slots m and v.
        AdamW = SVIT_OPTIMIZER_ADAMW,
        /// V = momentum v - lr g; w += v, or with Nesterov's momentum
        /// w += momentum v - lr g. Slot momentum.
        Sgd = SVIT_OPTIMIZER_SGD,
        /// Muon (Jordan et al. 2024) for matrices: m = momentum m +
        /// (1 - momentum) g; u = m, or with Nesterov's momentum
        /// momentum m + (1 - momentum) g; w -= lr sqrt(max(1, rows / columns))
        /// NS(u), where NS orthogonalises by five Newton-Schulz steps. AdamW
        /// is for the first weight of the model (patch embedding, of a stem of
        /// two maps the first one), the last one (classifier, of a distilled
        /// model that of the second head), adapters of LoRA, and all that is
        /// no weight of a layer. Slots m and v.
        Muon = SVIT_OPTIMIZER_MUON,
        /// Lion (Chen et al. 2023): w -= lr sign(beta1 m + (1 - beta1) g);
        /// m = beta2 m + (1 - beta2) g. Slot m.
        Lion = SVIT_OPTIMIZER_LION,
    }
}

enumeration! {
    /// The form of `UpdateRule::Sgd`.
    pub enum SgdForm {
        /// The velocity includes the learning rate; weight decay is decoupled.
        Keras = SVIT_SGD_KERAS,
        /// D = g + weight_decay w; v = momentum v + d; w -= lr v, or with Nesterov's
        /// momentum w -= lr (d + momentum v).
        Torch = SVIT_SGD_TORCH,
    }
}

enumeration! {
    /// Where AdamW adds epsilon.
    pub enum EpsilonForm {
        /// To sqrt(v), before the bias correction.
        Keras = SVIT_EPSILON_KERAS,
        /// To sqrt(v / (1 - beta2^t)), after it.
        Torch = SVIT_EPSILON_TORCH,
    }
}

enumeration! {
    /// The size of the decoupled weight decay, which is subtracted before the update.
    pub enum DecayRule {
        /// W -= lr \* weight_decay \* w (Keras, PyTorch).
        Scaled = SVIT_DECAY_SCALED,
        /// W -= weight_decay \* w (TensorFlow Addons).
        Unscaled = SVIT_DECAY_UNSCALED,
    }
}

enumeration! {
    /// The learning rate as a function of the step; `sys::svit_learning_rate` has the formulas. All but the
    /// first and `Schedule::Step` and `Schedule::CosineRestarts` have a length, total_steps.
    pub enum Schedule {
        /// The same for all steps.
        Constant = SVIT_SCHEDULE_CONSTANT,
        /// A linear rise, then half a cosine down to 0.
        WarmupCosine = SVIT_SCHEDULE_WARMUP_COSINE,
        /// A linear rise, then a linear fall to 0.
        Linear = SVIT_SCHEDULE_LINEAR,
        /// Half a cosine up, half a cosine down.
        OneCycle = SVIT_SCHEDULE_ONE_CYCLE,
        /// Falls by a factor every step_size steps.
        Step = SVIT_SCHEDULE_STEP,
        /// Half a cosine down, again and again.
        CosineRestarts = SVIT_SCHEDULE_COSINE_RESTARTS,
        /// Straight lines between the points of `points`.
        Piecewise = SVIT_SCHEDULE_PIECEWISE,
    }
}

enumeration! {
    /// The update rule of a parameter group.
    pub enum GroupRule {
        /// As the optimiser chooses.
        Auto = SVIT_RULE_AUTO,
        /// `UpdateRule::Muon`: AdamW.
        Element = SVIT_RULE_ELEMENT,
        /// `UpdateRule::Muon`: the rule for matrices, where the parameter has at
        /// least two dimensions.
        Matrix = SVIT_RULE_MATRIX,
    }
}

enumeration! {
    /// The exponential moving average (EMA) of the weights (Polyak, Juditsky 1992):
    /// average = ema_momentum \* average + (1 - ema_momentum) \* w after each step, computed from the
    /// difference of the two, so that the average of constant weights is these weights.
    pub enum Ema {
        /// No average.
        None = SVIT_EMA_NONE,
        /// Starts as the weights before the first step.
        Plain = SVIT_EMA_PLAIN,
        /// Starts as the weights after the first step.
        Keras = SVIT_EMA_KERAS,
        /// Stochastic weight averaging (Izmailov et al. 2018) instead: the mean of
        /// the weights after every swa_every steps beyond the fraction swa_start of
        /// total_steps (rounded down); until then, the weights themselves.
        Swa = SVIT_EMA_SWA,
    }
}
