//! Contexts: worker threads, log and GEMM backend, which all other handles share.

use crate::call::{call, create, guarded, Handle, Pinned};
use crate::enums::LogLevel;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::text;
use shiftvit_sys as sys;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::{c_char, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

pub(crate) type Log = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

type Stop = Box<dyn Fn() -> bool + Send + Sync>;

/// The closures of a context, which the library calls as long as the context lives.
#[derive(Default)]
struct Closures {
    _log: Option<Pinned<Log>>,
    _stop: Option<Pinned<Stop>>,
}

pub(crate) struct ContextInner {
    // Is dropped first: after it none of the closures is called any more.
    raw: Handle<sys::svit_context>,
    _closures: Closures,
}

// SAFETY: docs/threading.md: any number of threads may use a context, which does not change after its
// creation. The closures may be called by all of them.
unsafe impl Send for ContextInner {}
// SAFETY: as above.
unsafe impl Sync for ContextInner {}

/// The worker threads, the log and the GEMM backend that other objects use. Clones are the same context.
///
/// It lives as long as the objects that were created with it. Any number of threads may use it.
#[derive(Clone)]
pub struct Context(Arc<ContextInner>);

impl Context {
    /// A context with a worker for each CPU, without a log.
    pub fn new() -> Result<Self> {
        Context::builder().build()
    }

    /// Settings of a context.
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    pub(crate) fn adopt(raw: Handle<sys::svit_context>) -> Self {
        Context::with_closures(raw, Closures::default())
    }

    fn with_closures(raw: Handle<sys::svit_context>, closures: Closures) -> Self {
        Context(Arc::new(ContextInner { raw, _closures: closures }))
    }

    pub(crate) fn raw(&self) -> *mut sys::svit_context {
        self.0.raw.get()
    }

    /// The number of worker threads, the calling one included.
    pub fn threads(&self) -> u32 {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_context_threads(self.raw()) }
    }

    /// The build and the machine as a JSON object: version, processor, instruction set, GEMM backends, threads.
    pub fn describe(&self) -> Result<String> {
        text::written(|buffer, capacity, needed, err| {
            // SAFETY: the handle is alive, and the buffer has the capacity that is passed.
            unsafe { sys::svit_context_describe(self.raw(), buffer, capacity, needed, err) }
        })
    }

    /// Fails in a child process by fork, where the context cannot be used.
    pub fn check(&self) -> Result<()> {
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_context_check(self.raw(), err) })
    }

    /// Sends a message to the log. One with a NUL is not sent.
    pub fn log(&self, level: LogLevel, message: &str) -> Result<()> {
        let message = text::text("the message", message)?;
        call(|_| {
            // SAFETY: the handle is alive, and the text ends with a NUL.
            unsafe { sys::svit_context_log(self.raw(), level.raw(), message.as_ptr()) };
            sys::SVIT_OK
        })
    }
}

impl PartialEq for Context {
    /// True for clones, which are the same context.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Context {}

/// Settings of a context: `Context::builder().threads(2).build()`.
#[derive(Default)]
#[must_use = "a context is created by `build`"]
pub struct ContextBuilder {
    threads: u32,
    pin: bool,
    gemm: Option<String>,
    log: Option<Log>,
    stop: Option<Stop>,
    max_image_pixels: u32,
}

impl ContextBuilder {
    /// Worker threads, the calling one included, 1..1024; 0: one for each CPU.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// True: each worker is pinned to a CPU of the process; the calling thread stays as it is.
    pub fn pin(mut self, pin: bool) -> Self {
        self.pin = pin;
        self
    }

    /// The GEMM backend for float32: "tile", "amx" or "cblas".
    pub fn gemm(mut self, name: impl Into<String>) -> Self {
        self.gemm = Some(name.into());
        self
    }

    /// A function that receives the library's notes and warnings, on the threads that call into it. A
    /// panic of it goes on in the call that logs.
    pub fn log(mut self, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.log = Some(Box::new(log));
        self
    }

    /// A function that long calls ask between the parts of their work, on the thread that made them: `true` ends
    /// the call with `Status::Stopped`. Which calls ask, and when, is said at
    /// [`svit_stop_function`](sys::svit_stop_function). A panic ends the call, too, and goes on there. The function
    /// must not use an object of the call that asks: its context, model, data set or trainer.
    pub fn stop(mut self, stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.stop = Some(Box::new(stop));
        self
    }

