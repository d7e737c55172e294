//! Failures: what kind of failure, the library's message, and the failure of a callback behind it.

use crate::pretrained::LoadReport;
use shiftvit_sys as sys;
use std::ffi::CStr;
use std::fmt;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The failure of a callback, of any type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// An argument or a field is outside what is accepted.
    Argument,
    /// There is not enough memory, or a size does not fit.
    Memory,
    /// Calls are out of order, a folder is in use, or a handle is in use by the call that runs a callback.
    State,
    /// A file could not be opened, read, written or renamed.
    Io,
    /// The contents of a file or a text are malformed.
    Format,
    /// A file or a configuration comes from a newer library.
    Version,
    /// A callback failed or asked to stop.
    Stopped,
    /// Valid, but not available in this build or on this machine.
    Unsupported,
    /// An input, a logit, a loss or a gradient is not finite.
    Numeric,
    /// A status of a newer library.
    Other(i32),
}

impl Status {
    pub(crate) fn from_code(code: i32) -> Self {
        match code {
            sys::SVIT_E_ARGUMENT => Status::Argument,
            sys::SVIT_E_MEMORY => Status::Memory,
            sys::SVIT_E_STATE => Status::State,
            sys::SVIT_E_IO => Status::Io,
            sys::SVIT_E_FORMAT => Status::Format,
            sys::SVIT_E_VERSION => Status::Version,
            sys::SVIT_E_STOPPED => Status::Stopped,
            sys::SVIT_E_UNSUPPORTED => Status::Unsupported,
            sys::SVIT_E_NUMERIC => Status::Numeric,
            other => Status::Other(other),
        }
    }

    pub(crate) fn code(self) -> i32 {
        match self {
            Status::Argument => sys::SVIT_E_ARGUMENT,
            Status::Memory => sys::SVIT_E_MEMORY,
            Status::State => sys::SVIT_E_STATE,
            Status::Io => sys::SVIT_E_IO,
            Status::Format => sys::SVIT_E_FORMAT,
            Status::Version => sys::SVIT_E_VERSION,
            Status::Stopped => sys::SVIT_E_STOPPED,
            Status::Unsupported => sys::SVIT_E_UNSUPPORTED,
            Status::Numeric => sys::SVIT_E_NUMERIC,
            // An error with the code of success is one all the same.
            Status::Other(0) => sys::SVIT_E_STOPPED,
            Status::Other(code) => code,
        }
    }
}

/// A failed call. Its text names the argument, field or file, its value and what is accepted.
///
/// The call that runs a closure fails with the closure's error as its [`source`](std::error::Error::source),
/// and its text names the place: the sample, or the loss. If the closure returns an `Error` of this crate, as
/// `?` in it does, there is no source: the call fails with the status of that error, and its text is the place
/// and that error's text.
#[derive(Debug)]
pub struct Error {
    status: Status,
    message: String,
    source: Option<BoxError>,
    report: Option<Box<LoadReport>>,
}

impl Error {
    /// Creates an error, for example in a loss function.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Error { status, message: message.into(), source: None, report: None }
    }

    /// The kind of the failure.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The message, for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What [`Model::open`](crate::Model::open) or [`Model::load_into`](crate::Model::load_into) had done with
    /// the file when it failed: the fields that it had found, and the parameters up to the one that does not
    /// fit. `None` for other failures, and where it had done nothing.
    pub fn load_report(&self) -> Option<&LoadReport> {
        self.report.as_deref()
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Error::new(Status::Argument, message)
    }

    pub(crate) fn with_source(mut self, source: BoxError) -> Self {
        self.source = Some(source);
        self
    }

    pub(crate) fn with_report(mut self, report: LoadReport) -> Self {
        if report != LoadReport::default() {
            self.report = Some(Box::new(report));
        }
        self
    }

    /// The failure of the call that runs a callback. An error of this crate hands its status on, and its message
    /// behind the place; another one is the source.
    pub(crate) fn of_callback(self, failure: BoxError) -> Self {
        match failure.downcast::<Error>() {
            Ok(own) => Error { message: format!("{}: {}", self.message, own.message), ..*own },
            Err(source) => self.with_source(source),
        }
    }

    /// This error, whose text ends with that of another one, which it led to.
    pub(crate) fn beside(mut self, other: &Error, what: &str) -> Self {
        self.message = format!("{}; {}: {}", self.message, what, other.message);
        self
    }

    pub(crate) fn from_record(code: i32, record: &sys::svit_error) -> Self {
        // SAFETY: the library ends the message with a NUL, and a new record is all zeros.
        let text = unsafe { CStr::from_ptr(record.message.as_ptr()) };
        let message = text.to_string_lossy().into_owned();
        if !message.is_empty() {
            return Error::new(Status::from_code(code), message);
        }
        // SAFETY: the function takes any status and returns static text.
        let name = unsafe { CStr::from_ptr(sys::svit_status_name(code)) };
        Error::new(Status::from_code(code), name.to_string_lossy())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}
