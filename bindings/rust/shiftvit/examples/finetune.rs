//! Gives a model file a head for a folder of images, with a subfolder for each class:
//!     cargo run --example finetune -- model.safetensors photos tuned.safetensors

use shiftvit::*;

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
    let data = Dataset::folder_for_pipeline(&context, folder, &pipeline)?;
    for bad in data.verify()? {
        eprintln!("sample {}: {}", bad.index, bad.message);
    }

    // The trunk stays as it is, so its features are computed once.
    let features = Features::compute(&model, &data, Some(&pipeline), &FeaturesConfig::default())?;
    model.replace_head(data.classes() as u32, 1)?;
    model.fit_head(&features, &HeadConfig::default())?;

    let found = model.evaluate(&data, &pipeline, 64, Compute::F32)?;
    println!("{} images, {:.1} % right", data.len(), 100.0 * found.top1);
    model.save(out)
}
