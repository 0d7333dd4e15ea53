//! Wrapper around every API function: stops panics at the ABI, logs and counts the call, and keeps
//! its error.

use crate::abi::Handle;
use crate::abi::call::{Api, Need, Subject};
use crate::abi::error::{self, Error, Result};
use crate::api::error_log;
use crate::host::log::{self, Arguments};
use crate::host::present_call;
use crate::objects::{last_error, sass_only};
use crate::root::session;
use crate::session::{checkpoint, context, sanitizer_report, trace};
use std::ffi::c_int;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An argument that may be a handle.
pub(crate) struct Argument<'a, T>(pub(crate) &'a T);

/// An argument that is a handle.
pub(crate) trait OfHandle {
    /// Context of the object of the handle.
    fn subject(&self) -> Subject;
}

/// Any other argument. The compiler prefers [`OfHandle`], because this trait needs one more
/// reference.
pub(crate) trait OfValue {
    /// No context.
    fn subject(&self) -> Subject;
}

impl<T: Handle> OfHandle for Argument<'_, T> {
    fn subject(&self) -> Subject {
        self.0.subject()
    }
}

impl<T> OfValue for &Argument<'_, T> {
    fn subject(&self) -> Subject {
        Subject::default()
    }
}

/// Runs the body of an API function that returns a status, in the context that the call needs.
/// `subject` is the context named by the arguments.
pub(crate) fn status(
    api: Api,
    (name, need, subject): (&'static str, Need, Subject),
    arguments: Arguments<'_>,
    body: impl FnOnce() -> Result<()>,
) -> c_int {
    let mut body = Some(body);
    code_of(api, name, arguments, &mut || {
        let _entered = context::enter(session(), api, need, subject)?;
        body.take().map_or(Err(Error::Unknown), |body| body())
    })
}

/// Status of `body`, run in a separate frame. One function serves about a thousand bodies.
#[inline(never)]
fn code_of(
    api: Api,
    name: &'static str,
    arguments: Arguments<'_>,
    body: &mut dyn FnMut() -> Result<()>,
) -> c_int {
    let start = trace::enabled(session()).then(|| trace::now(session()));
    let of_stub = sass_only::leave_stub();
    let result = guarded(name, body).unwrap_or(Err(Error::Unknown));
    // "Not ready" is an answer, not an error.
    if let Err(error) = result
        && error != Error::NotReady
    {
        error_log::note(name, error);
        sanitizer_report::call_failed(session(), api, name, error);
        sass_only::returned(of_stub, error);
    }
    let code = match (api, result) {
        (_, Ok(())) => 0,
        (Api::Runtime, Err(error)) => {
            last_error::remember(error);
            error.code()
        }
        (Api::Driver, Err(error)) => error.driver_code(),
    };
    if log::enabled() {
        log::call(name, arguments, &CodeName { api, code }, code == 0);
    }
    if let Some(start) = start {
        trace::call(session(), name, arguments, start, &CodeName { api, code }, code == 0);
    }
    code
}

/// Runs the body of an API function with another result; `fallback` is the result after a panic.
#[inline(never)]
pub(crate) fn value<T: fmt::Debug>(
    name: &'static str,
    arguments: Arguments<'_>,
    fallback: T,
    body: impl FnOnce() -> T,
) -> T {
    let start = trace::enabled(session()).then(|| trace::now(session()));
    let value = guarded(name, body).unwrap_or(fallback);
    if log::enabled() {
        log::call(name, arguments, &format_args!("{value:?}"), false);
    }
    if let Some(start) = start {
        trace::call(session(), name, arguments, start, &format_args!("{value:?}"), false);
    }
    value
}

fn guarded<T>(name: &'static str, body: impl FnOnce() -> T) -> Option<T> {
    present_call::begin(name);
    let _turn = checkpoint::turn(session(), name);
    // A panicking body may leave data half changed, but all locks are released.
    let result = catch_unwind(AssertUnwindSafe(body));
    if result.is_err() {
        log::line(|| format!("{name}: internal error"));
    }
    result.ok()
}

struct CodeName {
    api: Api,
    code: c_int,
}

impl fmt::Display for CodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = error::texts(self.code).and_then(|texts| match self.api {
            Api::Runtime => texts.runtime_name,
            Api::Driver => texts.driver_name,
        });
        match name {
            Some(name) => f.write_str(&name.to_string_lossy()),
            None => write!(f, "{}", self.code),
        }
    }
}

