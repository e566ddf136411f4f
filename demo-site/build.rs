//! Rebuilds when the embedded page or probe changes: files that appear are not noticed otherwise.

fn main() {
    println!("cargo::rerun-if-changed=web/dist");
    println!("cargo::rerun-if-changed=../probe-wasm/dist");
}
