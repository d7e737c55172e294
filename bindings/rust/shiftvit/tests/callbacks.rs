//! Closures that the library calls: their errors and panics arrive at the caller, and nothing is left behind.

mod common;

use common::*;
use shiftvit::*;
use std::error::Error as _;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The message of the panic that a function ends with.
#[track_caller]
fn panic_of(function: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(function)).expect_err("it does not panic");
    payload.downcast_ref::<&str>().expect("a text").to_string()
}

fn counted(context: &Context, count: usize, fail_at: usize) -> Dataset {
    Dataset::from_function(context, count, ImageShape::new(32, 32, 3), 10, move |index, pixels| {
        if index == fail_at {
            return Err(format!("no sample {}", index));
        }
        pixels.fill(index as u8);
        Ok(index as i32 % 10)
    })
    .unwrap()
}

#[test]
fn samples_come_from_a_function_whose_error_is_the_source() {
    let context = context();
    let data = counted(&context, 20, 7);
    let (pixels, label) = data.sample(3).unwrap();
    assert_eq!((pixels, label), (vec![3; 32 * 32 * 3], 3));
    let error = refused(data.sample(7), Status::Stopped, "sample 7");
    assert_eq!(error.source().unwrap().to_string(), "no sample 7");
    assert_eq!(data.label(8).unwrap(), 8, "the failure is over");
    let view = data.slice(5, 10).unwrap();
    drop(data);
    assert_eq!(view.label(0).unwrap(), 5);

    let config = LoaderConfig { batch: 4, ..LoaderConfig::default() };
    let mut loader = Loader::new(&view, &pipeline(), &config).unwrap();
    drop(view);
    let mut batch = loader.new_batch().unwrap();
    let error = refused(loader.next_batch(&mut batch), Status::Stopped, "");
    assert_eq!(error.source().unwrap().to_string(), "no sample 7");
    loader.seek(0, 1).unwrap();
    assert!(loader.next_batch(&mut batch).unwrap());
    assert_eq!(batch.labels(), [9, 0, 1, 2]);
}

/// An error whose destructor calls the library, and panics if it is the first one.
#[derive(Debug)]
struct Numbered(usize, Context, Arc<AtomicUsize>);

impl std::fmt::Display for Numbered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "error {}", self.0)
    }
}

impl std::error::Error for Numbered {}

impl Drop for Numbered {
    fn drop(&mut self) {
        self.1.check().unwrap();
        self.2.fetch_add(1, Ordering::SeqCst);
        assert_ne!(self.0, 0);
    }
}

#[test]
fn an_error_whose_destructor_calls_the_library_makes_room_for_another_one() {
    let (context, dropped) = (context(), Arc::new(AtomicUsize::new(0)));
    let (own, ends, mut number) = (context.clone(), dropped.clone(), 0);
    let data = Dataset::from_function(&context, 1, ImageShape::new(4, 4, 1), 2, move |_, _| {
        number += 1;
        Err::<i32, _>(Numbered(number - 1, own.clone(), ends.clone()))
    })
    .unwrap();
    for before in [0, 0, 1] {
        assert_eq!(dropped.load(Ordering::SeqCst), before);
        // SAFETY: the handle is alive, one thread alone reads, and an image has 16 bytes.
        let status = unsafe {
            let (mut pixels, mut label, none) = ([0; 16], 0, std::ptr::null_mut());
            sys::svit_dataset_sample(data.as_ptr(), 0, pixels.as_mut_ptr(), &mut label, none)
        };
        assert_eq!(status, sys::SVIT_E_STOPPED, "a raw call leaves the error where it is");
    }
    let error = refused(data.sample(0), Status::Stopped, "sample 0");
    assert_eq!(error.source().unwrap().to_string(), "error 3");
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
}

