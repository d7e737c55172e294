//! Contexts: the worker threads, allocator, log and GEMM backend that all other handles share.

// Written by bindings/rust/generate from the C headers.

use crate::allocator::*;
use crate::parallel::*;
use crate::status::*;
use std::os::raw::{c_char, c_void};

// The level of a log message.

/// a note
pub const SVIT_LOG_INFO: i32 = 0;
/// results are correct, but the call runs slower or otherwise than asked
pub const SVIT_LOG_WARNING: i32 = 1;

/// A context does not change after its creation and may be shared by any number of threads. Handles
/// that were created from it keep it alive. It belongs to the process that created it: in a child by
/// fork, the context and its handles can be freed, but calls that need its threads or locks return
/// SVIT_E_STATE (docs/threading.md).
#[repr(C)]
pub struct svit_context {
    _data: [u8; 0],
    _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
}

/// An exclusive lock on a folder, held by one handle in one process. It is an advisory lock (flock)
/// on the file `.lock` in the folder, so it ends with the process in any case; a child by fork does
/// not hold it. File systems without locks exclude nobody. A relative path stays one from the
/// working folder in which the lock was created, wherever the program works later. One thread at a
/// time may use a lock.
#[repr(C)]
pub struct svit_folder_lock {
    _data: [u8; 0],
    _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
}

/// The configuration of a context, which is read at creation.
///
/// `gemm` names the GEMM backend for float32. "tile" is the library's own SIMD microkernels. "amx"
/// is the library's kernels for AMX, which split each float32 number into three bfloat16 numbers;
/// they request the AMX registers from Linux for the whole process. "cblas" is the CBLAS of the
/// build; it becomes single-threaded in the whole process, because the library divides the work
/// itself. NULL selects "amx" where the CPU and Linux provide it, and "tile" elsewhere.
///
/// `pin` keeps the workers from moving between CPUs, and so between their memories on a machine with
/// several sockets. The CPUs of the affinity mask of the thread that creates the context are taken
/// first one of each core in rising order, then the second one of each core. Worker i gets number i
/// of them, from the first one on again if there are more workers. Worker 0 is the calling thread:
/// it is left as it is, and the first CPU with it. Several contexts that pin get the same CPUs. What
/// the system refuses is a warning in the log.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_context_config {
    /// sizeof(svit_context_config)
    pub struct_size: u32,
    /// worker threads including the calling one, 1..1024; 0: one for each
    /// CPU (hardware thread) that the calling thread's affinity and the CPU
    /// quota of the process's control group leave, up to 1024
    pub threads: u32,
    /// NULL together with `release`: the C library's allocator
    pub allocate: svit_allocate_function,
    /// of memory from `allocate`
    pub release: svit_release_function,
    /// first argument of `allocate` and `release`
    pub allocator_user: *mut c_void,
    /// NULL: nothing is logged
    pub log: svit_log_function,
    /// first argument of `log`
    pub log_user: *mut c_void,
    /// "tile", "amx", "cblas" or NULL; see above
    pub gemm: *const c_char,
    /// NULL: the context starts threads - 1 workers of its
    /// own; otherwise it starts none, and up to `threads`
    /// tasks run at the same time
    pub parallel_for: svit_parallel_for_function,
    /// first argument of `parallel_for`
    pub parallel_for_user: *mut c_void,
    /// 0: the operating system places workers; 1: each worker is pinned to a CPU, see
    /// above; 0 with `parallel_for`
    pub pin: i32,
    /// of an image that is decoded, 1..64,000,000: a larger one is
    /// SVIT_E_FORMAT before its pixels take memory; 0: 64,000,000
    pub max_image_pixels: u32,
    /// NULL: no call is stopped. With several threads, several of them may
    /// call it at the same time
    pub stop: svit_stop_function,
    /// first argument of `stop`
    pub stop_user: *mut c_void,
}

