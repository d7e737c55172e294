//! The version of the library: at compile time from macros, at run time from functions.

// Written by bindings/rust/generate from the C headers.

use std::os::raw::c_char;

pub const SVIT_VERSION_MAJOR: u32 = 0;

pub const SVIT_VERSION_MINOR: u32 = 4;

pub const SVIT_VERSION_PATCH: u32 = 0;

extern "C" {
    /// Returns the version of the library that the program runs with, as major \<\< 16 \| minor \<\< 8 \|
    /// patch. It differs from SVIT_VERSION_NUMBER if the shared library was updated after the program
    /// was compiled. Any thread may call it.
    pub fn svit_version_number() -> u32;

    /// Returns the same version as text, "major.minor.patch". The text has static storage and is never
    /// NULL. Any thread may call it.
    pub fn svit_version_string() -> *const c_char;
}
