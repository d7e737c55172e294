//! Files: equal bits after a round trip, other types and names, checkpoints, images, ONNX.

mod common;

use common::*;
use shiftvit::*;
use std::fs;

#[test]
fn a_model_has_equal_bits_after_every_round_trip() {
    let context = context();
    let folder = Folder::new();
    let mut model = Model::new(&context, &shiftvit_config(), 3).unwrap();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "the ä class"];
    model.set_classes(&names).unwrap();
    model.set_pipeline(Some(&pipeline())).unwrap();
    model.set_output(Output::Logits).unwrap();
    let path = folder.path("model.safetensors");
    model.save(&path).unwrap();
    let loaded = Model::load(&context, &path).unwrap();
    assert!(bits(&loaded) == bits(&model));
    assert_eq!(loaded.classes(), names);
    assert_eq!(loaded.output().unwrap(), Output::Logits);
    assert_eq!(loaded.pipeline().unwrap().unwrap().output_height, 32);
    assert_eq!(
        loaded.config().unwrap().to_json().unwrap(),
        model.config().unwrap().to_json().unwrap()
    );

    // SAFETY: nobody else knows the file.
    let mapped = unsafe { Model::map(&context, &path) }.unwrap();
    assert!(bits(&mapped) == bits(&model));
    let bytes = model.to_bytes().unwrap();
    assert!(bytes == fs::read(&path).unwrap());
    assert!(bits(&Model::from_bytes(&context, &bytes).unwrap()) == bits(&model));
    let with_config = Model::load_with_config(&context, &shiftvit_config(), &path).unwrap();
    assert!(bits(&with_config) == bits(&model));
    let mut other = Model::new(&context, &shiftvit_config(), 4).unwrap();
    let report = other.load_into(&path, None, LoadFlags::default()).unwrap();
    assert_eq!(report.loaded as usize, model.parameter_names().len());
    assert!(bits(&other) == bits(&model));
    model.save_as(folder.path("half"), Dtype::Bf16).unwrap();
    assert!(fs::metadata(folder.path("half")).unwrap().len() < bytes.len() as u64);
}

#[test]
fn parts_of_a_file_and_names_of_another_library() {
    let context = context();
    let folder = Folder::new();
    let config = ModelConfig { mlp_last_gelu: false, ..vit_config() };
    let vit = Model::new(&context, &config, 1).unwrap();
    let path = folder.path("timm.safetensors");
    vit.save_mapped(&path, "timm").unwrap();
    let again = Model::load_mapped(&context, &config, &path, Some("timm")).unwrap();
    assert!(bits(&again) == bits(&vit));

    let mut fewer = Model::new(&context, &ModelConfig { num_classes: 3, ..config }, 1).unwrap();
    let error =
        refused(fewer.load_into(&path, Some("timm"), LoadFlags::default()), Status::Format, "head");
    let report = error.load_report().unwrap();
    assert_eq!((report.mismatched, report.lines.len()), (1, 1));
    assert!(report.loaded > 0 && report.lines[0].starts_with("mismatched head."), "{:?}", report);
    let none = fewer.load_into(folder.path("none"), None, LoadFlags::default());
    assert!(refused(none, Status::Io, "none").load_report().is_none());
    let flags = LoadFlags { skip_shape_mismatch: true, ..LoadFlags::default() };
    let report = fewer.load_into(&path, Some("timm"), flags).unwrap();
    assert_eq!(report.mismatched, 2);
    assert_eq!(report.lines.len(), 2);
    assert!(report.lines.iter().all(|line| line.starts_with("mismatched head.")));
}

#[test]
fn a_checkpoint_opens_without_a_configuration() {
    let context = context();
    let folder = Folder::new();
    let config = ModelConfig { mlp_last_gelu: false, ..vit_config() };
    let vit = Model::new(&context, &config, 1).unwrap();
    let path = folder.path("model.safetensors");
    vit.save_mapped(&path, "timm").unwrap();
    // Nothing in the file tells the number of heads.
    let error =
        refused(Model::open(&context, &path, &OpenOptions::default()), Status::Argument, "heads");
    let found = &error.load_report().unwrap().lines;
    assert!(found.iter().any(|line| line.starts_with("field depth 2 ")), "{:?}", found);
    let fields =
        r#"{"heads": HEADS, "norm_eps": EPS, "activation": "gelu", "pool": "mean-patches"}"#
            .replace("HEADS", &config.heads.to_string())
            .replace("EPS", &config.norm_eps.to_string());
    let options = OpenOptions { fields: Some(fields), ..OpenOptions::default() };
    let (opened, report) = Model::open(&context, &path, &options).unwrap();
    assert!(bits(&opened) == bits(&vit));
    assert_eq!(report.loaded as usize, vit.parameter_names().len());
    assert!(report.lines.iter().any(|line| line.starts_with("field heads ")));
    let options = OpenOptions { prefix: Some("none.".to_string()), ..options };
    refused(Model::open(&context, &path, &options), Status::Argument, "none.");
    let options = OpenOptions { name: Some("a\0b".to_string()), ..options };
    refused(Model::open(&context, &path, &options), Status::Argument, "NUL");
}

