//! Trains and runs small vision transformers on CPUs: a safe interface to the C library libshiftvit.
//!
//! ```
//! use shiftvit::{Context, Model, ModelConfig, Session, SessionConfig};
//!
//! # fn main() -> shiftvit::Result<()> {
//! let context = Context::new()?;
//! let config = ModelConfig { dim: 16, blocks: vec![1, 1], ..ModelConfig::default() };
//! let model = Model::new(&context, &config, 1)?;
//! let mut session = Session::new(&model, &SessionConfig::default())?;
//! let logits = session.forward(&vec![0.5; 48 * 48 * 3])?;
//! assert_eq!(logits.len(), 10);
//! # Ok(()) }
//! ```
//!
//! # Lifetimes
//!
//! Every object keeps alive what it was created from, so objects may be dropped in any order. A
//! configuration is a plain struct, whose [`Default`] is that of the library and which is copied.
//!
//! # Threads
//!
//! [`Context`], [`Model`], [`Dataset`], [`Features`], [`Checkpoint`] and [`Image`] are [`Sync`]: any
//! number of threads may read them. [`Session`], [`Optimizer`], [`Loader`], [`Trainer`], [`Predictor`],
//! [`Extractor`] and [`FolderLock`] are only [`Send`]: they move between threads, and one at a time uses them. Where
//! one object changes the weights that another reads, as an optimiser and a session of one model do, their
//! calls wait for each other.
//!
//! # Callbacks
//!
//! A panic in a closure never unwinds through C: it goes on in the call that runs the closure. An error
//! is the [`source`](std::error::Error::source) of that call's [`Error`], which takes over the status and the
//! text of one of this crate.
//!
//! The closure of [`Dataset::from_images`] runs on threads of the library: its panics and errors become texts
//! of the call's [`Error`], and it must use nothing of its context, for which it would wait for ever.
//!
//! In a closure of other samples or a loss a call fails with [`Status::State`] where it would wait for the call
//! that runs the closure: a loss cannot use the model of its trainer, and samples cannot read their own data
//! set. What the running call only reads may be read too: the samples of [`Model::evaluate`] may use the
//! model. For calls of other threads a closure waits as any call does. So closures never return that wait
//! for each other: do not let a closure join a thread that uses what the running call uses, nor the samples
//! of two data sets read each other's set, nor a loss read a data set whose samples read its model.
#![deny(missing_docs)]
#![deny(missing_debug_implementations)]
#![deny(unsafe_op_in_unsafe_fn)]

mod call;
mod checkpoint;
mod config;
mod context;
mod dataset;
mod debug;
mod enums;
mod error;
mod extractor;
mod features;
mod field;
mod files;
mod finetune;
mod image;
mod loader;
mod lock;
pub mod loss;
mod loss_function;
pub mod metrics;
mod model;
mod optimizer;
mod parameters;
mod parts;
mod pipeline;
mod predictor;
mod pretrained;
mod raw;
mod samples;
mod session;
mod text;
mod trainer;
mod training;

pub use checkpoint::Checkpoint;
pub use config::*;
pub use context::{version, Context, ContextBuilder, FolderLock};
pub use dataset::{Answers, Dataset, Element, ImageShape, Splits};
pub use enums::*;
pub use error::{BoxError, Error, Result, Status};
pub use extractor::Extractor;
pub use features::Features;
pub use image::Image;
pub use loader::{Batch, Loader, Target};
pub use loss_function::LossCall;
pub use model::Model;
pub use optimizer::{Optimizer, OptimizerSettings};
pub use parts::{Augment, DecayExclude, ParameterGroup, SchedulePoint};
pub use predictor::Predictor;
pub use pretrained::{LoadFlags, LoadReport, OpenOptions};
pub use samples::BadSample;
pub use session::Session;
pub use shiftvit_sys as sys;
pub use trainer::{Event, Run, Trainer};
pub use training::{Evaluated, Training};

/// The page docs/rust.md of the sources, whose programs are doc tests.
#[cfg(doctest)]
#[derive(Debug)]
#[doc = include_str!("../../../../docs/rust.md")]
pub struct Guide;
