//! A training loop of one's own: loader, session, loss, optimiser, checkpoint.

mod common;

use common::*;
use shiftvit::*;

struct Loop {
    model: Model,
    loader: Loader,
    session: Session,
    optimizer: Optimizer,
}

fn start(context: &Context, seed: u64) -> Loop {
    let data = synthetic(context, Split::Train, 90);
    let config =
        LoaderConfig { batch: 40, shuffle: true, augment: true, ..LoaderConfig::default() };
    let loader = Loader::new(&data, &pipeline(), &config).unwrap();
    let model_config = ModelConfig { dropout: 0.2, ..shiftvit_config() };
    let model = Model::new(context, &model_config, seed).unwrap();
    let session_config =
        SessionConfig { max_batch: 40, mode: Mode::Train, ..SessionConfig::default() };
    let session = Session::new(&model, &session_config).unwrap();
    let optimizer_config = OptimizerConfig {
        clip_norm: 1.0,
        ema: Ema::Plain,
        ema_momentum: 0.9,
        ..OptimizerConfig::default()
    };
    let optimizer = Optimizer::new(&model, &optimizer_config).unwrap();
    Loop { model, loader, session, optimizer }
}

impl Loop {
    fn epoch(&mut self) -> f32 {
        let mut batch = self.loader.new_batch().unwrap();
        let mut sum = 0.0;
        while self.loader.next_batch(&mut batch).unwrap() {
            let logits = self.session.forward(batch.images()).unwrap();
            let mut dlogits = vec![0.0; logits.len()];
            sum +=
                loss::cross_entropy(&logits, batch.labels(), 10, None, 0.0, &mut dlogits).unwrap();
            self.session.backward(&dlogits).unwrap();
            self.optimizer.step(&mut self.session).unwrap();
        }
        sum
    }
}

#[test]
fn the_loss_falls_and_a_checkpoint_resumes_to_the_same_bits() {
    let context = context();
    let folder = Folder::new();
    let path = folder.path("loop.safetensors");
    let mut first = start(&context, 1);
    let before = first.epoch();
    Checkpoint::save(
        &path,
        &first.model,
        Some(&first.optimizer),
        Some(&first.session),
        &[("epoch", "1")],
    )
    .unwrap();
    let after = (1..5).map(|_| first.epoch()).last().unwrap();
    assert!(after < before, "{} {}", before, after);
    assert_eq!((first.optimizer.steps(), first.session.counter()), (15, 15));

    let mut second = start(&context, 2);
    let checkpoint = Checkpoint::open(&context, &path).unwrap();
    assert_eq!(checkpoint.note("epoch").as_deref(), Some("1"));
    assert_eq!(checkpoint.note("other"), None);
    assert_eq!(checkpoint.number("optimizer.steps").unwrap(), 3);
    checkpoint
        .restore(&mut second.model, Some(&mut second.optimizer), Some(&mut second.session))
        .unwrap();
    second.loader.seek(1, 0).unwrap();
    let resumed = (1..5).map(|_| second.epoch()).last().unwrap();
    assert_eq!(resumed.to_bits(), after.to_bits());
    assert!(bits(&second.model) == bits(&first.model));

    let weights = bits(&first.model);
    first.optimizer.swap_ema().unwrap();
    assert!(bits(&first.model) != weights, "the average");
    first.optimizer.swap_ema().unwrap();
    assert!(bits(&first.model) == weights);

    let mut third = start(&context, 1);
    let wrong = checkpoint.restore(&mut third.model, Some(&mut first.optimizer), None);
    refused(wrong, Status::Argument, "another model");
    refused(third.optimizer.step(&mut first.session), Status::Argument, "model");
}

#[test]
fn gradients_are_those_of_differences() {
    let context = context();
    let config = ModelConfig { dropout: 0.0, drop_path: 0.0, ..shiftvit_config() };
    let mut model = Model::new(&context, &config, 1).unwrap();
    let session_config =
        SessionConfig { mode: Mode::Train, input_gradient: true, ..SessionConfig::default() };
    let mut session = Session::new(&model, &session_config).unwrap();
    let images: Vec<f32> = (0..2 * 32 * 32 * 3).map(|i| (i * 7 % 255) as f32 / 255.0).collect();
    let value = |session: &mut Session| {
        let logits = session.forward(&images).unwrap();
        let mut dlogits = vec![0.0; 20];
        let loss = loss::cross_entropy(&logits, &[1, 4], 10, None, 0.0, &mut dlogits).unwrap();
        (loss, dlogits)
    };
    let (_, dlogits) = value(&mut session);
    let dinput = session.backward_input(&dlogits).unwrap();
    assert_eq!(dinput.len(), images.len());
    assert!(dinput.iter().any(|&value| value != 0.0));
    let gradient = session.gradient("head.bias").unwrap();
    assert_eq!(gradient.len(), 10);
    let bias = model.parameter("head.bias").unwrap();
    let mut at = |h: f32| {
        let mut moved = bias.clone();
        moved[1] += h;
        model.set_parameter("head.bias", &moved).unwrap();
        value(&mut session).0
    };
    let slope = (at(1e-2) - at(-1e-2)) / 2e-2;
    assert!((slope - gradient[1]).abs() < 1e-3, "{} {}", slope, gradient[1]);
    session.zero_gradients().unwrap();
    session.set_gradient("head.bias", &[1.0; 10]).unwrap();
    assert_eq!(session.gradient("head.bias").unwrap(), [1.0; 10]);
}

