//! Losses, probabilities and accuracy on plain arrays.

use crate::call::call;
use crate::error::Result;
use crate::text::{exact, rows};
use shiftvit_sys as sys;
use std::ptr;

/// The number of rows, after a check that all arrays have them.
fn matching(logits: &[f32], classes: usize, gradient: &[f32]) -> Result<usize> {
    let n = rows("logits", logits.len(), classes)?;
    exact("the gradient", gradient.len(), &[n, classes])?;
    Ok(n)
}

/// The pointer of an optional array of an element for each class.
fn weights(name: &str, values: Option<&[f32]>, classes: usize) -> Result<*const f32> {
    match values {
        None => Ok(ptr::null()),
        Some(values) => exact(name, values.len(), &[classes]).map(|()| values.as_ptr()),
    }
}

/// The mean cross-entropy of `logits[n, classes]` with `labels[n]`. Writes its gradient to
/// `dlogits[n, classes]`. `class_weights[classes]` weighs the samples by their labels.
pub fn cross_entropy(
    logits: &[f32],
    labels: &[i32],
    classes: usize,
    class_weights: Option<&[f32]>,
    label_smoothing: f32,
    dlogits: &mut [f32],
) -> Result<f32> {
    let n = matching(logits, classes, dlogits)?;
    exact("labels", labels.len(), &[n])?;
    let weights = weights("class_weights", class_weights, classes)?;
    let mut loss = 0.0;
    // SAFETY: the arrays have n rows, and the weights an element for each class.
    call(|err| unsafe {
        let (logits, labels, out) = (logits.as_ptr(), labels.as_ptr(), dlogits.as_mut_ptr());
        if weights.is_null() {
            let smoothing = label_smoothing;
            sys::svit_cross_entropy(logits, labels, n, classes, smoothing, &mut loss, out, err)
        } else {
            sys::svit_cross_entropy_weighted(
                logits,
                labels,
                weights,
                n,
                classes,
                label_smoothing,
                &mut loss,
                out,
                err,
            )
        }
    })?;
    Ok(loss)
}

/// The mean cross-entropy of `logits[n, classes]` with probabilities `targets[n, classes]`. Writes its
/// gradient to `dlogits[n, classes]`.
pub fn cross_entropy_soft(
    logits: &[f32],
    targets: &[f32],
    classes: usize,
    dlogits: &mut [f32],
) -> Result<f32> {
    let n = matching(logits, classes, dlogits)?;
    exact("targets", targets.len(), &[n, classes])?;
    let mut loss = 0.0;
    // SAFETY: the arrays have n rows.
    call(|err| unsafe {
        let (logits, targets, out) = (logits.as_ptr(), targets.as_ptr(), dlogits.as_mut_ptr());
        sys::svit_cross_entropy_soft(logits, targets, n, classes, &mut loss, out, err)
    })?;
    Ok(loss)
}

/// The mean binary cross-entropy of `logits[n, classes]` with `targets[n, classes]` in \[0, 1\]. Writes its
/// gradient to `dlogits[n, classes]`. `pos_weight[classes]` weighs what is present.
pub fn binary_cross_entropy(
    logits: &[f32],
    targets: &[f32],
    classes: usize,
    pos_weight: Option<&[f32]>,
    label_smoothing: f32,
    dlogits: &mut [f32],
) -> Result<f32> {
    let n = matching(logits, classes, dlogits)?;
    exact("targets", targets.len(), &[n, classes])?;
    let weights = weights("pos_weight", pos_weight, classes)?;
    let mut loss = 0.0;
    // SAFETY: the arrays have n rows, and the weights an element for each class.
    call(|err| unsafe {
        let (logits, targets, out) = (logits.as_ptr(), targets.as_ptr(), dlogits.as_mut_ptr());
        sys::svit_binary_cross_entropy(
            logits,
            targets,
            weights,
            n,
            classes,
            label_smoothing,
            &mut loss,
            out,
            err,
        )
    })?;
    Ok(loss)
}

/// The mean of (predictions - targets)² over all elements. Writes its gradient.
pub fn mean_squared_error(
    predictions: &[f32],
    targets: &[f32],
    outputs: usize,
    gradient: &mut [f32],
) -> Result<f32> {
    let n = matching(predictions, outputs, gradient)?;
    exact("targets", targets.len(), &[n, outputs])?;
    let mut loss = 0.0;
    // SAFETY: the arrays have n rows.
    call(|err| unsafe {
        let (values, targets, out) =
            (predictions.as_ptr(), targets.as_ptr(), gradient.as_mut_ptr());
        sys::svit_mean_squared_error(values, targets, n, outputs, &mut loss, out, err)
    })?;
    Ok(loss)
}

/// The softmax of each row of `logits[n, classes]`.
pub fn softmax(logits: &[f32], classes: usize) -> Result<Vec<f32>> {
    let n = rows("logits", logits.len(), classes)?;
    let mut out = vec![0.0; logits.len()];
    // SAFETY: the arrays have n rows.
    call(|err| unsafe { sys::svit_softmax(logits.as_ptr(), n, classes, out.as_mut_ptr(), err) })?;
    Ok(out)
}

/// 1 / (1 + exp(-z)) of each logit z.
pub fn sigmoid(logits: &[f32]) -> Result<Vec<f32>> {
    let mut out = vec![0.0; logits.len()];
    let n = rows("logits", logits.len(), 1)?;
    // SAFETY: the arrays have n elements.
    call(|err| unsafe { sys::svit_sigmoid(logits.as_ptr(), n, 1, out.as_mut_ptr(), err) })?;
    Ok(out)
}

/// The rows of `logits[n, classes]`, with `labels[n]`, in which fewer than k logits are greater than the label's.
/// `Status::Numeric`: a logit is NaN.
pub fn count_top_k(logits: &[f32], labels: &[i32], classes: usize, k: usize) -> Result<u64> {
    let n = rows("logits", logits.len(), classes)?;
    exact("labels", labels.len(), &[n])?;
    let mut correct = 0;
    // SAFETY: the arrays have n rows.
    call(|err| unsafe {
        let (logits, labels) = (logits.as_ptr(), labels.as_ptr());
        if k == 1 {
            sys::svit_count_top1(logits, labels, n, classes, &mut correct, err)
        } else {
            sys::svit_count_top_k(logits, labels, n, classes, k, &mut correct, err)
        }
    })?;
    Ok(correct)
}
