//! Samplers declared by a module: `.global .samplerref s = { addr_mode_0 = wrap, filter_mode = linear };`.

use ptx_frontend::ir::Initial;

use super::{AddressMode, Filter, Sampler};

/// Sampler for the initial properties of a reference (PTX manual, section 5.3).
pub fn sampler_of(properties: &[Initial]) -> Sampler {
    let mut sampler = Sampler { normalized_coordinates: true, ..Sampler::default() };
    for initial in properties {
        let Initial::Property { name, value } = initial else { continue };
        let address = || match value.as_str() {
            "wrap" => AddressMode::Wrap,
            "mirror" => AddressMode::Mirror,
            "clamp_to_border" => AddressMode::Border,
            _ => AddressMode::Clamp,
        };
        match name.as_str() {
            "addr_mode_0" => sampler.address[0] = address(),
            "addr_mode_1" => sampler.address[1] = address(),
            "addr_mode_2" => sampler.address[2] = address(),
            "filter_mode" if value == "linear" => sampler.filter = Filter::Linear,
            "normalized_coords" => sampler.normalized_coordinates = value != "0",
            "force_unnormalized_coords" if value != "0" => sampler.normalized_coordinates = false,
            _ => {}
        }
    }
    sampler
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_properties_define_the_sampler() {
        let property = |name: &str, value: &str| Initial::Property { name: name.into(), value: value.into() };
        let sampler = sampler_of(&[
            property("addr_mode_0", "wrap"),
            property("addr_mode_2", "clamp_to_border"),
            property("filter_mode", "linear"),
            property("force_unnormalized_coords", "1"),
        ]);
        assert_eq!(sampler.address, [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Border]);
        assert_eq!((sampler.filter, sampler.normalized_coordinates), (Filter::Linear, false));
    }
}
