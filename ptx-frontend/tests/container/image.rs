//! Recognition of image formats.

use ptx_frontend::container::cubin::{elf_size, kernel_names};
use ptx_frontend::container::{ContainerError, Image, ImageFile, Origin};

use super::builder::{EntryBuilder, container, cubin, host_elf};

fn image(bytes: &[u8]) -> Result<Image<'_>, ContainerError> {
    Image::from_bytes(bytes, Origin::ModuleImage)
}

#[test]
fn each_kind_of_image_is_recognised_by_its_bytes() {
    assert!(matches!(image(&container(&[])), Ok(Image::FatBinary(_))));
    assert!(matches!(image(&cubin(&["k"])), Ok(Image::Cubin(_))));
    assert!(matches!(image(&host_elf(&[])), Ok(Image::Host(_))));
    assert!(matches!(image(b".version 7.0"), Ok(Image::Ptx(_))));
}

#[test]
fn ptx_may_start_with_comments_and_white_space() {
    for text in ["\n // Generated\n//\n\t.version 7.0", "/* a * b **/ .version 8.0\n", "//\n/**/.version 3.0"]
    {
        assert!(matches!(image(text.as_bytes()), Ok(Image::Ptx(_))), "{text:?}");
    }
}

#[test]
fn ptx_ends_at_its_first_nul() {
    match image(b".version 7.0\n\0garbage") {
        Ok(Image::Ptx(text)) => assert_eq!(text, ".version 7.0\n"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_show_the_first_bytes_of_unknown_images() {
    let error = image(b"MZ\x90\0 is no image").unwrap_err();
    assert!(error.to_string().contains("[4d, 5a, 90, 00, 20, 69, 73, 20]"), "{error}");
    for bytes in [&b""[..], b"// only a comment", b"/* open", b"/", b"version"] {
        assert!(matches!(image(bytes), Err(ContainerError::UnknownImage { .. })), "{bytes:?}");
    }
}

#[test]
fn kernels_of_a_cubin_are_its_entry_functions() {
    let bytes = container(&[EntryBuilder::cubin(75, &["a"])]);
    assert_eq!(kernel_names(&cubin(&["first", "second"]), Origin::ModuleImage).unwrap(), ["first", "second"]);
    let error = kernel_names(&bytes, Origin::ModuleImage).unwrap_err();
    assert!(matches!(error, ContainerError::Elf { .. }), "{error}");
    assert!(kernel_names(&host_elf(&[]), Origin::ModuleImage).is_err());
}

#[test]
fn the_size_of_an_elf_image_is_known_from_its_header() {
    let bytes = cubin(&["k"]);
    assert_eq!(elf_size(bytes.first_chunk().unwrap(), Origin::ModuleImage).unwrap(), bytes.len() as u64);
}

#[test]
fn a_missing_file_is_an_error_with_its_path() {
    let error = ImageFile::open("no/such/file".as_ref()).unwrap_err();
    assert!(error.to_string().starts_with("no/such/file: "), "{error}");
}
