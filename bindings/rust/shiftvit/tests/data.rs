//! Data sets in memory: floats, targets, statistics.

mod common;

use common::*;
use shiftvit::*;
use std::path::Path;

#[test]
fn numbers_are_learnt_from_targets() {
    let context = context();
    let shape = ImageShape::new(32, 32, 3);
    let count = 60;
    let values: Vec<f32> = (0..count).map(|i| i as f32 / count as f32).collect();
    let pixels = values.iter().flat_map(|v| vec![(v * 255.0) as u8; 32 * 32 * 3]).collect();
    let data =
        Dataset::from_pixels_with_targets(&context, pixels, values.clone(), shape, 1).unwrap();
    assert!(data.has_targets());
    assert_eq!((data.len(), data.label(3).unwrap()), (count, -1));
    assert_eq!(data.targets(3).unwrap(), [values[3]]);
    let config = ModelConfig { num_classes: 1, ..shiftvit_config() };
    let mut model = Model::new(&context, &config, 1).unwrap();
    let mut settings = training(6);
    settings.trainer.loss = Loss::Mse;
    settings.trainer.batch = 10;
    let mut trainer = Trainer::new(&mut model, &data, None, &settings).unwrap();
    trainer.fit().unwrap();
    let history = trainer.history().unwrap();
    assert!(history[5].train_loss < 0.5 * history[0].train_loss, "{:?}", history);
    assert_eq!(model.output().unwrap(), Output::Logits);
}

#[test]
fn floats_take_the_place_of_bytes() {
    let context = context();
    let shape = ImageShape::new(2, 2, 1);
    let images: Vec<f32> = (0..8).map(|i| i as f32).collect();
    let data = Dataset::from_floats(&context, images.clone(), vec![0, 1], shape, 2).unwrap();
    assert!(data.is_f32());
    assert_eq!(data.sample_f32(1).unwrap(), (images[4..].to_vec(), 1));
    refused(data.sample(1), Status::Unsupported, "");
    assert_eq!(data.statistics(1.0).unwrap(), (vec![3.5], vec![5.25]));
    let other = Dataset::from_floats(&context, images, vec![1, 1], shape, 2).unwrap();
    assert_ne!(data.fingerprint().unwrap(), other.fingerprint().unwrap());
    let clone = data.clone();
    drop((data, context));
    assert_eq!((clone.len(), clone.is_empty(), clone.shape()), (2, false, shape));
}

#[test]
fn floats_have_targets() {
    let context = context();
    let shape = ImageShape::new(2, 2, 1);
    let images: Vec<f32> = (0..8).map(|i| i as f32).collect();
    let targets = vec![0.5, -1.0, 2.0, 3.0];
    let data =
        Dataset::from_floats_with_targets(&context, images.clone(), targets, shape, 2).unwrap();
    assert_eq!((data.is_f32(), data.has_targets(), data.len()), (true, true, 2));
    assert_eq!(data.sample_f32(1).unwrap(), (images[4..].to_vec(), -1));
    assert_eq!(data.targets(1).unwrap(), [2.0, 3.0]);
    let build = |images: &[f32], targets| {
        Dataset::from_floats_with_targets(&context, images.to_vec(), targets, shape, 2)
    };
    refused(build(&images, vec![1.0; 3]), Status::Argument, "targets");
    refused(build(&images[1..], vec![1.0; 4]), Status::Argument, "images");
    refused(build(&images, vec![f32::NAN; 4]), Status::Argument, "target");
}

#[test]
fn classes_are_matched_by_name_and_samples_have_paths() {
    let context = context();
    let folder = Folder::new();
    let list = folder.path("list.csv");
    std::fs::write(&list, "path,label\n/a.png,dog\n/b.png,cat\n").unwrap();
    let data = Dataset::csv(&context, &list, &pipeline()).unwrap();
    let matched = data.match_classes(&["ant", "cat", "dog"]).unwrap();
    drop(data);
    assert_eq!(matched.class_names(), ["ant", "cat", "dog"]);
    assert_eq!((matched.label(0).unwrap(), matched.label(1).unwrap()), (2, 1));
    assert_eq!(matched.path(1).unwrap().unwrap(), Path::new("/b.png"));
    assert!(matched.match_classes(&["ant", "cat"]).is_err());
    assert_eq!(synthetic(&context, Split::Train, 1).path(0).unwrap(), None);
    let none = folder.path("none-*.tar");
    refused(Dataset::shards(&context, none, &pipeline()), Status::Io, "no file matches");
    std::fs::write(folder.path("a.tar"), [0; 1024]).unwrap();
    let empty = Dataset::shards(&context, folder.path("a.tar"), &pipeline());
    refused(empty, Status::Format, "have 0 samples");
}

