//! Textual description of a type's [encoding](crate::codec), with which a test detects changes of a
//! versioned type.
//!
//! The text has a line for each number, string, option, sequence and enum in a value, with the path of
//! fields to it. The text results from decoding default values of the type until all variants have been
//! visited.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::value::Error;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

/// Maximum nesting of types.
const DEEPEST: usize = 100;

/// Returns the layout of a type.
///
/// # Errors
/// The type is recursive, or refuses the trial values: 1, the empty text, and combinations of these.
pub fn of<T: for<'de> Deserialize<'de>>() -> Result<String, Error> {
    let seen = Rc::new(Visited::default());
    loop {
        seen.is_whole.set(true);
        T::deserialize(Tracer { seen: Rc::clone(&seen), path: String::new(), depth: 0 })?;
        if seen.is_whole.get() {
            break;
        }
    }
    let lines = seen.lines.borrow();
    Ok(lines.iter().map(|(path, what)| format!("{path}: {what}\n")).collect())
}

/// Paths and variants visited so far.
#[derive(Default)]
struct Visited {
    lines: RefCell<BTreeMap<String, String>>,
    /// Number of fully visited variants of each enum, by path.
    variants: RefCell<BTreeMap<String, usize>>,
    /// Set if the current value leaves no variant to visit.
    is_whole: Cell<bool>,
}

/// Deserializer of the value at a path.
struct Tracer {
    seen: Rc<Visited>,
    path: String,
    depth: usize,
}

impl Tracer {
    fn note(&self, what: &str) {
        self.seen.lines.borrow_mut().insert(self.path.clone(), what.to_owned());
    }

    fn within(&self, name: &str) -> Tracer {
        Tracer { seen: Rc::clone(&self.seen), path: format!("{}.{name}", self.path), depth: self.depth + 1 }
    }

    /// Returns a deserializer of values with these names in order.
    fn each(self, names: Vec<String>) -> Elements {
        Elements { names: names.into_iter(), tracer: self }
    }

    fn fields(self, fields: &[&str]) -> Elements {
        // The order of fields is part of the layout.
        self.each(fields.iter().enumerate().map(|(place, field)| format!("{place}:{field}")).collect())
    }

    fn numbered(self, count: usize) -> Elements {
        self.each((0..count).map(|number| number.to_string()).collect())
    }
}

/// Deserializer of a sequence of values at a path.
struct Elements {
    names: std::vec::IntoIter<String>,
    tracer: Tracer,
}

impl<'de> SeqAccess<'de> for Elements {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.names.next().map(|name| seed.deserialize(self.tracer.within(&name))).transpose()
    }
}

impl<'de> MapAccess<'de> for Elements {
    type Error = Error;

    fn next_key_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.tracer.within("value"))
    }
}

/// Deserializer of an enum's variant.
struct Variant {
    number: u32,
    tracer: Tracer,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Tracer;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Tracer), Error> {
        Ok((seed.deserialize(self.number.into_deserializer())?, self.tracer))
    }
}

impl<'de> VariantAccess<'de> for Tracer {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self.numbered(length))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(self.fields(fields))
    }
}

/// Defines methods that deserialize plain values.
macro_rules! plain {
    ($($method:ident $visit:ident $value:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.note(stringify!($method).trim_start_matches("deserialize_"));
            visitor.$visit($value)
        }
    )*};
}

impl<'de> Deserializer<'de> for Tracer {
    type Error = Error;

    plain! {
        deserialize_bool visit_bool true;
        deserialize_i8 visit_i8 1;
        deserialize_i16 visit_i16 1;
        deserialize_i32 visit_i32 1;
        deserialize_i64 visit_i64 1;
        deserialize_i128 visit_i128 1;
        deserialize_u8 visit_u8 1;
        deserialize_u16 visit_u16 1;
        deserialize_u32 visit_u32 1;
        deserialize_u64 visit_u64 1;
        deserialize_u128 visit_u128 1;
        deserialize_f32 visit_f32 1.0;
        deserialize_f64 visit_f64 1.0;
        deserialize_char visit_char '1';
        deserialize_str visit_str "";
        deserialize_string visit_str "";
        deserialize_bytes visit_bytes &[];
        deserialize_byte_buf visit_bytes &[];
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom(format_args!("{}: the type requires a self-describing format", self.path)))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note("option");
        visitor.visit_some(self.within("some"))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note("sequence");
        visitor.visit_seq(self.fields(&["element"]))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.note("map");
        visitor.visit_map(self.fields(&["key"]))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self.numbered(length))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(self.numbered(length))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.depth > DEEPEST {
            return Err(Error::custom(format_args!("{}: the type is recursive", self.path)));
        }
        visitor.visit_seq(self.fields(fields))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.note(&format!("enum {}", variants.join(" ")));
        let (seen, path) = (Rc::clone(&self.seen), self.path.clone());
        let done = seen.variants.borrow().get(&path).copied().unwrap_or(0);
        let number = done.min(variants.len().saturating_sub(1));
        let tracer = self.within(variants.get(number).copied().unwrap_or_default());
        let before = seen.is_whole.replace(true);
        let value = visitor.visit_enum(Variant { number: number as u32, tracer })?;
        let done = done.max(number + usize::from(seen.is_whole.get()));
        seen.is_whole.set(before && done >= variants.len());
        seen.variants.borrow_mut().insert(path, done);
        Ok(value)
    }
}
