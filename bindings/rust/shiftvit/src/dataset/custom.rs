//! Data sets whose images a function of any thread writes.

use super::{Dataset, ImageShape, Owner};
use crate::call::create;
use crate::context::Context;
use crate::error::{BoxError, Error, Result, Status};
use crate::text;
use shiftvit_sys as sys;
use std::any::Any;
use std::ffi::CString;
use std::mem::size_of;
use std::os::raw::c_void;
use std::panic::{self, AssertUnwindSafe};

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for f32 {}
}

/// What images consist of: bytes, or floats, which take their place in a pipeline.
pub trait Element: sealed::Sealed + Copy + Default + 'static {
    #[doc(hidden)]
    const IS_F32: i32;
}

impl Element for u8 {
    const IS_F32: i32 = 0;
}

impl Element for f32 {
    const IS_F32: i32 = 1;
}

/// What belongs to the images of a data set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Answers {
    /// A label of each image, below `classes`.
    Labels {
        /// `[count]`
        labels: Vec<i32>,
        /// How many classes there are.
        classes: usize,
    },
    /// Numbers of each image, which are finite.
    Targets {
        /// `[count, columns]`
        targets: Vec<f32>,
        /// Numbers of an image.
        columns: usize,
    },
}

impl Answers {
    /// The number of samples, and that of the classes or columns.
    fn sizes(&self) -> Result<(usize, usize)> {
        match self {
            Answers::Labels { labels, classes } => Ok((labels.len(), *classes)),
            Answers::Targets { targets, columns } => {
                Ok((text::rows("targets", targets.len(), *columns)?, *columns))
            }
        }
    }
}

struct State<F> {
    function: F,
    elements: usize,
    answers: Answers,
}

/// Drops what belongs to the caller, whose destructor may panic. There is nowhere for that panic to go.
fn drop_quietly<T>(value: T) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(payload);
    }
}

/// What a panic says. It cannot go on here: the thread may be one of the library's.
fn said(payload: Box<dyn Any + Send>) -> BoxError {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text.as_str(),
        _ => "no text",
    };
    let message = format!("the function panicked: {text}");
    drop_quietly(payload);
    message.into()
}

/// The status and the text of a failure. What the system could not read makes a bad sample.
fn described(failure: &BoxError) -> (i32, String) {
    let own = failure.downcast_ref::<Error>().map(Error::status);
    let status = match own.or_else(|| failure.is::<std::io::Error>().then_some(Status::Io)) {
        Some(status) => status.code(),
        None => sys::SVIT_E_STOPPED,
    };
    (status, failure.to_string())
}

/// Fills a record with a failure, whose text and destructor are the caller's and may panic.
fn fail(failure: BoxError, err: *mut sys::svit_error) -> i32 {
    let described = panic::catch_unwind(AssertUnwindSafe(|| described(&failure)));
    let (status, text) = described.unwrap_or_else(|payload| {
        drop_quietly(payload);
        (sys::SVIT_E_STOPPED, "the error of the function has no text".to_string())
    });
    drop_quietly(failure);
    let message = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // SAFETY: `err` is the record that the library passes, and the text ends with a NUL.
    unsafe { sys::svit_error_set(err, status, message.as_ptr()) }
}

/// # Safety
/// `user` is a `State<F>` that is not freed meanwhile, and `image` has its number of elements.
unsafe extern "C" fn sample<T, F>(
    user: *mut c_void,
    index: usize,
    image: *mut c_void,
    label: *mut i32,
    err: *mut sys::svit_error,
) -> i32
where
    T: Element,
    F: Fn(usize, &mut [T]) -> Result<(), BoxError>,
{
    // SAFETY: the caller promises it. The memory may be new, and a reference needs values.
    let (state, image) = unsafe {
        let state = &*user.cast::<State<F>>();
        let image = image.cast::<T>();
        std::ptr::write_bytes(image, 0, state.elements);
        (state, std::slice::from_raw_parts_mut(image, state.elements))
    };
    let done = panic::catch_unwind(AssertUnwindSafe(|| (state.function)(index, image)));
    if let Err(failure) = done.unwrap_or_else(|payload| Err(said(payload))) {
        return fail(failure, err);
    }
    if let Answers::Labels { labels, .. } = &state.answers {
        // SAFETY: the library passes the address of a label, and an index below the number of samples.
        unsafe { *label = labels[index] };
    }
    sys::SVIT_OK
}