#[test]
fn splits_have_their_share_of_each_class() {
    let context = context();
    let data = synthetic(&context, Split::Train, 40);
    let parts = data.split(0.25, 0.25, 3).unwrap();
    drop(data);
    let last = (0..20).map(|index| parts.train.label(index).unwrap()).max();
    assert_eq!((parts.train.len(), last), (20, Some(9)));
    let (validation, test) = (parts.validation.unwrap(), parts.test.unwrap());
    assert_eq!((validation.len(), test.len()), (10, 10));
    let rest = test.split(0.0, 0.0, 3).unwrap();
    assert!(rest.train.len() == 10 && rest.validation.is_none() && rest.test.is_none());
    refused(test.split(1.0, 0.0, 3).map(|_| ()), Status::Argument, "a sum below 1");
}

#[test]
fn frames_of_other_orders_become_pixels() {
    let shape = |channels| ImageShape::new(2, 1, channels);
    let frame = [1, 2, 3, 9, 4, 5, 6];
    assert_eq!(PixelOrder::Bgr.convert(&frame, 4, shape(3)).unwrap(), [3, 2, 1, 6, 5, 4]);
    assert_eq!(PixelOrder::Grey.convert(&frame, 4, shape(1)).unwrap(), [1, 4]);
    assert_eq!(PixelOrder::Rgb.convert(&frame, 0, shape(4)).unwrap(), [1, 2, 3, 255, 9, 4, 5, 255]);
    refused(PixelOrder::Bgr.convert(&frame[..6], 4, shape(3)), Status::Argument, "the frame has 6");
    let far = PixelOrder::Bgra.convert(&frame, usize::MAX, shape(3));
    refused(far, Status::Argument, "fewer than 2 x 1 pixels of 4 bytes");
    refused(PixelOrder::Bgr.convert(&frame, 2, shape(3)), Status::Argument, "stride is 2");
    refused(PixelOrder::Grey.convert(&frame, 0, shape(2)), Status::Argument, "channels is 2");
}

#[test]
fn concatenated_data_sets_have_the_classes_of_all() {
    let context = context();
    let folder = Folder::new();
    let list = |lines: &str| {
        let file = folder.path("list.csv");
        std::fs::write(&file, lines).unwrap();
        Dataset::csv(&context, &file, &pipeline()).unwrap()
    };
    let first = list("path,label\n/a.png,cat\n/b.png,dog\n");
    let second = list("path,label\n/c.png,bee\n/d.png,cat\n");
    let both = Dataset::concatenate(&[&first, &second]).unwrap();
    drop((first, second));
    assert_eq!(both.class_names(), ["cat", "dog", "bee"]);
    let labels: Vec<_> = (0..4).map(|index| both.label(index).unwrap()).collect();
    assert_eq!(labels, [0, 1, 2, 0]);
    assert_eq!(both.path(2).unwrap().unwrap(), Path::new("/c.png"));
    refused(Dataset::concatenate(&[]), Status::Argument, "no data sets");
    let shape = ImageShape::new(2, 2, 1);
    let small = Dataset::from_function(&context, 1, shape, 2, |_, _| Ok::<i32, BoxError>(0));
    let refusal = Dataset::concatenate(&[&both, &small.unwrap()]);
    refused(refusal, Status::Argument, "parents[1] has height 2 and parents[0] height 32");
}

#[cfg(unix)]
#[test]
fn a_path_has_the_bytes_of_its_file() {
    use std::os::unix::ffi::OsStrExt;
    let context = context();
    let folder = Folder::new();
    // The library wants UTF-8 of the names in a folder, and takes any name of the folder itself.
    let images = folder.path("images").join(std::ffi::OsStr::from_bytes(b"\xff"));
    std::fs::create_dir_all(images.join("one")).unwrap();
    let file = images.join("one/a.png");
    Image::write_png(&context, &file, &[7; 12], 2, 2).unwrap();
    let data = Dataset::folder_for_pipeline(&context, &images, &pipeline()).unwrap();
    assert_eq!(data.path(0).unwrap(), Some(file));
}
