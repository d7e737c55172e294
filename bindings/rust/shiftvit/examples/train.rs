//! Trains a small ShiftViT on synthetic images and writes it to a file:
//!     cargo run --example train -- model.safetensors

use shiftvit::*;
use std::ops::ControlFlow;

fn main() -> Result<()> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "model.safetensors".to_string());
    let context = Context::new()?;
    let training = Dataset::synthetic(&context, 1, Split::Train, 1000)?;
    let validation = Dataset::synthetic(&context, 1, Split::Test, 200)?;

    let config = ModelConfig { dim: 24, blocks: vec![1, 1], ..ModelConfig::default() };
    let mut model = Model::new(&context, &config, 1)?;
    let mut settings = Training::default();
    settings.set_json(
        r#"{"epochs": 4, "batch": 50, "optimizer": "muon", "learning_rate": 0.02,
            "adamw_learning_rate": 0.003}"#,
    )?;

    let mut trainer = Trainer::new(&mut model, &training, Some(&validation), &settings)?;
    trainer.run(|event| {
        if event.kind == EventKind::Epoch {
            println!(
                "epoch {}/{}: loss {:.3}, validation {:.1} %",
                event.epoch,
                event.epochs,
                event.train_loss,
                100.0 * event.val_top1
            );
        }
        ControlFlow::Continue(())
    })?;
    model.save(&file)?;
    println!("wrote {}", file);
    Ok(())
}
