//! The memory functions that a program may supply to a context.

// Written by bindings/rust/generate from the C headers.

use std::os::raw::c_void;

/// Returns `bytes` bytes of memory aligned to `alignment`, a power of two of at most 64 bytes, or
/// NULL if there is not enough memory. The contents may be arbitrary. `user` is the program's own
/// pointer from the configuration. The library calls it from any thread. `user` is used until the
/// last handle of the context is freed. The function must not call the library, which may hold a
/// lock meanwhile. It must not throw, nor leave by longjmp.
pub type svit_allocate_function = Option<
    unsafe extern "C" fn(user: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void,
>;

/// Releases memory of the svit_allocate_function; `bytes` is the size that was requested. The
/// library calls it from any thread. Its `user` and its limits are those of
/// svit_allocate_function.
pub type svit_release_function = Option<
    unsafe extern "C" fn(user: *mut c_void, memory: *mut c_void, bytes: usize),
>;
