//! Finds libshiftvit: in the folder `SHIFTVIT_LIB_DIR`, otherwise by pkg-config, whose command may be named by
//! `PKG_CONFIG`. The feature `static`, or `SHIFTVIT_STATIC=1`, links the static library.

use std::env;
use std::path::Path;
use std::process::{self, Command};

/// The oldest library that has all functions that are declared here is of the crate's version.
const OLDEST: &str = env!("CARGO_PKG_VERSION");

/// What makes pkg-config find the libraries of another machine.
const CROSS: [&str; 3] = ["PKG_CONFIG", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"];

fn main() {
    for name in ["SHIFTVIT_LIB_DIR", "SHIFTVIT_STATIC", "PKG_CONFIG_PATH"].iter().chain(&CROSS) {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() {
        return; // The documentation is built without the library.
    }
    let wanted = env::var("SHIFTVIT_STATIC").unwrap_or_default();
    let statically =
        env::var_os("CARGO_FEATURE_STATIC").is_some() || !matches!(wanted.as_str(), "" | "0");
    let result = match env::var("SHIFTVIT_LIB_DIR") {
        Ok(folder) if !folder.is_empty() => link_folder(&folder, statically),
        _ => link_by_pkg_config(statically),
    };
    if let Err(reason) = result {
        eprintln!("shiftvit-sys: {}", reason);
        process::exit(1);
    }
}

/// The files of the library in a folder that linkers take.
fn library_names(statically: bool) -> &'static [&'static str] {
    if statically {
        &["libshiftvit.a"]
    } else {
        &["libshiftvit.so", "libshiftvit.dylib"]
    }
}

/// Links again when the library in a folder is built anew. False: the folder has none.
fn watch(folder: &Path, statically: bool) -> bool {
    let files = library_names(statically).iter().map(|name| folder.join(name));
    let found: Vec<_> = files.filter(|file| file.exists()).collect();
    for file in &found {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    !found.is_empty()
}

/// Links with the library in a folder. What a static library needs is said by its pkg-config file, if there is one.
fn link_folder(folder: &str, statically: bool) -> Result<(), String> {
    // Cargo runs this in the crate's folder and rustc in the workspace's, not where the user is.
    if Path::new(folder).is_relative() {
        return Err(format!("SHIFTVIT_LIB_DIR is '{}'; an absolute path is needed", folder));
    }
    if !watch(Path::new(folder), statically) {
        let name = library_names(statically)[0];
        return Err(format!("SHIFTVIT_LIB_DIR is '{}', which has no {}", folder, name));
    }
    println!("cargo:rustc-link-search=native={}", folder);
    link_library(statically);
    if statically {
        let has_file = ["shiftvit.pc", "pkgconfig/shiftvit.pc"]
            .iter()
            .any(|name| Path::new(folder).join(name).exists());
        let words = if has_file {
            pkg_config(&["--static", "--libs"], Some(folder))?
        } else {
            "-ljpeg -lpng -lwebp -lz -lm".to_string() // those of the default build
        };
        link_words(&words);
    }
    Ok(())
}

fn link_by_pkg_config(statically: bool) -> Result<(), String> {
    let atleast = format!("--atleast-version={}", OLDEST);
    pkg_config(&["--print-errors", &atleast], None).map_err(|reason| {
        format!(
            "pkg-config finds no shiftvit of version {} or newer; install the library, name the folder of \
             shiftvit.pc in PKG_CONFIG_PATH, or that of the library in SHIFTVIT_LIB_DIR\n{}",
            OLDEST, reason
        )
    })?;
    let words = if statically { &["--static", "--libs"][..] } else { &["--libs"][..] };
    let words = pkg_config(words, None)?;
    link_library(statically);
    link_words(&words);
    // Of the system's folders pkg-config has no -L.
    let folder = pkg_config(&["--variable=libdir"], None)?;
    let folders =
        split(&words).into_iter().filter_map(|word| word.strip_prefix("-L").map(String::from));
    for folder in folders.chain([folder.trim().to_string()]) {
        watch(Path::new(&folder), statically);
    }
    Ok(())
}

fn link_library(statically: bool) {
    println!("cargo:rustc-link-lib={}=shiftvit", if statically { "static" } else { "dylib" });
}

/// The words of pkg-config, in which a backslash keeps the next character, such as a space, in its word.
fn split(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let kept = if character == '\\' { characters.next() } else { None };
        match words.last_mut() {
            Some(word) if kept.is_some() || !character.is_whitespace() => {
                word.push(kept.unwrap_or(character))
            }
            _ => words.push(String::new()),
        }
    }
    words
}

/// Hands the words of pkg-config on to rustc. shiftvit itself has been named already.
fn link_words(words: &str) {
    for word in split(words) {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", folder);
        } else if let Some(name) = word.strip_prefix("-l") {
            if name != "shiftvit" {
                println!("cargo:rustc-link-lib={}", name);
            }
        } else if word == "-pthread" {
            println!("cargo:rustc-link-lib=pthread");
        }
    }
}

/// Runs pkg-config for shiftvit and returns what it prints. The file may lie below the folder of a library.
fn pkg_config(arguments: &[&str], folder: Option<&str>) -> Result<String, String> {
    let is_cross = env::var_os("HOST") != env::var_os("TARGET");
    if is_cross && CROSS.iter().all(|name| env::var_os(name).is_none()) {
        return Err(format!(
            "pkg-config finds libraries of this machine; for another one set {}",
            CROSS.join(" or ")
        ));
    }
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let mut command = Command::new(&program);
    command.args(arguments).arg("shiftvit");
    if let Some(folder) = folder {
        let more = env::var_os("PKG_CONFIG_PATH").unwrap_or_default();
        let own = [Path::new(folder).join("pkgconfig"), Path::new(folder).to_path_buf()];
        let folders = own.into_iter().chain(env::split_paths(&more));
        command
            .env("PKG_CONFIG_PATH", env::join_paths(folders).map_err(|error| error.to_string())?);
    }
    let output =
        command.output().map_err(|error| format!("cannot run '{}': {}", program, error))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
