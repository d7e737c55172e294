//! Conversions between the fields of Rust's configurations and those of C.

use crate::error::{Error, Result, Status};
use crate::text;
use shiftvit_sys as sys;
use std::ffi::CString;
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_char;
use std::path::PathBuf;

/// A field that is a value.
pub(crate) trait Field<Raw>: Sized {
    /// The value in C; an error if C has no such value.
    fn to_raw(&self) -> Result<Raw>;
    /// The value of C; an error if it is one of a newer library.
    fn from_raw(raw: Raw) -> Result<Self>;
}

macro_rules! same {
    ($($type:ty)*) => {$(
        impl Field<$type> for $type {
            fn to_raw(&self) -> Result<$type> {
                Ok(*self)
            }
            fn from_raw(raw: $type) -> Result<Self> {
                Ok(raw)
            }
        }
    )*};
}

same! { u32 u64 f64 [f64; 4] }

impl Field<i32> for bool {
    fn to_raw(&self) -> Result<i32> {
        Ok((*self).into())
    }
    fn from_raw(raw: i32) -> Result<Self> {
        Ok(raw != 0)
    }
}

impl<const N: usize> Field<[c_char; N]> for String {
    fn to_raw(&self) -> Result<[c_char; N]> {
        let bytes = text::text("a text", self)?.into_bytes();
        if bytes.len() >= N {
            return Err(Error::argument(format!(
                "'{}' has {} bytes; at most {} are accepted",
                text::shown(self),
                bytes.len(),
                N - 1
            )));
        }
        let mut raw = [0; N];
        for (place, byte) in raw.iter_mut().zip(bytes) {
            *place = byte as c_char;
        }
        Ok(raw)
    }
    fn from_raw(raw: [c_char; N]) -> Result<Self> {
        let bytes: Vec<u8> = raw.iter().map(|&c| c as u8).take_while(|&byte| byte != 0).collect();
        String::from_utf8(bytes).map_err(|_| Error::new(Status::Format, "a text is not UTF-8"))
    }
}

/// A field that is a pointer in C.
pub(crate) trait Held {
    type Pointer;
    /// The pointer, which is valid as long as `self` and the texts that it adds to `texts`.
    fn pointer(&self, texts: &mut Vec<CString>) -> Result<Self::Pointer>;
}

fn held_text(value: CString, texts: &mut Vec<CString>) -> *const c_char {
    let pointer = value.as_ptr();
    texts.push(value);
    pointer
}

impl Held for Option<String> {
    type Pointer = *const c_char;
    fn pointer(&self, texts: &mut Vec<CString>) -> Result<*const c_char> {
        match self {
            None => Ok(std::ptr::null()),
            Some(value) => Ok(held_text(text::text("a text", value)?, texts)),
        }
    }
}

impl Held for Option<PathBuf> {
    type Pointer = *const c_char;
    fn pointer(&self, texts: &mut Vec<CString>) -> Result<*const c_char> {
        match self {
            None => Ok(std::ptr::null()),
            Some(value) => Ok(held_text(text::path(value)?, texts)),
        }
    }
}

impl Held for Option<crate::Context> {
    type Pointer = *mut sys::svit_context;
    fn pointer(&self, _: &mut Vec<CString>) -> Result<*mut sys::svit_context> {
        Ok(self.as_ref().map_or(std::ptr::null_mut(), |context| context.raw()))
    }
}

/// A struct of C with the texts that it points to.
pub(crate) struct Prepared<T> {
    pub(crate) raw: T,
    pub(crate) _texts: Vec<CString>,
}

/// A struct that its `_init` function has filled. All fields of the configurations may be zero bytes.
pub(crate) fn defaults<T: Copy>(init: unsafe extern "C" fn(*mut T, usize) -> i32) -> T {
    filled(|config, size| {
        // SAFETY: the struct has the size that is passed.
        unsafe { init(config, size) }
    })
    .expect("the library fills a struct of its own size")
}

/// A struct that a function fills, given its address and its size.
pub(crate) fn filled<T: Copy>(fill: impl FnOnce(*mut T, usize) -> i32) -> Result<T> {
    try_filled(|config, size, _| fill(config, size))
}

/// A struct that a function fills, given its address, its size and an error record.
pub(crate) fn try_filled<T: Copy>(
    fill: impl FnOnce(*mut T, usize, *mut sys::svit_error) -> i32,
) -> Result<T> {
    let mut config = MaybeUninit::<T>::zeroed();
    crate::call::call(|err| fill(config.as_mut_ptr(), size_of::<T>(), err))?;
    // SAFETY: the structs of the library have numbers and pointers only, so zeros are values, and the
    // function has filled them.
    Ok(unsafe { config.assume_init() })
}

