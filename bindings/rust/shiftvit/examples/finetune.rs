//! Gives a model file a head for a folder of images, with a subfolder for each class:
//!     cargo run --example finetune -- model.safetensors photos tuned.safetensors
//! Images that cannot be read are named and left out. Every fifth image is held out of the training and shows how
//! well the new head does.

use shiftvit::*;
use std::collections::HashSet;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match &arguments[..] {
        [file, folder, out] => tune(file, folder, out),
        _ => Err(Error::new(Status::Argument, "usage: finetune MODEL FOLDER OUT")),
    };
    if let Err(error) = result {
        eprintln!("finetune: {}", error);
        std::process::exit(1);
    }
}

fn tune(file: &str, folder: &str, out: &str) -> Result<()> {
    let context = Context::new()?;
    let mut model = Model::load(&context, file)?;
    let pipeline = model.pipeline()?.unwrap_or_default();
    let images = Dataset::folder_for_pipeline(&context, folder, &pipeline)?;
    let bad = images.verify()?;
    for image in &bad {
        eprintln!("left out: {}", image.message);
    }
    let bad: HashSet<usize> = bad.iter().map(|image| image.index).collect();
    let good = (0..images.len()).filter(|index| !bad.contains(index));
    let (held, used): (Vec<usize>, Vec<usize>) = good.partition(|index| index % 5 == 4);
    if held.is_empty() {
        return Err(Error::new(Status::Argument, "the folder has fewer than five good images"));
    }
    let (training, test) = (images.select(&used)?, images.select(&held)?);

    // The trunk stays as it is, so its features are computed once.
    let config = FeaturesConfig::default();
    let features = Features::compute(&model, &training, Some(&pipeline), &config)?;
    model.replace_head(training.classes(), 1)?;
    model.fit_head(&features, &HeadConfig::default())?;

    let found = model.evaluate(&test, &pipeline, 64, Compute::F32)?;
    let right = 100.0 * found.top1;
    println!("trained on {} images; {:.1} % of {} others right", used.len(), right, held.len());
    model.save(out)
}
