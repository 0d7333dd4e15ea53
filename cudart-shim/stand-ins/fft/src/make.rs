//! Creation of plans, and sizes of their work areas.

use std::ffi::c_int;

use crate::plan::{Raw, create_number, of, remove, work_bytes};
use crate::request::{Embedding, Kind, Request};
use crate::status::{Answer, Status, code, store};

/// An integer of a call: `int`, or `long long` for functions whose names end in `64`.
pub(crate) trait Int: Copy {
    fn wide(self) -> i64;
}

impl Int for c_int {
    fn wide(self) -> i64 {
        i64::from(self)
    }
}

impl Int for i64 {
    fn wide(self) -> i64 {
        self
    }
}

/// Makes a plan one for `request`, and stores the bytes of the work area.
///
/// # Safety
/// `work` is null or has room.
unsafe fn make(number: Raw, request: Answer<Request>, work: *mut usize) -> c_int {
    code(|| {
        if work.is_null() {
            return Err(Status::InvalidValue);
        }
        let bytes = of(number)?.lock().make(request?)?;
        // SAFETY: the caller's promise.
        unsafe { store(work, bytes) }
    })
}

/// As `make`, with a new plan.
///
/// # Safety
/// `place` is null or has room.
unsafe fn plan(place: *mut Raw, request: Answer<Request>) -> c_int {
    code(|| {
        if place.is_null() {
            return Err(Status::InvalidValue);
        }
        let request = request?;
        let number = create_number()?;
        let made = of(number).and_then(|plan| plan.lock().make(request));
        if let Err(error) = made {
            remove(number)?;
            return Err(error);
        }
        // SAFETY: the caller's promise.
        unsafe { store(place, number) }
    })
}

/// Stores the bytes of a work area.
///
/// # Safety
/// `work` is null or has room.
unsafe fn estimate(request: Answer<Request>, work: *mut usize) -> c_int {
    // SAFETY: the caller's promise.
    code(|| unsafe { store(work, work_bytes(&request?)?) })
}

/// As `estimate`, with a plan, whose state has no effect.
///
/// # Safety
/// `work` is null or has room.
unsafe fn size(number: Raw, request: Answer<Request>, work: *mut usize) -> c_int {
    code(|| {
        of(number)?;
        // SAFETY: the caller's promise.
        unsafe { store(work, work_bytes(&request?)?) }
    })
}

fn simple(kind: c_int, sizes: &[c_int], batch: c_int) -> Answer<Request> {
    let sizes: Vec<i64> = sizes.iter().map(|size| size.wide()).collect();
    Request::new(Kind::of(kind)?, &sizes, batch.wide(), None)
}

/// Functions with one, two and three sizes.
macro_rules! by_sizes {
    ($($make:ident $plan:ident $estimate:ident $size:ident ($($n:ident),*) $($batch:ident)?;)*) => { $(
        /// `cufftMakePlan1d` and its like.
        ///
        /// # Safety
        /// `work` is null or has room.
        pub(crate) unsafe extern "C" fn $make(
            number: Raw, $($n: c_int,)* kind: c_int, $($batch: c_int,)? work: *mut usize,
        ) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { make(number, simple(kind, &[$($n),*], by_sizes!(@ $($batch)?)), work) }
        }

        /// `cufftPlan1d` and its like.
        ///
        /// # Safety
        /// `place` is null or has room.
        pub(crate) unsafe extern "C" fn $plan(
            place: *mut Raw, $($n: c_int,)* kind: c_int, $($batch: c_int,)?
        ) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { plan(place, simple(kind, &[$($n),*], by_sizes!(@ $($batch)?))) }
        }

        /// `cufftEstimate1d` and its like.
        ///
        /// # Safety
        /// `work` is null or has room.
        pub(crate) unsafe extern "C" fn $estimate(
            $($n: c_int,)* kind: c_int, $($batch: c_int,)? work: *mut usize,
        ) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { estimate(simple(kind, &[$($n),*], by_sizes!(@ $($batch)?)), work) }
        }

        /// `cufftGetSize1d` and its like.
        ///
        /// # Safety
        /// `work` is null or has room.
        pub(crate) unsafe extern "C" fn $size(
            number: Raw, $($n: c_int,)* kind: c_int, $($batch: c_int,)? work: *mut usize,
        ) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { size(number, simple(kind, &[$($n),*], by_sizes!(@ $($batch)?)), work) }
        }
    )* };
    (@) => { 1 };
    (@ $batch:ident) => { $batch };
}

by_sizes! {
    make_1d plan_1d estimate_1d size_1d (x) batch;
    make_2d plan_2d estimate_2d size_2d (x, y);
    make_3d plan_3d estimate_3d size_3d (x, y, z);
}

/// Copies up to three sizes.
///
/// # Safety
/// `sizes` is null or an array of `rank` values.
unsafe fn read<I: Int>(rank: c_int, sizes: *const I) -> Answer<Vec<i64>> {
    let rank =
        usize::try_from(rank).ok().filter(|rank| (1..=3).contains(rank)).ok_or(Status::InvalidValue)?;
    if sizes.is_null() {
        return Err(Status::InvalidValue);
    }
    // SAFETY: the caller's promise.
    Ok((0..rank).map(|place| unsafe { sizes.add(place).read_unaligned() }.wide()).collect())
}

/// Sizes, layout and batch of a call.
struct Many<I> {
    rank: c_int,
    sizes: *const I,
    input: (*const I, I, I),
    output: (*const I, I, I),
    batch: I,
}