#[test]
fn a_report_has_room_for_all_names() {
    let context = context();
    let folder = Folder::new();
    let small = Model::new(&context, &vit_config(), 1).unwrap();
    let path = folder.path("model.safetensors");
    small.save(&path).unwrap();
    let mut deep = Model::new(&context, &ModelConfig { depth: 300, ..vit_config() }, 1).unwrap();
    let flags = LoadFlags { allow_missing: true, ..LoadFlags::default() };
    let report = deep.load_into(&path, None, flags).unwrap();
    assert!(report.lines.iter().map(|line| line.len() + 1).sum::<usize>() > 1 << 16);
    assert_eq!(report.lines.len(), report.missing as usize);
    let loaded = deep.parameter_names().len() - report.missing as usize;
    assert_eq!((report.loaded as usize, loaded), (loaded, small.parameter_names().len()));
}

#[test]
fn files_that_are_missing_or_damaged_are_refused() {
    let context = context();
    let folder = Folder::new();
    let path = folder.path("model.safetensors");
    refused(Model::load(&context, &path), Status::Io, "model.safetensors");
    refused(Predictor::open(&context, &path), Status::Io, "model.safetensors");
    refused(Checkpoint::open(&context, &path), Status::Io, "model.safetensors");
    refused(Features::load(&context, &path), Status::Io, "model.safetensors");
    refused(Dataset::cifar10(&context, folder.path("none"), Split::Train), Status::Io, "none");
    let none =
        Dataset::folder(&context, folder.path("none"), ImageShape::new(8, 8, 3), Source::Nearest);
    refused(none, Status::Io, "none");

    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let bytes = model.to_bytes().unwrap();
    fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    refused(Model::load(&context, &path), Status::Format, "model.safetensors");
    refused(Predictor::open(&context, &path), Status::Format, "model.safetensors");
    refused(Model::from_bytes(&context, &bytes[..9]), Status::Format, "memory");
    refused(Model::from_bytes(&context, &[]), Status::Format, "");
    fs::write(&path, &bytes).unwrap();
    let error = refused(Predictor::open(&context, &path), Status::Argument, "no preprocessing");
    assert!(error.message().contains("model.safetensors"), "{}", error);
    fs::write(folder.path("photo.png"), b"\x89PNG\r\n\x1a\nbroken").unwrap();
    refused(Image::read(&context, folder.path("photo.png"), 3), Status::Format, "photo.png");
    refused(model.save(folder.path("no/folder")), Status::Io, "folder");
}

#[cfg(unix)]
#[test]
fn pipes_devices_and_large_files_of_no_model_are_refused_at_once() {
    ends(|| {
        let context = context();
        let folder = Folder::new();
        let (pipe, large) = (folder.path("pipe"), folder.path("large"));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        fs::File::create(&large).unwrap().set_len(1 << 33).unwrap(); // Its holes take no space.
        refused(Predictor::open(&context, &pipe), Status::Io, "is a FIFO");
        refused(Predictor::open(&context, "/dev/zero"), Status::Io, "is a device");
        refused(Predictor::open(&context, folder.path("")), Status::Io, "is a folder");
        refused(Predictor::open(&context, &large), Status::Format, "not JSON");
    });
}

