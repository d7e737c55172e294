//! Trainers: the training loop with validation, early stopping, history, checkpoints and resuming.

use crate::call::{call, create, Handle, Pinned};
use crate::context::Context;
use crate::dataset::Dataset;
use crate::enums::EventKind;
use crate::error::{BoxError, Result, Status};
use crate::field::{try_filled, Field};
use crate::lock::{Guards, ReadLocks};
use crate::loss_function::{self, LossCall, LossFunction};
use crate::model::{pointer, Model, ModelInner};
use crate::optimizer::OptimizerSettings;
use crate::training::Training;
use shiftvit_sys as sys;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::ptr;
use std::sync::Arc;

/// What a trainer has completed. Fractions are in 0..1, and NaN without validation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// A step, an epoch or the run.
    pub kind: EventKind,
    /// From 1.
    pub epoch: u64,
    /// The largest number of epochs.
    pub epochs: u64,
    /// Steps of this epoch so far.
    pub step: u64,
    /// Steps in an epoch.
    pub steps: u64,
    /// The mean over this epoch so far.
    pub train_loss: f64,
    /// The fraction of training samples that were right in this epoch so far.
    pub train_top1: f64,
    /// The same for the five largest logits.
    pub train_top5: f64,
    /// The mean over the validation set.
    pub val_loss: f64,
    /// The fraction of validation samples that are right.
    pub val_top1: f64,
    /// The same for the five largest logits.
    pub val_top5: f64,
    /// That of the last step.
    pub learning_rate: f64,
    /// Of training in this epoch and process.
    pub images_per_second: f64,
    /// Time spent in this epoch in this process.
    pub seconds: f64,
    /// Expected time to the end of the last epoch.
    pub eta_seconds: f64,
    /// The best epoch so far; 0 without validation.
    pub best_epoch: u64,
    /// True if the run finished because `patience` was exhausted.
    pub stopped_early: bool,
    /// 1e15 operations of training so far.
    pub pflop: f64,
}

impl Event {
    fn from_raw(raw: &sys::svit_trainer_event) -> Result<Self> {
        Ok(Event {
            kind: EventKind::from_raw(raw.kind)?,
            epoch: raw.epoch,
            epochs: raw.epochs,
            step: raw.step,
            steps: raw.steps,
            train_loss: raw.train_loss,
            train_top1: raw.train_top1,
            train_top5: raw.train_top5,
            val_loss: raw.val_loss,
            val_top1: raw.val_top1,
            val_top5: raw.val_top5,
            learning_rate: raw.learning_rate,
            images_per_second: raw.images_per_second,
            seconds: raw.seconds,
            eta_seconds: raw.eta_seconds,
            best_epoch: raw.best_epoch,
            stopped_early: raw.stopped_early != 0,
            pflop: raw.pflop,
        })
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Run {
    /// After the last epoch, or by early stopping.
    Finished,
    /// The function of events asked to stop before the end.
    Stopped,
}

/// Trains a model on a data set. It may move between threads, and one at a time uses it.
pub struct Trainer {
    pub(crate) raw: Handle<sys::svit_trainer>,
    // Is dropped after the trainer, which may call it.
    loss: Option<Pinned<LossFunction>>,
    model: Arc<ModelInner>,
    training: Dataset,
    validation: Option<Dataset>,
    has_folder: bool,
    _context: Context,
}

// SAFETY: docs/threading.md: a trainer belongs to no thread; without Sync one thread at a time uses it.
unsafe impl Send for Trainer {}

fn read_locks<'a>(
    training: &'a Dataset,
    validation: Option<&'a Dataset>,
) -> impl Iterator<Item = &'a ReadLocks> {
    [training].into_iter().chain(validation).map(|set| &set.0.reads)
}

impl Trainer {
    /// Creates a trainer. The model takes over the pipeline of the settings and the class names of the
    /// training set. `Training::default()` has the pipeline of the library's defaults, which replaces that of
    /// a pretrained model; [`Training::fine_tuning`] has the model's.
    pub fn new(
        model: &mut Model,
        training: &Dataset,
        validation: Option<&Dataset>,
        settings: &Training,
    ) -> Result<Self> {
        let trainer = Some(settings.trainer.to_raw()?);
        let optimizer = Some(settings.optimizer.to_raw()?);
        let pipeline = Some(settings.pipeline.to_raw()?);
        let context = model.context().clone();
        let other = validation.map_or(ptr::null_mut(), Dataset::raw);
        let _locks = model.0.lock.write_with(read_locks(training, validation))?;
        // SAFETY: the handles are alive, the trainer keeps them so, and the structs are complete.
        let raw = create(|out, err| unsafe {
            sys::svit_trainer_create(
                out,
                context.raw(),
                model.raw(),
                training.raw(),
                other,
                pointer(&trainer),
                pointer(&optimizer),
                pointer(&pipeline),
                err,
            )
        })?;
        Ok(Trainer {
            raw,
            loss: None,
            model: model.0.clone(),
            training: training.clone(),
            validation: validation.cloned(),
            has_folder: settings.trainer.folder.is_some(),
            _context: context,
        })
    }

