//! Threads: which objects are shared and which move, and calls that overlap.

mod common;

use common::*;
use shiftvit::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

fn shared<T: Send + Sync>() {}
fn movable<T: Send>() {}

#[test]
fn workers_are_pinned_where_the_system_permits_it() {
    let pinned = |context: &Context| context.describe().unwrap().contains("\"pinned\":2");
    assert!(!pinned(&Context::builder().threads(3).build().unwrap()));
    let refused = Arc::new(AtomicBool::new(false));
    let seen = refused.clone();
    let log = move |_: LogLevel, _: &str| seen.store(true, Ordering::Relaxed);
    let context = Context::builder().threads(3).pin(true).log(log).build().unwrap();
    assert_eq!(pinned(&context), !refused.load(Ordering::Relaxed));
}

#[test]
fn objects_are_sync_or_send_as_the_library_permits() {
    shared::<Context>();
    shared::<Model>();
    shared::<Dataset>();
    shared::<Features>();
    shared::<Checkpoint>();
    shared::<Image>();
    shared::<Error>();
    movable::<Session>();
    movable::<Optimizer>();
    movable::<OptimizerSettings<'_>>();
    movable::<Loader>();
    movable::<Trainer>();
    movable::<Predictor>();
    movable::<FolderLock>();
}

/// Saves its model when it is dropped.
struct SavesLate(Model, Arc<Mutex<Vec<String>>>);

impl Drop for SavesLate {
    fn drop(&mut self) {
        let path = std::env::temp_dir().join(format!("late-{}.safetensors", std::process::id()));
        let said = match self.0.save(&path) {
            Ok(()) => {
                std::fs::remove_file(&path).map_or_else(|e| e.to_string(), |_| "saved".into())
            }
            Err(error) => error.message().to_string(),
        };
        self.1.lock().unwrap().push(said);
    }
}

std::thread_local! {
    static LATE: std::cell::RefCell<Option<SavesLate>> = const { std::cell::RefCell::new(None) };
}

#[test]
fn destructors_of_locals_may_call_while_their_thread_ends() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let own = said.clone();
    thread::spawn(move || {
        // The local of this test comes first, so that those of the crate are gone before it.
        LATE.with(|late| assert!(late.borrow().is_none()));
        let model = Model::new(&context(), &shiftvit_config(), 1).unwrap();
        model.parameter("head.weight").unwrap();
        LATE.with(|late| *late.borrow_mut() = Some(SavesLate(model, own)));
    })
    .join()
    .unwrap();
    let said = said.lock().unwrap();
    assert_eq!(said.len(), 1);
    assert!(said[0] == "saved" || said[0].contains("thread that ends"), "{}", said[0]);
}

#[test]
fn sessions_of_many_threads_share_a_model() {
    let context = context();
    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let images: Vec<f32> = (0..32 * 32 * 3).map(|i| (i % 256) as f32 / 255.0).collect();
    let config = SessionConfig { max_batch: 1, ..SessionConfig::default() };
    let mut session = Session::new(&model, &config).unwrap();
    let expected = session.forward(&images).unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let own = Context::builder().threads(1).build().unwrap();
                let config =
                    SessionConfig { max_batch: 1, context: Some(own), ..SessionConfig::default() };
                let mut session = Session::new(&model, &config).unwrap();
                for _ in 0..5 {
                    assert_eq!(session.forward(&images).unwrap(), expected);
                }
            });
        }
    });
    // An object moves to another thread and outlives what it was created from.
    drop((model, context));
    let logits = thread::spawn(move || session.forward(&images).unwrap()).join().unwrap();
    assert_eq!(logits, expected);
}

#[test]
fn a_forward_never_sees_half_of_a_change() {
    const CLASSES: usize = 20_000;
    let context = context();
    let config = ModelConfig { num_classes: CLASSES as u32, ..shiftvit_config() };
    let mut model = Model::new(&context, &config, 1).unwrap();
    let plan = SessionConfig { max_batch: 1, ..SessionConfig::default() };
    let mut session = Session::new(&model, &plan).unwrap();
    let images = vec![0.5; session.input_size()];
    let weight = vec![0.0; model.parameter("head.weight").unwrap().len()];
    model.set_parameter("head.weight", &weight).unwrap();
    let biases = [vec![1.0; CLASSES], vec![2.0; CLASSES]];
    model.set_parameter("head.bias", &biases[0]).unwrap();
    let changes = AtomicUsize::new(0);
    thread::scope(|scope| {
        let forwards = scope.spawn(|| {
            let mut count = 0;
            while count < 20 || changes.load(Ordering::SeqCst) < 2 {
                count += 1;
                let logits = session.forward(&images).unwrap();
                // Every bias is the same number at all times.
                assert!(logits == biases[0] || logits == biases[1]);
            }
        });
        while !forwards.is_finished() {
            let change = changes.load(Ordering::SeqCst) + 1;
            model.set_parameter("head.bias", &biases[change % 2]).unwrap();
            changes.store(change, Ordering::SeqCst);
        }
    });
}