#[test]
fn layers_attention_and_input_layers() {
    let context = context();
    let model = Model::new(&context, &vit_config(), 1).unwrap();
    let config = SessionConfig { features: true, ..SessionConfig::default() };
    let mut session = Session::new(&model, &config).unwrap();
    let images = vec![0.25; 3 * session.input_size()];
    assert!(session.layers().iter().any(|name| name == "blocks.0"));
    let (tokens, channels) = session.layer_shape("blocks.0").unwrap();
    let features = session.forward_features(&images, "blocks.0").unwrap();
    assert_eq!(features.len(), 3 * tokens * channels);
    let (logits, attention) = session.forward_attention(&images).unwrap();
    let (heads, size) = session.attention_size().unwrap();
    assert_eq!(attention.len(), 3 * heads * size * size);
    assert!((attention[..size].iter().sum::<f32>() - 1.0).abs() < 1e-5);

    let config = SessionConfig { input_layer: "blocks.0".to_string(), ..SessionConfig::default() };
    let mut rest = Session::new(&model, &config).unwrap();
    assert_eq!(rest.input_size(), tokens * channels);
    for (a, b) in rest.forward(&features).unwrap().iter().zip(&logits) {
        assert!((a - b).abs() < 1e-4);
    }
    let needed = Session::memory_needed(&model, &SessionConfig::default()).unwrap();
    assert_eq!(Session::new(&model, &SessionConfig::default()).unwrap().memory(), needed);
}

#[test]
fn a_loader_gives_labels_or_targets() {
    let context = context();
    let data = synthetic(&context, Split::Train, 10);
    let config = LoaderConfig { batch: 4, ..LoaderConfig::default() };
    let mut loader = Loader::new(&data, &pipeline(), &config).unwrap();
    assert_eq!((loader.batches(), loader.shape()), (3, ImageShape::new(32, 32, 3)));
    let mut batch = loader.new_batch_with_targets().unwrap();
    assert!(loader.next_batch(&mut batch).unwrap());
    assert_eq!((batch.len(), batch.labels().len()), (4, 0));
    assert_eq!(batch.targets()[10..20], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let mut labels = loader.new_batch().unwrap();
    loader.seek(0, 2).unwrap();
    assert!(loader.next_batch(&mut labels).unwrap());
    assert_eq!(labels.target(), Target::Labels(&[8, 9]));
    assert_eq!(labels.images().len(), 2 * 32 * 32 * 3);
    assert!(!loader.next_batch(&mut labels).unwrap());
    assert!(labels.is_empty());

    let mut mixed = pipeline();
    mixed.augment = vec![Augment::Mixup { alpha: 1.0, probability: 1.0, off_epoch: 0 }];
    let config = LoaderConfig { batch: 5, shuffle: true, augment: true, ..config };
    let mut other = Loader::new(&data, &mixed, &config).unwrap();
    assert!(other.has_targets());
    refused(other.next_batch(&mut labels), Status::Argument, "another loader");
    let mut batch = other.new_batch().unwrap();
    other.next_batch(&mut batch).unwrap();
    assert!((batch.targets()[..10].iter().sum::<f32>() - 1.0).abs() < 1e-5);
}

#[test]
fn a_rank_without_a_sample_of_a_batch_gets_it_empty() {
    let context = context();
    let data = synthetic(&context, Split::Train, 9);
    let mut rests = Vec::new();
    for rank in 0..2 {
        let config =
            LoaderConfig { batch: 8, leaves: 2, rank, ranks: 2, ..LoaderConfig::default() };
        let mut loader = Loader::new(&data, &pipeline(), &config).unwrap();
        let mut batch = loader.new_batch().unwrap();
        let mut epoch = |loader: &mut Loader| {
            let mut sizes = Vec::new();
            while loader.next_batch(&mut batch).unwrap() {
                sizes.push(batch.len());
            }
            sizes
        };
        let first = epoch(&mut loader);
        assert_eq!((first.len(), first[0]), (2, 4));
        assert_eq!(epoch(&mut loader), first);
        loader.seek(1, 1).unwrap();
        assert_eq!(epoch(&mut loader), first[1..]);
        loader.seek(1, 2).unwrap();
        assert!(epoch(&mut loader).is_empty());
        rests.push(first[1]);
    }
    rests.sort();
    assert_eq!(rests, [0, 1]);
}
