//! The pages are built by themselves (`just web`); without them the server is built without pages.

fn main() {
    let pages = "../../web/dist";
    println!("cargo::rerun-if-changed={pages}");
    // The folder must be there to be embedded, also when nothing is in it.
    if let Err(error) = std::fs::create_dir_all(pages) {
        println!("cargo::warning=the folder of the pages cannot be made: {error}");
    }
}
