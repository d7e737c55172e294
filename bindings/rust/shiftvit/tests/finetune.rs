//! New classes for a model: heads, frozen trunks, adapters, features.

mod common;

use common::*;
use shiftvit::*;

fn pretrained(context: &Context, config: &ModelConfig) -> Model {
    let mut model = Model::new(context, config, 1).unwrap();
    let data = synthetic(context, Split::Train, 200);
    Trainer::new(&mut model, &data, None, &training(2)).unwrap().fit().unwrap();
    model
}

/// Synthetic images whose label is whether the class is below 5.
fn halves(context: &Context, split: Split, count: usize) -> Dataset {
    let source = synthetic(context, split, count);
    let samples: Vec<(Vec<u8>, i32)> = (0..count).map(|i| source.sample(i).unwrap()).collect();
    let labels = samples.iter().map(|(_, label)| (*label < 5).into()).collect();
    let pixels = samples.into_iter().flat_map(|(pixels, _)| pixels).collect();
    Dataset::from_pixels(context, pixels, labels, source.shape(), 2).unwrap()
}

#[test]
fn a_new_head_learns_while_the_trunk_keeps_its_bits() {
    let context = context();
    let mut model = pretrained(&context, &shiftvit_config());
    model.replace_head(2, 1).unwrap();
    assert_eq!(model.config().unwrap().num_classes, 2);
    model.set_trainable("*", false).unwrap();
    model.set_trainable("head.*", true).unwrap();
    assert!(model.is_trainable("head.weight").unwrap());
    let trunk: Vec<String> =
        model.parameter_names().into_iter().filter(|name| !name.starts_with("head.")).collect();
    assert!(trunk.len() > 5 && !model.is_trainable(&trunk[0]).unwrap());
    let read = |model: &Model| -> Vec<Vec<f32>> {
        trunk.iter().map(|name| model.parameter(name).unwrap()).collect()
    };
    let (before, head) = (read(&model), model.parameter("head.weight").unwrap());

    let data = halves(&context, Split::Train, 200);
    let mut trainer = Trainer::new(&mut model, &data, None, &training(3)).unwrap();
    trainer.fit().unwrap();
    let history = trainer.history().unwrap();
    assert!(history[2].train_loss < history[0].train_loss, "{:?}", history);
    assert!(read(&model) == before);
    assert!(model.parameter("head.weight").unwrap() != head);
    refused(model.replace_head(3, 1), Status::State, "");
    drop(trainer);
    model.replace_head(3, 1).unwrap();
    refused(model.truncate("features"), Status::Argument, "features");
    model.truncate("layers.0.blocks.0").unwrap();
    assert!(!model.config().unwrap().classifier);
    assert!(model.parameter_names().iter().all(|name| !name.starts_with("layers.1")));
}

#[test]
fn adapters_train_and_merge() {
    let context = context();
    let mut model = pretrained(&context, &vit_config());
    model.add_lora(2, 4.0, 1).unwrap();
    let adapters = model.parameter_names().iter().filter(|name| name.contains(".lora_")).count();
    assert!(adapters > 0);
    assert_eq!(model.config().unwrap().lora_rank, 2);
    let data = synthetic(&context, Split::Train, 200);
    Trainer::new(&mut model, &data, None, &training(1)).unwrap().fit().unwrap();
    let (images, _) = data.sample_f32(0).unwrap();
    let images: Vec<f32> = images.iter().map(|byte| byte / 255.0).collect();
    let logits = |model: &Model| {
        Session::new(model, &SessionConfig::default()).unwrap().forward(&images).unwrap()
    };
    let with_adapters = logits(&model);
    model.merge_lora().unwrap();
    assert!(!model.parameter_names().iter().any(|name| name.contains(".lora_")));
    for (a, b) in with_adapters.iter().zip(logits(&model)) {
        assert!((a - b).abs() < 2e-5 * (1.0 + a.abs()), "{} {}", a, b);
    }
    let mut conv = Model::new(&context, &shiftvit_config(), 1).unwrap();
    refused(conv.add_lora(2, 4.0, 1), Status::Unsupported, "");
}

