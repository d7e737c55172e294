//! Files that are replaced as a whole or not at all, and files that grow.

// Written by bindings/rust/generate from the C headers.

use crate::status::*;
use std::os::raw::{c_char, c_void};

extern "C" {
    /// Replaces the contents of the file `path` with data\[bytes\], or creates it. A reader, also after a
    /// loss of power, sees the old contents or the new ones and never a mixture: the function writes a
    /// temporary file in the same folder, flushes it, renames it and flushes the folder. The new file
    /// gets the permissions of the old one. Several threads and processes may write the same path, and
    /// the last to finish wins. A symbolic link to a file is followed.
    ///
    /// The temporary file's name is hidden, `.shiftvit-` with a hash of the file's name and `.part`, and
    /// no other file is touched. What a killed process leaves is used by the next that writes the path.
    ///
    /// SVIT_E_IO names the path and the system's reason, or a symbolic link that leads nowhere. The old
    /// file is then unchanged, unless the message says that the new file is in place and only the folder
    /// could not be flushed. Any thread may call it.
    pub fn svit_file_replace(
        path: *const c_char,
        data: *const c_void,
        bytes: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Appends data\[bytes\] to the file `path`, or creates it, and flushes its bytes to disk, not the
    /// folder of a new file. A process that is killed may leave a part of the data at the end. A call
    /// that fails, as on a full disk, brings the file back to its size before if the system allows it.
    /// SVIT_E_IO names the path and the system's reason;
    /// a folder, FIFO, socket or device is refused, and so is a symbolic link that leads nowhere. Any
    /// thread may call it, one at a time for a path.
    pub fn svit_file_append(
        path: *const c_char,
        data: *const c_void,
        bytes: usize,
        err: *mut svit_error,
    ) -> svit_status;
}
