//! The settings of a training, and evaluation.

use crate::call::call;
use crate::config::{OptimizerConfig, PipelineConfig, TrainerConfig};
use crate::dataset::Dataset;
use crate::enums::{Compute, Tta};
use crate::error::Result;
use crate::model::Model;
use crate::text;
use shiftvit_sys as sys;
use std::mem::size_of;
use std::ptr;

/// The three configurations of a training.
///
/// [`Trainer::new`](crate::Trainer::new) gives the model the pipeline of these settings. The default is that
/// of the library, whatever pipeline the model has: for a pretrained model begin with
/// [`fine_tuning`](Self::fine_tuning), or set `pipeline` to [`Model::pipeline`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Training {
    /// Epochs, batch, early stopping, folder.
    pub trainer: TrainerConfig,
    /// The update rule and the learning rate.
    pub optimizer: OptimizerConfig,
    /// Preprocessing and augmentation.
    pub pipeline: PipelineConfig,
}

impl Training {
    /// The settings of the example or paper that a model preset comes from.
    pub fn preset(name: &str) -> Result<Self> {
        let name = text::text("preset", name)?;
        Self::filled(|trainer, optimizer, pipeline, err| {
            let sizes = Self::SIZES;
            let name = name.as_ptr();
            // SAFETY: each struct has the size that is passed, and the text ends with a NUL.
            unsafe {
                sys::svit_training_preset(
                    name, trainer, sizes[0], optimizer, sizes[1], pipeline, sizes[2], err,
                )
            }
        })
    }

    /// The settings for the fine-tuning of a model, which has the head for their classes, on `images` images.
    pub fn fine_tuning(model: &Model, images: usize) -> Result<Self> {
        let _reader = model.0.lock.read()?;
        Self::filled(|trainer, optimizer, pipeline, err| {
            let sizes = Self::SIZES;
            let (model, images) = (model.raw(), images as u64);
            // SAFETY: each struct has the size that is passed, and the handle is alive.
            unsafe {
                sys::svit_fine_tuning_settings(
                    model, images, trainer, sizes[0], optimizer, sizes[1], pipeline, sizes[2], err,
                )
            }
        })
    }

    const SIZES: [usize; 3] = [
        size_of::<sys::svit_trainer_config>(),
        size_of::<sys::svit_optimizer_config>(),
        size_of::<sys::svit_pipeline_config>(),
    ];

    /// What a function of C fills.
    fn filled(
        fill: impl FnOnce(
            &mut sys::svit_trainer_config,
            &mut sys::svit_optimizer_config,
            &mut sys::svit_pipeline_config,
            *mut sys::svit_error,
        ) -> i32,
    ) -> Result<Self> {
        let mut trainer = crate::field::defaults(sys::svit_trainer_config_init);
        let mut optimizer = crate::field::defaults(sys::svit_optimizer_config_init);
        let mut pipeline = crate::field::defaults(sys::svit_pipeline_config_init);
        call(|err| fill(&mut trainer, &mut optimizer, &mut pipeline, err))?;
        Ok(Training {
            trainer: TrainerConfig::from_raw(&trainer)?,
            optimizer: OptimizerConfig::from_raw(&optimizer)?,
            pipeline: PipelineConfig::from_raw(&pipeline)?,
        })
    }

    /// Sets the settings that a JSON object has; the others stay, and on failure all of them.
    pub fn set_json(&mut self, json: &str) -> Result<()> {
        let json = text::text("json", json)?;
        let mut trainer = self.trainer.to_raw()?;
        let mut optimizer = self.optimizer.to_raw()?;
        let mut pipeline = self.pipeline.to_raw()?;
        // SAFETY: the structs are complete, and the text ends with a NUL.
        call(|err| unsafe {
            let (trainer, optimizer) = (&mut trainer.raw, &mut optimizer.raw);
            let json = json.as_ptr();
            sys::svit_training_from_json(trainer, optimizer, &mut pipeline.raw, json, err)
        })?;
        // All three are converted before any of them changes.
        let trainer = TrainerConfig::from_raw(&trainer.raw)?;
        let optimizer = OptimizerConfig::from_raw(&optimizer.raw)?;
        let pipeline = PipelineConfig::from_raw(&pipeline.raw)?;
        let (folder, description) = (self.trainer.folder.take(), self.trainer.description.take());
        self.trainer = TrainerConfig { folder, description, ..trainer };
        self.optimizer = optimizer;
        self.pipeline = pipeline;
        Ok(())
    }