/// Receives a log message. Of the library's own `level` is one of SVIT_LOG_\* and `message` UTF-8
/// without control characters; those of svit_context_log come as the program sends them. `message`
/// is borrowed until the function returns. The library calls it only on a thread that called into
/// the library. `user` is used until the last handle of the context is freed. The function must not
/// throw, nor leave by longjmp.
pub type svit_log_function = Option<
    unsafe extern "C" fn(user: *mut c_void, level: i32, message: *const c_char),
>;

/// Says whether a long call goes on, 0, or stops, another value. A call that is stopped returns
/// SVIT_E_STOPPED and leaves what any failure of it leaves; arrays that it fills hold anything. The
/// library asks on the thread that called into it, so a function can tell one call from another, and
/// asks
///
/// svit_predict_u8 and _f32       before each batch but the first
/// svit_predict_files,
/// svit_predict_encoded_images    the same
/// svit_evaluate and its like     before each batch
/// svit_features_compute          before each batch
/// svit_extract_u8 and _f32       before each batch but the first
/// svit_features_nearest, _knn    before each part of the queries
/// svit_features_coreset          before each sample that it chooses
/// svit_model_fit_head            before each update
/// svit_model_whiten              before each image, and before each row of rotations
/// svit_model_fit_class           before each pass over the samples, with old features
/// svit_dataset_statistics        every 128 images, of floats every 64
/// svit_dataset_verify            every 128 images
/// svit_trainer_step, _run        before each step, and before each batch of a validation
///
/// the two of a dataset before each sample of a callback of the caller's thread, with the context on
/// which the call works:
///
/// trainers, svit_evaluate and its like     that of their argument
/// predictors, extractors,
/// svit_features_compute                    that of the configuration; NULL: the model's
/// svit_model_fit_head, svit_model_whiten   the model's
/// all others                               that of the dataset or feature set; of
/// svit_features_nearest and _knn the reference's
///
/// A trainer that was stopped in a validation begins this validation again. Of several ranks
/// svit_trainer_run alone asks, after each event but the last, and all stop together. `user` is used
/// until the last handle of the context is freed. The function must not throw, nor leave by longjmp,
/// nor call the library with a handle of the call that asks.
pub type svit_stop_function = Option<
    unsafe extern "C" fn(user: *mut c_void) -> i32,
>;

