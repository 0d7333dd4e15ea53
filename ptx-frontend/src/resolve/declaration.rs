//! Declarations: specifiers, parameter lists, variables.

use super::error::ResolveError;
use super::{initialiser, property};
use crate::ir::{LaunchBounds, Linkage, Parameter, Space, Variable};
use crate::isa::{ScalarType, TypeClass};
use crate::parse::tree::{Declarator, Formal, Performance, Specifiers};

/// Storage of a declared name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    Register,
    Memory(Space),
}

/// Meaning of the specifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) storage: Option<Storage>,
    pub(super) linkage: Linkage,
    pub(super) ty: Option<ScalarType>,
    /// Number of vector elements; 1 without `.v2 .v4 .v8`.
    pub(super) lanes: u32,
    pub(super) align: Option<u64>,
    pub(super) managed: bool,
}

/// Interprets the dotted words of a declaration; the error is an unknown word.
pub(super) fn meaning(specifiers: &Specifiers<'_>) -> Result<Meaning, (u32, ResolveError)> {
    let mut meaning = Meaning {
        storage: None,
        linkage: Linkage::Internal,
        ty: None,
        lanes: 1,
        align: specifiers.align,
        managed: specifiers.attributes.iter().any(|word| word.text == ".managed"),
    };
    for word in &specifiers.words {
        match word.text {
            ".reg" => meaning.storage = Some(Storage::Register),
            ".global" => meaning.storage = Some(Storage::Memory(Space::Global)),
            ".tex" => {
                meaning.storage = Some(Storage::Memory(Space::Global));
                meaning.ty = Some(ScalarType::Texref);
            }
            ".const" => meaning.storage = Some(Storage::Memory(Space::Const)),
            ".shared" | ".shared::cta" => meaning.storage = Some(Storage::Memory(Space::Shared)),
            ".local" => meaning.storage = Some(Storage::Memory(Space::Local)),
            ".param" => meaning.storage = Some(Storage::Memory(Space::Param)),
            ".visible" => meaning.linkage = Linkage::Visible,
            ".extern" => meaning.linkage = Linkage::Extern,
            ".weak" => meaning.linkage = Linkage::Weak,
            ".common" => meaning.linkage = Linkage::Common,
            ".v2" => meaning.lanes = 2,
            ".v4" => meaning.lanes = 4,
            ".v8" => meaning.lanes = 8,
            // The following words describe the target of the pointer: its space and alignment.
            ".ptr" => {
                meaning.align = None;
                break;
            }
            text => match ScalarType::from_name(text.trim_start_matches('.')) {
                Some(ty) => meaning.ty = meaning.ty.or(Some(ty)),
                None => return Err((word.at, ResolveError::UnknownDirective { word: text.to_owned() })),
            },
        }
    }
    Ok(meaning)
}

impl Meaning {
    pub(super) fn ty_of(&self, name: &str) -> Result<ScalarType, ResolveError> {
        self.ty.ok_or_else(|| ResolveError::Incomplete { name: name.to_owned(), missing: "type" })
    }

    /// Checks that predicates are scalar registers and that memory parameters are no vectors.
    pub(super) fn check_space(&self, name: &str) -> Result<(), ResolveError> {
        let is_predicate = self.ty == Some(ScalarType::Pred);
        Err(forbidden(
            name,
            match self.storage {
                Some(Storage::Memory(_)) if is_predicate => "is a predicate and must be in .reg space",
                Some(Storage::Memory(Space::Param)) if self.lanes > 1 => {
                    "is a vector and cannot be in .param space"
                }
                _ if is_predicate && self.lanes > 1 => "is a vector of predicates; predicates are scalar",
                _ => return Ok(()),
            },
        ))
    }

    /// Alignment in bytes: explicit, or the size of an element.
    fn alignment(&self, name: &str, ty: ScalarType) -> Result<u32, ResolveError> {
        match self.align {
            Some(align) => u32::try_from(align)
                .ok()
                .filter(|align| align.is_power_of_two())
                .ok_or_else(|| ResolveError::BadAlignment { name: name.to_owned(), align }),
            None => Ok((ty.bytes() * self.lanes).next_power_of_two()),
        }
    }
}

/// Maximum bytes of a variable, more than any device has.
const MAXIMUM_VARIABLE: u64 = 1 << 40;
/// Maximum bytes of a kernel's parameters (PTX manual, `.entry`).
const MAXIMUM_KERNEL_PARAMETERS: u32 = 32_764;
/// Maximum bytes of a device function's parameters and results, which lie in local memory.
const MAXIMUM_PARAMETERS: u32 = 512 << 10;

/// Elements of an array; `None` if the product of the dimensions exceeds 64 bits. An open dimension counts
/// as 0.
fn elements(dimensions: &[Option<u64>]) -> Option<u64> {
    dimensions.iter().try_fold(1u64, |product, size| product.checked_mul(size.unwrap_or(0)))
}

/// Rule on initial values.
pub(super) const UNINITIALISED_SPACE: &str =
    "has an initial value, which only .global and .const variables may have";

/// Rule on arrays in `.reg` space.
pub(super) const ARRAY_OF_REGISTERS: &str = "is an array and cannot be in .reg space";

/// Error of a declaration that violates `rule`.
pub(super) fn forbidden(name: &str, rule: &'static str) -> ResolveError {
    ResolveError::Declaration { name: name.to_owned(), rule }
}