    /// The most pixels of an image that is decoded, 1..64,000,000: a larger one is refused before its pixels take
    /// memory; 0, the default: 64,000,000.
    pub fn max_image_pixels(mut self, pixels: u32) -> Self {
        self.max_image_pixels = pixels;
        self
    }

    /// Creates the context and starts its workers.
    pub fn build(self) -> Result<Context> {
        let gemm: Option<CString> =
            self.gemm.as_deref().map(|name| text::text("gemm", name)).transpose()?;
        let log = self.log.map(Pinned::new);
        let stop = self.stop.map(Pinned::new);
        let mut config = crate::field::defaults(sys::svit_context_config_init);
        config.threads = self.threads;
        config.pin = self.pin.into();
        config.max_image_pixels = self.max_image_pixels;
        config.gemm = gemm.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        if let Some(log) = &log {
            config.log = Some(log_message);
            config.log_user = log.get().cast();
        }
        if let Some(stop) = &stop {
            config.stop = Some(asks_to_stop);
            config.stop_user = stop.get().cast();
        }
        // SAFETY: the struct is complete; the closures stay until the context has ended.
        let raw = create(|out, err| unsafe { sys::svit_context_create(out, &config, err) })?;
        Ok(Context::with_closures(raw, Closures { _log: log, _stop: stop }))
    }
}

impl fmt::Debug for ContextBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ContextBuilder { threads, pin, gemm, log, stop, max_image_pixels } = self;
        let mut text = f.debug_struct("ContextBuilder");
        text.field("threads", threads).field("pin", pin).field("gemm", gemm);
        text.field("log", &log.is_some()).field("stop", &stop.is_some());
        text.field("max_image_pixels", max_image_pixels).finish()
    }
}

unsafe extern "C" fn log_message(user: *mut c_void, level: i32, message: *const c_char) {
    guarded(|| {
        // SAFETY: `user` is the log function of a context that is alive, and the text is valid during the call.
        let (log, message) = unsafe { (&*user.cast::<Log>(), CStr::from_ptr(message)) };
        let level = LogLevel::from_raw(level).unwrap_or(LogLevel::Warning);
        log(level, &message.to_string_lossy());
        Ok(())
    });
}

unsafe extern "C" fn asks_to_stop(user: *mut c_void) -> i32 {
    // SAFETY: `user` is the stop function of a context that is alive.
    let stop = guarded(|| Ok(unsafe { (*user.cast::<Stop>())() }));
    stop.unwrap_or(true).into()
}

/// An exclusive lock on a folder, which ends with this object or with the process.
#[must_use = "the folder is locked as long as this object lives"]
pub struct FolderLock {
    raw: Handle<sys::svit_folder_lock>,
    _context: Context,
}

// SAFETY: docs/threading.md: a handle belongs to no thread; without Sync one thread at a time uses it.
unsafe impl Send for FolderLock {}

impl FolderLock {
    /// Locks a folder, which is created if it does not exist. `Status::State`: it is locked already.
    pub fn new(context: &Context, folder: impl AsRef<Path>) -> Result<Self> {
        let folder = text::path(folder.as_ref())?;
        // SAFETY: the context is alive, and the text ends with a NUL.
        let raw = create(|out, err| unsafe {
            sys::svit_folder_lock_create(out, context.raw(), folder.as_ptr(), err)
        })?;
        Ok(FolderLock { raw, _context: context.clone() })
    }

    /// True if the folder has an entry of this name.
    pub fn has(&self, name: &str) -> bool {
        let name = match text::text("name", name) {
            Ok(name) => name,
            Err(_) => return false,
        };
        // SAFETY: the handle is alive, and the text ends with a NUL.
        unsafe { sys::svit_folder_lock_has(self.raw.get(), name.as_ptr()) != 0 }
    }

    /// Removes a file of the folder, if there is one of this name.
    pub fn remove(&mut self, name: &str) -> Result<()> {
        let name = text::text("name", name)?;
        // SAFETY: the handle is alive, and the text ends with a NUL.
        call(|err| unsafe { sys::svit_folder_lock_remove(self.raw.get(), name.as_ptr(), err) })
    }
}

/// The version of the library that the program runs with.
pub fn version() -> Result<String> {
    // SAFETY: the function returns static text.
    unsafe { text::copied(sys::svit_version_string()) }
        .ok_or_else(|| Error::argument("the library has no version"))
}
