//! Status codes, the error record, and the public constants by name.

// Written by bindings/rust/generate from the C headers.

use std::os::raw::c_char;

/// What a call returns: SVIT_OK or one of the negative codes below.
pub type svit_status = i32;

// The status codes. A value is never given to another meaning in a later release.

/// the call succeeded
pub const SVIT_OK: i32 = 0;
/// an argument or a field is outside what is accepted
pub const SVIT_E_ARGUMENT: i32 = -1;
/// the allocator returned NULL, or a size does not fit size_t
pub const SVIT_E_MEMORY: i32 = -2;
/// calls are out of order, for example backward before forward
pub const SVIT_E_STATE: i32 = -3;
/// a file could not be opened, read, written or renamed
pub const SVIT_E_IO: i32 = -4;
/// the contents of a file or a text are malformed
pub const SVIT_E_FORMAT: i32 = -5;
/// the data or the struct comes from a newer library
pub const SVIT_E_VERSION: i32 = -6;
/// a callback asked to stop
pub const SVIT_E_STOPPED: i32 = -7;
/// legal, but not available in this build or on this machine
pub const SVIT_E_UNSUPPORTED: i32 = -8;
/// an input, logit, loss or gradient is infinite or NaN
pub const SVIT_E_NUMERIC: i32 = -9;

/// The record in which a failed call explains itself. The caller owns it, sets `struct_size`, and
/// passes its address as the last argument; NULL is accepted everywhere. It is written only on
/// failure.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_error {
    /// sizeof(svit_error), set by the caller
    pub struct_size: u32,
    /// the status that the call returned
    pub code: i32,
    /// names the argument, field or file, its value and what is accepted;
    /// UTF-8 without control characters, cut to fit, NUL-terminated
    pub message: [c_char; 248],
}

extern "C" {
    /// Returns the name of a status, for example "SVIT_E_IO", or "SVIT_E_?" for a value that is no
    /// status. The text has static storage and is never NULL. Any thread may call it.
    pub fn svit_status_name(status: svit_status) -> *const c_char;

    /// Fills `err` as a failed call does and returns `status`. Callbacks and bindings use it to report
    /// failures in the library's form. `err` may be NULL; a NULL message is stored as "". Any thread may
    /// call it.
    pub fn svit_error_set(
        err: *mut svit_error,
        status: svit_status,
        message: *const c_char,
    ) -> svit_status;

    /// Writes the value of the public constant `name`, for example "SVIT_MODE_TRAIN", to \*value. It
    /// serves languages that cannot read C headers. SVIT_E_ARGUMENT means that the library has no
    /// constant of this name. Any thread may call it.
    pub fn svit_constant(name: *const c_char, value: *mut i64, err: *mut svit_error) -> svit_status;

    /// Returns the name of the public constant number `index`, from 0, or NULL past the end. The text
    /// has static storage. Any thread may call it.
    pub fn svit_constant_name(index: usize) -> *const c_char;
}
