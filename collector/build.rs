//! Rebuilds when files that the program embeds appear, which is not noticed otherwise.

use std::path::Path;

fn main() {
    for (package, folder) in [("../www", "dist"), ("../probe-wasm", "dist"), (".", "notices")] {
        let built = format!("{package}/{folder}");
        // Cargo would run this each time for a folder that is not there.
        println!("cargo::rerun-if-changed={}", if Path::new(&built).is_dir() { &built } else { package });
    }
}
