//! The functions on what `trainer` declares.

// Written by bindings/rust/generate from the C headers.

use crate::context::*;
use crate::dataset::*;
use crate::loss::*;
use crate::model::*;
use crate::optimizer::*;
use crate::pipeline::*;
use crate::status::*;
use crate::trainer::*;
use std::os::raw::{c_char, c_void};

extern "C" {
    /// Fills `config` with the defaults: 100 epochs, batch 256, no accumulation, patience 5,
    /// SVIT_KEEP_LAST, seed 0, no label smoothing, a warm-up of 15 %, no folder, float32, 2 batches
    /// ahead, SVIT_MEMORY_STORE, SVIT_EXISTING_REFUSE, SVIT_LOSS_CROSS_ENTROPY,
    /// SVIT_SAMPLING_SHUFFLE, SVIT_TTA_NONE, SVIT_CLASS_WEIGHTING_GIVEN without class weights, no events
    /// for TensorBoard, no leaves and no reducer, epochs that are permutations of all samples, on images
    /// of the whole size, no look for what is not finite. `size` is sizeof(svit_trainer_config) as the
    /// caller was compiled. Any thread may call it.
    pub fn svit_trainer_config_init(config: *mut svit_trainer_config, size: usize) -> svit_status;

    /// Fills `config` from a JSON object whose keys are the names of the fields, but for
    /// `class_weight_count`, which follows from the length of "class_weights"; a missing one takes its
    /// default. Words: keep "last", "best"; compute "f32", "bf16"; memory "store", "blocks", "stages";
    /// existing "refuse", "resume", "overwrite"; loss "cross-entropy", "binary", "mse"; sampling
    /// "shuffle", "balanced"; tta "none", "flip", "flip-shift"; class_weighting "given", "balanced".
    /// `folder`, `description` and `reducer` are not accepted, since a text cannot hold them; the caller
    /// sets these fields itself.
    ///
    /// `config` is written only on success. SVIT_E_ARGUMENT names an unknown key or a value that is not
    /// accepted; SVIT_E_FORMAT means that the text is no JSON object. SVIT_E_VERSION: a struct of this
    /// `size` lacks a field that is not at its default. Any thread may call it.
    pub fn svit_trainer_config_from_json(
        config: *mut svit_trainer_config,
        size: usize,
        json: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes `config` as the JSON object that svit_trainer_config_from_json reads, without `folder`,
    /// `description` and `reducer`. `buffer`, `capacity` and `needed` are as in svit_context_describe.
    /// SVIT_E_ARGUMENT names a field that is out of range. Any thread may call it.
    pub fn svit_trainer_config_to_json(
        config: *const svit_trainer_config,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Sets training settings from a JSON object whose keys are the names of the fields of the three
    /// configurations, as svit_trainer_config_from_json, svit_optimizer_config_from_json and
    /// svit_pipeline_config_from_json read them; no two of the structs share a key. The structs must be
    /// initialised, by svit_training_preset for example: fields that the object lacks keep their values.
    ///
    /// The structs are written only on success. SVIT_E_ARGUMENT names an unknown key, with the most
    /// similar known one, or a value that is not accepted; SVIT_E_FORMAT means that the text is no JSON
    /// object. SVIT_E_VERSION: a struct of an older size lacks a field that is not at its default. Any
    /// thread may call it.
    pub fn svit_training_from_json(
        trainer: *mut svit_trainer_config,
        optimizer: *mut svit_optimizer_config,
        pipeline: *mut svit_pipeline_config,
        json: *const c_char,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes the three configurations as the JSON object that svit_training_from_json reads. `folder`
    /// and `description` are left out and `existing` has its default, since they belong to one run.
    /// `buffer`, `capacity` and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT names a field
    /// that is out of range. Any thread may call it.
    pub fn svit_training_to_json(
        trainer: *const svit_trainer_config,
        optimizer: *const svit_optimizer_config,
        pipeline: *const svit_pipeline_config,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes a JSON array that describes the fields of a configuration, for help texts and bindings:
    /// of svit_training_from_json if `of` is "training", of svit_model_config_from_json if it is the
    /// name of an architecture (svit_model_architecture_name). Each element is an object of "name",
    /// "type" and "accepted", which are texts, and "default", the value without any preset. `buffer`,
    /// `capacity` and `needed` are as in svit_context_describe. SVIT_E_ARGUMENT: `of` is neither. Any
    /// thread may call it.
    pub fn svit_config_fields(
        of: *const c_char,
        buffer: *mut c_char,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Fills three configurations with the training settings of a model preset: epochs, batch,
    /// optimiser, pipeline and so on of the example or paper that it comes from. Each of the three may
    /// be NULL; each size is that of the struct as the caller was compiled. The pipelines of Keras' ViTs
    /// of CIFAR-100 have scale 1, mean 0 and variance 1: the caller sets mean and variance of the
    /// training images, by svit_dataset_statistics. SVIT_E_ARGUMENT: there is no such preset.
    /// SVIT_E_VERSION: a struct of this `size` lacks a field that is not at its default. Any thread may
    /// call it.
    pub fn svit_training_preset(
        preset: *const c_char,
        trainer: *mut svit_trainer_config,
        trainer_size: usize,
        optimizer: *mut svit_optimizer_config,
        optimizer_size: usize,
        pipeline: *mut svit_pipeline_config,
        pipeline_size: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Fills three configurations with settings for the fine-tuning of `model` on `images` images:
    /// epochs, batch and the average of the weights follow from their number by the table in
    /// docs/fine-tuning.md. Learning rate and layer_decay are the same for any number, and others with
    /// adapters (svit_model_add_lora) than without. No group is set: what the model has frozen stays as
    /// it is. The model has the head for the classes of these images (svit_model_replace_head). The
    /// pipeline is the model's, or, if it has none, a resize to its input and values in -1..1.
    ///
    /// Each of the three may be NULL; each size is that of the struct as the caller was compiled.
    /// SVIT_E_ARGUMENT: `images` is 0. SVIT_E_VERSION: a struct of this `size` lacks a field that is not
    /// at its default. The model is only read, so any number of threads may call it.
    pub fn svit_fine_tuning_settings(
        model: *const svit_model,
        images: u64,
        trainer: *mut svit_trainer_config,
        trainer_size: usize,
        optimizer: *mut svit_optimizer_config,
        optimizer_size: usize,
        pipeline: *mut svit_pipeline_config,
        pipeline_size: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Creates a trainer. It keeps the context, the model and the datasets alive. The workers of
    /// `context`, whatever the model's has, run its passes and updates; its allocator gives their
    /// memory, but that of the layers, its log gets the trainer's warnings, and its stop function ends
    /// the run. Where it has another instruction set or GEMM backend than the model's, the model's runs
    /// passes and updates, and a warning says so. The trainer's loaders read the samples.
    /// `validation` may be NULL, unless `keep` is SVIT_KEEP_BEST. NULL for a configuration means its
    /// defaults, whatever pipeline the model has: svit_model_get_pipeline and svit_fine_tuning_settings
    /// give the model's. The model takes over the pipeline, and the class names of a training set that
    /// has as many classes as the model. SVIT_E_ARGUMENT: the model has one of these names under another
    /// label (svit_dataset_match_classes takes the model's order, svit_model_replace_head begins a new
    /// classifier). Both sets have the names that the model then has, in its order; a set of fewer
    /// classes, which with other losses than SVIT_LOSS_CROSS_ENTROPY `validation` alone may be, has
    /// those that are first in the model. If a group of `optimizer` has `trainable` 0, the groups decide
    /// in the model, too, and for good, what of the parameters that they match is frozen, as
    /// svit_model_set_trainable does one after the other: one with `trainable` 1 also trains what the
    /// caller has frozen. With a folder, some samples of both datasets are read
    /// (svit_dataset_fingerprint), and the folder is created and locked after all other checks but the
    /// comparison of ranks. The caller owns \*out and frees it with svit_trainer_free.
    ///
    /// SVIT_E_ARGUMENT names the field that is not accepted, or the size or class that model, pipeline
    /// and datasets do not share (svit_dataset_match_classes and svit_model_replace_head bring classes
    /// together); with SVIT_LOSS_CROSS_ENTROPY also a model with one output, or a sample whose targets
    /// are no probabilities: each at least 0, with the sum 1 to within 0.05. SVIT_E_STATE: another
    /// trainer uses the folder, or it holds a run and `existing` is SVIT_EXISTING_REFUSE.
    pub fn svit_trainer_create(
        out: *mut *mut svit_trainer,
        context: *mut svit_context,
        model: *mut svit_model,
        training: *mut svit_dataset,
        validation: *mut svit_dataset,
        config: *const svit_trainer_config,
        optimizer: *const svit_optimizer_config,
        pipeline: *const svit_pipeline_config,
        err: *mut svit_error,
    ) -> svit_status;

    /// Frees a trainer and unlocks its folder, which is removed if the trainer created it and it is
    /// empty. NULL is allowed.
    pub fn svit_trainer_free(trainer: *mut svit_trainer);

    /// Restores the run of `folder`/checkpoint.safetensors, and with SVIT_KEEP_BEST, unless the last
    /// epoch is the best, of `folder`/best.safetensors. It must be called before the first step.
    /// Training then continues with the same bits as a run that was never interrupted. On failure the
    /// trainer and the model are unchanged, unless ranks have resumed from different checkpoints. The
    /// parameters that the run does not train are frozen again (svit_model_set_trainable).
    ///
    /// SVIT_KEEP_LAST is accepted for a run with SVIT_KEEP_BEST, which then goes on without
    /// best.safetensors. A larger patience than the run's, or 0, is accepted: it changes where the run
    /// ends, and one that stopped early goes on. A trainer with more epochs than the run extends it,
    /// whether the run was finished or not. Patience, schedule and learning rate may then differ from
    /// those of the run.
    ///
    /// A schedule whose length the trainer computes (total_steps 0) keeps the length that it had,
    /// computed or given. With a given length it keeps its warm-up too, if warmup_steps is 0. After its
    /// end it stays at its last value.
    ///
    /// SVIT_E_IO: a file is missing or cannot be read. To tell which, look for the files in the folder;
    /// in one without a run the trainer may begin one then. SVIT_E_ARGUMENT: it belongs to
    /// another model, to other data (svit_dataset_fingerprint, which does not see the images of
    /// functions) or to another configuration; the message names the field. SVIT_E_FORMAT names the
    /// damaged entry. SVIT_E_STATE: the run has begun, or `existing` is SVIT_EXISTING_OVERWRITE. A
    /// checkpoint of library 0.1 has no fingerprints: it is accepted with a warning in the log.
    pub fn svit_trainer_resume(trainer: *mut svit_trainer, err: *mut svit_error) -> svit_status;

    /// Lets the trainer minimise `function`, which is called with `user` on the thread of the step, in
    /// place of the loss of its configuration; NULL: that loss again. It may be called between any two
    /// calls for the trainer, by all ranks, and counts from the next step on.
    ///
    /// label_smoothing, class_weights and class_weighting do not apply to a function. The loss of a
    /// batch is the mean of those of its micro-batches, weighted by their samples. If the configured
    /// loss is SVIT_LOSS_CROSS_ENTROPY and images are not mixed, the function gets labels, otherwise
    /// targets. train_loss is the mean of the function. Validation, the best epoch and the model's
    /// output follow the configured loss. A failure of the function fails the step as any other does:
    /// nothing of the step has happened, and the next call repeats it.
    ///
    /// A checkpoint says that a function was set, but cannot hold it: set it before svit_trainer_resume,
    /// which refuses a run with a function where none is set, and the reverse.
    pub fn svit_trainer_set_loss(
        trainer: *mut svit_trainer,
        function: svit_loss_function,
        user: *mut c_void,
        err: *mut svit_error,
    ) -> svit_status;

    /// Returns the optimiser, borrowed until svit_trainer_resume or svit_trainer_free; NULL for NULL.
    /// Settings may change between steps (svit_optimizer_set_f64, svit_optimizer_set_parameter_f64).
    /// They are not in checkpoints, so a resumed run sets them again. The trainer itself calls svit_step
    /// and svit_optimizer_swap_ema: where the model holds the average, steps and checkpoints of the
    /// trainer fail with SVIT_E_STATE, and checkpoints where the program has stepped or restored the
    /// optimiser itself.
    pub fn svit_trainer_optimizer(trainer: *mut svit_trainer) -> *mut svit_optimizer;

    /// Runs the training to its end and calls `callback`, which may be NULL, after each event.
    /// SVIT_E_STOPPED: the callback, or the context's stop function (svit_stop_function), stopped the
    /// run; svit_trainer_stop_value returns its value, and with a folder a checkpoint was written. Where
    /// a function of a dataset, of the loss or of the reducer stopped it, which is a failure as any
    /// other, no checkpoint was written and svit_trainer_stop_value returns 0. After any failure the
    /// last checkpoint is still valid.
    pub fn svit_trainer_run(
        trainer: *mut svit_trainer,
        callback: svit_trainer_callback,
        user: *mut c_void,
        err: *mut svit_error,
    ) -> svit_status;

    /// Works up to the next event and writes it to \*event. After SVIT_EVENT_FINISHED it returns this
    /// event again. `size` is sizeof(svit_trainer_event) as the caller was compiled. SVIT_E_STOPPED: the
    /// context's stop function came before a step, or ended a validation, which the next call begins
    /// again; or a function of a dataset, of the loss or of the reducer stopped. Other errors are those
    /// of svit_loader_next, svit_forward, svit_cross_entropy, svit_backward, svit_step and
    /// svit_checkpoint_save.
    pub fn svit_trainer_step(
        trainer: *mut svit_trainer,
        event: *mut svit_trainer_event,
        size: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Writes a checkpoint; all ranks call it. After SVIT_EVENT_FINISHED the checkpoint of the last
    /// epoch stays as it is. SVIT_E_STATE: the trainer has no folder, or svit_trainer_resume must come
    /// first.
    pub fn svit_trainer_checkpoint(trainer: *mut svit_trainer, err: *mut svit_error) -> svit_status;

    /// Returns the value with which the callback, or the context's stop function, stopped the last
    /// svit_trainer_run; 0 if neither did.
    pub fn svit_trainer_stop_value(trainer: *const svit_trainer) -> i32;

    /// Returns the number of completed epochs, those before a resume included; 0 for NULL.
    pub fn svit_trainer_history_count(trainer: *const svit_trainer) -> usize;

    /// Writes completed epoch number `index`, from 0, to \*event as an SVIT_EVENT_EPOCH event. `size`
    /// is sizeof(svit_trainer_event) as the caller was compiled. SVIT_E_ARGUMENT: there is no such
    /// epoch.
    pub fn svit_trainer_history(
        trainer: *const svit_trainer,
        index: usize,
        event: *mut svit_trainer_event,
        size: usize,
        err: *mut svit_error,
    ) -> svit_status;

    /// Evaluates a model in float32 on a dataset with the evaluation steps of `pipeline`, `batch`
    /// samples in a forward pass. The workers, allocator, log and stop function are those of `context`,
    /// as in svit_trainer_create. A `pipeline` of NULL is that of the model, or, with a warning in the
    /// log, the default if it has none. The model computes at the evaluation size of the pipeline
    /// (svit_pipeline_evaluation_size). Writes the mean cross-entropy to \*loss and fractions in 0..1 to
    /// \*top1 and \*top5; each may be NULL. SVIT_E_ARGUMENT: the model takes no images of that size
    /// (input_height in svit_session_config), the channels of model, pipeline and dataset differ, the
    /// dataset has more classes than the model, or both have class names and these differ; a dataset of
    /// fewer classes has those that are first in the model. If the dataset has targets, they are
    /// probabilities: each at least 0, with the sum 1. Others, and a model with one output, are
    /// SVIT_E_ARGUMENT; svit_evaluate_logits serves them. The loss of a masked autoencoder is the mean
    /// squared error of its patches, and its fractions are NaN.
    pub fn svit_evaluate(
        context: *mut svit_context,
        model: *mut svit_model,
        dataset: *mut svit_dataset,
        pipeline: *const svit_pipeline_config,
        batch: usize,
        loss: *mut f64,
        top1: *mut f64,
        top5: *mut f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Evaluates a model as svit_evaluate does, in the precision `compute`, one of SVIT_COMPUTE_\*.
    pub fn svit_evaluate_with_compute(
        context: *mut svit_context,
        model: *mut svit_model,
        dataset: *mut svit_dataset,
        pipeline: *const svit_pipeline_config,
        batch: usize,
        compute: i32,
        loss: *mut f64,
        top1: *mut f64,
        top5: *mut f64,
        err: *mut svit_error,
    ) -> svit_status;

    /// Computes the logits of a model for every sample of a dataset, in its order, with the evaluation
    /// pipeline: logits\[count, classes\], with the number of the model's classes, and labels\[count\],
    /// which are -1 if the dataset has targets or the model is a masked autoencoder. If `labels` is
    /// NULL, a dataset without targets may have any classes. `tta` is one of SVIT_TTA_\*, `compute` one
    /// of SVIT_COMPUTE_\*; `pipeline` and `batch` are as in svit_evaluate. All other measures can be
    /// computed from these. Errors are those of svit_evaluate; what the arrays then hold is undefined.
    pub fn svit_evaluate_logits(
        context: *mut svit_context,
        model: *mut svit_model,
        dataset: *mut svit_dataset,
        pipeline: *const svit_pipeline_config,
        batch: usize,
        compute: i32,
        tta: i32,
        logits: *mut f32,
        labels: *mut i32,
        err: *mut svit_error,
    ) -> svit_status;
}
