//! The declarations are those of the library that the tests are linked with.

use shiftvit_sys::*;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::mem::{size_of, MaybeUninit};
use std::ptr;

/// Compares the offset and the size of each field with those in C.
macro_rules! layout {
    ($type:ty, { $($field:ident: $offset:expr, $bytes:expr;)* }) => {{
        let memory = std::mem::MaybeUninit::<$type>::uninit();
        let base = memory.as_ptr();
        $(
            // SAFETY: the field lies within `memory`, and only its address is taken.
            let field = unsafe { std::ptr::addr_of!((*base).$field) };
            assert_eq!(
                (field as usize - base as usize, crate::size_of_pointee(field)),
                ($offset, $bytes),
                concat!(stringify!($type), ".", stringify!($field))
            );
        )*
    }};
}

#[cfg(all(target_pointer_width = "64", unix))]
#[path = "generated/layout.rs"]
#[rustfmt::skip]
mod layout;

#[path = "generated/constants.rs"]
#[rustfmt::skip]
mod constants;

#[path = "generated/functions.rs"]
#[rustfmt::skip]
mod functions;

#[cfg(all(target_pointer_width = "64", unix))]
fn size_of_pointee<T>(_: *const T) -> usize {
    size_of::<T>()
}

#[cfg(all(target_pointer_width = "64", unix))]
#[test]
fn fields_lie_where_the_c_compiler_puts_them() {
    layout::check();
}

#[test]
fn constants_are_those_of_the_library() {
    let mut found = BTreeMap::new();
    for index in 0.. {
        // SAFETY: the function takes any index.
        let name = unsafe { svit_constant_name(index) };
        if name.is_null() {
            break;
        }
        let mut value = 0;
        // SAFETY: the name is static text, and `value` and NULL are what the function takes.
        let status = unsafe { svit_constant(name, &mut value, ptr::null_mut()) };
        assert_eq!(status, SVIT_OK);
        // SAFETY: the name is static text that ends with a NUL.
        let name = unsafe { CStr::from_ptr(name) };
        found.insert(name.to_str().unwrap().to_string(), value);
    }
    let declared: BTreeMap<String, i64> =
        constants::CONSTANTS.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    assert!(declared.len() >= 160, "{} constants", declared.len());
    assert_eq!(declared, found);
}

#[test]
fn every_function_is_linked() {
    let mut addresses = functions::addresses();
    assert!(addresses.len() >= 200, "{} functions", addresses.len());
    assert!(addresses.iter().all(|address| !address.is_null()));
    let count = addresses.len();
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), count, "two functions have one address");
}

#[test]
fn the_version_of_the_crate_is_that_of_the_library() {
    // SAFETY: the function takes no arguments and returns static text.
    let text = unsafe { CStr::from_ptr(svit_version_string()) };
    assert_eq!(text.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
    let number = SVIT_VERSION_MAJOR << 16 | SVIT_VERSION_MINOR << 8 | SVIT_VERSION_PATCH;
    // SAFETY: the function takes no arguments.
    assert_eq!(unsafe { svit_version_number() }, number);
}

#[test]
fn a_failure_fills_the_record() {
    let name = CString::new("no-such-preset").unwrap();
    let mut config = MaybeUninit::<svit_model_config>::uninit();
    let mut error =
        svit_error { struct_size: size_of::<svit_error>() as u32, code: 0, message: [0; 248] };
    // SAFETY: the struct has the size that is passed, and the text ends with a NUL.
    let status = unsafe {
        svit_model_config_preset(
            config.as_mut_ptr(),
            size_of::<svit_model_config>(),
            name.as_ptr(),
            &mut error,
        )
    };
    assert_eq!((status, error.code), (SVIT_E_ARGUMENT, SVIT_E_ARGUMENT));
    // SAFETY: the library ends the message with a NUL.
    let message = unsafe { CStr::from_ptr(error.message.as_ptr()) };
    assert!(message.to_str().unwrap().contains("no-such-preset"));
}
