//! Pipelines on images of the caller's, and sessions that read what they make.

mod common;

use common::*;
use shiftvit::*;

#[test]
fn a_session_on_evaluated_images_has_the_logits_of_a_predictor() {
    let context = context();
    let pipeline = PipelineConfig::default();
    let mut model =
        Model::new(&context, &ModelConfig { dim: 16, ..ModelConfig::default() }, 1).unwrap();
    model.set_pipeline(Some(&pipeline)).unwrap();
    let pixels: Vec<u8> = (0..2 * 40 * 50 * 3).map(|i| (i * 7 % 256) as u8).collect();
    let shape = ImageShape::new(40, 50, 3);
    assert_eq!(pipeline.evaluation_size().unwrap(), (48, 48));
    let inputs = pipeline.apply_evaluation(&context, &pixels, shape).unwrap();
    assert_eq!(inputs.len(), 2 * 48 * 48 * 3);
    let mut session = Session::new(&model, &SessionConfig::default()).unwrap();
    let logits = session.forward(&inputs).unwrap();
    let config = PredictorConfig { output: Output::Logits, ..PredictorConfig::default() };
    let mut predictor = Predictor::new(&model, &config).unwrap();
    assert_eq!(logits, predictor.predict(&pixels, shape).unwrap());

    let floats: Vec<f32> = pixels.iter().map(|&byte| byte.into()).collect();
    assert_eq!(pipeline.apply_evaluation_f32(&context, &floats, shape).unwrap(), inputs);
    let small = pipeline.apply_source(&context, &pixels[..40 * 50 * 3], shape).unwrap();
    let of_small = pipeline.apply_evaluation(&context, &small, ImageShape::new(32, 32, 3)).unwrap();
    assert_eq!(of_small, inputs[..48 * 48 * 3]);
}

#[test]
fn images_of_another_shape_than_the_pipeline_s_are_refused() {
    let context = context();
    let kept = pipeline();
    assert_eq!(kept.evaluation_size().unwrap(), (32, 32));
    let grey = ImageShape::new(4, 4, 1);
    refused(kept.apply_evaluation(&context, &[0; 16], grey), Status::Argument, "1 channels");
    refused(kept.apply_evaluation_f32(&context, &[0.0; 16], grey), Status::Argument, "1 channels");
    refused(kept.apply_source(&context, &[0; 16], grey), Status::Argument, "1 channels");
    let shape = ImageShape::new(4, 4, 3);
    refused(kept.apply_evaluation(&context, &[0; 47], shape), Status::Argument, "multiple of 48");
    refused(kept.apply_source(&context, &[0; 96], shape), Status::Argument, "96 elements");
    refused(kept.apply_evaluation_f32(&context, &[f32::NAN; 48], shape), Status::Argument, "");
    let huge = PipelineConfig { source_height: u32::MAX, source_width: u32::MAX, ..kept.clone() };
    refused(huge.apply_source(&context, &[0; 48], shape), Status::Argument, "source_height");
    let wrong = PipelineConfig { scale: 0.0, ..kept };
    refused(wrong.evaluation_size(), Status::Argument, "scale");
    refused(wrong.apply_evaluation(&context, &[0; 48], shape), Status::Argument, "scale");
    refused(wrong.apply_source(&context, &[0; 48], shape), Status::Argument, "scale");
}

#[test]
fn a_predictor_keeps_what_its_model_had_when_it_was_created() {
    let context = context();
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    model.set_pipeline(Some(&pipeline())).unwrap();
    model.set_output(Output::Softmax).unwrap();
    let mut kept = Predictor::new(&model, &PredictorConfig::default()).unwrap();
    let (pixels, shape) = (vec![99; 32 * 32 * 3], ImageShape::new(32, 32, 3));
    let expected = kept.predict(&pixels, shape).unwrap();

    let other = PipelineConfig { scale: 0.5, ..pipeline() };
    model.set_pipeline(Some(&other)).unwrap();
    model.set_output(Output::Logits).unwrap();
    model.set_threshold(1.0).unwrap();
    assert_eq!(kept.predict(&pixels, shape).unwrap(), expected);
    assert_eq!(kept.output().unwrap(), Output::Softmax);
    let row = [0.5, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(kept.labels(&row).unwrap(), [0]);

    let mut new = Predictor::new(&model, &PredictorConfig::default()).unwrap();
    assert_ne!(new.predict(&pixels, shape).unwrap(), expected);
    assert_eq!(new.output().unwrap(), Output::Logits);
    let softmax = PredictorConfig { output: Output::Softmax, ..PredictorConfig::default() };
    assert_eq!(Predictor::new(&model, &softmax).unwrap().labels(&row).unwrap(), [-1]);
}
