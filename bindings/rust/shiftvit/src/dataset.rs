//! Data sets: numbered images with labels or targets.

mod custom;
mod memory;

pub use custom::{Answers, Element};

use crate::call::{call, create, Handle, Pinned};
use crate::config::PipelineConfig;
use crate::context::Context;
use crate::enums::{Cifar100Labels, Source, Split};
use crate::error::{Error, Result, Status};
use crate::lock::{reader, ReadLocks};
use crate::samples::{BadSample, SampleFunction};
use crate::text;
use shiftvit_sys as sys;
use std::os::raw::c_void;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, Mutex};

/// What a data set reads from, which lives as long as the data set and all that was created from it.
#[allow(dead_code)] // The memory is read by the library.
enum Owner {
    Library,
    Bytes(Vec<u8>, Vec<i32>),
    BytesWithTargets(Vec<u8>, Vec<f32>),
    Floats(Vec<f32>, Vec<i32>),
    FloatsWithTargets(Vec<f32>, Vec<f32>),
    Function(Pinned<SampleFunction>),
    Parents(Vec<Arc<DatasetInner>>),
}

pub(crate) struct DatasetInner {
    // Is dropped first: after it nothing reads the owner's memory any more.
    raw: Handle<sys::svit_dataset>,
    pub(crate) reads: ReadLocks,
    _owner: Owner,
    context: Context,
}

// SAFETY: docs/threading.md: any number of readers; for samples of a callback `reads` lets one in.
unsafe impl Send for DatasetInner {}
// SAFETY: as above. The function of a callback is called by the thread that holds `reads` alone.
unsafe impl Sync for DatasetInner {}

impl DatasetInner {
    pub(crate) fn raw(&self) -> *mut sys::svit_dataset {
        self.raw.get()
    }
}

/// Images of one size with labels, or with targets, which are numbers. Clones are the same data set.
///
/// Any number of threads may read it. One whose samples come from a function lets one call in at a time.
#[derive(Clone)]
pub struct Dataset(pub(crate) Arc<DatasetInner>);

/// The parts of a data set that [`Dataset::split`] makes; `None` has no samples.
#[derive(Clone, Debug)]
pub struct Splits {
    /// The samples to train.
    pub train: Dataset,
    /// The samples to validate.
    pub validation: Option<Dataset>,
    /// The samples to test.
    pub test: Option<Dataset>,
}

/// The shape of the images of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// Pixels.
    pub height: usize,
    /// Pixels.
    pub width: usize,
    /// 1 to 1024: 1 grey, 3 RGB, 4 RGBA of files.
    pub channels: usize,
}

impl ImageShape {
    /// A shape.
    pub fn new(height: usize, width: usize, channels: usize) -> Self {
        ImageShape { height, width, channels }
    }

    fn of(self, count: usize) -> [usize; 4] {
        [count, self.height, self.width, self.channels]
    }
}

impl Dataset {
    fn adopt(context: &Context, raw: Handle<sys::svit_dataset>, owner: Owner) -> Self {
        let reads = match &owner {
            Owner::Function(_) => vec![Arc::new(Mutex::new(()))],
            Owner::Parents(sets) => sets.iter().flat_map(|set| set.reads.iter().cloned()).collect(),
            _ => Vec::new(),
        };
        Dataset(Arc::new(DatasetInner { raw, reads, _owner: owner, context: context.clone() }))
    }

    /// `count` synthetic images of shapes and textures, 32 x 32 pixels, in 10 classes.
    pub fn synthetic(context: &Context, seed: u64, split: Split, count: usize) -> Result<Self> {
        // SAFETY: the context is alive.
        let raw = create(|out, err| unsafe {
            sys::svit_dataset_synthetic(out, context.raw(), seed, split.raw(), count, err)
        })?;
        Ok(Dataset::adopt(context, raw, Owner::Library))
    }

    /// CIFAR-10 from the official binary files in a folder.
    pub fn cifar10(context: &Context, folder: impl AsRef<Path>, split: Split) -> Result<Self> {
        let folder = text::path(folder.as_ref())?;
        // SAFETY: the context is alive, and the text ends with a NUL.
        let raw = create(|out, err| unsafe {
            sys::svit_dataset_cifar10(out, context.raw(), folder.as_ptr(), split.raw(), err)
        })?;
        Ok(Dataset::adopt(context, raw, Owner::Library))
    }

