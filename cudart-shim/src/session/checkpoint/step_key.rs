//! Checkpoint keys of operations: the parts of a request that are equal in every run of the
//! program.

use super::{arguments, place};
use crate::objects::rows::Extent;
use crate::session::state::Session;
use crate::work::copy::{Copy, Fill, Pattern};
use crate::work::kernel_launch::KernelLaunch;
use crate::work::operation::Operation;
use functional::parameters::ParameterReads;
use saved_run::{Asked, Digest, End};

/// The key of an operation; `None` for operations on host memory alone or without device work,
/// which a resumed run repeats. `launch` is the number of a launch.
pub(super) fn of(session: &'static Session, operation: &Operation, launch: Option<u64>) -> Option<Asked> {
    match operation {
        Operation::Kernel(kernel) => Some(of_launch(session, kernel, launch?)),
        Operation::Copy(copy) => of_copy(session, copy, || Digest::of(&copy.pack_source())),
        Operation::StagedCopy(copy, source) => of_copy(session, copy, || Digest::of(source)),
        Operation::Fill(fill) => of_fill(session, fill),
        _ => None,
    }
}

fn of_launch(session: &'static Session, launch: &KernelLaunch, number: u64) -> Asked {
    let sizes = launch.sizes;
    Asked::Kernel {
        launch: number,
        name: launch.kernel.name.to_string_lossy().into_owned(),
        shape: sizes.shape,
        shared: sizes.shared as u64,
        arguments: arguments::of(session, launch),
        code: launch.kernel.code(),
    }
}

/// The key with the arguments that `saved` covers.
pub(super) fn like(session: &'static Session, saved: &Asked, asked: &Asked, operation: &Operation) -> Asked {
    let mut like = asked.clone();
    if let (
        Asked::Kernel { arguments, .. },
        Asked::Kernel { arguments: saved, .. },
        Operation::Kernel(launch),
    ) = (&mut like, saved, operation)
        && let Some(read) = &saved.read
    {
        *arguments = arguments::over(session, launch, read.clone());
    }
    like
}

/// The key of a launch after it read its parameters.
pub(super) fn having_read(
    session: &'static Session,
    asked: Asked,
    operation: &Operation,
    reads: &ParameterReads,
) -> Asked {
    let mut having_read = asked;
    if let (Asked::Kernel { arguments, .. }, Operation::Kernel(launch)) = (&mut having_read, operation) {
        *arguments = arguments::over(session, launch, reads.ranges());
    }
    having_read
}

/// The key of a launch before it starts. Parameter reads beyond those known from the code belong to
/// the resumed run.
pub(super) fn before_launch(session: &'static Session, asked: &Asked, operation: &Operation) -> Asked {
    let reads = match operation {
        Operation::Kernel(launch) => arguments::reads(launch),
        _ => None,
    };
    reads.map_or_else(|| asked.clone(), |reads| having_read(session, asked.clone(), operation, &reads))
}

fn extent(Extent { width, height, depth }: Extent) -> [u64; 3] {
    [width, height, depth].map(|size| size as u64)
}

fn of_copy(session: &'static Session, copy: &Copy, sent: impl FnOnce() -> Digest) -> Option<Asked> {
    let end = |side: &crate::objects::rows::Side, is_pageable| {
        if is_pageable { End::Host } else { End::Device(place::of(session, side.address as u64)) }
    };
    if !copy.is_to_device() && !copy.is_from_device() {
        return None;
    }
    Some(Asked::Copy {
        to: end(&copy.to, copy.is_to_pageable()),
        from: end(&copy.from, copy.is_from_pageable()),
        extent: extent(copy.extent),
        sent: (!copy.is_from_device()).then(sent),
    })
}

fn of_fill(session: &'static Session, fill: &Fill) -> Option<Asked> {
    let value = match fill.pattern {
        Pattern::Byte(value) => value.into(),
        Pattern::Half(value) => value.into(),
        Pattern::Word(value) => value,
    };
    let address = fill.to.address as u64;
    (!fill.is_seen_by_host(session.shared())).then(|| Asked::Fill {
        address,
        extent: extent(fill.extent),
        value,
    })
}
