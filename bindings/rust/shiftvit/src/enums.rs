//! The choices that configurations offer. Their words and values are those of the C headers.

#[rustfmt::skip]
mod context;
#[rustfmt::skip]
mod dataset;
#[rustfmt::skip]
mod features;
#[rustfmt::skip]
mod image;
#[rustfmt::skip]
mod loader;
#[rustfmt::skip]
mod loss;
#[rustfmt::skip]
mod model;
#[rustfmt::skip]
mod onnx;
#[rustfmt::skip]
mod optimizer;
#[rustfmt::skip]
mod pipeline;
#[rustfmt::skip]
mod session;
#[rustfmt::skip]
mod trainer;

pub use self::context::*;
pub use self::dataset::*;
pub use self::features::*;
pub use self::image::*;
pub use self::loader::*;
pub use self::loss::*;
pub use self::model::*;
pub use self::onnx::*;
pub use self::optimizer::*;
pub use self::pipeline::*;
pub use self::session::*;
pub use self::trainer::*;
