//! Layouts of types.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use voltsim_checkpoint::layout;

#[derive(Serialize, Deserialize)]
enum Kind {
    None,
    One(u8),
    Two { inner: Inner, range: Range<u64> },
    Three(bool, char),
}

#[derive(Serialize, Deserialize)]
enum Inner {
    Left(Option<String>),
    Right([f32; 2]),
}

#[derive(Serialize, Deserialize)]
struct Outer {
    kinds: Vec<Kind>,
    by_name: BTreeMap<String, i64>,
    nothing: (),
}

#[test]
fn layouts_contain_all_variants_and_fields() {
    let expected = "\
.0:kinds: sequence
.0:kinds.0:element: enum None One Two Three
.0:kinds.0:element.One: u8
.0:kinds.0:element.Three.0: bool
.0:kinds.0:element.Three.1: char
.0:kinds.0:element.Two.0:inner: enum Left Right
.0:kinds.0:element.Two.0:inner.Left: option
.0:kinds.0:element.Two.0:inner.Left.some: string
.0:kinds.0:element.Two.0:inner.Right.0: f32
.0:kinds.0:element.Two.0:inner.Right.1: f32
.0:kinds.0:element.Two.1:range.0:start: u64
.0:kinds.0:element.Two.1:range.1:end: u64
.1:by_name: map
.1:by_name.0:key: string
.1:by_name.value: i64
";
    assert_eq!(layout::of::<Outer>().unwrap(), expected);
}

#[test]
fn layouts_depend_on_field_order() {
    #[derive(Deserialize)]
    #[allow(dead_code)]
    struct One {
        a: u8,
        b: u8,
    }
    #[derive(Deserialize)]
    #[allow(dead_code)]
    struct Other {
        b: u8,
        a: u8,
    }
    assert_ne!(layout::of::<One>().unwrap(), layout::of::<Other>().unwrap());
}

#[test]
fn recursive_types_have_no_layout() {
    #[derive(Deserialize)]
    #[allow(dead_code)]
    struct Within {
        more: Option<Box<Within>>,
    }
    assert!(layout::of::<Within>().is_err());
}
