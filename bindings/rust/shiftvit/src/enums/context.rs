//! The choices of `context.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// The level of a log message.
    pub enum LogLevel {
        /// A note.
        Info = SVIT_LOG_INFO,
        /// Results are right, but slower or different from what was expected.
        Warning = SVIT_LOG_WARNING,
    }
}