#[test]
fn images_folders_and_their_bad_files() {
    let context = context();
    let folder = Folder::new();
    let source = synthetic(&context, Split::Test, 4);
    for (index, class) in ["one", "one", "two", "two"].iter().enumerate() {
        fs::create_dir_all(folder.path(&format!("images/{}", class))).unwrap();
        let (pixels, _) = source.sample(index).unwrap();
        let path = folder.path(&format!("images/{}/{}.png", class, index));
        Image::write_png(&context, &path, &pixels, 32, 32).unwrap();
        let image = Image::read(&context, &path, 3).unwrap();
        assert_eq!((image.shape(), image.pixels()), (ImageShape::new(32, 32, 3), &pixels[..]));
        let bytes = fs::read(&path).unwrap();
        let decoded = Image::decode(&context, &bytes, 3).unwrap();
        assert!(decoded.pixels() == pixels);
        let limited =
            |pixels| Context::builder().threads(1).max_image_pixels(pixels).build().unwrap();
        assert!(Image::decode(&limited(1024), &bytes, 3).is_ok());
        refused(Image::decode(&limited(1023), &bytes, 3), Status::Format, "at most 1023");
    }
    fs::write(folder.path("images/two/bad.png"), b"no image").unwrap();
    let data = Dataset::folder_for_pipeline(&context, folder.path("images"), &pipeline()).unwrap();
    assert_eq!((data.len(), data.class_names()), (5, vec!["one".to_string(), "two".to_string()]));
    let bad = data.verify().unwrap();
    assert_eq!((bad.len(), bad[0].index, bad[0].status), (1, 4, Status::Format));
    assert!(bad[0].message.contains("bad.png"));
    let good = data.slice(0, 4).unwrap();
    assert!(good.verify().unwrap().is_empty());
    assert_eq!(good.select(&[3, 0]).unwrap().label(0).unwrap(), 1);

    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    model.set_pipeline(Some(&pipeline())).unwrap();
    let mut predictor = Predictor::new(&model, &PredictorConfig::default()).unwrap();
    let path = folder.path("images/one/0.png");
    let expected = predictor.predict(&source.sample(0).unwrap().0, source.shape()).unwrap();
    assert_eq!(predictor.predict_file(&path).unwrap(), expected);
    let encoded = fs::read(&path).unwrap();
    assert_eq!(predictor.predict_encoded(&encoded).unwrap(), expected);

    let rows = predictor.predict_files(&[path.clone(), folder.path("none.png"), path]).unwrap();
    assert_eq!((rows[0].as_ref().unwrap(), rows[2].as_ref().unwrap()), (&expected, &expected));
    assert_eq!(rows[1].as_ref().unwrap_err().status(), Status::Io);
    let rows = predictor.predict_encoded_images(&[b"no image".as_slice(), &encoded]).unwrap();
    assert_eq!(rows[0].as_ref().unwrap_err().status(), Status::Format);
    assert!(rows[0].as_ref().unwrap_err().message().contains("encoded image 0"));
    assert_eq!(rows[1].as_ref().unwrap(), &expected);
    assert!(predictor.predict_files(&[] as &[&str]).unwrap().is_empty());
    assert!(predictor.predict_files(&["a\0b"]).is_err());
}

#[test]
fn predictors_of_a_file_predict_as_that_of_its_model() {
    let context = context();
    let folder = Folder::new();
    let path = folder.path("model.safetensors");
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    model.set_pipeline(Some(&pipeline())).unwrap();
    model.set_classes(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]).unwrap();
    model.save(&path).unwrap();
    let own = Context::builder().threads(1).build().unwrap();
    let config = PredictorConfig {
        context: Some(own),
        output: Output::Logits,
        ..PredictorConfig::default()
    };
    let (pixels, shape) = (vec![99; 40 * 30 * 3], ImageShape::new(40, 30, 3));
    let mut first = Predictor::new(&model, &config).unwrap();
    let expected = first.predict(&pixels, shape).unwrap();
    let bytes = fs::read(&path).unwrap();
    let others = [
        Predictor::open_with(&context, &path, &config).unwrap(),
        Predictor::from_bytes(&context, &bytes, &config).unwrap(),
        // SAFETY: nobody else knows the file.
        unsafe { Predictor::map(&context, &path, &config) }.unwrap(),
    ];
    drop((context, config, bytes));
    for mut other in others {
        assert_eq!((other.channels(), other.classes()), (3, 10));
        assert_eq!(other.class_names().unwrap(), model.classes());
        assert_eq!(other.output().unwrap(), Output::Logits);
        assert_eq!(other.predict(&pixels, shape).unwrap(), expected);
        refused(other.predict(&pixels, ImageShape::new(40, 30, 1)), Status::Argument, "1 channels");
    }
}

#[test]
fn a_model_becomes_an_onnx_file() {
    let context = context();
    let folder = Folder::new();
    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let path = folder.path("model.onnx");
    let options = OnnxOptions { output: OnnxOutput::Probabilities, ..OnnxOptions::default() };
    model.export_onnx(&path, &options).unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 4 * model.parameter_elements());
    let options = OnnxOptions { preprocessing: true, ..options };
    refused(model.export_onnx(&path, &options), Status::State, "pipeline");
}