    /// CIFAR-100 from the official binary files in a folder.
    pub fn cifar100(
        context: &Context,
        folder: impl AsRef<Path>,
        split: Split,
        labels: Cifar100Labels,
    ) -> Result<Self> {
        let folder = text::path(folder.as_ref())?;
        let (split, labels) = (split.raw(), labels.raw());
        // SAFETY: the context is alive, and the text ends with a NUL.
        let raw = create(|out, err| unsafe {
            sys::svit_dataset_cifar100(out, context.raw(), folder.as_ptr(), split, labels, err)
        })?;
        Ok(Dataset::adopt(context, raw, Owner::Library))
    }

    /// A folder with a subfolder of JPEG, PNG and WebP files for each class.
    pub fn folder(
        context: &Context,
        folder: impl AsRef<Path>,
        shape: ImageShape,
        filter: Source,
    ) -> Result<Self> {
        let folder = text::path(folder.as_ref())?;
        let ImageShape { height, width, channels } = shape;
        // SAFETY: the context is alive, and the text ends with a NUL.
        let raw = create(|out, err| unsafe {
            let (context, folder) = (context.raw(), folder.as_ptr());
            let filter = filter.raw();
            sys::svit_dataset_folder(out, context, folder, height, width, channels, filter, err)
        })?;
        Ok(Dataset::adopt(context, raw, Owner::Library))
    }

    /// A folder whose images are brought to the source size of a pipeline by its source step.
    pub fn folder_for_pipeline(
        context: &Context,
        folder: impl AsRef<Path>,
        pipeline: &PipelineConfig,
    ) -> Result<Self> {
        let (folder, prepared) = (text::path(folder.as_ref())?, pipeline.to_raw()?);
        // SAFETY: the context is alive, the struct is complete, and the text ends with a NUL.
        let raw = create(|out, err| unsafe {
            let (context, folder) = (context.raw(), folder.as_ptr());
            sys::svit_dataset_folder_pipeline(out, context, folder, &prepared.raw, err)
        })?;
        Ok(Dataset::adopt(context, raw, Owner::Library))
    }

    /// The image files that a CSV file lists, with a label or with targets.
    pub fn csv(
        context: &Context,
        file: impl AsRef<Path>,
        pipeline: &PipelineConfig,
    ) -> Result<Self> {
        let (file, prepared) = (text::path(file.as_ref())?, pipeline.to_raw()?);
        // SAFETY: the context is alive, the struct is complete, and the text ends with a NUL.
        let raw = create(|out, err| unsafe {
            sys::svit_dataset_list(out, context.raw(), file.as_ptr(), &prepared.raw, err)
        })?;
        Ok(Dataset::adopt(context, raw, Owner::Library))
    }

    /// The images of WebDataset's shards: tar archives `train-{000..127}.tar` or `train-*.tar`.
    pub fn shards(
        context: &Context,
        pattern: impl AsRef<Path>,
        pipeline: &PipelineConfig,
    ) -> Result<Self> {
        let (pattern, prepared) = (text::path(pattern.as_ref())?, pipeline.to_raw()?);
        // SAFETY: the context is alive, the struct is complete, and the text ends with a NUL.
        let raw = create(|out, err| unsafe {
            sys::svit_dataset_shards(out, context.raw(), pattern.as_ptr(), &prepared.raw, err)
        })?;
        Ok(Dataset::adopt(context, raw, Owner::Library))
    }

    /// A view of `count` samples from `first` on.
    pub fn slice(&self, first: usize, count: usize) -> Result<Self> {
        // SAFETY: the handle is alive, and the view keeps it so.
        let raw = create(|out, err| unsafe {
            sys::svit_dataset_slice(out, self.raw(), first, count, err)
        })?;
        Ok(Dataset::adopt(&self.0.context, raw, Owner::Parents(vec![self.0.clone()])))
    }

    /// A view of the samples of these indices.
    pub fn select(&self, indices: &[usize]) -> Result<Self> {
        // SAFETY: the handle is alive, the view keeps it so, and the array has the length that is passed.
        let raw = create(|out, err| unsafe {
            sys::svit_dataset_select(out, self.raw(), indices.as_ptr(), indices.len(), err)
        })?;
        Ok(Dataset::adopt(&self.0.context, raw, Owner::Parents(vec![self.0.clone()])))
    }

