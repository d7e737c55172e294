//! The callback of a trainer's own loss function.

use crate::call::guarded;
use crate::error::{BoxError, Result};
use crate::loader::Target;
use shiftvit_sys as sys;
use std::os::raw::c_void;
use std::slice;

/// What a loss function gets: a micro-batch of logits, with labels or targets, and the place for the gradient.
#[derive(Debug)]
#[non_exhaustive]
pub struct LossCall<'a> {
    /// `[n, classes]`
    pub logits: &'a [f32],
    /// The labels `[n]`, or the targets `[n, classes]`.
    pub target: Target<'a>,
    /// `[n, classes]`, to be written: the gradient of the loss. What is not written is NaN and fails the step.
    pub dlogits: &'a mut [f32],
    /// Samples, at least 1.
    pub n: usize,
    /// The classes of the model.
    pub classes: usize,
}

/// Computes a loss and its gradient.
pub(crate) type LossFunction = Box<dyn FnMut(LossCall<'_>) -> Result<f32, BoxError> + Send>;

pub(crate) unsafe extern "C" fn call_loss(
    call: *mut sys::svit_loss_call,
    user: *mut c_void,
    err: *mut sys::svit_error,
) -> i32 {
    let done = guarded(|| {
        // SAFETY: the trainer passes a call whose arrays are valid until the function returns, `dlogits` filled
        // with NaN, and the function that it was given, which one thread at a time uses.
        let (raw, function, arguments) = unsafe {
            let raw = &mut *call;
            let (n, classes) = (raw.n, raw.classes);
            let target = if raw.labels.is_null() {
                Target::Targets(slice::from_raw_parts(raw.targets, n * classes))
            } else {
                Target::Labels(slice::from_raw_parts(raw.labels, n))
            };
            let logits = slice::from_raw_parts(raw.logits, n * classes);
            let dlogits = slice::from_raw_parts_mut(raw.dlogits, n * classes);
            let arguments = LossCall { logits, target, dlogits, n, classes };
            (raw, &mut *user.cast::<LossFunction>(), arguments)
        };
        raw.loss = function(arguments)?;
        Ok(())
    });
    if done.is_some() {
        return sys::SVIT_OK;
    }
    // The error itself is handed on by the call that runs this.
    let message = b"the loss function failed\0".as_ptr().cast();
    // SAFETY: `err` is the record of the trainer's call or NULL, and the text ends with a NUL.
    unsafe { sys::svit_error_set(err, sys::SVIT_E_STOPPED, message) }
}