#[test]
fn readers_on_other_threads_wait_for_a_step() {
    let context = context();
    let data = synthetic(&context, Split::Train, 50);
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let mut trainer = Trainer::new(&mut model, &data, None, &training(1)).unwrap();
    let model = Arc::new(model);
    let (reader, waiting) = (model.clone(), Arc::new(Mutex::new(None)));
    let place = waiting.clone();
    trainer
        .set_loss(move |call| {
            let (reader, done) = (reader.clone(), Arc::new(AtomicBool::new(false)));
            let flag = done.clone();
            let thread = thread::spawn(move || {
                let bias = reader.parameter("head.bias");
                flag.store(true, Ordering::SeqCst);
                bias
            });
            thread::sleep(Duration::from_millis(50));
            assert!(!done.load(Ordering::SeqCst), "it reads in the middle of a step");
            *place.lock().unwrap() = Some(thread);
            call.dlogits.fill(0.1);
            Ok::<f32, BoxError>(1.0)
        })
        .unwrap();
    trainer.step().unwrap();
    let thread = waiting.lock().unwrap().take().unwrap();
    let after = model.parameter("head.bias").unwrap();
    assert_eq!(thread.join().unwrap().unwrap(), after);
}

#[test]
fn samples_of_a_function_come_one_at_a_time() {
    let context = context();
    let mut inside = false;
    let data =
        Dataset::from_function(&context, 50, ImageShape::new(2, 2, 1), 50, move |index, _| {
            assert!(!std::mem::replace(&mut inside, true), "two calls at a time");
            thread::yield_now();
            inside = false;
            Ok::<i32, BoxError>(index as i32)
        })
        .unwrap();
    let (front, back) = (data.slice(0, 25).unwrap(), data.slice(25, 25).unwrap());
    thread::scope(|scope| {
        for set in [&data, &front, &back] {
            scope.spawn(move || {
                for index in 0..set.len() {
                    set.sample(index).unwrap();
                }
            });
        }
    });
}

/// A data set of black images, whose labels are those of a function.
fn labelled(
    context: &Context,
    count: usize,
    mut label: impl FnMut(usize) -> Result<i32> + Send + 'static,
) -> Dataset {
    let shape = ImageShape::new(32, 32, 3);
    Dataset::from_function(context, count, shape, 10, move |index, _| label(index)).unwrap()
}

/// Lets another thread come as far as it can.
fn pause() {
    thread::sleep(Duration::from_millis(10));
}

/// Steps on a thread of its own as long as a function runs, and returns what this returns.
fn while_stepping<T>(trainer: &mut Trainer, function: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                trainer.step().unwrap();
            }
        });
        let value = function();
        done.store(true, Ordering::SeqCst);
        value
    })
}

/// A data set whose samples read another one, and come after a pause.
fn derived(context: &Context, source: &Dataset) -> Dataset {
    let source = source.clone();
    labelled(context, 50, move |index| {
        if index == 0 {
            pause();
        }
        source.label(index)
    })
}

/// Makes the calls that read a model and a data set.
fn reads(model: &Model, set: &Dataset) -> Result<()> {
    model.evaluate(set, &pipeline(), 50, Compute::F32)?;
    model.logits(set, &pipeline(), 50, Compute::F32, Tta::None)?;
    Features::compute(model, set, None, &FeaturesConfig::default())?;
    Ok(())
}

#[test]
fn samples_read_the_data_set_on_which_their_model_is_trained() {
    ends(|| {
        let context = context();
        let base = labelled(&context, 50, |index| Ok(index as i32 % 10));
        let derived = derived(&context, &base);
        let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
        let mut trainer = Trainer::new(&mut model, &base, None, &training(1000)).unwrap();
        let read = |_| reads(&model, &derived);
        while_stepping(&mut trainer, || (0..5).try_for_each(read)).unwrap();
    });
}

#[test]
fn a_trainer_is_created_on_the_data_set_that_the_samples_of_another_one_read() {
    ends(|| {
        let context = context();
        let base = labelled(&context, 50, |index| Ok(index as i32 % 10));
        let derived = derived(&context, &base);
        let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
        let mut other = Trainer::new(&mut model, &derived, None, &training(1000)).unwrap();
        let create = |_| Trainer::new(&mut model, &base, None, &training(1)).map(drop);
        while_stepping(&mut other, || (0..5).try_for_each(create)).unwrap();
    });
}

