//! Trainers: a loss that falls, events, early stops, resumed runs, losses of one's own.

mod common;

use common::*;
use shiftvit::*;
use std::ops::ControlFlow;

#[test]
fn a_small_model_learns_and_predicts() {
    let context = context();
    let data = synthetic(&context, Split::Train, 500);
    let test = synthetic(&context, Split::Test, 200);
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let mut settings = training(12);
    settings.trainer.batch = 25;
    settings.optimizer.kind = UpdateRule::Muon;
    settings.optimizer.learning_rate = 2e-2;
    settings.optimizer.adamw_learning_rate = 3e-3;
    let mut trainer = Trainer::new(&mut model, &data, Some(&test), &settings).unwrap();
    let mut losses = Vec::new();
    let end = trainer.run(|event| {
        if event.kind == EventKind::Epoch {
            losses.push(event.train_loss);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(end.unwrap(), Run::Finished);
    assert_eq!(losses.len(), 12);
    assert!(losses[11] < 0.8 * losses[0], "{:?}", losses);
    let history = trainer.history().unwrap();
    assert_eq!(history.iter().map(|event| event.train_loss).collect::<Vec<_>>(), losses);

    let found = model.evaluate(&test, &pipeline(), 64, Compute::F32).unwrap();
    assert!(found.top1 > 0.25, "ten classes: {:?}", found);
    assert_eq!(found.top1, history[11].val_top1);
    let (logits, labels) = model.logits(&test, &pipeline(), 64, Compute::F32, Tta::None).unwrap();
    let right = loss::count_top_k(&logits, &labels, 10, 1).unwrap();
    assert_eq!(right as f64 / 200.0, found.top1);
    let shape = test.shape();
    let pixels = (0..3).flat_map(|index| test.sample(index).unwrap().0).collect();
    let others = Dataset::from_pixels(&context, pixels, vec![0, 70, 0], shape, 100).unwrap();
    let refusal = model.logits(&others, &pipeline(), 64, Compute::F32, Tta::None);
    refused(refusal, Status::Argument, "classes");
    let only = model.logits_only(&others, &pipeline(), 64, Compute::F32, Tta::None).unwrap();
    assert_eq!(only.len(), 30);
    for (a, b) in only.iter().zip(&logits) {
        assert!((a - b).abs() < 1e-4, "{} {}", a, b);
    }

    let mut predictor = Predictor::new(&model, &PredictorConfig::default()).unwrap();
    drop((trainer, model));
    let (pixels, _) = test.sample(3).unwrap();
    let probabilities = predictor.predict(&pixels, test.shape()).unwrap();
    assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    let expected = loss::softmax(&logits[30..40], 10).unwrap();
    for (a, b) in probabilities.iter().zip(expected) {
        assert!((a - b).abs() < 1e-5);
    }
    assert_eq!(Predictor::top(&probabilities, 2).len(), 2);
}

#[test]
fn a_resumed_run_has_the_bits_of_one_that_was_not_stopped() {
    let context = context();
    let data = synthetic(&context, Split::Train, 150);
    let folder = Folder::new();
    let config = ModelConfig { dropout: 0.1, ..shiftvit_config() };

    let mut whole = Model::new(&context, &config, 1).unwrap();
    Trainer::new(&mut whole, &data, None, &training(4)).unwrap().fit().unwrap();

    let mut settings = training(4);
    settings.trainer.folder = Some(folder.path("run"));
    settings.trainer.description = Some("in parts".to_string());
    let mut model = Model::new(&context, &config, 1).unwrap();
    let mut trainer = Trainer::new(&mut model, &data, None, &settings).unwrap();
    let stop_in_epoch_2 = |event: &Event| match (event.epoch, event.step) {
        (2, 1) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    assert_eq!(trainer.run(stop_in_epoch_2).unwrap(), Run::Stopped);
    refused(Trainer::new(&mut model, &data, None, &settings), Status::State, "run");
    drop(trainer);

    let mut resumed = Model::new(&context, &config, 7).unwrap();
    refused(Trainer::new(&mut resumed, &data, None, &settings), Status::State, "run");
    settings.trainer.existing = Existing::Resume;
    let mut trainer = Trainer::new(&mut resumed, &data, None, &settings).unwrap();
    trainer.resume().unwrap();
    assert_eq!(trainer.history().unwrap().len(), 1);
    trainer.fit().unwrap();
    assert_eq!(trainer.history().unwrap().len(), 4);
    assert!(bits(&resumed) == bits(&whole));
    let path = folder.path("run").join("checkpoint.safetensors");
    let checkpoint = Checkpoint::open(&context, path).unwrap();
    assert_eq!(checkpoint.note("trainer.description").as_deref(), Some("in parts"));
}

#[test]
fn events_may_read_the_model() {
    let context = context();
    let data = synthetic(&context, Split::Train, 100);
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let mut trainer = Trainer::new(&mut model, &data, None, &training(1)).unwrap();
    let mut seen = Vec::new();
    trainer
        .run(|_| {
            seen.push(model.parameter("head.weight").unwrap());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(seen.len() >= 2 && seen[0] != seen[1], "a step changes the head");
}

#[test]
fn settings_of_the_optimizer_change_between_steps() {
    let context = context();
    let data = synthetic(&context, Split::Train, 100);
    let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
    let mut trainer = Trainer::new(&mut model, &data, None, &training(1)).unwrap();
    trainer.step().unwrap();
    assert!(trainer.optimizer().get("gradient_norm").unwrap() > 0.0);
    trainer.optimizer().set("learning_rate", 0.0).unwrap();
    trainer.optimizer().set("weight_decay", 0.0).unwrap();
    let before = bits(&model);
    trainer.step().unwrap();
    assert!(bits(&model) == before, "the rate is 0");
    let (low, _) = trainer.optimizer().bounds("learning_rate").unwrap();
    refused(trainer.optimizer().set("learning_rate", low - 1.0), Status::Argument, "learning_rate");
}

#[test]
fn a_loss_function_with_the_formula_of_the_library_gives_the_same_bits() {
    let context = context();
    let data = synthetic(&context, Split::Train, 100);
    let train = |own: bool| {
        let mut model = Model::new(&context, &shiftvit_config(), 1).unwrap();
        let mut trainer = Trainer::new(&mut model, &data, None, &training(2)).unwrap();
        if own {
            trainer
                .set_loss(|call| match call.target {
                    Target::Labels(labels) => {
                        loss::cross_entropy(call.logits, labels, 10, None, 0.0, call.dlogits)
                    }
                    _ => Err(Error::new(Status::Argument, "labels are wanted")),
                })
                .unwrap();
        }
        trainer.fit().unwrap();
        bits(&model)
    };
    assert!(train(true) == train(false));
}

#[test]
fn presets_and_json_set_a_training() {
    let mut settings = Training::preset("shiftvit-cifar10").unwrap();
    settings.trainer.folder = Some("run".into());
    settings
        .set_json(
            r#"{"epochs": 3, "optimizer": "muon", "augment": [{"name": "cutout", "size": 4}]}"#,
        )
        .unwrap();
    assert_eq!((settings.trainer.epochs, settings.optimizer.kind), (3, UpdateRule::Muon));
    assert_eq!(settings.pipeline.augment, [Augment::Cutout { size: 4 }]);
    assert_eq!(settings.trainer.folder.as_deref(), Some("run".as_ref()));
    let json = settings.to_json().unwrap();
    let mut again = Training::default();
    again.set_json(&json).unwrap();
    assert_eq!(again.to_json().unwrap(), json);
    let error = refused(settings.set_json(r#"{"epoch": 3}"#), Status::Argument, "epochs");
    assert!(error.message().contains("'epoch'"));
    assert_eq!(settings.trainer.folder.as_deref(), Some("run".as_ref()), "it is kept on failure");
}
