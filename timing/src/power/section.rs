//! `[power]` of a GPU's file, with the values that follow from the rest of the file.

use super::PowerSpec;
use crate::gpu_file::{Document, Key, POWER, SpecificationError};

/// Value of `power.card` for a GPU without values.
const NO_CARD: &str = "none";

/// Energies of a GPU, if its file has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerSection(pub Option<Box<Power>>);

/// Energies of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Power {
    /// Values of the card `spec.card`.
    pub spec: PowerSpec,
    /// The values are those of another card.
    pub derived: bool,
    /// Voltage of the cores at the GPU's clock. Millivolts.
    pub voltage: u32,
    /// SMs of the GPU.
    pub sms: u32,
}

impl PowerSection {
    /// Keys of the section.
    pub(crate) fn keys() -> Vec<Key> {
        PowerSpec::keys()
    }

    /// Nothing: energies are no part of a GPU's identity, because they change no state of the model.
    pub(crate) fn values(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Reads the section; `None` inside if the file has none, or names no card.
    ///
    /// # Errors
    /// A key is missing, or its value has the wrong type or unit.
    pub(crate) fn read(document: &Document) -> Result<PowerSection, SpecificationError> {
        if document.section(POWER).next().is_none() {
            return Ok(PowerSection(None));
        }
        let card: String = document.get(POWER, "card", "text")?;
        if card == NO_CARD {
            return Ok(PowerSection(None));
        }
        let spec = PowerSpec::read(document)?;
        let name: Option<String> = document.get("device", "name", "text").ok();
        let clock: u32 = document.get("clocks", "core", "MHz")?;
        let voltage = spec.voltage_at(clock);
        let sms = document.get("chip", "sms", "SMs")?;
        let derived = name.is_none_or(|name| name != spec.card);
        Ok(PowerSection(Some(Box::new(Power { spec, derived, voltage, sms }))))
    }

    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let Some(Power { spec, .. }) = self.0.as_deref() else { return Ok(()) };
        let PowerSpec { sms, voltage, curve_clocks, curve_voltages, .. } = spec;
        let curve = [(POWER, "curve_clocks"), (POWER, "curve_voltages")];
        if *sms == 0 {
            return Err(document.wrong(POWER, "sms", "must be at least 1"));
        }
        if *voltage == 0 {
            return Err(document.wrong(POWER, "voltage", "must be at least 1"));
        }
        if curve_clocks.len() != curve_voltages.len() {
            return Err(document.disagree(&curve, "the curve must have a voltage for each clock"));
        }
        if !curve_clocks.is_sorted_by(|one, next| one < next) {
            return Err(document.wrong(POWER, "curve_clocks", "must ascend"));
        }
        Ok(())
    }
}

impl PowerSpec {
    /// Voltage of the cores at a clock: linear between the points of the curve, constant beyond.
    /// Millivolts.
    pub fn voltage_at(&self, clock: u32) -> u32 {
        let points: Vec<(u32, u32)> =
            self.curve_clocks.iter().copied().zip(self.curve_voltages.iter().copied()).collect();
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return self.voltage };
        let within = points.windows(2).find_map(|pair| match pair {
            [(low, from), (high, to)] if (*low..*high).contains(&clock) => {
                let part = i64::from(clock - low) * (i64::from(*to) - i64::from(*from));
                u32::try_from(i64::from(*from) + part / i64::from(high - low)).ok()
            }
            _ => None,
        });
        within.unwrap_or(if clock < first.0 { first.1 } else { last.1 })
    }
}