#[test]
fn a_label_out_of_range_and_a_panic_of_a_sample() {
    let context = context();
    let shape = ImageShape::new(4, 4, 1);
    let data = Dataset::from_function(&context, 3, shape, 2, |index, _| match index {
        0 => Ok::<i32, BoxError>(2),
        1 => panic!("the sample panics"),
        _ => Ok(1),
    })
    .unwrap();
    refused(data.sample(0), Status::Argument, "label");
    assert_eq!(panic_of(|| drop(data.sample(1))), "the sample panics");
    assert_eq!(panic_of(|| drop(data.slice(1, 2).unwrap().verify())), "the sample panics");
    assert_eq!(data.label(2).unwrap(), 1);
}

#[test]
fn a_panic_in_an_event_leaves_a_trainer_that_goes_on() {
    let context = context();
    let data = synthetic(&context, Split::Train, 100);
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let mut trainer = Trainer::new(&mut model, &data, None, &training(1)).unwrap();
    let message = panic_of(|| drop(trainer.run(|_| panic!("the event panics"))));
    assert_eq!(message, "the event panics");
    trainer.fit().unwrap();
    assert_eq!(trainer.history().unwrap().len(), 1);
}

#[test]
fn a_loss_that_fails_or_panics_fails_the_step_alone() {
    let context = context();
    let data = synthetic(&context, Split::Train, 100);
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let mut trainer = Trainer::new(&mut model, &data, None, &training(1)).unwrap();
    let before = bits(&model);
    trainer.set_loss(|_| Err::<f32, _>("no loss today")).unwrap();
    let error = refused(trainer.step(), Status::Stopped, "the loss function failed");
    assert!(!error.to_string().contains("no loss today"), "{}", error);
    assert_eq!(error.source().unwrap().to_string(), "no loss today");
    trainer.set_loss(|_| Err::<f32, _>(Error::new(Status::Other(-99), "of my own"))).unwrap();
    let error = refused(trainer.step(), Status::Other(-99), "the loss function failed: of my own");
    assert!(error.source().is_none());
    trainer.set_loss(|_| -> Result<f32> { panic!("the loss panics") }).unwrap();
    assert_eq!(panic_of(|| drop(trainer.step())), "the loss panics");
    trainer.set_loss(|_| Ok::<f32, BoxError>(1.0)).unwrap();
    refused(trainer.step(), Status::Numeric, ""); // The gradient was not written.
    assert!(bits(&model) == before);
    trainer.reset_loss().unwrap();
    trainer.fit().unwrap();
    assert!(bits(&model) != before);
}

#[test]
fn the_error_of_a_loss_arrives_though_the_checkpoint_after_it_fails() {
    let context = context();
    let data = synthetic(&context, Split::Train, 100);
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let folder = Folder::new();
    let run = folder.path("run");
    let mut settings = training(1);
    settings.trainer.folder = Some(run.clone());
    let mut trainer = Trainer::new(&mut model, &data, None, &settings).unwrap();
    trainer
        .set_loss(move |_| {
            std::fs::remove_dir_all(&run)?;
            Err::<f32, BoxError>("no loss today".into())
        })
        .unwrap();
    let error = refused(trainer.fit(), Status::Stopped, "; no checkpoint after it: ");
    assert!(error.message().starts_with("the loss function failed"), "{}", error);
    assert_eq!(error.source().unwrap().to_string(), "no loss today");
}

#[test]
fn a_loss_that_reads_its_model_is_told_so_and_does_not_wait_forever() {
    let context = context();
    let data = synthetic(&context, Split::Train, 100);
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let mut trainer = Trainer::new(&mut model, &data, None, &training(1)).unwrap();
    let model = Arc::new(model);
    let reader = model.clone();
    trainer
        .set_loss(move |call| {
            reader.parameter("head.weight")?;
            call.dlogits.fill(0.0);
            Ok::<f32, Error>(0.0)
        })
        .unwrap();
    refused(trainer.step(), Status::State, "the loss function failed: the model is in use");
    assert!(model.parameter("head.weight").is_ok());
}