#[test]
fn a_loss_reads_a_data_set_that_others_read_with_its_model() {
    ends(|| {
        let context = context();
        let set = labelled(&context, 50, |index| Ok(index as i32 % 10));
        let data = synthetic(&context, Split::Train, 50);
        let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
        let mut trainer = Trainer::new(&mut model, &data, None, &training(1000)).unwrap();
        let other = set.clone();
        let loss = move |call: LossCall<'_>| -> Result<f32> {
            pause();
            other.label(0)?;
            call.dlogits.fill(0.1);
            Ok(1.0)
        };
        trainer.set_loss(loss).unwrap();
        let read = |_| reads(&model, &set);
        while_stepping(&mut trainer, || (0..5).try_for_each(read)).unwrap();
    });
}

#[test]
fn a_trainer_waits_for_none_of_its_data_sets_with_the_other_one_locked() {
    ends(|| {
        let context = context();
        let others: [Arc<Mutex<Option<Dataset>>>; 2] = Default::default();
        // From the sample 50 on they read the other set, each in turn, since either may be locked first.
        let sets = [0, 1].map(|own| {
            let other = others[1 - own].clone();
            labelled(&context, 51, move |index| {
                if index < 50 {
                    return Ok(index as i32 % 10);
                }
                pause();
                let other = other.lock().unwrap().clone();
                other.unwrap().label(0)
            })
        });
        for (place, set) in others.iter().zip(&sets) {
            *place.lock().unwrap() = Some(set.clone());
        }
        let [trained, validated] = [0, 1].map(|own| sets[own].slice(0, 50).unwrap());
        let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
        let settings = training(1000);
        let mut trainer = Trainer::new(&mut model, &trained, Some(&validated), &settings).unwrap();
        let read = |index: usize| sets[index / 5].label(50).map(drop);
        while_stepping(&mut trainer, || (0..10).try_for_each(read)).unwrap();
        others.iter().for_each(|place| drop(place.lock().unwrap().take()));
    });
}

#[test]
fn samples_wait_for_a_data_set_that_another_thread_reads() {
    let context = context();
    let common = labelled(&context, 200, |index| {
        thread::yield_now();
        Ok(index as i32 % 10)
    });
    let sets: Vec<Dataset> = (0..2)
        .map(|_| {
            let common = common.clone();
            labelled(&context, 200, move |index| common.label(index))
        })
        .collect();
    thread::scope(|scope| {
        for set in &sets {
            scope.spawn(move || {
                for index in 0..set.len() {
                    assert_eq!(set.label(index).unwrap(), index as i32 % 10);
                }
            });
        }
    });
}

#[test]
fn samples_read_a_model_that_another_thread_trains() {
    let context = context();
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let data = synthetic(&context, Split::Train, 50);
    let mut trainer = Trainer::new(&mut model, &data, None, &training(1000)).unwrap();
    let (model, done) = (Arc::new(model), AtomicBool::new(false));
    let reader = model.clone();
    let read = labelled(&context, 2, move |index| {
        thread::sleep(Duration::from_millis(2)); // The trainer waits for the model meanwhile.
        reader.parameter("head.bias").map(|_| index as i32)
    });
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                trainer.step().unwrap();
            }
        });
        let evaluate = |_| model.evaluate(&read, &pipeline(), 2, Compute::F32);
        let found: Result<Vec<Evaluated>> = (0..20).map(evaluate).collect();
        done.store(true, Ordering::SeqCst);
        found.unwrap();
    });
}

#[test]
fn a_trainer_waits_for_samples_that_read_its_model() {
    let context = context();
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let own: Arc<Mutex<Option<Arc<Model>>>> = Arc::default();
    let reader = own.clone();
    let data = labelled(&context, 50, move |index| {
        let model = reader.lock().unwrap().clone();
        thread::yield_now();
        match model.map(|model| model.parameter("head.bias")) {
            Some(Err(error)) if error.status() != Status::State => Err(error),
            _ => Ok(index as i32 % 10),
        }
    });
    let mut trainer = Trainer::new(&mut model, &data, None, &training(1000)).unwrap();
    *own.lock().unwrap() = Some(Arc::new(model));
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..10 {
                trainer.step().unwrap();
            }
        });
        for index in 0..500 {
            data.label(index % 50).unwrap();
        }
    });
    own.lock().unwrap().take();
}
