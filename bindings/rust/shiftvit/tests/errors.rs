//! Hostile arguments: each is an error with a status and a message, and nothing is undefined.

mod common;

use common::*;
use shiftvit::*;
use std::error::Error as _;
use std::fs;

#[test]
fn the_version_is_that_of_the_crate() {
    assert_eq!(version().unwrap(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn texts_with_a_nul_are_refused() {
    let context = context();
    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let error = refused(model.parameter("head\0weight"), Status::Argument, "NUL at byte 4");
    assert!(error.source().is_some());
    refused(Model::load(&context, "a\0b"), Status::Argument, "NUL");
    refused(Context::builder().gemm("ti\0le").build(), Status::Argument, "NUL");
    refused(ModelConfig::preset("\0"), Status::Argument, "NUL");
    refused(ModelConfig::from_json("{}\0"), Status::Argument, "NUL");
    let data = synthetic(&context, Split::Train, 10);
    let mut settings = training(1);
    settings.trainer.description = Some("a\0b".to_string());
    let mut model = model;
    refused(Trainer::new(&mut model, &data, None, &settings), Status::Argument, "NUL");
    refused(model.set_classes(&["a\0b"; 10]), Status::Argument, "NUL");
    refused(Checkpoint::save("file", &model, None, None, &[("a", "\0")]), Status::Argument, "NUL");
}

/// Fails unless a message is UTF-8 without control characters and fits a record of the library.
#[track_caller]
fn printable<T>(result: Result<T>, status: Status, word: &str) {
    let error = refused(result, status, word);
    assert!(!error.message().contains(char::is_control), "{:?}", error.message());
    assert!(error.message().len() < 248, "{} bytes", error.message().len());
}

#[test]
fn names_in_messages_are_printable_and_fit() {
    let context = context();
    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let shown = r"\n\r\t\x00\x1B\x7F\xC2\x85ä";
    let layer = |text: &str| {
        let config = SessionConfig { input_layer: text.to_string(), ..SessionConfig::default() };
        Session::new(&model, &config)
    };
    let text = "x".repeat(300) + "\n\r\t\u{1b}\u{7f}\u{85}ä";
    printable(layer(&text), Status::Argument, &shown.replace(r"\x00", ""));
    printable(layer(&text), Status::Argument, "'…xxx");
    printable(layer(&"ä".repeat(300)), Status::Argument, "'…ää");
    printable(layer(&"\u{1b}".repeat(300)), Status::Argument, r"'…\x1B\x1B");

    let text = "x".repeat(300) + "/\n\r\t\0\u{1b}\u{7f}\u{85}ä";
    printable(Model::load(&context, &text), Status::Argument, shown);
    printable(Predictor::open(&context, &text), Status::Argument, shown);
    printable(Predictor::open(&context, "none\n\u{1b}"), Status::Io, r"none\n\x1B");
}

#[cfg(unix)]
#[test]
fn names_of_files_may_be_any_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let (context, folder) = (context(), Folder::new());
    let path = std::ffi::OsStr::from_bytes(b"a\xff\xc3\0\xe2\x82");
    printable(Model::load(&context, path), Status::Argument, r"'a\xFF\xC3\x00\xE2\x82'");

    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let name = "a".repeat(100) + "\n\u{1b}b";
    model.save(folder.path(&name)).unwrap();
    let opened = Predictor::open(&context, folder.path(&name));
    printable(opened, Status::Argument, r"a\n\x1Bb' has no preprocessing");
    fs::write(folder.path(&name), "garbage").unwrap();
    printable(Predictor::open(&context, folder.path(&name)), Status::Format, r"\n\x1Bb");
}

#[test]
fn arrays_of_the_wrong_size_are_refused() {
    let context = context();
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let config = SessionConfig { max_batch: 2, mode: Mode::Train, ..SessionConfig::default() };
    let mut session = Session::new(&model, &config).unwrap();
    let size = session.input_size();
    refused(session.forward(&[]), Status::Argument, "0 elements");
    refused(session.forward(&vec![0.0; size - 1]), Status::Argument, "multiple of 3072");
    refused(session.forward(&vec![0.0; 3 * size]), Status::Argument, "");
    refused(session.forward_into(&vec![0.0; size], &mut [0.0; 9]), Status::Argument, "[1, 10]");
    refused(session.backward(&[0.0; 10]), Status::State, "");
    session.forward(&vec![0.0; 2 * size]).unwrap();
    refused(session.backward(&[0.0; 10]), Status::Argument, "");
    refused(session.set_gradient("head.bias", &[0.0; 9]), Status::Argument, "head.bias");
    refused(session.gradient("nothing"), Status::Argument, "nothing");
    refused(session.forward_features(&vec![0.0; size], "nothing"), Status::Argument, "nothing");
    refused(model.set_parameter("head.bias", &[0.0; 11]), Status::Argument, "head.bias");
    refused(model.set_parameter("head.bias", &[f32::NAN; 10]), Status::Numeric, "head.bias");
    refused(model.set_classes(&["one"]), Status::Argument, "");
    refused(model.replace_head(usize::MAX, 1), Status::Argument, "num_classes is");
    refused(model.add_classes(usize::MAX, 1), Status::Argument, "the count is");
    refused(model.add_lora(usize::MAX, 1.0, 1), Status::Argument, "the rank is");
    refused(model.whiten(&[0.0; 5]), Status::Argument, "multiple");

    let shape = ImageShape::new(2, 2, 3);
    refused(
        Dataset::from_pixels(&context, vec![0; 11], vec![0], shape, 2),
        Status::Argument,
        "pixels",
    );
    refused(Dataset::from_pixels(&context, vec![0; 12], vec![2], shape, 2), Status::Argument, "2");
    let huge = ImageShape::new(usize::MAX, usize::MAX, 3);
    refused(
        Dataset::from_pixels(&context, vec![0; 12], vec![0], huge, 2),
        Status::Argument,
        "too many",
    );
    let targets = Dataset::from_pixels_with_targets(&context, vec![0; 12], vec![1.0; 3], shape, 2);
    refused(targets, Status::Argument, "targets");
    refused(
        Dataset::from_floats(&context, vec![0.0; 13], vec![0], shape, 2),
        Status::Argument,
        "images",
    );

    model.set_pipeline(Some(&pipeline())).unwrap();
    let mut predictor = Predictor::new(&model, &PredictorConfig::default()).unwrap();
    let grey = ImageShape::new(32, 32, 1);
    refused(predictor.predict(&[0; 1024], grey), Status::Argument, "1 channels");
    refused(
        predictor.predict(&[0; 1024], ImageShape::new(32, 32, 3)),
        Status::Argument,
        "multiple",
    );
    refused(
        predictor.predict(&[0; 3], ImageShape::new(0, 32, 3)),
        Status::Argument,
        "rows of images have 0 elements",
    );
    refused(predictor.predict_f32(&[f32::NAN; 3], ImageShape::new(1, 1, 3)), Status::Argument, "");
    refused(Image::write_png(&context, "x.png", &[0; 5], 1, 2), Status::Argument, "rgb");
}

#[test]
fn results_that_do_not_fit_memory_are_refused() {
    let context = context();
    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let shape = ImageShape::new(32, 32, 3);
    // A product of sizes overflows, or no system has the bytes.
    for count in [usize::MAX, usize::MAX / 256] {
        let data =
            Dataset::from_function(&context, count, shape, 10, |_, _| Ok::<_, Error>(0)).unwrap();
        let logits = model.logits(&data, &pipeline(), 10, Compute::F32, Tta::None);
        refused(logits, Status::Memory, "labels");
        let logits = model.logits_only(&data, &pipeline(), 10, Compute::F32, Tta::None);
        refused(logits, Status::Memory, "logits");
    }
    let logits = vec![0.0; 1 << 22];
    refused(metrics::confusion_matrix(&logits, &[0], 1 << 22), Status::Memory, "the matrix");
}

#[test]
fn losses_and_metrics_check_their_arrays() {
    let (logits, labels) = ([1.0, 2.0, 0.0, 3.0], [1, 1]);
    let mut gradient = [0.0; 4];
    let value = loss::cross_entropy(&logits, &labels, 2, None, 0.0, &mut gradient).unwrap();
    assert!((value - 0.18092).abs() < 1e-4, "{}", value);
    assert!((gradient[0] + gradient[1]).abs() < 1e-6);
    let weighted = loss::cross_entropy(&logits, &labels, 2, Some(&[1.0, 2.0]), 0.0, &mut gradient);
    assert!((weighted.unwrap() - value).abs() < 1e-6, "both have one label");
    refused(
        loss::cross_entropy(&logits, &[2, 0], 2, None, 0.0, &mut gradient),
        Status::Argument,
        "2",
    );
    // Every number of labels but that of the rows, also one by which the logits can be divided.
    for few in [&[][..], &[0], &[0; 3], &[0; 4]] {
        let loss = loss::cross_entropy(&logits, few, 2, None, 0.0, &mut gradient);
        refused(loss, Status::Argument, "labels");
        refused(loss::count_top_k(&logits, few, 2, 1), Status::Argument, "labels");
        refused(metrics::confusion_matrix(&logits, few, 2), Status::Argument, "labels");
    }
    let short = loss::cross_entropy(&logits, &labels, 2, None, 0.0, &mut gradient[..3]);
    refused(short, Status::Argument, "gradient");
    let weights = loss::cross_entropy(&logits, &labels, 2, Some(&[1.0]), 0.0, &mut gradient);
    refused(weights, Status::Argument, "class_weights");
    refused(loss::softmax(&logits, 0), Status::Argument, "rows of logits have 0 elements");
    refused(loss::softmax(&logits, 3), Status::Argument, "logits");
    refused(
        loss::binary_cross_entropy(&logits, &[0.5], 2, None, 0.0, &mut gradient),
        Status::Argument,
        "targets",
    );
    assert_eq!(loss::sigmoid(&[0.0]).unwrap(), [0.5]);
    assert_eq!(loss::mean_squared_error(&[1.0, 3.0], &[1.0, 1.0], 1, &mut [0.0; 2]).unwrap(), 2.0);
    let soft = loss::cross_entropy_soft(&logits, &[0.0, 1.0, 0.0, 1.0], 2, &mut gradient);
    assert!((soft.unwrap() - value).abs() < 1e-6);
    assert_eq!(loss::count_top_k(&logits, &labels, 2, 1).unwrap(), 2);

    assert_eq!(metrics::confusion_matrix(&logits, &[0, 1], 2).unwrap(), [0, 1, 0, 1]);
    let measures = metrics::multilabel_metrics(&logits, &[1.0, 1.0, 0.0, 1.0], 2).unwrap();
    assert_eq!((measures.exact_match, measures.micro_f1), (1.0, 1.0));
    let context = context();
    let precision =
        metrics::average_precision(&context, &logits, &[1.0, 1.0, 0.0, 1.0], 2).unwrap();
    assert_eq!(precision, [1.0, 1.0]);
    assert_eq!(
        metrics::regression_errors(&[1.0, 3.0], &[1.0, 1.0], 1).unwrap(),
        (1.0, 2f64.sqrt())
    );
}

#[test]
fn configurations_are_checked_where_they_are_used() {
    let context = context();
    let config = ModelConfig { dim: 0, ..shiftvit_config() };
    refused(Model::new(&context, &config, 1), Status::Argument, "dim");
    let config = ModelConfig { blocks: vec![1; 9], ..shiftvit_config() };
    refused(Model::new(&context, &config, 1), Status::Argument, "blocks has 9 elements");
    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let config = SessionConfig { input_layer: "x".repeat(32), ..SessionConfig::default() };
    refused(Session::new(&model, &config), Status::Argument, "at most 31");
    let config = SessionConfig { max_batch: 0, ..SessionConfig::default() };
    refused(Session::new(&model, &config), Status::Argument, "max_batch");
    let groups = vec![ParameterGroup::new("no.*")];
    let config = OptimizerConfig { groups, ..OptimizerConfig::default() };
    refused(Optimizer::new(&model, &config), Status::Argument, "no.*");
    refused(Context::builder().threads(1025).build(), Status::Argument, "1025");
    refused(Context::builder().gemm("nothing").build(), Status::Argument, "nothing");
    refused(ModelConfig::preset("nothing"), Status::Argument, "nothing");
    refused(ModelConfig::from_json("{"), Status::Format, "");
    refused(ModelConfig::from_json(r#"{"dims": 1}"#), Status::Argument, "dim");
    let data = synthetic(&context, Split::Train, 10);
    refused(data.slice(5, 6), Status::Argument, "");
    refused(data.select(&[10]), Status::Argument, "10");
    refused(data.sample(10), Status::Argument, "10");
    refused(Predictor::new(&model, &PredictorConfig::default()), Status::State, "").to_string();
}

#[test]
fn every_preset_survives_its_round_trip() {
    let presets = ModelConfig::presets();
    assert!(presets.len() > 5);
    for name in presets {
        let config = ModelConfig::preset(&name).unwrap();
        let json = config.to_json().unwrap();
        assert_eq!(ModelConfig::from_json(&json).unwrap(), config, "{}", name);
        assert!(config.multiply_adds().unwrap().0 > 0);
    }
    let config = OptimizerConfig {
        groups: vec![ParameterGroup {
            lr_scale: 0.5,
            weight_decay: Some(0.0),
            ..ParameterGroup::new("head.*")
        }],
        points: vec![
            SchedulePoint { fraction: 0.0, factor: 0.0 },
            SchedulePoint { fraction: 1.0, factor: 1.0 },
        ],
        decay_exclude: DecayExclude { bias: true, norm: true, position: false },
        schedule: Schedule::Piecewise,
        total_steps: 10,
        ..OptimizerConfig::default()
    };
    let again = OptimizerConfig::from_json(&config.to_json().unwrap()).unwrap();
    assert_eq!(again, config);
    assert!((config.learning_rate_at(5).unwrap() - 0.5 * config.learning_rate).abs() < 1e-12);
}

#[test]
fn objects_show_their_sizes() {
    let context = context();
    let builder = Context::builder().threads(2).log(|_, _| ());
    let text = "ContextBuilder { threads: 2, pin: false, gemm: None, log: true, stop: false, max_image_pixels: 0 }";
    assert_eq!(format!("{:?}", builder), text);
    assert_eq!(format!("{:?}", context), "Context { threads: 2 }");
    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let mut optimizer = Optimizer::new(&model, &OptimizerConfig::default()).unwrap();
    assert_eq!(format!("{:?}", optimizer), "Optimizer { steps: 0 }");
    assert_eq!(format!("{:?}", optimizer.settings()), "OptimizerSettings { .. }");
    let session = Session::new(&model, &SessionConfig::default()).unwrap();
    assert!(format!("{:?}", session).starts_with("Session { input_size: 3072, classes: 10, memory"));
    let own = SessionConfig { context: Some(context.clone()), ..SessionConfig::default() };
    assert_eq!(own, own.clone());
    let other = SessionConfig { context: Some(common::context()), ..SessionConfig::default() };
    assert_ne!(own, other, "another context");
}

#[test]
fn a_folder_has_one_lock() {
    let context = context();
    let folder = Folder::new();
    let mut lock = FolderLock::new(&context, folder.path("new")).unwrap();
    refused(FolderLock::new(&context, folder.path("new")), Status::State, "");
    std::fs::write(folder.path("new/file"), "x").unwrap();
    assert!(lock.has("file") && !lock.has("other") && !lock.has("a\0b"));
    lock.remove("file").unwrap();
    refused(lock.remove("../file"), Status::Argument, "");
    drop(lock);
    drop(FolderLock::new(&context, folder.path("new")).unwrap());
}
