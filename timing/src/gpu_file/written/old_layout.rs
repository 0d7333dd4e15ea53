//! The layout of earlier releases: sections of the model at top level, and device profiles with bare numbers.

use toml::{Table, Value};

use super::{DEVICE, Entry, LIBRARIES, Reader, SHAPE};
use crate::gpu_file::{SpecificationError, device_keys};

/// Source of a value that a device profile gave without one.
const NO_SOURCE: &str = "none given: a device profile of the old layout";

/// The form of a capability.
const CAPABILITY: &str = "must be written as in \"7.0\"";

impl Reader<'_> {
    /// Reads a key or section that the new layout does not have at top level.
    pub(super) fn old_layout(&mut self, name: &str, value: Value) -> Result<(), SpecificationError> {
        match (name, value) {
            ("capability", Value::String(text)) if super::capability(&text).is_some() => {
                self.tell(name, "capability = { value, unit, source } in [device]");
                self.answer(name, name, Value::String(text), "version");
            }
            ("capability", other) => return Err(self.wrong(&[name], &other, CAPABILITY)),
            ("name" | "driver_version", Value::String(text)) => {
                self.profile(name, &format!("{name} = {{ value, unit, source }} in [device]"));
                self.answer(name, name, Value::String(text), "text");
            }
            ("total_memory", Value::Integer(bytes)) => {
                self.profile(name, "memory = { value, unit, source } in [device]");
                self.answer(name, "memory", Value::Integer(bytes), "B");
            }
            (table @ ("attributes" | "occupancy" | "management"), Value::Table(numbers)) => {
                self.profile(table, "each as name = { value, unit, source } in [device]");
                self.numbers(&[table], "", numbers)?;
            }
            (LIBRARIES, Value::Table(libraries)) => {
                self.profile(LIBRARIES, "[device.libraries.\"…\"]");
                for (library, numbers) in libraries {
                    let path = [LIBRARIES, &library];
                    let Value::Table(numbers) = numbers else {
                        return Err(self.wrong(&path, &numbers, SHAPE));
                    };
                    self.numbers(&path, &format!("{LIBRARIES}.{library}."), numbers)?;
                }
            }
            (section, Value::Table(keys)) => {
                self.tell(section, &format!("[timing.{section}]"));
                self.section(section, &[section], keys)?;
            }
            (name, other) => return Err(self.wrong(&[name], &other, SHAPE)),
        }
        Ok(())
    }

    /// Bare numbers of a table.
    fn numbers(&mut self, path: &[&str], prefix: &str, numbers: Table) -> Result<(), SpecificationError> {
        for (name, value) in numbers {
            let path = [path, &[&name]].concat();
            if !value.is_integer() {
                return Err(self.wrong(&path, &value, "must be a whole number"));
            }
            let place = self.place(&path);
            let (unit, source) = (device_keys::unit(&name).to_owned(), NO_SOURCE.to_owned());
            let entry = Entry { value, unit, source, place, layer: self.layer };
            self.add(DEVICE, format!("{prefix}{name}"), entry);
        }
        Ok(())
    }

    /// A value of a device profile.
    fn answer(&mut self, at: &str, name: &str, value: Value, unit: &str) {
        let place = self.place(&[at]);
        let (unit, source) = (unit.to_owned(), NO_SOURCE.to_owned());
        let entry = Entry { value, unit, source, place, layer: self.layer };
        self.add(DEVICE, name.to_owned(), entry);
    }

    fn profile(&mut self, name: &str, new: &str) {
        self.written.is_profile = true;
        self.tell(name, new);
    }

    /// Notes how the new layout writes something; a file is told once.
    fn tell(&mut self, name: &str, new: &str) {
        let place = self.place(&[name]);
        self.written.old_layout.get_or_insert_with(|| {
            format!(
                "{place}: `{name}` at top level is the layout of earlier releases; write {new}. \
                 The next release refuses the old layout."
            )
        });
    }
}