/// # Safety
/// `user` is a `State<F>` with labels that is not freed meanwhile, and `index` that of a sample.
unsafe extern "C" fn label<F>(
    user: *mut c_void,
    index: usize,
    label: *mut i32,
    _err: *mut sys::svit_error,
) -> i32 {
    // SAFETY: the caller promises it.
    unsafe {
        if let Answers::Labels { labels, .. } = &(*user.cast::<State<F>>()).answers {
            *label = labels[index];
        }
    }
    sys::SVIT_OK
}

/// # Safety
/// `user` is a `State<F>` with targets that is not freed meanwhile, `index` that of a sample, and `row` has
/// room for its columns.
unsafe extern "C" fn row<F>(
    user: *mut c_void,
    index: usize,
    row: *mut f32,
    _err: *mut sys::svit_error,
) -> i32 {
    // SAFETY: the caller promises it.
    unsafe {
        if let Answers::Targets { targets, columns } = &(*user.cast::<State<F>>()).answers {
            let from = &targets[index * columns..][..*columns];
            std::ptr::copy_nonoverlapping(from.as_ptr(), row, *columns);
        }
    }
    sys::SVIT_OK
}

/// # Safety
/// `user` is a `State<F>` of a box, which nobody uses any more.
unsafe extern "C" fn release<F>(user: *mut c_void) {
    // SAFETY: the caller promises it.
    drop_quietly(unsafe { Box::from_raw(user.cast::<State<F>>()) });
}

impl Dataset {
    /// Images that a function writes each time they are read, `image[height, width, channels]` of `u8` or
    /// `f32`, such as those of a file that does not fit memory. Labels or targets are known beforehand.
    ///
    /// Threads of the library call the function, several at once, so that batches are prepared ahead. It gives
    /// the same image for the same index, and must not use anything of this context: it would wait for ever.
    /// Its error ends the call that reads with its text, and with its status if it is an [`Error`], with
    /// `Status::Io` if it is an [`std::io::Error`], else with `Status::Stopped`. So does a panic.
    pub fn from_images<T, F, E>(
        context: &Context,
        shape: ImageShape,
        answers: Answers,
        function: F,
    ) -> Result<Self>
    where
        T: Element,
        F: Fn(usize, &mut [T]) -> Result<(), E> + Send + Sync + 'static,
        E: Into<BoxError>,
    {
        let elements = text::product("a sample", &[shape.height, shape.width, shape.channels])?;
        let function =
            move |index: usize, image: &mut [T]| function(index, image).map_err(Into::into);
        Dataset::of_state(context, shape, State { function, elements, answers })
    }

    fn of_state<T, F>(context: &Context, shape: ImageShape, state: State<F>) -> Result<Self>
    where
        T: Element,
        F: Fn(usize, &mut [T]) -> Result<(), BoxError> + Send + Sync + 'static,
    {
        let (count, classes) = state.answers.sizes()?;
        let has_labels = matches!(state.answers, Answers::Labels { .. });
        let user = Box::into_raw(Box::new(state));
        let custom = sys::svit_custom_dataset {
            struct_size: size_of::<sys::svit_custom_dataset>() as u32,
            is_f32: T::IS_F32,
            count,
            height: shape.height,
            width: shape.width,
            channels: shape.channels,
            classes,
            class_names: std::ptr::null(),
            sample: Some(sample::<T, F>),
            label: if has_labels { Some(label::<F>) } else { None },
            targets: if has_labels { None } else { Some(row::<F>) },
            release: Some(release::<F>),
            user: user.cast(),
            any_thread: 1,
            reserved: 0,
        };
        // SAFETY: the context is alive, the struct is complete, and the functions are those of `user`.
        let made = create(|out, err| unsafe {
            sys::svit_dataset_custom(out, context.raw(), &custom, err)
        });
        if made.is_err() {
            // SAFETY: the library has not taken it.
            drop(unsafe { Box::from_raw(user) });
        }
        Ok(Dataset::adopt(context, made?, Owner::Library))
    }
}
