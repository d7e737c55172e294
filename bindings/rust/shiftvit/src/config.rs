//! Configurations: plain structs whose `default()` is that of the library. What is out of range is
//! refused by the call that takes the struct.
//!
//! A program fills what it needs and takes the rest from `..Default::default()`. A later version may add fields;
//! one that names all fields does not compile with it. The structs are therefore not `#[non_exhaustive]`, with
//! which that form would be refused. Those that the crate alone fills are, and so are the enums.

#[rustfmt::skip]
mod class;
#[rustfmt::skip]
mod features;
#[rustfmt::skip]
mod head;
#[rustfmt::skip]
mod loader;
#[rustfmt::skip]
mod model;
#[rustfmt::skip]
mod onnx;
#[rustfmt::skip]
mod optimizer;
#[rustfmt::skip]
mod pipeline;
#[rustfmt::skip]
mod predictor;
#[rustfmt::skip]
mod session;
#[rustfmt::skip]
mod trainer;

pub use self::class::*;
pub use self::features::*;
pub use self::head::*;
pub use self::loader::*;
pub use self::model::*;
pub use self::onnx::*;
pub use self::optimizer::*;
pub use self::pipeline::*;
pub use self::predictor::*;
pub use self::session::*;
pub use self::trainer::*;