/// Checks that several results of a function are all in `.reg` space.
pub(super) fn check_results(returns: &[Parameter]) -> Result<(), ResolveError> {
    match returns.iter().find(|result| !result.in_register) {
        Some(result) if returns.len() > 1 => {
            Err(forbidden(&result.name, "is one of several results and must be in .reg space"))
        }
        _ => Ok(()),
    }
}

/// Variable of a module or function.
pub(super) fn variable(
    meaning: &Meaning,
    space: Space,
    declarator: &Declarator<'_>,
) -> Result<Variable, ResolveError> {
    let name = declarator.name.text;
    let ty = meaning.ty_of(name)?;
    meaning.check_space(name)?;
    if declarator.initialiser.is_some() && !matches!(space, Space::Global | Space::Const) {
        return Err(forbidden(name, UNINITIALISED_SPACE));
    }
    let mut dimensions = declarator.dimensions.clone();
    let mut initial = Vec::new();
    if let (Some(text), TypeClass::Opaque) = (declarator.initialiser, ty.class()) {
        initial = property::parse(name, text)?;
    } else if let Some(text) = declarator.initialiser {
        let layout = initialiser::Layout { name, ty, lanes: meaning.lanes, dimensions: &dimensions };
        let (values, outermost) = initialiser::parse(&layout, text)?;
        initial = values;
        if let Some(first @ None) = dimensions.first_mut() {
            *first = Some(outermost);
        }
    }
    let too_large = || ResolveError::TooLarge { name: name.to_owned() };
    let element = u64::from(ty.bytes()) * u64::from(meaning.lanes);
    let size = elements(&dimensions)
        .and_then(|count| count.checked_mul(element))
        .filter(|size| *size <= MAXIMUM_VARIABLE)
        .ok_or_else(too_large)?;
    Ok(Variable {
        name: name.to_owned(),
        space,
        linkage: meaning.linkage,
        ty,
        size,
        align: meaning.alignment(name, ty)?,
        initial,
        managed: meaning.managed,
    })
}

/// Bytes of the parameters so far, and their limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParameterArea {
    pub(super) bytes: u32,
    limit: u32,
}

impl ParameterArea {
    pub(super) fn of_kernel() -> Self {
        Self { bytes: 0, limit: MAXIMUM_KERNEL_PARAMETERS }
    }

    pub(super) fn of_device_function() -> Self {
        Self { bytes: 0, limit: MAXIMUM_PARAMETERS }
    }

    /// Allocates a parameter at the next aligned offset. A kernel's parameter block has the layout of a C
    /// struct.
    pub(super) fn place(&mut self, formal: &Formal<'_>) -> Result<(Parameter, Meaning), (u32, ResolveError)> {
        let first = formal.specifiers.words.first().map_or(0, |word| word.at);
        let at = formal.declarator.as_ref().map_or(first, |declarator| declarator.name.at);
        let meaning = meaning(&formal.specifiers)?;
        let name = formal.declarator.as_ref().map_or("_", |declarator| declarator.name.text);
        let dimensions = formal.declarator.as_ref().map_or(&[][..], |declarator| &declarator.dimensions);
        let fail = |error| (at, error);
        let too_large = || (at, ResolveError::TooLarge { name: name.to_owned() });
        let ty = meaning.ty_of(name).map_err(fail)?;
        let in_register = meaning.storage == Some(Storage::Register);
        if in_register && !dimensions.is_empty() {
            return Err(fail(forbidden(name, ARRAY_OF_REGISTERS)));
        }
        meaning.check_space(name).map_err(fail)?;
        let align = meaning.alignment(name, ty).map_err(fail)?;
        let size = elements(dimensions)
            .and_then(|count| count.checked_mul(u64::from(ty.bytes() * meaning.lanes)))
            .and_then(|size| u32::try_from(size).ok())
            .ok_or_else(too_large)?;
        let offset = self.bytes.checked_next_multiple_of(align).ok_or_else(too_large)?;
        self.bytes = offset.checked_add(size).filter(|end| *end <= self.limit).ok_or_else(too_large)?;
        Ok((
            Parameter { name: name.to_owned(), ty, offset, size, align, in_register, register: None },
            meaning,
        ))
    }
}

/// Launch bounds and `.noreturn` among the performance directives; others have no effect.
pub(super) fn performance(directives: &[Performance<'_>]) -> (LaunchBounds, bool) {
    let mut bounds = LaunchBounds::default();
    let mut no_return = false;
    for directive in directives {
        let value = |n: usize| directive.values.get(n).map(|value| u32::try_from(*value).unwrap_or(u32::MAX));
        let sizes = || value(0).map(|x| [x, value(1).unwrap_or(1), value(2).unwrap_or(1)]);
        match directive.name.text {
            ".maxntid" => bounds.maximum_threads = sizes(),
            ".reqntid" => bounds.required_threads = sizes(),
            ".minnctapersm" | ".maxnctapersm" => bounds.minimum_ctas_per_sm = value(0),
            ".maxnreg" => bounds.maximum_registers = value(0),
            ".reqnctapercluster" => bounds.required_cluster = sizes(),
            ".maxclusterrank" => bounds.maximum_cluster_ctas = value(0),
            ".explicitcluster" => bounds.needs_clusters = true,
            ".blocksareclusters" => bounds.blocks_are_clusters = true,
            ".noreturn" => no_return = true,
            _ => {}
        }
    }
    (bounds, no_return)
}