#[test]
fn samples_read_a_model_that_the_running_call_only_reads() {
    let context = context();
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let own: Arc<Mutex<Option<Arc<Model>>>> = Arc::default();
    let reader = own.clone();
    let shape = ImageShape::new(32, 32, 3);
    let data = Dataset::from_function(&context, 100, shape, 10, move |index, _| {
        let model = reader.lock().unwrap().clone();
        model.map_or(Ok(vec![]), |model| model.parameter("head.bias")).map(|_| index as i32 % 10)
    })
    .unwrap();
    let mut trainer = Trainer::new(&mut model, &data, None, &training(1)).unwrap();
    let model = Arc::new(model);
    *own.lock().unwrap() = Some(model.clone());
    model.evaluate(&data, &pipeline(), 50, Compute::F32).unwrap();
    data.label(0).unwrap();
    refused(trainer.step(), Status::State, "in use");
    own.lock().unwrap().take();
    trainer.step().unwrap();
}

#[test]
fn a_function_of_samples_cannot_enter_its_own_data_set() {
    let context = context();
    let shape = ImageShape::new(2, 2, 1);
    let own: Arc<Mutex<Option<Dataset>>> = Arc::default();
    let inner = own.clone();
    let data = Dataset::from_function(&context, 1, shape, 2, move |_, _| {
        let own = inner.lock().unwrap().clone().unwrap();
        own.label(0)
    })
    .unwrap();
    *own.lock().unwrap() = Some(data.clone());
    refused(data.sample(0), Status::State, "at sample 0: the data set is in use");
    own.lock().unwrap().take();
    let inner = own.clone();
    let data = Dataset::from_function(&context, 1, shape, 2, move |_, _| {
        let own = inner.lock().unwrap().clone().unwrap();
        own.split(0.0, 0.0, 1).map(|_| 0)
    })
    .unwrap();
    *own.lock().unwrap() = Some(data.clone());
    refused(data.split(0.0, 0.0, 1).map(|_| ()), Status::State, "the data set is in use");
    own.lock().unwrap().take();
}

/// A call with a concatenated data set holds the functions of all its parts.
#[test]
fn a_function_of_samples_cannot_enter_another_part_of_its_data_set() {
    let context = context();
    let shape = ImageShape::new(2, 2, 1);
    let second = Dataset::from_function(&context, 1, shape, 2, |_, _| Ok::<i32, BoxError>(1));
    let second = second.unwrap();
    let other = second.clone();
    let first = Dataset::from_function(&context, 1, shape, 2, move |_, _| other.label(0)).unwrap();
    assert_eq!(first.sample(0).unwrap().1, 1);
    let both = Dataset::concatenate(&[&first, &second]).unwrap();
    refused(both.sample(0), Status::State, "at sample 0: the data set is in use");
    assert_eq!(both.sample(1).unwrap().1, 1);
}

#[test]
fn closures_are_dropped_with_the_last_object_that_uses_them() {
    let alive = Arc::new(());
    let context = {
        let kept = alive.clone();
        Context::builder().log(move |_, _| drop(kept.clone())).build().unwrap()
    };
    let kept = alive.clone();
    let shape = ImageShape::new(32, 32, 3);
    let data = Dataset::from_function(&context, 20, shape, 10, move |index, _| {
        let _ = &kept;
        Ok::<i32, BoxError>(index as i32 % 10)
    })
    .unwrap();
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let mut trainer = Trainer::new(&mut model, &data, None, &training(1)).unwrap();
    drop((context, data, model));
    for _ in 0..2 {
        let kept = alive.clone();
        trainer
            .set_loss(move |call| {
                let _ = &kept;
                call.dlogits.fill(0.0);
                Ok::<f32, BoxError>(1.0)
            })
            .unwrap();
    }
    trainer.fit().unwrap();
    assert_eq!(Arc::strong_count(&alive), 4, "the log, the samples, one loss and the test");
    drop(trainer);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn the_log_receives_messages_and_its_panic_goes_on() {
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    let context = Context::builder()
        .log(move |level, message| {
            assert_eq!(level, LogLevel::Warning);
            counter.fetch_add(message.len(), Ordering::Relaxed);
            if message == "panic" {
                panic!("the log panics");
            }
        })
        .build()
        .unwrap();
    context.log(LogLevel::Warning, "four").unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 4);
    assert_eq!(panic_of(|| drop(context.log(LogLevel::Warning, "panic"))), "the log panics");
    context.log(LogLevel::Warning, "one").unwrap();
}