/// Defines an enum and its values in C.
macro_rules! enumeration {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $constant:ident,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            #[allow(dead_code)]
            pub(crate) fn raw(self) -> i32 {
                match self { $(Self::$variant => sys::$constant,)* }
            }
        }

        impl crate::field::Field<i32> for $name {
            fn to_raw(&self) -> crate::Result<i32> {
                Ok(self.raw())
            }
            fn from_raw(raw: i32) -> crate::Result<Self> {
                match raw {
                    $(sys::$constant => Ok(Self::$variant),)*
                    _ => Err(crate::Error::new(
                        crate::Status::Version,
                        format!(concat!(stringify!($name), " has no variant for {}"), raw),
                    )),
                }
            }
        }
    };
}

/// Defines a configuration with the fields of a struct in C, its defaults and both conversions.
macro_rules! config {
    ($(#[$meta:meta])* pub struct $name:ident: $raw:ident, $init:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty;)*
    }
    lists { $($(#[$list_doc:meta])* $list:ident: $item:ty, $count:ident;)* }
    held { $($(#[$held_doc:meta])* $held:ident: $held_type:ty;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
            $($(#[$list_doc])* pub $list: Vec<$item>,)*
            $($(#[$held_doc])* pub $held: $held_type,)*
        }

        impl Default for $name {
            /// The defaults of the library.
            fn default() -> Self {
                Self::from_raw(&crate::field::defaults(sys::$init)).expect("the defaults are known")
            }
        }

        impl $name {
            /// The configuration of C. Pointers are left out.
            pub(crate) fn from_raw(raw: &sys::$raw) -> crate::Result<Self> {
                Ok(Self {
                    $($field: crate::field::Field::from_raw(raw.$field)?,)*
                    $($list: crate::field::list_from(&raw.$list, raw.$count as usize)?,)*
                    $($held: None,)*
                })
            }

            /// The configuration in C.
            #[allow(unused_mut)]
            pub(crate) fn to_raw(&self) -> crate::Result<crate::field::Prepared<sys::$raw>> {
                let mut raw: sys::$raw = crate::field::defaults(sys::$init);
                let mut texts = Vec::new();
                $(raw.$field = crate::field::Field::to_raw(&self.$field)?;)*
                $(raw.$count = crate::field::list_to(
                    stringify!($list), &self.$list, &mut raw.$list)?;)*
                $(raw.$held = crate::field::Held::pointer(&self.$held, &mut texts)?;)*
                Ok(crate::field::Prepared { raw, _texts: texts })
            }
        }
    };
}

/// Gives a configuration its JSON forms.
macro_rules! json {
    ($name:ident, $from:ident, $to:ident) => {
        impl $name {
            /// Reads a JSON object whose keys are the names of the fields; what is missing takes its default.
            pub fn from_json(json: &str) -> crate::Result<Self> {
                let json = crate::text::text("json", json)?;
                let raw = crate::field::try_filled(|config, size, err| {
                    // SAFETY: the struct has the size that is passed, and the text ends with a NUL.
                    unsafe { sys::$from(config, size, json.as_ptr(), err) }
                })?;
                Self::from_raw(&raw)
            }

            /// The JSON object that [`from_json`](Self::from_json) reads.
            pub fn to_json(&self) -> crate::Result<String> {
                let prepared = self.to_raw()?;
                crate::text::written(|buffer, capacity, needed, err| {
                    // SAFETY: the struct is complete, and the buffer has the capacity that is passed.
                    unsafe { sys::$to(&prepared.raw, buffer, capacity, needed, err) }
                })
            }
        }
    };
}

pub(crate) use {config, enumeration, json};

/// The first `count` elements of an array.
pub(crate) fn list_from<Raw: Copy, T: Field<Raw>>(array: &[Raw], count: usize) -> Result<Vec<T>> {
    array.iter().take(count).map(|&raw| T::from_raw(raw)).collect()
}

/// Writes the elements to an array, zeros behind them, and returns their number.
pub(crate) fn list_to<Raw: Copy, T: Field<Raw>>(
    name: &str,
    list: &[T],
    array: &mut [Raw],
) -> Result<u32> {
    if list.len() > array.len() {
        return Err(Error::argument(format!(
            "{} has {} elements; at most {} are accepted",
            name,
            list.len(),
            array.len()
        )));
    }
    // SAFETY: the arrays of configurations have numbers, and structs of numbers, for which zeros are values.
    array.fill(unsafe { MaybeUninit::<Raw>::zeroed().assume_init() });
    for (place, value) in array.iter_mut().zip(list) {
        *place = value.to_raw()?;
    }
    Ok(list.len() as u32)
}
