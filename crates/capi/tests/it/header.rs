//! `tidewire.h` is what cbindgen makes of the source.

use std::path::Path;

#[test]
fn the_header_is_what_cbindgen_makes_of_the_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let source = ["types.rs", "lib.rs"];
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in source {
        builder = builder.with_src(folder.join("src").join(file));
    }
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = folder.join("tidewire.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "tidewire.h is old: cargo xtask bless");
}

#[test]
fn the_header_declares_the_papers_nine_calls() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tidewire.h");
    let header = std::fs::read_to_string(path).unwrap();
    // TR-88-08, "Programmer interface".
    for call in [
        "LLCon",
        "LLCoff",
        "LLCopen",
        "LLCclose",
        "LLCoption",
        "LLCxmit",
        "LLCrecv",
        "LLCreset",
        "LLCstatus",
    ] {
        assert!(header.contains(&format!("enum LLCoutcome {call}(")), "{call}");
    }
}