#[test]
fn extractors_have_the_features_of_data_sets() {
    let context = context();
    let model = pretrained(&context, &shiftvit_config());
    let data = halves(&context, Split::Train, 5);
    let images: Vec<u8> = (0..5).flat_map(|i| data.sample(i).unwrap().0).collect();
    let floats: Vec<f32> = images.iter().map(|byte| f32::from(*byte)).collect();
    for tokens in [Tokens::Mean, Tokens::Patches3x3] {
        let layer = Some("layers.0.blocks.0".to_string());
        let config = FeaturesConfig { batch: 2, tokens, layer, ..FeaturesConfig::default() };
        let features = Features::compute(&model, &data, None, &config).unwrap();
        let mut extractor = Extractor::new(&model, None, &config).unwrap();
        assert_eq!(extractor.channels(), features.channels());
        assert_eq!(extractor.grid().unwrap(), features.grid().unwrap());
        assert!(extractor.extract(&images, data.shape()).unwrap() == features.values());
        assert!(extractor.extract_f32(&floats, data.shape()).unwrap() == features.values());
        let grey = ImageShape { channels: 1, ..data.shape() };
        refused(extractor.extract(&images, grey), Status::Argument, "1 channels; the model has 3");
        refused(extractor.extract(&images[1..], data.shape()), Status::Argument, "images");
    }
    let nothing = FeaturesConfig { layer: Some("no".to_string()), ..FeaturesConfig::default() };
    refused(Extractor::new(&model, None, &nothing), Status::Argument, "layer is 'no'");
}

#[test]
fn a_head_is_fitted_to_features_that_are_computed_once() {
    let context = context();
    let folder = Folder::new();
    let mut model = pretrained(&context, &shiftvit_config());
    let data = halves(&context, Split::Train, 200);
    let features = Features::compute(&model, &data, None, &FeaturesConfig::default()).unwrap();
    assert_eq!((features.len(), features.classes()), (200, 2));
    assert_eq!(features.values().len(), 200 * features.channels());
    assert_eq!(features.labels()[..3], [1, 1, 1]);
    assert_eq!(features.layer(), "features");

    features.save(folder.path("features.safetensors")).unwrap();
    let again = Features::load(&context, folder.path("features.safetensors")).unwrap();
    assert!(again.values() == features.values() && again.labels() == features.labels());

    model.replace_head(2, 1).unwrap();
    model.fit_head(&features, &HeadConfig::default()).unwrap();
    let found = model.evaluate(&data, &pipeline(), 64, Compute::F32).unwrap();
    assert!(found.top1 > 0.6, "two classes: {:?}", found);

    let neighbours = features.knn(&features.values()[..features.channels()], 1, 0.07).unwrap();
    assert_eq!(neighbours, [0.0, 1.0], "the nearest one is the sample itself");
    let old = features;
    let (values, labels, channels) = (old.values(), old.labels(), old.channels());
    refused(Features::new(&context, values, labels, channels, 1), Status::Argument, "label");
    let unnamed = Features::new(&context, values, labels, channels, 2).unwrap();
    assert_eq!((unnamed.classes(), unnamed.class_names().len()), (2, 0));
    let names = ["low".to_string(), "high".to_string()];
    let named = Features::with_class_names(&context, values, labels, channels, &names).unwrap();
    assert_eq!((named.classes(), named.class_names()), (2, names.to_vec()));
    assert!(named.values() == values && unnamed.labels() == labels);
    model.fit_class(None, &again, Some(&old), &ClassConfig::default()).unwrap();
    assert_eq!(model.config().unwrap().num_classes, 3);
    model.add_classes(1, 1).unwrap();
    assert_eq!(model.config().unwrap().num_classes, 4);
}

#[test]
fn fine_tuning_takes_its_settings_from_the_number_of_images() {
    let context = context();
    let model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let few = Training::fine_tuning(&model, 50).unwrap();
    let many = Training::fine_tuning(&model, 100_000).unwrap();
    assert!(few.trainer.epochs > many.trainer.epochs && few.trainer.batch < many.trainer.batch);
    assert_eq!((few.optimizer.layer_decay, many.optimizer.layer_decay), (0.75, 0.75));
    assert!(Training::fine_tuning(&model, 0).unwrap_err().message().contains("images"));
}