    /// The JSON object that [`set_json`](Self::set_json) reads, without what belongs to one run.
    pub fn to_json(&self) -> Result<String> {
        let (trainer, optimizer) = (self.trainer.to_raw()?, self.optimizer.to_raw()?);
        let pipeline = self.pipeline.to_raw()?;
        text::written(|buffer, capacity, needed, err| {
            let (trainer, optimizer) = (&trainer.raw, &optimizer.raw);
            let pipeline = &pipeline.raw;
            // SAFETY: the structs are complete, and the buffer has the capacity that is passed.
            unsafe {
                sys::svit_training_to_json(
                    trainer, optimizer, pipeline, buffer, capacity, needed, err,
                )
            }
        })
    }
}

/// How a model does on a data set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Evaluated {
    /// The mean cross-entropy.
    pub loss: f64,
    /// The fraction of samples whose label has the largest logit.
    pub top1: f64,
    /// The fraction of samples whose label has one of the five largest logits.
    pub top5: f64,
}

impl Model {
    /// Evaluates the model on a data set, `batch` samples at a time, with the evaluation of a pipeline.
    pub fn evaluate(
        &self,
        dataset: &Dataset,
        pipeline: &PipelineConfig,
        batch: usize,
        compute: Compute,
    ) -> Result<Evaluated> {
        let prepared = pipeline.to_raw()?;
        let mut found = Evaluated::default();
        let _readers = self.0.lock.read_with([&dataset.0.reads])?;
        // SAFETY: the handles are alive, and the struct is complete.
        call(|err| unsafe {
            let (context, model, compute) = (self.context().raw(), self.raw(), compute.raw());
            let Evaluated { loss, top1, top5 } = &mut found;
            let (dataset, pipeline) = (dataset.raw(), &prepared.raw);
            sys::svit_evaluate_with_compute(
                context, model, dataset, pipeline, batch, compute, loss, top1, top5, err,
            )
        })?;
        Ok(found)
    }

    /// The logits of every sample of a data set, `[count, classes]`, and the labels, -1 if it has targets. The
    /// classes of the data set are those of the model.
    pub fn logits(
        &self,
        dataset: &Dataset,
        pipeline: &PipelineConfig,
        batch: usize,
        compute: Compute,
        tta: Tta,
    ) -> Result<(Vec<f32>, Vec<i32>)> {
        let mut labels = text::zeros("labels", &[dataset.len()])?;
        let place = Some(&mut labels[..]);
        let logits = self.evaluate_logits(dataset, pipeline, batch, compute, tta, place)?;
        Ok((logits, labels))
    }

    /// The logits alone, also of a data set with labels of other classes than the model's.
    pub fn logits_only(
        &self,
        dataset: &Dataset,
        pipeline: &PipelineConfig,
        batch: usize,
        compute: Compute,
        tta: Tta,
    ) -> Result<Vec<f32>> {
        self.evaluate_logits(dataset, pipeline, batch, compute, tta, None)
    }

    /// The logits, and the labels if there is an array of one for each sample.
    fn evaluate_logits(
        &self,
        dataset: &Dataset,
        pipeline: &PipelineConfig,
        batch: usize,
        compute: Compute,
        tta: Tta,
        labels: Option<&mut [i32]>,
    ) -> Result<Vec<f32>> {
        let prepared = pipeline.to_raw()?;
        let mut logits = text::zeros("logits", &[dataset.len(), self.num_classes()?])?;
        let _readers = self.0.lock.read_with([&dataset.0.reads])?;
        // SAFETY: the handles are alive, the struct is complete, and the arrays have a row for each sample.
        call(|err| unsafe {
            let (context, model) = (self.context().raw(), self.raw());
            let (dataset, pipeline) = (dataset.raw(), &prepared.raw);
            let (compute, tta) = (compute.raw(), tta.raw());
            let (logits, labels) =
                (logits.as_mut_ptr(), labels.map_or(ptr::null_mut(), |labels| labels.as_mut_ptr()));
            sys::svit_evaluate_logits(
                context, model, dataset, pipeline, batch, compute, tta, logits, labels, err,
            )
        })?;
        Ok(logits)
    }
}
