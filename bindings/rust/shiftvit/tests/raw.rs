//! Raw calls on the handles of safe objects.

mod common;

use common::*;
use shiftvit::*;
use std::ffi::CStr;
use std::mem::{size_of, MaybeUninit};
use std::ptr;

#[test]
fn raw_calls_see_what_the_objects_are() {
    let context = context();
    let data = synthetic(&context, Split::Train, 50);
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let session = Session::new(&model, &SessionConfig::default()).unwrap();
    let optimizer = Optimizer::new(&model, &OptimizerConfig::default()).unwrap();
    let loader = Loader::new(&data, &pipeline(), &LoaderConfig::default()).unwrap();
    let features =
        Features::compute(&model, &data, Some(&pipeline()), &FeaturesConfig::default()).unwrap();
    let trainer = Trainer::new(&mut model, &data, None, &training(1)).unwrap();
    let predictor = Predictor::new(&model, &PredictorConfig::default()).unwrap();
    let folder = Folder::new();
    Checkpoint::save(folder.path("file"), &model, None, None, &[("a", "b")]).unwrap();
    let checkpoint = Checkpoint::open(&context, folder.path("file")).unwrap();
    // SAFETY: the handles are alive, the text ends with a NUL, and one thread alone reads.
    unsafe {
        assert_eq!(sys::svit_context_threads(context.as_ptr()), 2);
        assert_eq!(sys::svit_dataset_count(data.as_ptr()), 50);
        assert_eq!(sys::svit_session_memory(session.as_ptr()), session.memory());
        assert_eq!(sys::svit_optimizer_steps(optimizer.as_ptr()), 0);
        assert_eq!(sys::svit_loader_batches(loader.as_ptr()), loader.batches());
        assert_eq!(sys::svit_features_count(features.as_ptr()), 50);
        assert_eq!(sys::svit_trainer_history_count(trainer.as_ptr()), 0);
        assert_eq!(sys::svit_predictor_classes(predictor.as_ptr()), 10);
        let elements = sys::svit_model_parameter_elements(model.as_ptr());
        assert_eq!(elements, model.parameter_elements());
        let note = sys::svit_checkpoint_value(checkpoint.as_ptr(), b"a\0".as_ptr().cast());
        assert_eq!(CStr::from_ptr(note).to_str(), Ok("b"));
    }
}

#[test]
fn a_context_of_a_raw_call_is_taken_over() {
    let mut config = MaybeUninit::<sys::svit_context_config>::uninit();
    let mut raw = ptr::null_mut();
    // SAFETY: the struct has the size that is passed and is filled by the first call.
    let status = unsafe {
        sys::svit_context_config_init(config.as_mut_ptr(), size_of::<sys::svit_context_config>());
        let mut config = config.assume_init();
        config.threads = 3;
        sys::svit_context_create(&mut raw, &config, ptr::null_mut())
    };
    assert_eq!(status, sys::SVIT_OK);
    // SAFETY: the context is new, and its configuration has no functions.
    let context = unsafe { Context::from_raw(raw) };
    assert_eq!((context.threads(), context.as_ptr()), (3, raw));
    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    drop(context);
    assert_eq!(model.context().threads(), 3);
}
