//! Raw declarations of libshiftvit, a C library that trains and runs small vision transformers on CPUs.
//!
//! Every public function, struct and constant of its headers is declared here under its name in C, with
//! the comment of the header. The crate `shiftvit` is a safe interface over it.
//!
//! The library is found by pkg-config (`PKG_CONFIG`, `PKG_CONFIG_PATH`), or in the folder
//! `SHIFTVIT_LIB_DIR`. The feature `static`, or `SHIFTVIT_STATIC=1`, links the static library.
//!
//! The rules of the C interface hold: the caller sets `struct_size`, arrays have the sizes that the
//! comments name, handles are used by as many threads as the comments permit.
//!
#![allow(non_camel_case_types)]

#[rustfmt::skip]
mod allocator;
#[rustfmt::skip]
mod benchmark;
#[rustfmt::skip]
mod checkpoint;
#[rustfmt::skip]
mod context;
#[rustfmt::skip]
mod dataset;
#[rustfmt::skip]
mod dataset_functions;
#[rustfmt::skip]
mod features;
#[rustfmt::skip]
mod file;
#[rustfmt::skip]
mod image;
#[rustfmt::skip]
mod load;
#[rustfmt::skip]
mod loader;
#[rustfmt::skip]
mod loss;
#[rustfmt::skip]
mod metrics;
#[rustfmt::skip]
mod model;
#[rustfmt::skip]
mod model_functions;
#[rustfmt::skip]
mod onnx;
#[rustfmt::skip]
mod optimizer;
#[rustfmt::skip]
mod parallel;
#[rustfmt::skip]
mod pipeline;
#[rustfmt::skip]
mod predictor;
#[rustfmt::skip]
mod reducer;
#[rustfmt::skip]
mod session;
#[rustfmt::skip]
mod status;
#[rustfmt::skip]
mod trainer;
#[rustfmt::skip]
mod trainer_functions;
#[rustfmt::skip]
mod version;
#[cfg(all(target_pointer_width = "64", unix))]
#[rustfmt::skip]
mod layout;

pub use crate::allocator::*;
pub use crate::benchmark::*;
pub use crate::checkpoint::*;
pub use crate::context::*;
pub use crate::dataset::*;
pub use crate::dataset_functions::*;
pub use crate::features::*;
pub use crate::file::*;
pub use crate::image::*;
pub use crate::load::*;
pub use crate::loader::*;
pub use crate::loss::*;
pub use crate::metrics::*;
pub use crate::model::*;
pub use crate::model_functions::*;
pub use crate::onnx::*;
pub use crate::optimizer::*;
pub use crate::parallel::*;
pub use crate::pipeline::*;
pub use crate::predictor::*;
pub use crate::reducer::*;
pub use crate::session::*;
pub use crate::status::*;
pub use crate::trainer::*;
pub use crate::trainer_functions::*;
pub use crate::version::*;
