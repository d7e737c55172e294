//! Losses: which there are, and loss and accuracy on plain arrays. The functions have no state, so
//! any thread may call them.

// Written by bindings/rust/generate from the C headers.

use crate::status::*;
use std::os::raw::c_void;

// What a run minimises.

/// of one label for each sample, or of probabilities
pub const SVIT_LOSS_CROSS_ENTROPY: i32 = 0;
/// svit_binary_cross_entropy, for several labels for each sample
pub const SVIT_LOSS_BINARY: i32 = 1;
/// svit_mean_squared_error, for numbers
pub const SVIT_LOSS_MSE: i32 = 2;

/// What a loss function gets and writes: a micro-batch of logits, with labels if the batch has them,
/// else with targets. All arrays belong to the trainer and are valid until the function returns. The
/// function must not look beyond struct_size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_loss_call {
    /// bytes that the library filled
    pub struct_size: u32,
    /// written by the function: the mean of the samples' losses
    pub loss: f32,
    /// samples, at least 1
    pub n: usize,
    /// of the model
    pub classes: usize,
    /// \[n, classes\]
    pub logits: *const f32,
    /// \[n\]: 0..classes - 1; NULL if the batch has targets
    pub labels: *const i32,
    /// \[n, classes\], as the loader made them; NULL if the batch has labels
    pub targets: *const f32,
    /// \[n, classes\], written by the function: the gradient of `loss`. A loss
    /// or an element that is not finite, or was not written, fails the
    /// step
    pub dlogits: *mut f32,
}

/// Computes a loss and its gradient. Returns SVIT_OK, or the status with which the step fails, of
/// which a positive one becomes SVIT_E_STOPPED; the message comes from `err`, which the function
/// fills by svit_error_set and is not NULL. `user` is used until the trainer gets another function
/// or is freed. The function must not throw, nor leave by longjmp.
pub type svit_loss_function = Option<
    unsafe extern "C" fn(
        call: *mut svit_loss_call,
        user: *mut c_void,
        err: *mut svit_error,
    ) -> svit_status,
>;

