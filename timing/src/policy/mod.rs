//! Policies: decisions that a unit leaves to a file of its own.
//!
//! A policy is one file and one line in the table of its kind. The table gives the policy its name
//! in GPU files, its text in `voltsim explain`, its dispatch, and the conformance tests of its
//! kind.

pub mod address_map;
pub mod dram_scheduler;
pub mod replacement;
pub mod set_index;
pub mod warp_scheduler;

/// Declares the parameters and the states of all policies of a kind, with one field a policy.
/// `Policy` in scope is the trait of the kind, with a `Spec` and a `State`.
macro_rules! tables {
    ($($field:ident: $policy:ty,)*) => {
        /// Parameters of all policies of the kind.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Parameters {
            $($field: <$policy as Policy>::Spec,)*
        }

        impl Parameters {
            /// The keys of the parameters in GPU files.
            pub fn keys() -> Vec<$crate::gpu_file::Key> {
                [$(<<$policy as Policy>::Spec as $crate::gpu_file::Section>::keys(),)*].concat()
            }

            /// The values as text, by key.
            pub fn values(&self) -> Vec<(String, String)> {
                [$($crate::gpu_file::Section::values(&self.$field),)*].concat()
            }

            /// Reads the parameters.
            ///
            /// # Errors
            /// A key is missing, or has another unit or a value of another kind.
            pub fn read(
                document: &$crate::gpu_file::Document,
            ) -> Result<Parameters, $crate::gpu_file::SpecificationError> {
                Ok(Parameters { $($field: $crate::gpu_file::Section::read(document)?,)* })
            }

            /// The parameters of each policy can be together.
            pub(crate) fn check(
                &self,
                document: &$crate::gpu_file::Document,
            ) -> Result<(), $crate::gpu_file::SpecificationError> {
                $(<$policy as Policy>::check_spec(&self.$field, document)?;)*
                Ok(())
            }
        }

        /// States of all policies of the kind.
        #[derive(Debug, Clone, Default, Serialize, Deserialize)]
        struct States {
            $($field: <$policy as Policy>::State,)*
        }
    };
}

use tables;
