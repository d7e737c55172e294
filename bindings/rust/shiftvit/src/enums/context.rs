//! The choices of `context.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// The level of a log message.
    pub enum LogLevel {
        /// A note.
        Info = SVIT_LOG_INFO,
        /// Results are correct, but the call runs slower or otherwise than asked.
        Warning = SVIT_LOG_WARNING,
    }
}