#[test]
fn a_long_call_asks_whether_it_stops() {
    let questions = Arc::new(AtomicUsize::new(0));
    let counter = questions.clone();
    let context = Context::builder()
        .stop(move || match counter.fetch_add(1, Ordering::Relaxed) {
            1 => true,
            2 => panic!("the question panics"),
            _ => false,
        })
        .build()
        .unwrap();
    let data = synthetic(&context, Split::Train, 6);
    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let config = FeaturesConfig { batch: 2, ..FeaturesConfig::default() };
    let compute = || Features::compute(&model, &data, Some(&pipeline()), &config);
    refused(compute(), Status::Stopped, "the stop function of the context returned 1");
    assert_eq!(questions.load(Ordering::Relaxed), 2);
    assert_eq!(panic_of(|| drop(compute())), "the question panics");
    assert_eq!(compute().unwrap().len(), 6);
    assert_eq!(questions.load(Ordering::Relaxed), 6);
}

#[test]
fn a_training_stops_before_a_step_and_in_a_validation() {
    for at in [3, 6] {
        let questions = Arc::new(AtomicUsize::new(0));
        let counter = questions.clone();
        let context = Context::builder()
            .stop(move || counter.fetch_add(1, Ordering::Relaxed) + 1 == at)
            .build()
            .unwrap();
        let folder = Folder::new();
        let data = synthetic(&context, Split::Train, 200);
        let validation = synthetic(&context, Split::Validation, 100);
        let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
        let mut settings = training(1);
        settings.trainer.folder = Some(folder.path("run"));
        let mut trainer = Trainer::new(&mut model, &data, Some(&validation), &settings).unwrap();
        refused(trainer.fit(), Status::Stopped, "the stop function of the context returned 1");
        assert_eq!(questions.load(Ordering::Relaxed), at);
        assert!(folder.path("run").join("checkpoint.safetensors").exists());
        trainer.fit().unwrap();
    }
}

#[test]
fn the_log_lives_as_long_as_features_that_write_to_it() {
    let warnings = Arc::new(AtomicUsize::new(0));
    let logging = || {
        let counter = warnings.clone();
        let count = move |_, _: &str| {
            counter.fetch_add(1, Ordering::Relaxed);
        };
        Context::builder().threads(1).log(count).build().unwrap()
    };
    let compute = |seed: u64| {
        let (context, other) = (logging(), logging());
        let data = synthetic(&context, Split::Train, 4);
        let model = Model::new(&context, &shiftvit_config(), seed).unwrap();
        let config = FeaturesConfig { context: Some(other), ..FeaturesConfig::default() };
        Features::compute(&model, &data, Some(&pipeline()), &config).unwrap()
    };
    let (mut features, others) = (compute(1), compute(2));
    assert_eq!(warnings.load(Ordering::Relaxed), 0);
    features.append(&others).unwrap();
    assert_eq!(warnings.load(Ordering::Relaxed), 1, "the models differ");
    assert_eq!(features.len(), 8);
    assert_eq!(Arc::strong_count(&warnings), 5, "two logs of each set");
    drop((features, others));
    assert_eq!(Arc::strong_count(&warnings), 1);
}

#[test]
fn a_break_is_no_error() {
    let context = context();
    let data = synthetic(&context, Split::Train, 100);
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let mut trainer = Trainer::new(&mut model, &data, None, &training(3)).unwrap();
    assert_eq!(trainer.run(|_| ControlFlow::Break(())).unwrap(), Run::Stopped);
    assert!(trainer.history().unwrap().is_empty());
}

#[test]
fn a_break_at_the_last_event_is_no_stop() {
    let context = context();
    let data = synthetic(&context, Split::Train, 100);
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let mut trainer = Trainer::new(&mut model, &data, None, &training(1)).unwrap();
    let end = |event: &Event| match event.kind {
        EventKind::Finished => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    assert_eq!(trainer.run(end).unwrap(), Run::Finished);
}
