//! The callbacks of data sets: samples that a function writes, and samples that cannot be read.

use crate::call::guarded;
use crate::error::{BoxError, Result, Status};
use std::os::raw::{c_char, c_void};

/// Writes a sample and returns its label.
type Function = dyn FnMut(usize, &mut [u8]) -> Result<i32, BoxError> + Send;

/// A function of samples and the elements of one.
pub(crate) struct SampleFunction {
    pub(crate) function: Box<Function>,
    pub(crate) elements: usize,
}

pub(crate) unsafe extern "C" fn read(
    index: usize,
    pixels: *mut u8,
    label: *mut i32,
    user: *mut c_void,
) -> i32 {
    let done = guarded(|| {
        // SAFETY: `user` is the function of a data set that is alive, which the thread that holds the data
        // set's lock alone calls. Sizes are those of a sample.
        let (sample, pixels) = unsafe {
            let sample = &mut *user.cast::<SampleFunction>();
            // The memory may be new, and a reference needs values.
            std::ptr::write_bytes(pixels, 0, sample.elements);
            let pixels = std::slice::from_raw_parts_mut(pixels, sample.elements);
            (sample, pixels)
        };
        let value = (sample.function)(index, pixels)?;
        // SAFETY: the library passes the address of a label.
        unsafe { *label = value };
        Ok(())
    });
    done.map_or(1, |()| 0)
}

/// A sample that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadSample {
    /// Its index.
    pub index: usize,
    /// `Status::Io` or `Status::Format`.
    pub status: Status,
    /// Names the file and the problem.
    pub message: String,
}

pub(crate) unsafe extern "C" fn note_bad(
    index: usize,
    status: i32,
    message: *const c_char,
    user: *mut c_void,
) -> i32 {
    let done = guarded(|| {
        // SAFETY: `user` is the vector of the call that runs this, and the text is valid meanwhile.
        let (found, message) = unsafe {
            let message = crate::text::copied(message).unwrap_or_default();
            (&mut *user.cast::<Vec<BadSample>>(), message)
        };
        found.push(BadSample { index, status: Status::from_code(status), message });
        Ok(())
    });
    done.map_or(1, |()| 0)
}
