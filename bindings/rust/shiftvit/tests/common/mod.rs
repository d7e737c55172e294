//! What the tests share: a context of two threads, small models and data, folders that are removed, and a
//! limit of time.
#![allow(dead_code)]

use shiftvit::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

pub fn context() -> Context {
    Context::builder().threads(2).build().unwrap()
}

pub fn synthetic(context: &Context, split: Split, count: usize) -> Dataset {
    Dataset::synthetic(context, 1, split, count).unwrap()
}

/// A pipeline from the 32 x 32 pixels of the synthetic images, as they are, to the model.
pub fn pipeline() -> PipelineConfig {
    PipelineConfig {
        resize_height: 32,
        resize_width: 32,
        output_height: 32,
        output_width: 32,
        evaluation: Evaluation::Keep,
        ..PipelineConfig::default()
    }
}

pub fn shiftvit_config() -> ModelConfig {
    ModelConfig {
        dim: 16,
        blocks: vec![1, 1],
        input_height: 32,
        input_width: 32,
        ..ModelConfig::default()
    }
}

pub fn vit_config() -> ModelConfig {
    ModelConfig {
        num_classes: 10,
        input_height: 32,
        input_width: 32,
        patch_size: 8,
        dim: 32,
        depth: 2,
        heads: 2,
        head_dim: 16,
        mlp_dim: 64,
        head_units: vec![],
        pool: Pool::Mean,
        dropout: 0.0,
        head_dropout: 0.0,
        ..ModelConfig::preset("vit-cifar100").unwrap()
    }
}

pub fn training(epochs: u32) -> Training {
    Training {
        trainer: TrainerConfig { epochs, batch: 50, patience: 0, ..TrainerConfig::default() },
        optimizer: OptimizerConfig { learning_rate: 3e-3, ..OptimizerConfig::default() },
        pipeline: pipeline(),
    }
}

/// The bits of all parameters.
pub fn bits(model: &Model) -> Vec<u32> {
    let names = model.parameter_names();
    names.iter().flat_map(|name| model.parameter(name).unwrap()).map(f32::to_bits).collect()
}

/// A new folder, which is removed at the end of the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("shiftvit-rust-{}-{}", std::process::id(), number);
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(Path::new(&self.0));
    }
}

/// Runs a function on a thread of its own, and fails if it waits for ever.
#[track_caller]
pub fn ends(function: impl FnOnce() + Send + 'static) {
    let (done, end) = mpsc::channel();
    let thread = thread::spawn(move || {
        function();
        done.send(()).unwrap();
    });
    let end = end.recv_timeout(Duration::from_secs(120));
    assert_ne!(end, Err(mpsc::RecvTimeoutError::Timeout), "it waits for ever");
    thread.join().unwrap();
}

/// Fails unless a result is an error of this status whose message has a word.
#[track_caller]
pub fn refused<T>(result: Result<T>, status: Status, word: &str) -> Error {
    let error = match result {
        Ok(_) => panic!("the call succeeded"),
        Err(error) => error,
    };
    assert_eq!(error.status(), status, "{}", error);
    assert!(error.message().contains(word), "'{}' has no '{}'", error, word);
    error
}
