//! Loaders: shuffled and augmented batches of a data set.

use crate::call::{call, create, Handle};
use crate::config::{LoaderConfig, PipelineConfig};
use crate::dataset::{Dataset, ImageShape};
use crate::error::{Error, Result, Status};
use crate::lock::reader;
use crate::text;
use shiftvit_sys as sys;

/// Reads a data set batch by batch, epoch after epoch. It may move between threads, and one at a time
/// uses it.
pub struct Loader {
    pub(crate) raw: Handle<sys::svit_loader>,
    dataset: Dataset,
    batch: usize,
    /// Batches of the epoch so far. Only they tell where it ends, since a rank's batch may be empty.
    position: u64,
}

// SAFETY: docs/threading.md: a loader belongs to no thread; without Sync one thread at a time uses it.
unsafe impl Send for Loader {}

/// What a loss compares logits with.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Target<'a> {
    /// A label for each sample.
    Labels(&'a [i32]),
    /// Numbers for each sample, `[n, classes]`.
    Targets(&'a [f32]),
}

/// The arrays of a batch, which a loader fills again and again.
#[derive(Clone, Debug)]
pub struct Batch {
    images: Vec<f32>,
    labels: Vec<i32>,
    targets: Vec<f32>,
    image: usize,
    classes: usize,
    count: usize,
}

impl Batch {
    /// The number of samples.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True before the first batch, at the end of an epoch, and for a batch of which the rank has no sample.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The images `[n, height, width, channels]`.
    pub fn images(&self) -> &[f32] {
        &self.images[..self.count * self.image]
    }

    /// The images, to be changed in place.
    pub fn images_mut(&mut self) -> &mut [f32] {
        &mut self.images[..self.count * self.image]
    }

    /// The labels `[n]`; empty if the batch has targets.
    pub fn labels(&self) -> &[i32] {
        &self.labels[..self.count.min(self.labels.len())]
    }

    /// The targets `[n, classes]`; empty if the batch has labels.
    pub fn targets(&self) -> &[f32] {
        &self.targets[..(self.count * self.classes).min(self.targets.len())]
    }

    /// The labels, or the targets if it has these.
    pub fn target(&self) -> Target<'_> {
        if self.targets.is_empty() {
            Target::Labels(self.labels())
        } else {
            Target::Targets(self.targets())
        }
    }
}

impl Loader {
    /// A loader that stands before the first batch.
    pub fn new(
        dataset: &Dataset,
        pipeline: &PipelineConfig,
        config: &LoaderConfig,
    ) -> Result<Self> {
        let (pipeline, prepared) = (pipeline.to_raw()?, config.to_raw()?);
        // SAFETY: the data set is alive, the loader keeps it so, and the structs are complete.
        let raw = create(|out, err| unsafe {
            sys::svit_loader_create(out, dataset.raw(), &pipeline.raw, &prepared.raw, err)
        })?;
        Ok(Loader { raw, dataset: dataset.clone(), batch: config.batch as usize, position: 0 })
    }

    /// The shape of an image in a batch.
    pub fn shape(&self) -> ImageShape {
        // SAFETY: the handle is alive.
        unsafe {
            ImageShape {
                height: sys::svit_loader_height(self.raw.get()),
                width: sys::svit_loader_width(self.raw.get()),
                channels: self.dataset.shape().channels,
            }
        }
    }

    /// The number of batches in an epoch.
    pub fn batches(&self) -> u64 {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_loader_batches(self.raw.get()) }
    }

    /// True if batches have targets, because the data set has them or the pipeline mixes images.
    pub fn has_targets(&self) -> bool {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_loader_has_targets(self.raw.get()) != 0 }
    }

    /// Arrays for [`next`](Self::next_batch), with labels or with targets as the loader has them.
    pub fn new_batch(&self) -> Result<Batch> {
        self.arrays(self.has_targets())
    }

    /// Arrays with targets, which every loader can fill: 1 for the label and 0 for the other classes.
    pub fn new_batch_with_targets(&self) -> Result<Batch> {
        self.arrays(true)
    }

    fn arrays(&self, with_targets: bool) -> Result<Batch> {
        let ImageShape { height, width, channels } = self.shape();
        let image = text::product("an image", &[height, width, channels])?;
        let classes = self.dataset.classes();
        let (labels, targets) = if with_targets { (0, self.batch) } else { (self.batch, 0) };
        Ok(Batch {
            images: text::zeros("a batch", &[self.batch, image])?,
            labels: text::zeros("labels", &[labels])?,
            targets: text::zeros("targets", &[targets, classes])?,
            image,
            classes,
            count: 0,
        })
    }

    /// Fills the arrays with the next batch. False at the end of an epoch; the call after it starts the next. With
    /// several ranks the batch has the samples of the rank, which may be none.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<bool> {
        let own = self.arrays_fit(batch)?;
        batch.count = 0;
        let mut count = 0;
        let _reader = reader(&self.dataset.0.reads)?;
        let images = batch.images.as_mut_ptr();
        // SAFETY: the handle is alive, and the arrays have room for a whole batch.
        call(|err| unsafe {
            let raw = self.raw.get();
            if own {
                sys::svit_loader_next_targets(
                    raw,
                    images,
                    batch.targets.as_mut_ptr(),
                    &mut count,
                    err,
                )
            } else {
                sys::svit_loader_next(raw, images, batch.labels.as_mut_ptr(), &mut count, err)
            }
        })?;
        batch.count = count;
        let ends = self.position == self.batches();
        self.position = if ends { 0 } else { self.position + 1 };
        Ok(!ends)
    }

    /// Fails for arrays of another loader; true if they have targets.
    fn arrays_fit(&self, batch: &Batch) -> Result<bool> {
        let ImageShape { height, width, channels } = self.shape();
        let with_targets = batch.labels.is_empty();
        let fits = batch.image == height * width * channels
            && batch.classes == self.dataset.classes()
            && batch.images.len() == self.batch * batch.image
            && (with_targets || batch.labels.len() == self.batch);
        if !fits {
            return Err(Error::new(Status::Argument, "the batch has the arrays of another loader"));
        }
        Ok(with_targets)
    }

    /// Moves before a batch of an epoch, both from 0.
    pub fn seek(&mut self, epoch: u64, batch: u64) -> Result<()> {
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_loader_seek(self.raw.get(), epoch, batch, err) })?;
        self.position = batch;
        Ok(())
    }
}
