//! Texts, paths and sizes at the border of the library.

use crate::error::{Error, Result, Status};
use shiftvit_sys as sys;
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::os::raw::c_char;
#[cfg(unix)]
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A text for the library. `name` is what the message calls it.
pub(crate) fn text(name: &str, value: &str) -> Result<CString> {
    CString::new(value).map_err(|error| {
        let place = error.nul_position();
        Error::argument(format!("{} has a NUL at byte {}", name, place)).with_source(error.into())
    })
}

#[cfg(unix)]
fn bytes_of(path: &Path) -> Cow<'_, [u8]> {
    Cow::Borrowed(path.as_os_str().as_bytes())
}

#[cfg(not(unix))]
fn bytes_of(path: &Path) -> Cow<'_, [u8]> {
    Cow::Owned(path.to_string_lossy().into_owned().into_bytes())
}

/// A path for the library.
pub(crate) fn path(value: &Path) -> Result<CString> {
    CString::new(bytes_of(value)).map_err(|error| {
        let message = format!("the path '{}' has a NUL", shown_path(value));
        Error::argument(message).with_source(error.into())
    })
}

/// The most bytes of a name in a message, which leave the library's 248 room for the rest.
const LONGEST_NAME: usize = 160;

/// A name in a message, as those of the library (docs/errors.md): UTF-8 without control characters, and a
/// long one without its beginning.
pub(crate) fn shown(name: impl AsRef<[u8]>) -> String {
    let pieces = printable(name.as_ref());
    let mut bytes = 0;
    let fits = |piece: &&String| {
        bytes += piece.len();
        bytes <= LONGEST_NAME
    };
    let kept = pieces.iter().rev().take_while(fits).count();
    let mark = if kept < pieces.len() { "…" } else { "" };
    format!("{}{}", mark, pieces[pieces.len() - kept..].concat())
}

pub(crate) fn shown_path(path: &Path) -> String {
    shown(bytes_of(path))
}

/// The characters of a name, and bytes that belong to none, in their printable forms.
fn printable(name: &[u8]) -> Vec<String> {
    let (mut pieces, mut rest) = (Vec::new(), name);
    loop {
        let valid = std::str::from_utf8(rest).map_or_else(|error| error.valid_up_to(), str::len);
        let (text, others) = rest.split_at(valid);
        pieces.extend(String::from_utf8_lossy(text).chars().map(printable_character));
        match others.split_first() {
            None => return pieces,
            Some((&byte, others)) => {
                pieces.push(escaped(byte));
                rest = others;
            }
        }
    }
}

fn printable_character(character: char) -> String {
    match character {
        '\n' => "\\n".to_string(),
        '\r' => "\\r".to_string(),
        '\t' => "\\t".to_string(),
        _ if character.is_control() => {
            character.encode_utf8(&mut [0; 4]).bytes().map(escaped).collect()
        }
        _ => character.to_string(),
    }
}

fn escaped(byte: u8) -> String {
    format!("\\x{:02X}", byte)
}

/// A path of the library.
#[cfg(unix)]
pub(crate) fn path_of(bytes: Vec<u8>) -> Result<PathBuf> {
    Ok(std::ffi::OsString::from_vec(bytes).into())
}

/// A path of the library, which is UTF-8 where paths are no bytes.
#[cfg(not(unix))]
pub(crate) fn path_of(bytes: Vec<u8>) -> Result<PathBuf> {
    utf8(bytes).map(PathBuf::from)
}

/// A copy of a text that the library lends; `None` for NULL.
///
/// # Safety
/// `raw` is NULL or a text that ends with a NUL and is valid during the call.
pub(crate) unsafe fn copied(raw: *const c_char) -> Option<String> {
    if raw.is_null() {
        return None;
    }
    // SAFETY: the caller promises it.
    let text = unsafe { CStr::from_ptr(raw) };
    Some(text.to_string_lossy().into_owned())
}

/// Texts of the library by index, until it returns NULL.
///
/// # Safety
/// `at` returns NULL or a text as in [`copied`].
pub(crate) unsafe fn all(mut at: impl FnMut(usize) -> *const c_char) -> Vec<String> {
    // SAFETY: the caller promises it.
    (0..).map_while(|index| unsafe { copied(at(index)) }).collect()
}

/// Pointers to texts, which live as long as the texts.
pub(crate) fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

/// Texts for an array of the library.
pub(crate) fn texts(name: &str, values: &[impl AsRef<str>]) -> Result<Vec<CString>> {
    values.iter().map(|value| text(name, value.as_ref())).collect()
}

/// Reads a text that the library writes into a buffer, whose size it tells first.
pub(crate) fn written(
    write: impl Fn(*mut c_char, usize, *mut usize, *mut sys::svit_error) -> i32,
) -> Result<String> {
    utf8(written_bytes(write)?)
}

fn utf8(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::argument("the library's text is not UTF-8"))
}

/// The bytes of such a text, which may be no UTF-8.
pub(crate) fn written_bytes(
    write: impl Fn(*mut c_char, usize, *mut usize, *mut sys::svit_error) -> i32,
) -> Result<Vec<u8>> {
    let mut capacity = 1024;
    loop {
        let mut buffer: Vec<u8> = zeros("a text", &[capacity])?;
        let mut needed = 0;
        let result =
            crate::call::call(|err| write(buffer.as_mut_ptr().cast(), capacity, &mut needed, err));
        match result {
            Ok(()) => {
                let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(0);
                buffer.truncate(end);
                return Ok(buffer);
            }
            Err(error) if needed <= capacity => return Err(error),
            Err(_) => capacity = needed,
        }
    }
}

/// A count for the library.
pub(crate) fn count(name: &str, value: usize) -> Result<u32> {
    value.try_into().map_err(|_| {
        Error::argument(format!("{} is {}; at most {} is accepted", name, value, u32::MAX))
    })
}

/// An array for what the library computes.
pub(crate) fn zeros<T: Copy + Default>(name: &str, shape: &[usize]) -> Result<Vec<T>> {
    let elements = shape.iter().try_fold(1usize, |all, &side| all.checked_mul(side));
    let mut array = Vec::new();
    match elements {
        Some(elements) if array.try_reserve_exact(elements).is_ok() => {
            array.resize(elements, T::default());
            Ok(array)
        }
        _ => {
            let message = format!("{} of the shape {:?} could not be allocated", name, shape);
            Err(Error::new(Status::Memory, message))
        }
    }
}

/// The product of sizes.
pub(crate) fn product(name: &str, sizes: &[usize]) -> Result<usize> {
    sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size)).ok_or_else(|| {
        Error::argument(format!("{} of the shape {:?} has too many elements", name, sizes))
    })
}

/// Checks that an array has exactly the elements of a shape.
pub(crate) fn exact(name: &str, elements: usize, shape: &[usize]) -> Result<()> {
    if elements != product(name, shape)? {
        return Err(Error::argument(format!(
            "{} has {} elements; those of the shape {:?} are accepted",
            name, elements, shape
        )));
    }
    Ok(())
}

/// The number of rows of an array, at least 1.
pub(crate) fn rows(name: &str, elements: usize, row: usize) -> Result<usize> {
    if row == 0 {
        return Err(Error::argument(format!(
            "rows of {name} have 0 elements; at least 1 is accepted"
        )));
    }
    if elements == 0 || elements % row != 0 {
        return Err(Error::argument(format!(
            "{} has {} elements; a multiple of {}, not 0, is accepted",
            name, elements, row
        )));
    }
    Ok(elements / row)
}
