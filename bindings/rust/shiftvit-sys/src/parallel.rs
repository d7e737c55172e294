//! Tasks that a program runs on its own threads: svit_context_config.parallel_for.

// Written by bindings/rust/generate from the C headers.

use std::os::raw::c_void;

/// A task of the library. `task_user` is what svit_parallel_for_function received.
pub type svit_task_function = Option<
    unsafe extern "C" fn(task_user: *mut c_void, index: usize),
>;

/// Runs tasks on the program's own threads: calls task(task_user, i) once for each i in 0..count-1
/// and returns when all calls have returned. They may run in any order, on any threads, the calling
/// one included, one after another or at the same time; results have the same bits in any case.
/// `count` is at most the context's `threads`. docs/threading.md says how much stack a thread needs.
///
/// The library calls it on a thread that called into the library, any number of times for each
/// forward, and holds no lock meanwhile: while it waits it may run other work of the program, which
/// may use the same context. Several threads may call it at the same time, also within a task where
/// the functions of a dataset call the library. `user` is used until the last handle of the context
/// is freed. The function must not throw, nor leave by longjmp. What it does not run is run by the
/// calling thread afterwards, so that a pool which cannot run tasks within a task returns at once
/// there.
pub type svit_parallel_for_function = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        count: usize,
        task: svit_task_function,
        task_user: *mut c_void,
    ),
>;
