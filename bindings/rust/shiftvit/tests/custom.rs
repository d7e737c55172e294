//! Data sets whose images a function of any thread writes.

mod common;

use common::*;
use shiftvit::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

const COUNT: usize = 24;

fn labels() -> Answers {
    let labels = (0..COUNT).map(|i| i as i32 % 3).collect();
    Answers::Labels { labels, classes: 3 }
}

fn pixel(index: usize, at: usize) -> u8 {
    (index * 31 + at * 7) as u8
}

#[test]
fn they_are_the_data_sets_of_the_same_arrays() {
    let context = context();
    let shape = ImageShape::new(32, 32, 3);
    let pixels: Vec<u8> =
        (0..COUNT).flat_map(|i| (0..32 * 32 * 3).map(move |at| pixel(i, at))).collect();
    let Answers::Labels { labels: given, .. } = labels() else { unreachable!() };
    let same = Dataset::from_pixels(&context, pixels, given, shape, 3).unwrap();
    let made = Dataset::from_images(&context, shape, labels(), |index, image: &mut [u8]| {
        image.iter_mut().enumerate().for_each(|(at, value)| *value = pixel(index, at));
        Ok::<_, Error>(())
    })
    .unwrap();
    for index in 0..COUNT {
        assert!(made.sample(index).unwrap() == same.sample(index).unwrap());
    }
    // That of functions is without their images.
    assert_ne!(made.fingerprint().unwrap(), same.fingerprint().unwrap());
    let trained = [made, same].map(|data| {
        let mut model =
            Model::new(&context, &ModelConfig { num_classes: 3, ..shiftvit_config() }, 1).unwrap();
        Trainer::new(&mut model, &data, None, &training(2)).unwrap().fit().unwrap();
        model.to_bytes().unwrap()
    });
    assert!(trained[0] == trained[1]);
}

#[test]
fn floats_have_targets_and_end_with_their_data_set() {
    let context = context();
    let shape = ImageShape::new(2, 2, 1);
    let answers = Answers::Targets { targets: vec![0.5, -1.0, 2.0, 3.0], columns: 2 };
    let owned = Arc::new(());
    let kept = owned.clone();
    let data = Dataset::from_images(&context, shape, answers, move |index, image: &mut [f32]| {
        let _ = &kept;
        image.fill(index as f32 - 0.5);
        Ok::<_, Error>(())
    })
    .unwrap();
    assert!(data.is_f32() && data.has_targets());
    assert_eq!(data.sample_f32(1).unwrap(), (vec![0.5; 4], -1));
    assert_eq!(data.targets(1).unwrap(), [2.0, 3.0]);
    let view = data.slice(1, 1).unwrap();
    drop((data, context));
    assert_eq!(Arc::strong_count(&owned), 2);
    assert_eq!(view.targets(0).unwrap(), [2.0, 3.0]);
    drop(view);
    assert_eq!(Arc::strong_count(&owned), 1);
}

#[test]
fn failures_are_those_of_the_call() {
    let context = context();
    let shape = ImageShape::new(2, 2, 1);
    let read = Arc::new(AtomicUsize::new(0));
    let count = read.clone();
    let function = move |index: usize, _: &mut [u8]| -> Result<(), BoxError> {
        count.fetch_add(1, Ordering::Relaxed);
        match index % 5 {
            0 => Ok(()),
            1 => Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no such row").into()),
            2 => Err(Error::new(Status::Numeric, "too \0 dark").into()),
            3 => Err("no more".into()),
            _ => panic!("row {index}"),
        }
    };
    let data = Dataset::from_images(&context, shape, labels(), function).unwrap();
    data.sample(5).unwrap();
    refused(data.sample(1), Status::Io, "sample 1: no such row");
    refused(data.sample(2), Status::Numeric, "sample 2: too   dark");
    refused(data.sample(3), Status::Stopped, "sample 3: no more");
    refused(data.sample(4), Status::Stopped, "sample 4: the function panicked: row 4");
    assert_eq!((read.load(Ordering::Relaxed), data.label(4).unwrap()), (5, 1));
    let odd = |_: usize, _: &mut [u8]| Err(Error::new(Status::Other(0), "no success"));
    let odd = Dataset::from_images(&context, shape, labels(), odd).unwrap();
    refused(odd.sample(1), Status::Stopped, "sample 1: no success");
    let none = |_: usize, _: &mut [u8]| Ok::<_, Error>(());
    let long = Answers::Targets { targets: vec![0.0; 5], columns: 2 };
    refused(Dataset::from_images(&context, shape, long, none), Status::Argument, "targets");
    let wide = ImageShape::new(1, 16385, 1);
    refused(Dataset::from_images(&context, wide, labels(), none), Status::Argument, "width");
}

/// An error whose text and destructor panic.
#[derive(Debug)]
struct Hostile;

impl std::fmt::Display for Hostile {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no text")
    }
}

impl std::error::Error for Hostile {}

impl Drop for Hostile {
    fn drop(&mut self) {
        panic!("no end")
    }
}

#[test]
fn errors_that_panic_end_the_call_alone() {
    let context = context();
    let shape = ImageShape::new(2, 2, 1);
    let kept = Hostile;
    let function = move |index: usize, _: &mut [u8]| -> Result<(), BoxError> {
        let _ = &kept;
        match index {
            0 => Err(Box::new(Hostile)),
            _ => std::panic::panic_any(Hostile),
        }
    };
    let data = Dataset::from_images(&context, shape, labels(), function).unwrap();
    refused(data.sample(0), Status::Stopped, "sample 0: the error of the function has no text");
    refused(data.sample(1), Status::Stopped, "sample 1: the function panicked: no text");
    drop(data);
}
