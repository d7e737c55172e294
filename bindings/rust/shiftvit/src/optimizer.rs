//! Optimisers: updates of the parameters, schedules, averages of the weights.

use crate::call::{call, create, Handle};
use crate::config::OptimizerConfig;
use crate::error::Result;
use crate::model::{Model, ModelInner};
use crate::session::Session;
use crate::text;
use shiftvit_sys as sys;
use std::marker::PhantomData;
use std::sync::Arc;

/// Updates the parameters of a model. It may move between threads, and one at a time uses it.
pub struct Optimizer {
    raw: Handle<sys::svit_optimizer>,
    pub(crate) model: Arc<ModelInner>,
}

// SAFETY: docs/threading.md: an optimiser belongs to no thread; without Sync one thread at a time uses it.
unsafe impl Send for Optimizer {}

impl Optimizer {
    /// Creates an optimiser of a model.
    pub fn new(model: &Model, config: &OptimizerConfig) -> Result<Self> {
        let prepared = config.to_raw()?;
        let _reader = model.0.lock.read()?;
        // SAFETY: the model is alive, the optimiser keeps it so, and the struct is complete.
        let raw = create(|out, err| unsafe {
            sys::svit_optimizer_create(out, model.raw(), &prepared.raw, err)
        })?;
        Ok(Optimizer { raw, model: model.0.clone() })
    }

    pub(crate) fn raw(&self) -> *mut sys::svit_optimizer {
        self.raw.get()
    }

    /// Updates the model from the gradients of a session and sets these to zero. Waits for the calls that
    /// read the model.
    pub fn step(&mut self, session: &mut Session) -> Result<()> {
        let _alone = self.model.lock.write()?;
        // SAFETY: the handles are alive; the library refuses a session of another model.
        call(|err| unsafe { sys::svit_step(self.raw(), session.raw(), err) })
    }

    /// Exchanges the weights of the model and their moving average.
    pub fn swap_ema(&mut self) -> Result<()> {
        let _alone = self.model.lock.write()?;
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_optimizer_swap_ema(self.raw(), err) })
    }

    /// The number of updates so far.
    pub fn steps(&self) -> u64 {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_optimizer_steps(self.raw()) }
    }

    /// The settings that may change between updates.
    pub fn settings(&mut self) -> OptimizerSettings<'_> {
        OptimizerSettings { raw: self.raw(), model: self.model.clone(), _owner: PhantomData }
    }
}

/// The settings of an optimiser, or of a trainer's optimiser, between two updates.
#[must_use = "it changes nothing by itself"]
pub struct OptimizerSettings<'a> {
    pub(crate) raw: *mut sys::svit_optimizer,
    pub(crate) model: Arc<ModelInner>,
    pub(crate) _owner: PhantomData<&'a mut Optimizer>,
}

// SAFETY: docs/threading.md: an optimiser belongs to no thread, and its owner is borrowed alone; without Sync
// one thread at a time uses it.
unsafe impl Send for OptimizerSettings<'_> {}

impl OptimizerSettings<'_> {
    /// Sets "learning_rate", "weight_decay", "momentum", "clip_norm" or "ema_momentum".
    pub fn set(&mut self, key: &str, value: f64) -> Result<()> {
        let key = text::text("key", key)?;
        // SAFETY: the handle is alive as long as its owner is borrowed, and the text ends with a NUL.
        call(|err| unsafe { sys::svit_optimizer_set_f64(self.raw, key.as_ptr(), value, err) })
    }

    /// The value of such a setting, or of "gradient_norm".
    pub fn get(&self, key: &str) -> Result<f64> {
        let key = text::text("key", key)?;
        let mut value = 0.0;
        // SAFETY: as above.
        call(|err| unsafe {
            sys::svit_optimizer_get_f64(self.raw, key.as_ptr(), &mut value, err)
        })?;
        Ok(value)
    }

    /// The smallest and the largest value that [`set`](Self::set) accepts.
    pub fn bounds(&self, key: &str) -> Result<(f64, f64)> {
        let key = text::text("key", key)?;
        let (mut min, mut max) = (0.0, 0.0);
        // SAFETY: as above.
        call(|err| unsafe {
            sys::svit_optimizer_bounds(self.raw, key.as_ptr(), &mut min, &mut max, err)
        })?;
        Ok((min, max))
    }

    /// Sets "lr_scale", "weight_decay" or "trainable" of the parameters whose names match a pattern.
    pub fn set_parameters(&mut self, pattern: &str, key: &str, value: f64) -> Result<()> {
        let (pattern, key) = (text::text("pattern", pattern)?, text::text("key", key)?);
        // Which parameters are frozen is the model's.
        let _reader = self.model.lock.read()?;
        // SAFETY: as above.
        call(|err| unsafe {
            let (pattern, key) = (pattern.as_ptr(), key.as_ptr());
            sys::svit_optimizer_set_parameter_f64(self.raw, pattern, key, value, err)
        })
    }
}

impl OptimizerConfig {
    /// The learning rate of an update, from 0.
    pub fn learning_rate_at(&self, step: u64) -> Result<f64> {
        let prepared = self.to_raw()?;
        let mut rate = 0.0;
        // SAFETY: the struct is complete.
        call(|err| unsafe { sys::svit_learning_rate(&prepared.raw, step, &mut rate, err) })?;
        Ok(rate)
    }
}