extern "C" {
    /// Fills `config` with the defaults: a thread for each CPU, the C library's allocator, no log,
    /// nothing that stops calls, the default GEMM backend. `size` is sizeof(svit_context_config) as the
    /// caller was compiled. SVIT_E_ARGUMENT means that `config` is NULL or that `size` cannot hold
    /// `struct_size`. Any thread may call it.
    pub fn svit_context_config_init(config: *mut svit_context_config, size: usize) -> svit_status;

    /// Creates a context and starts its worker threads. `config` may be NULL for the defaults. The
    /// caller owns \*out and frees it with svit_context_free. SVIT_E_ARGUMENT: `threads` is above
    /// 1024, only one of `allocate` and `release` is set, the name in `gemm` is unknown, `pin` is
    /// neither 0 nor 1 or is set with `parallel_for`, or `max_image_pixels` is above 64,000,000.
    /// SVIT_E_UNSUPPORTED: this build, CPU or system does not run the GEMM backend. SVIT_E_MEMORY: there
    /// is not enough memory, or a thread could not be started. Any thread may call it.
    pub fn svit_context_create(
        out: *mut *mut svit_context,
        config: *const svit_context_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Adds a reference to the context and returns it. The caller drops the reference with
    /// svit_context_free. A program uses it to keep a context alive for a handle of its own. NULL
    /// returns NULL. Any thread may call it.
    pub fn svit_context_retain(context: *mut svit_context) -> *mut svit_context;

    /// Drops a reference to the context. The last reference, those of handles included, ends its threads
    /// and frees it. NULL is allowed. Any thread may call it.
    pub fn svit_context_free(context: *mut svit_context);

    /// Checks that the calling process is the one that created the context. SVIT_E_STATE names the
    /// creating process and means that the caller is a child by fork. A program calls it before it uses
    /// threads of its own handle. Any thread may call it.
    pub fn svit_context_check(context: *const svit_context, err: *mut svit_error) -> svit_status;

    /// Returns the number of worker threads, the calling thread included; 0 for NULL. Any thread may
    /// call it.
    pub fn svit_context_threads(context: *const svit_context) -> u32;

    /// Describes the build and the machine as one JSON object:
    /// "version"          of the library
    /// "cpu"              name of the processor
    /// "instruction_set"  of the kernels in use
    /// "gemm"             GEMM backend in use for float32; "gemms" is an array of those that the build
    /// has and the CPU runs, "cblas" also where its BLAS is not installed
    /// "gemm_bf16"        GEMM backend of sessions that compute in bfloat16; "": the build has none
    /// "gemm_int8"        GEMM backend of sessions that compute in int8; "": the build has none
    /// "blas"             CBLAS library's description of itself; "blas_core": CPU it was tuned for;
    /// both are "" until the process has created a context with gemm "cblas"
    /// "decoders"         array of the image formats that the build reads: "jpeg", "png", "webp"
    /// "threads"          number of workers; "pinned": how many of them are pinned to a CPU
    /// "warnings"         array of texts, for example that the BLAS ignores the CPU's AVX-512
    ///
    /// Writes at most `capacity` bytes including the NUL into `buffer`, which may be NULL if `capacity`
    /// is 0. Writes the size that the text needs, in bytes including the NUL, into \*needed, which may be
    /// NULL. With a capacity of 0 it does nothing else and succeeds. SVIT_E_ARGUMENT means that the text
    /// does not fit. Any thread may call it.
    pub fn svit_context_describe(
        context: *const svit_context,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns `bytes` bytes from the context's allocator, aligned to 64 bytes, or NULL if there is not
    /// enough memory. The caller frees them with svit_context_release. Programs that extend the library
    /// use it. Any thread may call it.
    pub fn svit_context_allocate(context: *mut svit_context, bytes: usize) -> *mut c_void;

    /// Releases memory of svit_context_allocate; `bytes` is the size that was requested. `memory` may be
    /// NULL. Any thread may call it.
    pub fn svit_context_release(context: *mut svit_context, memory: *mut c_void, bytes: usize);

    /// Sends a message to the context's log function as it is; does nothing if there is none, or with
    /// NULL. The calling thread runs the log function.
    pub fn svit_context_log(context: *const svit_context, level: i32, message: *const c_char);

    /// Locks `folder` and creates it first, with its parent folders, if it does not exist. The caller
    /// owns \*out and frees it with svit_folder_lock_free. SVIT_E_STATE: this or another process holds
    /// the lock. SVIT_E_IO names the path and the system's reason. SVIT_E_ARGUMENT: the path is empty. A
    /// failed call leaves no new folder behind. Any thread may call it.
    pub fn svit_folder_lock_create(
        out: *mut *mut svit_folder_lock,
        context: *mut svit_context,
        folder: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Releases the lock, and removes the folders that svit_folder_lock_create created if they are
    /// empty. In a child by fork the folder stays as it is. NULL is allowed.
    pub fn svit_folder_lock_free(lock: *mut svit_folder_lock);

    /// Returns 1 if the locked folder has an entry `name`, or if the system cannot say whether it has,
    /// and 0 if not or if `lock` is NULL.
    pub fn svit_folder_lock_has(lock: *const svit_folder_lock, name: *const c_char) -> i32;

    /// Removes the file `name` from the locked folder; succeeds if there is no such file.
    /// SVIT_E_ARGUMENT: `name` has a slash, or is `.lock`. SVIT_E_STATE: the process is a child by fork.
    /// SVIT_E_IO names the path and the system's reason.
    pub fn svit_folder_lock_remove(
        lock: *mut svit_folder_lock,
        name: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;
}
