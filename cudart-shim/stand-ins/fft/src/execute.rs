//! Runs of plans: `cufftExecC2C` and its like.

use std::ffi::c_int;

use standin_driver::{Address, driver};

use crate::kernels::{CONJUGATE_IN, CONJUGATE_LAST};
use crate::plan::{Plan, Raw, of};
use crate::request::{Form, Kind};
use crate::status::{Answer, Status, code};
use crate::steps::Buffer;

/// Runs the passes of a plan. An inverse transform is the conjugate of a forward transform of
/// conjugates.
fn run(plan: &Plan, input: Address, output: Address, is_inverse: bool) -> Answer {
    let made = plan.made.as_ref().ok_or(Status::InvalidPlan)?;
    if input == 0 || output == 0 {
        return Err(Status::InvalidValue);
    }
    let steps = if input == output { &made.within } else { &made.between };
    let work = if steps.work_bytes(&made.request) > 0 { plan.work()? } else { 0 };
    let half = steps.half_bytes(&made.request);
    let address = |buffer: Buffer| match buffer {
        Buffer::Input => input,
        Buffer::Output => output,
        Buffer::Work(number) => work + number * half,
    };
    let last = steps.steps.len() - 1;
    for (number, step) in steps.steps.iter().enumerate() {
        let mut pass = step.pass;
        pass.input = address(step.from);
        pass.output = address(step.to);
        pass.roots = made.tables.address(step.roots)?;
        pass.load_factors = made.tables.address(step.load_factors)?;
        pass.store_factors = made.tables.address(step.store_factors)?;
        pass.twiddles = made.tables.address(step.twiddles)?;
        if is_inverse && number == 0 {
            pass.flags ^= CONJUGATE_IN;
        }
        if is_inverse && number == last {
            pass.flags ^= CONJUGATE_LAST;
        }
        pass.launch(plan.context, plan.stream, made.request.kind.precision)?;
    }
    Ok(())
}

/// `CUFFT_FORWARD` and `CUFFT_INVERSE`.
fn is_inverse(form: Form, direction: c_int) -> Answer<bool> {
    match (form, direction) {
        (Form::ToComplex, _) | (Form::Complex, -1) => Ok(false),
        (Form::ToReal, _) | (Form::Complex, 1) => Ok(true),
        _ => Err(Status::InvalidValue),
    }
}

fn execute(number: Raw, kind: Option<Kind>, input: Address, output: Address, direction: c_int) -> c_int {
    code(|| {
        let plan = of(number)?;
        let plan = plan.lock();
        let planned = plan.made.as_ref().ok_or(Status::InvalidPlan)?.request.kind;
        if kind.is_some_and(|kind| kind != planned) {
            return Err(Status::InvalidType);
        }
        let is_inverse = is_inverse(planned.form, direction)?;
        driver()?.with_context(plan.context, || run(&plan, input, output, is_inverse))
    })
}

/// `cufftExecC2C` and `cufftExecZ2Z`, by the number of their type.
pub(crate) extern "C" fn complex<const TYPE: c_int>(
    plan: Raw,
    input: Address,
    output: Address,
    direction: c_int,
) -> c_int {
    execute(plan, Kind::of(TYPE).ok(), input, output, direction)
}

/// The other functions, by the number of their type.
pub(crate) extern "C" fn real<const TYPE: c_int>(plan: Raw, input: Address, output: Address) -> c_int {
    execute(plan, Kind::of(TYPE).ok(), input, output, 0)
}

/// `cufftXtExec`
pub(crate) extern "C" fn any(plan: Raw, input: Address, output: Address, direction: c_int) -> c_int {
    execute(plan, None, input, output, direction)
}