extern "C" {
    /// Computes the mean cross-entropy of logits\[n, classes\] with labels\[n\] in 0..classes-1, with a
    /// numerically stable log-sum-exp. With label smoothing (Szegedy et al. 2016) in \[0, 1), the target
    /// is label_smoothing / classes for every class plus 1 - label_smoothing for the label.
    ///
    /// Writes the loss to \*mean_loss and its gradient to dlogits\[n, classes\]; either may be NULL.
    /// SVIT_E_ARGUMENT names a label that is out of range, or says that n is 0 or that there is one
    /// class, whose cross-entropy would always be 0. SVIT_E_NUMERIC means that the loss, or an element
    /// of the gradient, is not a finite float; the outputs are then unchanged.
    pub fn svit_cross_entropy(
        logits: *const f32,
        labels: *const i32,
        n: usize,
        classes: usize,
        label_smoothing: f32,
        mean_loss: *mut f32,
        dlogits: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Computes the mean over rows of the cross-entropy of logits\[n, classes\] with targets\[n, classes\],
    /// which are at least 0 and usually probabilities, as mixed or distilled labels are: the mean of
    /// -sum_k targets\[i, k\] log softmax(logits\[i\])_k. Outputs are as in svit_cross_entropy.
    /// SVIT_E_ARGUMENT names a target that is negative or not finite, or says that n is 0 or that there
    /// is one class; SVIT_E_NUMERIC as there.
    pub fn svit_cross_entropy_soft(
        logits: *const f32,
        targets: *const f32,
        n: usize,
        classes: usize,
        mean_loss: *mut f32,
        dlogits: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Computes the cross-entropy of labels with a weight for each class, class_weights\[classes\], each
    /// at least 0: the sum over rows of class_weights\[label\] times the loss, divided by the sum of these
    /// weights. With label smoothing s the target of a row is as in svit_cross_entropy, and each class
    /// counts with its own weight, as in PyTorch. NULL for class_weights means 1 for every class.
    /// Outputs are as in svit_cross_entropy. SVIT_E_ARGUMENT names a label or weight that is not
    /// accepted, or says that n is 0, that all rows have the weight 0 or that there is one class;
    /// SVIT_E_NUMERIC as there.
    pub fn svit_cross_entropy_weighted(
        logits: *const f32,
        labels: *const i32,
        class_weights: *const f32,
        n: usize,
        classes: usize,
        label_smoothing: f32,
        mean_loss: *mut f32,
        dlogits: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Computes the binary cross-entropy of multi-label targets: with s = sigmoid(logits) the mean over
    /// all elements of -(w t log s + (1 - t) log(1 - s)). t is a target in \[0, 1\]; with label smoothing
    /// it is (1 - label_smoothing) target + label_smoothing / 2. w is pos_weight\[classes\], at least 0;
    /// NULL means 1. Arrays and outputs are as in svit_cross_entropy_soft. SVIT_E_ARGUMENT names a
    /// target or weight that is not accepted, or says that n is 0; SVIT_E_NUMERIC as in
    /// svit_cross_entropy.
    pub fn svit_binary_cross_entropy(
        logits: *const f32,
        targets: *const f32,
        pos_weight: *const f32,
        n: usize,
        classes: usize,
        label_smoothing: f32,
        mean_loss: *mut f32,
        dlogits: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Computes the mean over all elements of (predictions - targets)^2, both \[n, outputs\]. Writes it to
    /// \*mean_loss and its gradient to dpredictions\[n, outputs\]; either may be NULL. SVIT_E_ARGUMENT: n
    /// or outputs is 0. SVIT_E_NUMERIC as in svit_cross_entropy.
    pub fn svit_mean_squared_error(
        predictions: *const f32,
        targets: *const f32,
        n: usize,
        outputs: usize,
        mean_loss: *mut f32,
        dpredictions: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the softmax of each row of logits\[n, classes\] to probabilities\[n, classes\]. Both may be
    /// the same array. SVIT_E_ARGUMENT: n or classes is 0. SVIT_E_NUMERIC names a row with a NaN, or
    /// whose largest logit is not finite; the outputs are then unchanged.
    pub fn svit_softmax(
        logits: *const f32,
        n: usize,
        classes: usize,
        probabilities: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes 1 / (1 + exp(-z)) for each element z of logits\[n, classes\] to probabilities\[n, classes\].
    /// Both may be the same array. A logit of any size gives a value in \[0, 1\]. SVIT_E_ARGUMENT: n or
    /// classes is 0. SVIT_E_NUMERIC names a logit that is not a number; the outputs are then unchanged.
    pub fn svit_sigmoid(
        logits: *const f32,
        n: usize,
        classes: usize,
        probabilities: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Counts the rows of logits\[n, classes\] whose largest logit is that of the label. Among equal
    /// logits the first counts, as in Keras' SparseCategoricalAccuracy. labels\[n\] are in 0..classes-1.
    /// Writes the number, 0..n, to \*correct. SVIT_E_ARGUMENT names a label that is out of range, or says
    /// that n is 0. SVIT_E_NUMERIC names a row with a NaN.
    pub fn svit_count_top1(
        logits: *const f32,
        labels: *const i32,
        n: usize,
        classes: usize,
        correct: *mut u64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Counts the rows of logits\[n, classes\] in which fewer than k logits are greater than the label's,
    /// as in Keras' SparseTopKCategoricalAccuracy. k is at least 1. Writes the number, 0..n, to
    /// \*correct. SVIT_E_ARGUMENT as in svit_count_top1, and for k 0. SVIT_E_NUMERIC names a row with a
    /// NaN.
    pub fn svit_count_top_k(
        logits: *const f32,
        labels: *const i32,
        n: usize,
        classes: usize,
        k: usize,
        correct: *mut u64,
        err: *mut svit_error,
    ) -> svit_status;
}
