//! Estimates of a sweep: `estimate.json` of its results.

use std::collections::BTreeMap;

use warp_stream::kernel_name::readable;

use super::fields::Fields;
use crate::ReportError;

/// Estimates of a program on several GPUs.
#[derive(Debug)]
pub struct Sweep {
    /// Name of the file.
    pub name: String,
    /// GPUs in the order of the plan.
    pub configurations: Vec<Configuration>,
    /// Kernels by their cycles on all GPUs, longest first.
    pub kernels: Vec<(String, Vec<f64>)>,
}

/// Estimate for one GPU.
#[derive(Debug)]
pub struct Configuration {
    /// Name in the plan.
    pub name: String,
    /// Core cycles of all launches.
    pub cycles: f64,
    /// Error bound as a part of the cycles.
    pub bound: f64,
    /// Simulated core cycles.
    pub simulated: f64,
    /// Timed part of all warp instructions, 0 to 1.
    pub work: f64,
}

impl Sweep {
    pub(super) fn read(name: &str, fields: &Fields<'_>) -> Result<Sweep, ReportError> {
        let of_file = fields.get("configurations").list()?;
        if of_file.is_empty() {
            return Err(ReportError::Empty(name.to_owned()));
        }
        let mut kernels: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut configurations = Vec::new();
        for (place, fields) in of_file.iter().enumerate() {
            configurations.push(Configuration {
                name: fields.get("configuration").text()?.to_owned(),
                cycles: fields.get("cycles").number()?,
                bound: fields.get("bound").number_or_zero()?,
                simulated: fields.get("timed").number_or_zero()?,
                work: fields.get("work").number_or_zero()?,
            });
            for group in fields.get("groups").list()? {
                let kernel = readable(group.get("kernel").text()?).into_owned();
                let cycles = kernels.entry(kernel).or_insert_with(|| vec![0.0; of_file.len()]);
                if let Some(sum) = cycles.get_mut(place) {
                    *sum += group.get("cycles").number_or_zero()?;
                }
            }
        }
        let mut kernels: Vec<_> = kernels.into_iter().collect();
        let all = |cycles: &[f64]| cycles.iter().sum::<f64>();
        kernels.sort_by(|a, b| all(&b.1).total_cmp(&all(&a.1)));
        Ok(Sweep { name: name.to_owned(), configurations, kernels })
    }
}