/// Defines functions of one API. The API table states the context that each status-returning
/// function needs; functions outside the table state one need for all: `api! { Driver, Nothing; …
/// }`.
///
/// ```text
/// api! { Runtime;
///     /// What it does.
///     fn cudaFoo(count: Out<c_int>) { count.set(1) }
///     /// With the variant for per-thread default streams; `default` is the stream that handle 0 means.
///     fn cudaBar, cudaBar_ptsz [default] (stream: StreamHandle) { … }
///     /// A function that returns no status: its type and what it returns after an internal error.
///     fn cudaBaz(error: c_int) -> *const c_char = std::ptr::null(); { … }
/// }
/// ```
macro_rules! api {
    ($api:ident; $($functions:tt)*) => { $crate::api::entry::api! { @all $api []; $($functions)* } };
    ($api:ident, $need:ident; $($functions:tt)*) => { $crate::api::entry::api! { @all $api [$need]; $($functions)* } };
    (@all $api:ident $need:tt; $(
        $(#[$attribute:meta])*
        fn $name:ident $(, $per_thread:ident [$default:ident])? ($($argument:tt)*) $(-> $result:ty = $fallback:expr;)? $body:block
    )*) => {$(
        $crate::api::entry::api! { @form $api $need [$(#[$attribute])*] $name [$($per_thread $default)?] ($($argument)*) [$($result, $fallback)?] $body }
    )*};
    (@form $api:ident $need:tt $attributes:tt $name:ident [] $arguments:tt $result:tt $body:block) => {
        $crate::api::entry::api! { @define $api $need $attributes $name $arguments $result $body }
    };
    (@form $api:ident $need:tt $attributes:tt $name:ident [$per_thread:ident $default:ident] $arguments:tt $result:tt $body:block) => {
        $crate::api::entry::api! { @define $api $need $attributes $name $arguments $result {
            let $default = $crate::abi::DefaultStream::Legacy;
            $body
        } }
        $crate::api::entry::api! { @define $api $need $attributes $per_thread $arguments $result {
            let $default = $crate::abi::DefaultStream::PerThread;
            $body
        } }
    };
    (@need $api:ident $name:ident []) => { $crate::api::tables::needs::$api::$name };
    (@need $api:ident $name:ident [$need:ident]) => { $crate::abi::call::Need::$need };
    (@define $api:ident $need:tt [$(#[$attribute:meta])*] $name:ident ($($argument:ident : $type:ty),* $(,)?) [] $body:block) => {
        $(#[$attribute])*
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            let subject = {
                #[allow(unused_imports)]
                use $crate::api::entry::{OfHandle as _, OfValue as _};
                $crate::abi::call::Subject::default()$(.and((&$crate::api::entry::Argument(&$argument)).subject()))*
            };
            let code = $crate::api::entry::status(
                $crate::abi::call::Api::$api,
                (stringify!($name), $crate::api::entry::api!(@need $api $name $need), subject),
                &[$((stringify!($argument), &$argument)),*],
                || -> $crate::abi::error::Result<()> { $body },
            );
            $crate::session::checkpoint::leave_nothing_on_stack($crate::root::session());
            code
        }
    };
    (@define $api:ident $need:tt [$(#[$attribute:meta])*] $name:ident ($($argument:ident : $type:ty),* $(,)?) [$result:ty, $fallback:expr] $body:block) => {
        $(#[$attribute])*
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            let value = $crate::api::entry::value(
                stringify!($name),
                &[$((stringify!($argument), &$argument)),*],
                $fallback,
                || -> $result { $body },
            );
            $crate::session::checkpoint::leave_nothing_on_stack($crate::root::session());
            value
        }
    };
}
pub(crate) use api;

/// Defines functions of both APIs with one body, which finds the simulator by `context()` and its
/// API in `API`. They lie in modules `runtime` and `driver`.
///
/// ```text
/// shared! {
///     /// What it does.
///     fn cudaFoo, cudaFoo_ptsz = cuFoo, cuFoo_ptsz [default] (stream: StreamHandle) {
///         context()?.foo(stream, default)
///     }
/// }
/// ```
macro_rules! shared {
    ($(
        $(#[$doc:meta])*
        fn $runtime:ident $(, $runtime_per_thread:ident)? = $driver:ident $(, $driver_per_thread:ident)? $([$default:ident])?
        ($($argument:tt)*) $body:block
    )*) => {
        pub(crate) mod runtime {
            #[allow(unused_imports)]
            use super::*;
            #[allow(unused_imports)]
            use crate::root::simulator as context;
            #[allow(dead_code)]
            const API: crate::abi::call::Api = crate::abi::call::Api::Runtime;
            $crate::api::entry::api! { Runtime; $(
                $(#[$doc])*
                fn $runtime $(, $runtime_per_thread)? $([$default])? ($($argument)*) $body
            )* }
        }
        pub(crate) mod driver {
            #[allow(unused_imports)]
            use super::*;
            #[allow(unused_imports)]
            use crate::root::simulator as context;
            #[allow(dead_code)]
            const API: crate::abi::call::Api = crate::abi::call::Api::Driver;
            $crate::api::entry::api! { Driver; $(
                $(#[$doc])*
                fn $driver $(, $driver_per_thread)? $([$default])? ($($argument)*) $body
            )* }
        }
    };
}
pub(crate) use shared;
