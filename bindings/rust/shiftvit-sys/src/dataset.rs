//! Datasets: numbered images with labels, from files, memory or callbacks.

// Written by bindings/rust/generate from the C headers.

use crate::status::*;
use std::os::raw::{c_char, c_void};

// A part of a dataset.

/// for updates of the parameters
pub const SVIT_SPLIT_TRAIN: i32 = 0;
/// for the final result
pub const SVIT_SPLIT_TEST: i32 = 1;
/// for early stopping
pub const SVIT_SPLIT_VALIDATION: i32 = 2;

// The labels of CIFAR-100.

/// 100 classes
pub const SVIT_LABELS_FINE: i32 = 0;
/// 20 superclasses
pub const SVIT_LABELS_COARSE: i32 = 1;

/// A dataset has samples 0..count-1; each is an image \[height, width, channels\] and a label in
/// 0\..classes-1. Images of files have 1 channel (grey), 3 (RGB) or 4 (RGBA), those that the program
/// gives 1..1024, and those of CIFAR and the synthetic ones 3. They are of bytes, or of floats if
/// they come from svit_dataset_memory_f32 or svit_dataset_custom. A dataset of multi-label or
/// regression targets has `classes` numbers for each sample instead, and the label -1. Any number of
/// threads may read it, but only one at a time if the samples come from a callback, or from custom
/// functions without any_thread. Loaders and derived datasets keep it alive. In all functions that
/// create one, the caller owns \*out and frees it with svit_dataset_free.
#[repr(C)]
pub struct svit_dataset {
    _data: [u8; 0],
    _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
}

/// Samples that functions of the caller give: images of a format that the library does not read,
/// from a database, or computed ones.
///
/// What a function gives is checked. SVIT_E_FORMAT: a value of a float image or a target is not
/// finite; SVIT_E_ARGUMENT: a label is outside 0..classes-1. SVIT_E_FORMAT and SVIT_E_IO, also of
/// the functions, say that a sample is bad: svit_dataset_verify counts these.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_custom_dataset {
    /// sizeof(svit_custom_dataset)
    pub struct_size: u32,
    /// 1: images of floats, with which loaders do what they do with those of
    /// svit_dataset_memory_f32; 0 (default): of bytes
    pub is_f32: i32,
    /// samples, 1 or more
    pub count: usize,
    /// pixels, 1..16384
    pub height: usize,
    /// pixels, 1..16384
    pub width: usize,
    /// 1\..1024, 3 by default
    pub channels: usize,
    /// 1\..2^31 - 1; with `targets` the numbers of a sample
    pub classes: usize,
    /// \[classes\] UTF-8, copied; NULL: none
    pub class_names: *const *const c_char,
    /// needed
    pub sample: svit_custom_sample_function,
    /// NULL: labels are known by reading their images alone,
    /// which balanced sampling and class_weighting refuse
    pub label: svit_custom_label_function,
    /// not NULL: samples have targets, and `label` is NULL
    pub targets: svit_custom_targets_function,
    /// NULL, or called once, after the last call of the
    /// others, by the thread that frees the last of the
    /// dataset and what was created from it
    pub release: svit_custom_release_function,
    /// first argument of the functions
    pub user: *mut c_void,
    /// 1: several threads may call the functions at once, also those of the
    /// library, so that loaders prefetch and calls read on all workers;
    /// 0 (default): they are called on the thread that called into the library
    /// alone, and one at a time as long as one thread at a time uses the
    /// dataset
    pub any_thread: i32,
    /// 0
    pub reserved: u32,
}

/// Writes sample `index` to pixels\[height, width, channels\] and \*label. Returns 0, or another value
/// to stop the library's call with SVIT_E_STOPPED. The library calls it only on the thread that
/// called into the library. `user` is used until the dataset and everything created from it are
/// freed. The function must not throw, nor leave by longjmp.
pub type svit_sample_callback = Option<
    unsafe extern "C" fn(index: usize, pixels: *mut u8, label: *mut i32, user: *mut c_void) -> i32,
>;

/// Writes image `index` of a custom dataset to image\[height, width, channels\], of uint8_t, or of
/// float with is_f32, and its label in 0..classes-1 to \*label; datasets with targets ignore that.
/// Returns SVIT_OK, or the status with which the library's call fails, of which a positive one
/// becomes SVIT_E_STOPPED; the message comes from `err`, which the function fills by svit_error_set
/// and is not NULL. The same index always gives the same sample. The function must not throw, nor
/// leave by longjmp, nor call the library with the dataset or what was created from it. With
/// any_thread the workers of the dataset's context call it where a call reads many samples, such as
/// svit_dataset_verify, and a loader's thread in trainings. It may call the library on this context
/// with handles of its thread alone; in a task of a worker the calling thread then runs all. It must
/// not wait there for another thread that uses the context: loaders with prefetch, evaluations and
/// trainings do, and so does a lock that is held while a call on the context runs elsewhere.
pub type svit_custom_sample_function = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        index: usize,
        image: *mut c_void,
        label: *mut i32,
        err: *mut svit_error,
    ) -> svit_status,
>;

/// Writes the label of a sample without its image; it is that of svit_custom_sample_function, whose
/// rules hold here too.
pub type svit_custom_label_function = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        index: usize,
        label: *mut i32,
        err: *mut svit_error,
    ) -> svit_status,
>;

/// Writes targets\[classes\] of a sample, which are finite, under the same rules.
pub type svit_custom_targets_function = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        index: usize,
        targets: *mut f32,
        err: *mut svit_error,
    ) -> svit_status,
>;

/// Frees what belongs to `user`. The same rules hold, and it cannot fail.
pub type svit_custom_release_function = Option<
    unsafe extern "C" fn(user: *mut c_void),
>;

/// Reports a sample that cannot be read. `status` is SVIT_E_IO or SVIT_E_FORMAT; `message` names the
/// file and is borrowed until the function returns. Returns 0, or another value to stop. The
/// function must not throw, nor leave by longjmp.
pub type svit_bad_sample_callback = Option<
    unsafe extern "C" fn(
        index: usize,
        status: svit_status,
        message: *const c_char,
        user: *mut c_void,
    ) -> i32,
>;