    /// The locks of a call that changes the model and reads the data sets.
    fn locks(&self) -> Result<Guards<'_>> {
        self.model.lock.write_with(read_locks(&self.training, self.validation.as_ref()))
    }

    /// Runs the training to its end and calls a function after each event. If it breaks, a checkpoint is
    /// written and the run stops. It may read the model. A checkpoint is written, too, before
    /// `Status::Stopped` of the context's stop function, or of a loss, is returned. If that checkpoint fails,
    /// the text of the error that is returned says so.
    pub fn run(&mut self, mut function: impl FnMut(&Event) -> ControlFlow<()>) -> Result<Run> {
        loop {
            let event = match self.step() {
                Err(error) if error.status() == Status::Stopped && self.has_folder => {
                    return Err(match self.checkpoint() {
                        Ok(()) => error,
                        Err(failure) => error.beside(&failure, "no checkpoint after it"),
                    });
                }
                other => other?,
            };
            let stops = function(&event).is_break();
            if stops && self.has_folder {
                self.checkpoint()?;
            }
            if event.kind == EventKind::Finished {
                return Ok(Run::Finished);
            }
            if stops {
                return Ok(Run::Stopped);
            }
        }
    }

    /// Runs the training to its end.
    pub fn fit(&mut self) -> Result<()> {
        self.run(|_| ControlFlow::Continue(())).map(|_| ())
    }

    /// Works up to the next event. After `EventKind::Finished` it returns this event again. Calls of other
    /// threads that read the model wait for it, also for the validation and the checkpoint that end an epoch.
    pub fn step(&mut self) -> Result<Event> {
        let _locks = self.locks()?;
        let raw = try_filled(|event, size, err| {
            // SAFETY: the handle is alive, and the struct has the size that is passed.
            unsafe { sys::svit_trainer_step(self.raw.get(), event, size, err) }
        })?;
        Event::from_raw(&raw)
    }

    /// Restores the run of the folder. It comes before the first step; the training then continues with the
    /// same bits.
    pub fn resume(&mut self) -> Result<()> {
        let _locks = self.locks()?;
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_trainer_resume(self.raw.get(), err) })
    }

    /// Writes a checkpoint to the folder.
    pub fn checkpoint(&mut self) -> Result<()> {
        let _locks = self.locks()?;
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_trainer_checkpoint(self.raw.get(), err) })
    }

    /// Lets the trainer minimise a function, which returns the mean loss and writes its gradient. Its error
    /// fails the step, with `Status::Stopped` and that error as the source, or with the status of an
    /// [`Error`](crate::Error); a panic goes on there.
    ///
    /// The running step uses the model and the data sets of the trainer, so the function cannot:
    /// `Status::State`. It must not hand such work to another thread and join it, which would wait for ever.
    pub fn set_loss<F, E>(&mut self, mut function: F) -> Result<()>
    where
        F: FnMut(LossCall<'_>) -> Result<f32, E> + Send + 'static,
        E: Into<BoxError>,
    {
        let function: LossFunction = Box::new(move |call| function(call).map_err(Into::into));
        let function = Pinned::new(function);
        // SAFETY: the handle is alive, and the function stays until another one is set or the trainer ends.
        call(|err| unsafe {
            let (raw, user) = (self.raw.get(), function.get().cast());
            sys::svit_trainer_set_loss(raw, Some(loss_function::call_loss), user, err)
        })?;
        self.loss = Some(function);
        Ok(())
    }

    /// Lets the trainer minimise the loss of its configuration again.
    pub fn reset_loss(&mut self) -> Result<()> {
        // SAFETY: the handle is alive.
        call(|err| unsafe {
            sys::svit_trainer_set_loss(self.raw.get(), None, ptr::null_mut(), err)
        })?;
        self.loss = None;
        Ok(())
    }

    /// The settings of the optimiser, which may change between steps.
    pub fn optimizer(&mut self) -> OptimizerSettings<'_> {
        // SAFETY: the handle is alive; the optimiser lives until a resume, which needs `self`.
        let raw = unsafe { sys::svit_trainer_optimizer(self.raw.get()) };
        OptimizerSettings { raw, model: self.model.clone(), _owner: PhantomData }
    }

    /// The completed epochs, those before a resume included.
    pub fn history(&self) -> Result<Vec<Event>> {
        // SAFETY: the handle is alive.
        let count = unsafe { sys::svit_trainer_history_count(self.raw.get()) };
        let read = |index| {
            let raw = try_filled(|event, size, err| {
                // SAFETY: the handle is alive, and the struct has the size that is passed.
                unsafe { sys::svit_trainer_history(self.raw.get(), index, event, size, err) }
            })?;
            Event::from_raw(&raw)
        };
        (0..count).map(read).collect()
    }
}