impl<I: Int> Many<I> {
    /// # Safety
    /// Pointers are null or arrays of `rank` values.
    unsafe fn request(self, kind: Answer<Kind>) -> Answer<Request> {
        // SAFETY: the caller's promise.
        let sizes = unsafe { read(self.rank, self.sizes)? };
        let layouts = if self.input.0.is_null() || self.output.0.is_null() {
            None
        } else {
            // SAFETY: the caller's promise.
            unsafe { Some((embedding(self.rank, self.input)?, embedding(self.rank, self.output)?)) }
        };
        Request::new(kind?, &sizes, self.batch.wide(), layouts)
    }
}

/// # Safety
/// The pointer is an array of `rank` values.
unsafe fn embedding<I: Int>(rank: c_int, (sizes, stride, distance): (*const I, I, I)) -> Answer<Embedding> {
    // SAFETY: the caller's promise.
    let given = unsafe { read(rank, sizes)? };
    let mut sizes = [1; 3];
    for (place, size) in sizes.iter_mut().rev().zip(given.iter().rev()) {
        *place = *size;
    }
    if stride.wide() < 1 || distance.wide() < 0 || given.iter().skip(1).any(|size| *size < 1) {
        return Err(Status::InvalidValue);
    }
    Ok(Embedding { sizes, stride: stride.wide(), distance: distance.wide() })
}

/// `cufftMakePlanMany`, `cufftMakePlanMany64`
///
/// # Safety
/// Pointers are null, arrays of `rank` values, or have room.
pub(crate) unsafe extern "C" fn make_many<I: Int>(
    number: Raw,
    rank: c_int,
    sizes: *const I,
    inembed: *const I,
    istride: I,
    idist: I,
    onembed: *const I,
    ostride: I,
    odist: I,
    kind: c_int,
    batch: I,
    work: *mut usize,
) -> c_int {
    let many =
        Many { rank, sizes, input: (inembed, istride, idist), output: (onembed, ostride, odist), batch };
    // SAFETY: the caller's promises.
    unsafe { make(number, many.request(Kind::of(kind)), work) }
}

/// `cufftPlanMany`
///
/// # Safety
/// As for [`make_many`].
pub(crate) unsafe extern "C" fn plan_many(
    place: *mut Raw,
    rank: c_int,
    sizes: *const c_int,
    inembed: *const c_int,
    istride: c_int,
    idist: c_int,
    onembed: *const c_int,
    ostride: c_int,
    odist: c_int,
    kind: c_int,
    batch: c_int,
) -> c_int {
    let many =
        Many { rank, sizes, input: (inembed, istride, idist), output: (onembed, ostride, odist), batch };
    // SAFETY: the caller's promises.
    unsafe { plan(place, many.request(Kind::of(kind))) }
}

/// `cufftEstimateMany`
///
/// # Safety
/// As for [`make_many`].
pub(crate) unsafe extern "C" fn estimate_many(
    rank: c_int,
    sizes: *const c_int,
    inembed: *const c_int,
    istride: c_int,
    idist: c_int,
    onembed: *const c_int,
    ostride: c_int,
    odist: c_int,
    kind: c_int,
    batch: c_int,
    work: *mut usize,
) -> c_int {
    let many =
        Many { rank, sizes, input: (inembed, istride, idist), output: (onembed, ostride, odist), batch };
    // SAFETY: the caller's promises.
    unsafe { estimate(many.request(Kind::of(kind)), work) }
}

/// `cufftGetSizeMany`, `cufftGetSizeMany64`
///
/// # Safety
/// As for [`make_many`].
pub(crate) unsafe extern "C" fn size_many<I: Int>(
    number: Raw,
    rank: c_int,
    sizes: *const I,
    inembed: *const I,
    istride: I,
    idist: I,
    onembed: *const I,
    ostride: I,
    odist: I,
    kind: c_int,
    batch: I,
    work: *mut usize,
) -> c_int {
    let many =
        Many { rank, sizes, input: (inembed, istride, idist), output: (onembed, ostride, odist), batch };
    // SAFETY: the caller's promises.
    unsafe { size(number, many.request(Kind::of(kind)), work) }
}

/// `cufftXtMakePlanMany`
///
/// # Safety
/// As for [`make_many`].
pub(crate) unsafe extern "C" fn make_typed(
    number: Raw,
    rank: c_int,
    sizes: *const i64,
    inembed: *const i64,
    istride: i64,
    idist: i64,
    input: c_int,
    onembed: *const i64,
    ostride: i64,
    odist: i64,
    output: c_int,
    batch: i64,
    work: *mut usize,
    execution: c_int,
) -> c_int {
    let many =
        Many { rank, sizes, input: (inembed, istride, idist), output: (onembed, ostride, odist), batch };
    // SAFETY: the caller's promises.
    unsafe { make(number, many.request(Kind::of_data(input, output, execution)), work) }
}

/// `cufftXtGetSizeMany`
///
/// # Safety
/// As for [`make_many`].
pub(crate) unsafe extern "C" fn size_typed(
    number: Raw,
    rank: c_int,
    sizes: *const i64,
    inembed: *const i64,
    istride: i64,
    idist: i64,
    input: c_int,
    onembed: *const i64,
    ostride: i64,
    odist: i64,
    output: c_int,
    batch: i64,
    work: *mut usize,
    execution: c_int,
) -> c_int {
    let many =
        Many { rank, sizes, input: (inembed, istride, idist), output: (onembed, ostride, odist), batch };
    // SAFETY: the caller's promises.
    unsafe { size(number, many.request(Kind::of_data(input, output, execution)), work) }
}
