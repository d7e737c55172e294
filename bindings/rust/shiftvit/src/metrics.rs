//! Metrics on plain arrays: what a model gets right and wrong.

use crate::call::call;
use crate::context::Context;
use crate::error::Result;
use crate::text::{exact, rows, zeros};
use shiftvit_sys as sys;

/// Counts of `[label, prediction]` in `logits[n, classes]` with `labels[n]`, row-major
/// `[classes, classes]`. `Status::Numeric`: a logit is NaN.
pub fn confusion_matrix(logits: &[f32], labels: &[i32], classes: usize) -> Result<Vec<u64>> {
    let n = rows("logits", logits.len(), classes)?;
    exact("labels", labels.len(), &[n])?;
    let mut matrix = zeros("the matrix", &[classes, classes])?;
    // SAFETY: the arrays have n rows, and the matrix has classes² elements.
    call(|err| unsafe {
        let (logits, labels) = (logits.as_ptr(), labels.as_ptr());
        sys::svit_confusion_matrix(logits, labels, n, classes, matrix.as_mut_ptr(), err)
    })?;
    Ok(matrix)
}

/// Measures of predictions of several labels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MultilabelMetrics {
    /// The fraction of elements that are right.
    pub element_accuracy: f64,
    /// The fraction of rows in which all elements are right.
    pub exact_match: f64,
    /// 2 TP / (2 TP + FP + FN) over all elements.
    pub micro_f1: f64,
    /// The mean over classes of this value.
    pub macro_f1: f64,
}

/// Measures `logits[n, classes]`, in which a label above 0 is predicted, against `targets[n, classes]`, in
/// which one above 0.5 is present. `Status::Numeric`: a logit is NaN.
pub fn multilabel_metrics(
    logits: &[f32],
    targets: &[f32],
    classes: usize,
) -> Result<MultilabelMetrics> {
    let n = rows("logits", logits.len(), classes)?;
    exact("targets", targets.len(), &[n, classes])?;
    let mut found = MultilabelMetrics::default();
    // SAFETY: the arrays have n rows.
    call(|err| unsafe {
        sys::svit_multilabel_metrics(
            logits.as_ptr(),
            targets.as_ptr(),
            n,
            classes,
            &mut found.element_accuracy,
            &mut found.exact_match,
            &mut found.micro_f1,
            &mut found.macro_f1,
            err,
        )
    })?;
    Ok(found)
}

/// The average precision of each class; NaN for one that is never present.
pub fn average_precision(
    context: &Context,
    logits: &[f32],
    targets: &[f32],
    classes: usize,
) -> Result<Vec<f64>> {
    let n = rows("logits", logits.len(), classes)?;
    exact("targets", targets.len(), &[n, classes])?;
    let mut found = vec![0.0; classes];
    // SAFETY: the context is alive, the arrays have n rows, and the result an element for each class.
    call(|err| unsafe {
        let (raw, logits, targets) = (context.raw(), logits.as_ptr(), targets.as_ptr());
        sys::svit_average_precision(raw, logits, targets, n, classes, found.as_mut_ptr(), err)
    })?;
    Ok(found)
}

/// The largest probability that at least the fraction `accepted` of rows of logits reach with their largest softmax
/// probability: a threshold for [`Model::set_threshold`](crate::Model::set_threshold).
pub fn choose_threshold(
    context: &Context,
    logits: &[f32],
    classes: usize,
    accepted: f64,
) -> Result<f64> {
    let n = rows("logits", logits.len(), classes)?;
    let mut found = 0.0;
    // SAFETY: the context is alive, and the array has n rows.
    call(|err| unsafe {
        let (raw, logits) = (context.raw(), logits.as_ptr());
        sys::svit_choose_threshold(raw, logits, n, classes, accepted, &mut found, err)
    })?;
    Ok(found)
}

/// The mean of |prediction - target|, and the root of the mean of its square.
pub fn regression_errors(
    predictions: &[f32],
    targets: &[f32],
    outputs: usize,
) -> Result<(f64, f64)> {
    let n = rows("predictions", predictions.len(), outputs)?;
    exact("targets", targets.len(), &[n, outputs])?;
    let (mut absolute, mut square) = (0.0, 0.0);
    // SAFETY: the arrays have n rows.
    call(|err| unsafe {
        let (values, targets) = (predictions.as_ptr(), targets.as_ptr());
        sys::svit_regression_errors(values, targets, n, outputs, &mut absolute, &mut square, err)
    })?;
    Ok((absolute, square))
}