    /// A view whose classes are these names: a label becomes that of the same name, so that a test set
    /// which lacks some classes of the training set gets the labels of the training set.
    pub fn match_classes(&self, names: &[impl AsRef<str>]) -> Result<Self> {
        let texts = text::texts("a class name", names)?;
        let names = text::pointers(&texts);
        // SAFETY: the handle is alive, the view keeps it so, and the array has the length that is passed.
        let raw = create(|out, err| unsafe {
            let (parent, names, count) = (self.raw(), names.as_ptr(), names.len());
            sys::svit_dataset_match_classes(out, parent, names, count, err)
        })?;
        Ok(Dataset::adopt(&self.0.context, raw, Owner::Parents(vec![self.0.clone()])))
    }

    /// Divides the samples at random into those to train, to validate and to test. `validation` and `test` are
    /// fractions; each class gives its share, and keeps at least one sample to train.
    pub fn split(&self, validation: f64, test: f64, seed: u64) -> Result<Splits> {
        let mut made = [ptr::null_mut(); 3];
        let _reader = reader(&self.0.reads)?;
        // SAFETY: the handle is alive, the views keep it so, and the array has room for three.
        call(|err| unsafe {
            let out = made.as_mut_ptr();
            sys::svit_dataset_split(out, self.raw(), validation, test, seed, err)
        })?;
        let take = |split: i32| {
            let raw = made[split as usize];
            // SAFETY: the library has made the handle, and nobody else frees it.
            let handle = (!raw.is_null()).then(|| unsafe { Handle::from_raw(raw) });
            let owner = || Owner::Parents(vec![self.0.clone()]);
            handle.map(|raw| Dataset::adopt(&self.0.context, raw, owner()))
        };
        let train =
            take(sys::SVIT_SPLIT_TRAIN).ok_or_else(|| Error::argument("no samples train"))?;
        let (validation, test) = (take(sys::SVIT_SPLIT_VALIDATION), take(sys::SVIT_SPLIT_TEST));
        Ok(Splits { train, validation, test })
    }

    /// The samples of the first data set, then those of the second, and so on. Shapes and kinds of images are
    /// the same, and all have labels, or targets of the same names. Classes are matched by their names:
    /// those that the first data set lacks follow its own.
    pub fn concatenate(sets: &[&Dataset]) -> Result<Self> {
        let first = sets.first().ok_or_else(|| {
            Error::new(Status::Argument, "no data sets are given; one or more are needed")
        })?;
        let parents: Vec<*mut _> = sets.iter().map(|set| set.raw()).collect();
        // SAFETY: the handles are alive, and the array has the length that is passed.
        let raw = create(|out, err| unsafe {
            sys::svit_dataset_concatenate(out, parents.as_ptr(), parents.len(), err)
        })?;
        let owners = sets.iter().map(|set| set.0.clone()).collect();
        Ok(Dataset::adopt(&first.0.context, raw, Owner::Parents(owners)))
    }

    /// The path of a sample; `None` if the samples are no files.
    pub fn path(&self, index: usize) -> Result<Option<PathBuf>> {
        let bytes = text::written_bytes(|buffer, capacity, needed, err| {
            // SAFETY: the handle is alive, and the buffer has the capacity that is passed.
            unsafe { sys::svit_dataset_path(self.raw(), index, buffer, capacity, needed, err) }
        })?;
        Some(bytes).filter(|bytes| !bytes.is_empty()).map(text::path_of).transpose()
    }

