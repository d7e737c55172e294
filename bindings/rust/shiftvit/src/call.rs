//! Calls into the library, handles that free themselves, and what callbacks leave for the call that runs them.

use crate::error::{BoxError, Error, Result};
use shiftvit_sys as sys;
use std::any::Any;
use std::cell::RefCell;
use std::mem::size_of;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};

/// How a callback ended that did not succeed.
enum Failure {
    Panic(Box<dyn Any + Send>),
    Error(BoxError),
}

thread_local! {
    static FAILURE: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Runs the body of a callback. A panic ends here and goes on in the call that runs the callback, after
/// the library has returned; an error becomes the source of that call's error. `None` after both.
pub(crate) fn guarded<T>(body: impl FnOnce() -> Result<T, BoxError>) -> Option<T> {
    let failure = match panic::catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => Failure::Error(error),
        Err(payload) => Failure::Panic(payload),
    };
    leave(failure);
    None
}

/// Leaves a failure for the call that runs the callback. Of several the last one stays, or the first panic.
fn leave(failure: Failure) {
    // The place is gone in a destructor of a thread's locals: the call then fails without its source.
    let earlier = FAILURE.try_with(|place| place.borrow_mut().take()).unwrap_or(None);
    let (stays, goes) = match earlier {
        Some(Failure::Panic(payload)) => (Failure::Panic(payload), Some(failure)),
        other => (failure, other),
    };
    // An error's destructor may call the library, which uses the place. Its panic has nowhere to go.
    let _ = panic::catch_unwind(AssertUnwindSafe(|| drop(goes)));
    let _ = FAILURE.try_with(|place| place.replace(Some(stays)));
}

/// Turns a status into a result, and lets the panic of a callback go on.
fn finish(status: i32, record: &sys::svit_error) -> Result<()> {
    match FAILURE.try_with(|place| place.borrow_mut().take()).unwrap_or(None) {
        Some(Failure::Panic(payload)) => panic::resume_unwind(payload),
        Some(Failure::Error(source)) if status != sys::SVIT_OK => {
            Err(Error::from_record(status, record).of_callback(source))
        }
        _ if status == sys::SVIT_OK => Ok(()),
        _ => Err(Error::from_record(status, record)),
    }
}

pub(crate) fn new_record() -> sys::svit_error {
    sys::svit_error { struct_size: size_of::<sys::svit_error>() as u32, code: 0, message: [0; 248] }
}

/// Calls a function of the library with an error record.
pub(crate) fn call(function: impl FnOnce(*mut sys::svit_error) -> i32) -> Result<()> {
    let mut record = new_record();
    let status = function(&mut record);
    finish(status, &record)
}

/// Calls a function that creates a handle.
pub(crate) fn create<T: Free>(
    function: impl FnOnce(*mut *mut T, *mut sys::svit_error) -> i32,
) -> Result<Handle<T>> {
    let mut record = new_record();
    let mut out = ptr::null_mut();
    let status = function(&mut out, &mut record);
    let handle = NonNull::new(out).map(Handle);
    finish(status, &record)?;
    handle.ok_or_else(|| Error::argument("the library returned no handle"))
}

/// A type of handles of the library.
pub(crate) trait Free {
    /// Frees a handle.
    ///
    /// # Safety
    /// `raw` is a handle of the library that nobody uses afterwards.
    unsafe fn free(raw: *mut Self);
}

macro_rules! free {
    ($($raw:ident $free:ident;)*) => {$(
        impl Free for sys::$raw {
            unsafe fn free(raw: *mut Self) {
                // SAFETY: the caller promises it.
                unsafe { sys::$free(raw) }
            }
        }
    )*};
}

free! {
    svit_context svit_context_free;
    svit_folder_lock svit_folder_lock_free;
    svit_image svit_image_free;
    svit_dataset svit_dataset_free;
    svit_loader svit_loader_free;
    svit_model svit_model_free;
    svit_session svit_session_free;
    svit_optimizer svit_optimizer_free;
    svit_checkpoint svit_checkpoint_free;
    svit_trainer svit_trainer_free;
    svit_features svit_features_free;
    svit_extractor svit_extractor_free;
    svit_predictor svit_predictor_free;
}

/// Owns a handle of the library and frees it.
pub(crate) struct Handle<T: Free>(NonNull<T>);

impl<T: Free> Handle<T> {
    /// # Safety
    /// `raw` is a handle of the library that nobody else frees. It panics for NULL.
    pub(crate) unsafe fn from_raw(raw: *mut T) -> Self {
        Handle(NonNull::new(raw).expect("a handle is not NULL"))
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T: Free> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: the handle came from the library, and this is its only owner.
        unsafe { T::free(self.get()) }
    }
}

/// Owns a value whose address the library keeps, such as the closure of a callback.
pub(crate) struct Pinned<T>(NonNull<T>);

impl<T> Pinned<T> {
    pub(crate) fn new(value: T) -> Self {
        Pinned(NonNull::from(Box::leak(Box::new(value))))
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box, and this is its only owner.
        drop(unsafe { Box::from_raw(self.get()) });
    }
}

// SAFETY: it owns its value as a box does.
unsafe impl<T: Send> Send for Pinned<T> {}
// SAFETY: it gives out nothing but a raw pointer, so it shares its value as a box does.
unsafe impl<T: Sync> Sync for Pinned<T> {}
