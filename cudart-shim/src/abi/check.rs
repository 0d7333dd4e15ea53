//! Signatures of bodies, to test them against the API table.

use super::texture::ChannelFormat;
use super::{CudaExtent, Dim3, In, MemoryLocation, Out, PitchedPointer, Text};
use api_table::{Class, Signature};

/// Calling-convention class of a Rust type.
pub(crate) trait Abi {
    const CLASS: Class;
}

macro_rules! classes {
    ($($class:expr => $($type:ty),+;)*) => { $($(impl Abi for $type { const CLASS: Class = $class; })+)* };
}

classes! {
    Class::Nothing => ();
    Class::Int => i32, u32;
    Class::Word => usize, u64, Text;
    Class::Float => f32;
    Class::Small => i8, u8, u16;
    Class::Struct(8) => MemoryLocation;
    Class::Struct(12) => Dim3;
    Class::Struct(20) => ChannelFormat;
    Class::Struct(24) => CudaExtent;
    Class::Struct(32) => PitchedPointer;
}

impl<T> Abi for *mut T {
    const CLASS: Class = Class::Word;
}
impl<T> Abi for *const T {
    const CLASS: Class = Class::Word;
}
impl<T> Abi for Out<T> {
    const CLASS: Class = Class::Word;
}
impl<T> Abi for In<T> {
    const CLASS: Class = Class::Word;
}

/// A function of the API with any arguments.
pub(crate) trait Function {
    fn signature() -> Signature;
}

macro_rules! functions {
    ($($argument:ident)*) => {
        impl<R: Abi, $($argument: Abi),*> Function for unsafe extern "C" fn($($argument),*) -> R {
            fn signature() -> Signature {
                Signature { result: R::CLASS, arguments: vec![$($argument::CLASS),*] }
            }
        }
        impl<R: Abi, $($argument: Abi),*> Abi for Option<unsafe extern "C" fn($($argument),*) -> R> {
            const CLASS: Class = Class::Word;
        }
    };
}

functions! {}
functions! { A }
functions! { A B }
functions! { A B C }
functions! { A B C D }
functions! { A B C D E }
functions! { A B C D E F }
functions! { A B C D E F G }
functions! { A B C D E F G H }
functions! { A B C D E F G H I }
functions! { A B C D E F G H I J }
functions! { A B C D E F G H I J K }
functions! { A B C D E F G H I J K L }
functions! { A B C D E F G H I J K L M N O }

/// Signature of a body.
pub(crate) fn signature_of<F: Function>(_: F) -> Signature {
    F::signature()
}
