//! Plans, by the numbers that programs know.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Arc;

use parking_lot::Mutex;
use standin_driver::{Address, Context, Stream, driver};

use crate::kernels::MODULES;
use crate::request::Request;
use crate::status::{Answer, Status, code, store};
use crate::steps::Steps;
use crate::tables::Tables;

/// `cufftHandle`
pub(crate) type Raw = c_int;

/// A transform that is ready to run.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) request: Request,
    /// Passes between two arrays.
    pub(crate) between: Steps,
    /// Passes within an array.
    pub(crate) within: Steps,
    pub(crate) tables: Tables,
}

impl Made {
    fn new(request: Request) -> Answer<Made> {
        let (between, within) = (Steps::new(&request, false)?, Steps::new(&request, true)?);
        let mut tables = between.tables();
        tables.extend(within.tables());
        let tables = Tables::new(tables, request.kind.precision)?;
        Ok(Made { request, between, within, tables })
    }

    fn work_bytes(&self) -> u64 {
        [&self.between, &self.within]
            .map(|steps| steps.work_bytes(&self.request))
            .into_iter()
            .max()
            .unwrap_or(0)
    }
}

/// Bytes of the work area of a transform.
pub(crate) fn work_bytes(request: &Request) -> Answer<usize> {
    let (between, within) = (Steps::new(request, false)?, Steps::new(request, true)?);
    bytes(between.work_bytes(request).max(within.work_bytes(request)))
}

fn bytes(value: u64) -> Answer<usize> {
    usize::try_from(value).map_err(|_| Status::InvalidSize)
}

/// A plan.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) context: Context,
    pub(crate) stream: Stream,
    allocates: bool,
    /// Work area of the plan itself.
    own: Option<Address>,
    /// Work area of the program.
    given: Option<Address>,
    pub(crate) made: Option<Made>,
}

static PLANS: Mutex<BTreeMap<Raw, Arc<Mutex<Plan>>>> = Mutex::new(BTreeMap::new());

/// The plan of a number.
pub(crate) fn of(number: Raw) -> Answer<Arc<Mutex<Plan>>> {
    PLANS.lock().get(&number).cloned().ok_or(Status::InvalidPlan)
}

impl Plan {
    fn new() -> Answer<Plan> {
        let context = driver()?.current()?;
        MODULES.load(context)?;
        Ok(Plan { context, stream: 0, allocates: true, own: None, given: None, made: None })
    }

    /// Makes the plan one for `request`; returns the bytes of its work area.
    pub(crate) fn make(&mut self, request: Request) -> Answer<usize> {
        if self.made.is_some() {
            return Err(Status::InvalidPlan);
        }
        let made = driver()?.with_context(self.context, || Made::new(request))?;
        let bytes = bytes(made.work_bytes())?;
        self.made = Some(made);
        if self.allocates {
            self.allocate(bytes)?;
        }
        Ok(bytes)
    }

    fn allocate(&mut self, bytes: usize) -> Answer {
        if bytes > 0 && self.own.is_none() && self.given.is_none() {
            let driver = driver()?;
            self.own = Some(driver.with_context(self.context, || driver.allocate(bytes))?);
        }
        Ok(())
    }

    /// Address of the work area.
    pub(crate) fn work(&self) -> Answer<Address> {
        self.given.or(self.own).ok_or(Status::NoWorkspace)
    }

    fn size(&self) -> Answer<usize> {
        bytes(self.made.as_ref().ok_or(Status::InvalidPlan)?.work_bytes())
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        let Ok(driver) = driver() else { return };
        // A context that the program has destroyed has no memory any more.
        let _: Answer = driver.with_context(self.context, || {
            // Passes may still run.
            let _ = driver.synchronize(self.stream);
            self.made = None;
            Ok(self.own.map_or(Ok(()), |own| driver.free(own))?)
        });
    }
}

/// Makes a plan without a transform.
pub(crate) fn create_number() -> Answer<Raw> {
    let plan = Plan::new()?;
    let mut plans = PLANS.lock();
    let number = (1..Raw::MAX).find(|number| !plans.contains_key(number)).ok_or(Status::AllocationFailed)?;
    plans.insert(number, Arc::new(Mutex::new(plan)));
    Ok(number)
}

/// Removes a plan.
pub(crate) fn remove(number: Raw) -> Answer {
    let plan = PLANS.lock().remove(&number);
    plan.map(drop).ok_or(Status::InvalidPlan)
}

/// `cufftCreate`
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn create(place: *mut Raw) -> c_int {
    code(|| {
        if place.is_null() {
            return Err(Status::InvalidValue);
        }
        // SAFETY: the caller's promise.
        unsafe { store(place, create_number()?) }
    })
}

/// `cufftDestroy`
pub(crate) extern "C" fn destroy(number: Raw) -> c_int {
    code(|| remove(number))
}

/// `cufftSetStream`
pub(crate) extern "C" fn set_stream(number: Raw, stream: Stream) -> c_int {
    code(|| {
        of(number)?.lock().stream = stream;
        Ok(())
    })
}

/// `cufftSetAutoAllocation`
pub(crate) extern "C" fn set_auto_allocation(number: Raw, allocates: c_int) -> c_int {
    code(|| {
        of(number)?.lock().allocates = allocates != 0;
        Ok(())
    })
}

/// `cufftSetWorkArea`; a null area brings back that of the plan.
pub(crate) extern "C" fn set_work_area(number: Raw, area: Address) -> c_int {
    code(|| {
        of(number)?.lock().given = Some(area).filter(|area| *area != 0);
        Ok(())
    })
}

/// `cufftGetSize`
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn get_size(number: Raw, place: *mut usize) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { store(place, of(number)?.lock().size()?) })
}

/// Minor version of each major one: the last of a toolkit.
const fn minor(major: c_int) -> c_int {
    match major {
        10 => 9,
        11 => 3,
        _ => 0,
    }
}

/// `cufftGetVersion`
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn get_version<const MAJOR: c_int>(place: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { store(place, MAJOR * 1000 + minor(MAJOR) * 100) })
}

/// `cufftGetProperty`: a part of the version.
///
/// # Safety
/// `place` is null or has room.
pub(crate) unsafe extern "C" fn get_property<const MAJOR: c_int>(part: c_int, place: *mut c_int) -> c_int {
    code(|| {
        let value = match part {
            0 => MAJOR,
            1 => minor(MAJOR),
            2 => 0,
            _ => return Err(Status::InvalidValue),
        };
        // SAFETY: the caller's promise.
        unsafe { store(place, value) }
    })
}
