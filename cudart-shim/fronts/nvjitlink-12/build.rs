//! Trampolines and link arguments of the front, from the API table.

fn main() -> Result<(), api_table::front::BuildError> {
    api_table::front::build(api_table::Library::NvJitLink12)
}