    pub(crate) fn raw(&self) -> *mut sys::svit_dataset {
        self.0.raw()
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_dataset_count(self.raw()) }
    }

    /// True if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shape of the images.
    pub fn shape(&self) -> ImageShape {
        // SAFETY: the handle is alive.
        unsafe {
            ImageShape {
                height: sys::svit_dataset_height(self.raw()),
                width: sys::svit_dataset_width(self.raw()),
                channels: sys::svit_dataset_channels(self.raw()),
            }
        }
    }

    /// The number of classes, or of targets.
    pub fn classes(&self) -> usize {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_dataset_classes(self.raw()) }
    }

    /// The names of the classes or targets; empty if there are none.
    pub fn class_names(&self) -> Vec<String> {
        // SAFETY: the handle is alive, and its class names never change.
        unsafe { text::all(|label| sys::svit_dataset_class_name(self.raw(), label)) }
    }

    /// True if the images are floats.
    pub fn is_f32(&self) -> bool {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_dataset_is_f32(self.raw()) != 0 }
    }

    /// True if the samples have targets instead of labels.
    pub fn has_targets(&self) -> bool {
        // SAFETY: the handle is alive.
        unsafe { sys::svit_dataset_has_targets(self.raw()) != 0 }
    }

    /// Reads a sample: its pixels and its label, -1 if the data set has targets.
    pub fn sample(&self, index: usize) -> Result<(Vec<u8>, i32)> {
        let ImageShape { height, width, channels } = self.shape();
        let mut pixels = text::zeros("a sample", &[height, width, channels])?;
        let mut label = 0;
        let _reader = reader(&self.0.reads)?;
        // SAFETY: the handle is alive, and the array has the size of a sample.
        call(|err| unsafe {
            sys::svit_dataset_sample(self.raw(), index, pixels.as_mut_ptr(), &mut label, err)
        })?;
        Ok((pixels, label))
    }

    /// Reads a sample as floats, bytes as 0..255.
    pub fn sample_f32(&self, index: usize) -> Result<(Vec<f32>, i32)> {
        let ImageShape { height, width, channels } = self.shape();
        let mut image = text::zeros("a sample", &[height, width, channels])?;
        let mut label = 0;
        let _reader = reader(&self.0.reads)?;
        // SAFETY: the handle is alive, and the array has the size of a sample.
        call(|err| unsafe {
            sys::svit_dataset_sample_f32(self.raw(), index, image.as_mut_ptr(), &mut label, err)
        })?;
        Ok((image, label))
    }

    /// The label of a sample, -1 if the data set has targets.
    pub fn label(&self, index: usize) -> Result<i32> {
        let mut label = 0;
        let _reader = reader(&self.0.reads)?;
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_dataset_label(self.raw(), index, &mut label, err) })?;
        Ok(label)
    }

    /// The targets of a sample: its numbers, or 1 for its label and 0 for the other classes.
    pub fn targets(&self, index: usize) -> Result<Vec<f32>> {
        let mut targets = text::zeros("targets", &[self.classes()])?;
        let _reader = reader(&self.0.reads)?;
        // SAFETY: the handle is alive, and the array has an element for each class.
        call(|err| unsafe {
            sys::svit_dataset_targets(self.raw(), index, targets.as_mut_ptr(), err)
        })?;
        Ok(targets)
    }

    /// Reads every sample and returns those that cannot be read.
    pub fn verify(&self) -> Result<Vec<BadSample>> {
        let mut found: Vec<BadSample> = Vec::new();
        let user = (&mut found as *mut Vec<BadSample>).cast::<c_void>();
        let bad = Some(crate::samples::note_bad as _);
        let _reader = reader(&self.0.reads)?;
        // SAFETY: the handle is alive, and `user` is the vector that the callback gets.
        call(|err| unsafe {
            sys::svit_dataset_verify(self.raw(), bad, user, ptr::null_mut(), err)
        })?;
        Ok(found)
    }

    /// A fingerprint, by which a program notices that it was given another data set. The images of functions
    /// are not read for it.
    pub fn fingerprint(&self) -> Result<u64> {
        let mut fingerprint = 0;
        let _reader = reader(&self.0.reads)?;
        // SAFETY: the handle is alive.
        call(|err| unsafe { sys::svit_dataset_fingerprint(self.raw(), &mut fingerprint, err) })?;
        Ok(fingerprint)
    }

    /// The mean and the variance of `byte * scale` of each channel; above four channels one of each,
    /// of all values. Pipelines refuse the variance 0 of a channel that has one value; 1 in its
    /// place makes 0 of it.
    pub fn statistics(&self, scale: f64) -> Result<(Vec<f64>, Vec<f64>)> {
        let channels = self.shape().channels;
        let means = if channels <= sys::SVIT_MAX_CHANNELS as usize { channels } else { 1 };
        let (mut mean, mut variance) =
            (text::zeros("means", &[means])?, text::zeros("variances", &[means])?);
        let _reader = reader(&self.0.reads)?;
        // SAFETY: the handle is alive, and the arrays have an element for each channel, or the one
        // that is written for many.
        call(|err| unsafe {
            let (mean, variance) = (mean.as_mut_ptr(), variance.as_mut_ptr());
            sys::svit_dataset_statistics(self.raw(), scale, mean, variance, err)
        })?;
        Ok((mean, variance))
    }
}
