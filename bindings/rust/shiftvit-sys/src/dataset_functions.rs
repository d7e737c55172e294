//! The functions on what `dataset` declares.

// Written by bindings/rust/generate from the C headers.

use crate::context::*;
use crate::dataset::*;
use crate::pipeline::*;
use crate::status::*;
use std::os::raw::{c_char, c_void};

extern "C" {
    /// Reads CIFAR-10 (Krizhevsky 2009) from the official binary files in `folder`: data_batch_1.bin to
    /// data_batch_5.bin for SVIT_SPLIT_TRAIN or test_batch.bin for SVIT_SPLIT_TEST, and class names from
    /// batches.meta.txt if it exists. SVIT_E_IO names a missing file. SVIT_E_FORMAT names a file that is
    /// not a whole number of 3073-byte records, a record whose label is above 9, or names that are not
    /// ten different ones.
    pub fn svit_dataset_cifar10(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        folder: *const c_char,
        split: i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Reads CIFAR-100 (Krizhevsky 2009) from train.bin or test.bin, with 3074-byte records, as
    /// svit_dataset_cifar10 does. `labels` is one of SVIT_LABELS_\*.
    pub fn svit_dataset_cifar100(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        folder: *const c_char,
        split: i32,
        labels: i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Opens a folder of images. Each subfolder with at least one image is a class. Its images are the
    /// files in it, and in folders inside of it down to 32 below, whose names end as svit_image_endings
    /// says, in upper or lower case. Classes are in byte order of their names, and the images of a class
    /// in byte order of their paths from there. Symbolic links are followed, but a class reads each
    /// folder once and none that contains `folder`. Hidden files and folders are passed over: names that
    /// begin with a dot, Thumbs.db, ehthumbs.db, desktop.ini, __MACOSX, @eaDir.
    ///
    /// What else is left out is told to the context's log, in one warning for each reason with the
    /// number and the first path: files with other endings, images outside of the subfolders, links
    /// there that lead nowhere, subfolders without files, links to folders that were read, and folders
    /// too far below.
    ///
    /// Images are decoded to `channels`, as svit_image_read does, each time they are read, and brought
    /// to height x width pixels (1..16384) by the source step `filter`, one of SVIT_SOURCE_\* in
    /// pipeline.h. svit_dataset_verify finds the images that cannot be read. A relative path stays one
    /// from the working folder in which the dataset was created, wherever the program works later. The
    /// dataset holds the images' paths from the classes' folders, 10 to 30 bytes for each besides its
    /// characters, and while it is created at most 1 KiB, or 100 bytes for each folder of one class if
    /// that is more.
    ///
    /// SVIT_E_IO names a folder that cannot be listed. SVIT_E_FORMAT: there is no class; a subfolder has
    /// files but no image; there are more than 4294967295 images; or a class or image name is not UTF-8,
    /// whose bytes the message shows as \\xHH.
    pub fn svit_dataset_folder(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        folder: *const c_char,
        height: usize,
        width: usize,
        channels: usize,
        filter: i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Wraps the caller's arrays pixels\[count, height, width, channels\] and labels\[count\] without a
    /// copy. `channels` is 1..1024. The arrays must stay unchanged until the dataset and everything
    /// created from it are freed. SVIT_E_ARGUMENT names a label that is out of range.
    pub fn svit_dataset_memory(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        pixels: *const u8,
        labels: *const i32,
        count: usize,
        height: usize,
        width: usize,
        channels: usize,
        classes: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Opens a folder as svit_dataset_folder does, decodes images to the channels of the pipeline, and
    /// brings them to its source size by its source step. Where the pipeline's evaluation is
    /// SVIT_EVALUATE_CROP or SVIT_EVALUATE_CROP_FLOOR, the image is placed so that both crops together
    /// are one. SVIT_E_ARGUMENT names a field of the pipeline that is out of range.
    pub fn svit_dataset_folder_pipeline(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        folder: *const c_char,
        pipeline: *const svit_pipeline_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Opens a dataset of image files that a CSV file (RFC 4180, UTF-8, at most 1 GiB) lists. Lines end
    /// with LF, CR or both. The first line has the names of the columns, no two of which are equal.
    /// "path,label": the classes are the distinct labels in byte order. "path" and other names: each of
    /// these columns has the decimal numbers of one target, and the dataset has targets instead of
    /// labels. A path is relative to the folder of the CSV file. Images are read as those of
    /// svit_dataset_folder_pipeline, in whatever working folder the program is then.
    ///
    /// SVIT_E_IO: the file cannot be read. SVIT_E_FORMAT names the line or the image that is not
    /// accepted: other separators, other columns, an empty path or label, a text that is no number.
    pub fn svit_dataset_list(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        file: *const c_char,
        pipeline: *const svit_pipeline_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Opens a dataset of shards: tar archives (ustar, pax, GNU's long names) as WebDataset has them.
    /// `pattern` is a path with one range such as train-{000..127}.tar, or with \* and ? in the name of
    /// the file, where the shards are in byte order of their names, or the path of one shard. A brace
    /// that begins no range {DIGITS..DIGITS} is a character of the path.
    ///
    /// Members of an archive that follow each other and have the same key are a sample; the key is the
    /// path up to the first dot of the file's name. What follows that dot, in either case, says what a
    /// member is. The image is one of svit_image_endings, the first of them if there are several. The
    /// label is `cls`, a decimal number from 0 to 1048575, or, without it, the first of "label", "cls"
    /// and "class" in the object `json` that is a number or a name; the object may have what Python
    /// writes, such as NaN, and a number may be 2.0. Other members are passed over, as are files without
    /// a dot in their names or with one in front, and what is called __NAME__ at the top. Names become
    /// classes in byte order. For numbers classes.txt beside the first shard names the classes, one on
    /// each line, of which those at the end alone are empty. Without it classes have
    /// no names, and are as many as the largest number and one.
    ///
    /// The headers of a shard are read once. Where each image is, and its label, are kept in the file
    /// `SHARD.index` beside the shard, if that can be written, with the size and time of the shard; an
    /// index that is damaged or of another state of the shard is made anew, and a file of that name that
    /// is no index stays. A shard that ends without zeros, as one that is cut between two members, or
    /// with data behind them is a warning in the log, and has no index. The dataset holds 16 bytes for
    /// each sample. Files are opened when they are read, in whatever working folder the program is then,
    /// and at most 64 stay open. Images are read as those of svit_dataset_folder_pipeline;
    /// svit_dataset_path gives no paths.
    ///
    /// SVIT_E_ARGUMENT: the pattern has several ranges, or one that falls or has more than 1,000,000
    /// numbers. SVIT_E_IO: no file matches, or one cannot be read.
    /// SVIT_E_FORMAT names the shard and what is not accepted: the byte of a header or a member that is
    /// cut, or the key of a sample without image or label, with two members of one ending, or with a
    /// label of another kind than the samples before it. Later, when a shard has changed, its images are
    /// SVIT_E_FORMAT. SVIT_E_UNSUPPORTED: the build has no decoder of images.
    pub fn svit_dataset_shards(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        pattern: *const c_char,
        pipeline: *const svit_pipeline_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Wraps the caller's arrays pixels\[count, height, width, channels\] and targets\[count, columns\],
    /// finite numbers, as svit_dataset_memory does. SVIT_E_ARGUMENT names a target that is not
    /// finite.
    pub fn svit_dataset_memory_targets(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        pixels: *const u8,
        targets: *const f32,
        count: usize,
        height: usize,
        width: usize,
        channels: usize,
        columns: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Wraps the caller's arrays images\[count, height, width, channels\] of floats and either
    /// labels\[count\] or targets\[count, classes\], the other of which is NULL, as svit_dataset_memory
    /// does. The floats take the place of bytes in the pipeline: with scale 1/255, 255 is white. Steps
    /// of augmentation that work on bytes, and an antialiased source step, are refused by loaders with
    /// SVIT_E_UNSUPPORTED. SVIT_E_ARGUMENT names an image with a value that is not finite, or a label or
    /// target that is not accepted; loaders refuse large values, too, as
    /// svit_pipeline_apply_evaluation_f32 does.
    pub fn svit_dataset_memory_f32(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        images: *const f32,
        labels: *const i32,
        targets: *const f32,
        count: usize,
        height: usize,
        width: usize,
        channels: usize,
        classes: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a dataset whose samples, of 1..1024 channels, come from a callback, which gets `user`.
    /// Loaders do not prefetch from it, because the callback runs on the caller's thread only, once for
    /// each image and its label. svit_dataset_custom takes floats, targets, names and functions for any
    /// thread.
    pub fn svit_dataset_callback(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        sample: svit_sample_callback,
        count: usize,
        height: usize,
        width: usize,
        channels: usize,
        classes: usize,
        user: *mut c_void,
        err: *mut svit_error,
    ) -> svit_status;

    /// Fills `custom` with the defaults: RGB images of bytes, without functions and sizes. `size` is
    /// sizeof(svit_custom_dataset) as the caller was compiled. Any thread may call it.
    pub fn svit_custom_dataset_init(custom: *mut svit_custom_dataset, size: usize) -> svit_status;

    /// Creates a dataset of the caller's functions, none of which it calls. `label` and `targets` are
    /// called when a loader or a trainer is created, too. After a failure `release` has not been called.
    /// SVIT_E_ARGUMENT names the field.
    pub fn svit_dataset_custom(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        custom: *const svit_custom_dataset,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates `count` synthetic images of shapes and textures, 32 x 32 pixels in 10 classes. A sample
    /// depends on (seed, split, index) alone, and its label is index mod 10. `split` is one of
    /// SVIT_SPLIT_\*.
    pub fn svit_dataset_synthetic(
        out: *mut *mut svit_dataset,
        context: *mut svit_context,
        seed: u64,
        split: i32,
        count: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a view of the samples first..first+count-1 of `parent`, which it keeps alive.
    /// SVIT_E_ARGUMENT: the range leaves the parent.
    pub fn svit_dataset_slice(
        out: *mut *mut svit_dataset,
        parent: *mut svit_dataset,
        first: usize,
        count: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a view of the samples indices\[0..count-1\] of `parent`, which it keeps alive. The indices
    /// are copied. SVIT_E_ARGUMENT names an index that is out of range.
    pub fn svit_dataset_select(
        out: *mut *mut svit_dataset,
        parent: *mut svit_dataset,
        indices: *const usize,
        count: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Divides `parent` at random into three views, which keep it alive: splits\[SVIT_SPLIT_TRAIN\],
    /// splits\[SVIT_SPLIT_VALIDATION\] and splits\[SVIT_SPLIT_TEST\], which the caller owns; the last two
    /// are NULL if they have no samples. `validation` and `test` are fractions of the samples, 0 or more
    /// with a sum below 1. Each class gives its share of both, to the nearest whole number, but at least
    /// one sample, and keeps at least one to train; a class too small for that only trains. Targets, and
    /// classes that are all too small, are drawn without regard to classes, by the fractions of all
    /// samples, rounded down. The same `seed` gives the same splits on every machine, as long as the
    /// samples and their order stay the same. The samples of a split are in random order, or in that of
    /// `parent` if it has samples of shards. Only a dataset of a callback, or of custom functions
    /// without labels, reads images for it.
    ///
    /// SVIT_E_ARGUMENT: a fraction is out of range, or the samples are too few for one that is above 0.
    /// Other errors are those of svit_dataset_label. New in 0.4.
    pub fn svit_dataset_split(
        splits: *mut *mut svit_dataset,
        parent: *mut svit_dataset,
        validation: f64,
        test: f64,
        seed: u64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a view of `parent`, which it keeps alive, whose classes are names\[0..count-1\]: a label of
    /// `parent` becomes that of the same name. So a test set that lacks some classes of the training set
    /// gets the labels of the training set. The names are copied; those that `parent` lacks may be
    /// equal. SVIT_E_ARGUMENT: a class of `parent` is none of the names or two of them, two classes of
    /// `parent` are equal, or it has no names. A dataset with targets must have these names in this
    /// order.
    pub fn svit_dataset_match_classes(
        out: *mut *mut svit_dataset,
        parent: *mut svit_dataset,
        names: *const *const c_char,
        count: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a dataset of the samples of parents\[0\], then those of parents\[1\], and so on to
    /// parents\[count - 1\], all of which it keeps alive; `count` is 1 or more, and one dataset may occur
    /// twice. All have the same height, width and channels, images of bytes or of floats, and labels or
    /// targets. Classes are matched by their names, and those that parents\[0\] lacks follow its own in
    /// the order in which they come; unless all have the same names, those of each parent are distinct.
    /// If no parent has names, labels stay as they are, and the classes are as many as those of the
    /// parent that has most. Targets have the same names in the same order. If a parent has shards, each
    /// parent without them is one. If some parents are of image files and others are not, a first
    /// resized crop cuts from files what the source step has made of them. SVIT_E_ARGUMENT names what
    /// differs, and the parent. New in 0.4.
    pub fn svit_dataset_concatenate(
        out: *mut *mut svit_dataset,
        parents: *const *mut svit_dataset,
        count: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Drops the caller's reference to a dataset. NULL is allowed.
    pub fn svit_dataset_free(dataset: *mut svit_dataset);

    /// Returns the number of samples; 0 for NULL.
    pub fn svit_dataset_count(dataset: *const svit_dataset) -> usize;

    /// Returns the height of an image in pixels; 0 for NULL.
    pub fn svit_dataset_height(dataset: *const svit_dataset) -> usize;

    /// Returns the width of an image in pixels; 0 for NULL.
    pub fn svit_dataset_width(dataset: *const svit_dataset) -> usize;

    /// Returns the number of channels of an image; 0 for NULL.
    pub fn svit_dataset_channels(dataset: *const svit_dataset) -> usize;

    /// Returns 1 if images are float, otherwise 0; 0 for NULL.
    pub fn svit_dataset_is_f32(dataset: *const svit_dataset) -> i32;

    /// Returns 1 if samples have targets instead of labels, otherwise 0; 0 for NULL.
    pub fn svit_dataset_has_targets(dataset: *const svit_dataset) -> i32;

    /// Returns the number of classes, or of targets; 0 for NULL.
    pub fn svit_dataset_classes(dataset: *const svit_dataset) -> usize;

    /// Returns the name of class or target `label`, or NULL past the end or if the dataset has no names.
    /// The text is borrowed until the dataset is freed.
    pub fn svit_dataset_class_name(dataset: *const svit_dataset, label: usize) -> *const c_char;

    /// Writes the path of sample `index`: that of an image of a folder begins with the folder's, and
    /// that of a list is as svit_dataset_list finds it. A relative one is from the working folder in
    /// which the dataset was created. The text is empty if the samples are no files. `buffer`,
    /// `capacity` and `needed` are as in svit_context_describe.
    pub fn svit_dataset_path(
        dataset: *const svit_dataset,
        index: usize,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Reads sample `index` into pixels\[height, width, channels\] and \*label, -1 if the dataset has
    /// targets. SVIT_E_UNSUPPORTED: the images are float. SVIT_E_FORMAT or SVIT_E_IO names an image file
    /// that cannot be read; SVIT_E_ARGUMENT names an index, or a label from a callback, that is out of
    /// range; SVIT_E_STOPPED: the callback stopped.
    pub fn svit_dataset_sample(
        dataset: *const svit_dataset,
        index: usize,
        pixels: *mut u8,
        label: *mut i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Reads sample `index` of any dataset into image\[height, width, channels\], bytes as floats of
    /// 0\..255, as svit_dataset_sample does.
    pub fn svit_dataset_sample_f32(
        dataset: *const svit_dataset,
        index: usize,
        image: *mut f32,
        label: *mut i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the label of sample `index` to \*label, -1 if the dataset has targets. Only a dataset of a
    /// callback reads the image for it. Errors are those of svit_dataset_sample.
    pub fn svit_dataset_label(
        dataset: *const svit_dataset,
        index: usize,
        label: *mut i32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes targets\[classes\] of sample `index`: its numbers, or 1 for its label and 0 for the other
    /// classes. Errors are those of svit_dataset_sample.
    pub fn svit_dataset_targets(
        dataset: *const svit_dataset,
        index: usize,
        targets: *mut f32,
        err: *mut svit_error,
    ) -> svit_status;

    /// Reads every sample completely, with its label or targets, on the context's workers, and calls
    /// `bad` on the calling thread for each one that cannot be read, in the order of the indices. `bad`
    /// may be NULL. Writes the number of these samples to \*bad_count, which may be NULL.
    /// svit_dataset_select creates a dataset without them. Samples of a callback are read on the calling
    /// thread.
    ///
    /// SVIT_E_STOPPED: `bad`, the sample callback or the context's stop function stopped it.
    /// SVIT_E_ARGUMENT: a callback or a custom function gave a label that is out of range.
    /// SVIT_E_UNSUPPORTED names the first image for whose format the build has no decoder.
    /// SVIT_E_MEMORY: there is not enough memory.
    pub fn svit_dataset_verify(
        dataset: *const svit_dataset,
        bad: svit_bad_sample_callback,
        user: *mut c_void,
        bad_count: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes a 64-bit fingerprint to \*fingerprint, by which a program notices that it was given another
    /// dataset. It covers the counts, sizes and class names, and the pixels and labels of up to 64
    /// samples that are spread evenly over the dataset. Equal fingerprints do not prove that two
    /// datasets are equal. It is the same on every machine and does not depend on where the samples are
    /// held (files, memory, a slice). Samples of a callback or of custom functions, which may differ at
    /// each call, are not read: their fingerprint covers the rest. Errors are those of
    /// svit_dataset_sample; \*fingerprint is written only on success.
    pub fn svit_dataset_fingerprint(
        dataset: *const svit_dataset,
        fingerprint: *mut u64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the mean and the variance of byte \* scale over all samples to mean\[channels\] and
    /// variance\[channels\]; above SVIT_MAX_CHANNELS channels those of all values to mean\[0\] and
    /// variance\[0\], as pipelines have them. Floats take the place of bytes, and are read twice. Sums
    /// are accumulated in double. Pipelines refuse the variance 0 of a channel that has one value, such
    /// as an alpha that is 255 everywhere; 1 in its place makes 0 of it. Errors are those of
    /// svit_dataset_sample.
    pub fn svit_dataset_statistics(
        dataset: *const svit_dataset,
        scale: f64,
        mean: *mut f64,
        variance: *mut f64,
        err: *mut svit_error,
    ) -> svit_status;
}
