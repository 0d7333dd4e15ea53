//! Exports of a library with several versions: each function has a label for each version, and a jump to
//! the body behind them. The second version is the default.

/// The labels of a function, each with its version, and the code behind them.
#[macro_export]
macro_rules! versions {
    ($library:literal [$old:literal $default:literal $new:literal] $name:expr, $code:expr) => {
        concat!(
            $crate::label!($library, $old, $name, "@"),
            $crate::label!($library, $default, $name, "@@"),
            $crate::label!($library, $new, $name, "@"),
            $code,
            "\n"
        )
    };
}

/// A label of a function with a version.
#[macro_export]
macro_rules! label {
    ($library:literal, $version:literal, $name:expr, $at:literal) => {
        concat!(
            ".text\n.balign 8\n",
            ".globl voltsim_",
            $name,
            "_",
            $version,
            "\n.type voltsim_",
            $name,
            "_",
            $version,
            ",@function\n.symver voltsim_",
            $name,
            "_",
            $version,
            ",",
            $name,
            $at,
            $library,
            ".so.",
            $version,
            ",remove\nvoltsim_",
            $name,
            "_",
            $version,
            ":\n"
        )
    };
}

/// Exports functions with a body.
#[macro_export]
macro_rules! export {
    ($library:literal $versions:tt: $($name:ident = $target:path;)*) => {
        $(
            core::arch::global_asm!(
                $crate::versions!($library $versions stringify!($name), "jmp {target}"),
                target = sym $target,
                options(att_syntax)
            );
        )*
    };
}

/// Exports functions whose bodies take the major version as a parameter.
#[macro_export]
macro_rules! export_by_version {
    ($library:literal [$old:literal $default:literal $new:literal]:
        $($name:ident = $module:ident::$function:ident;)*) => {
        $(
            core::arch::global_asm!(
                concat!(
                    $crate::label!($library, $old, stringify!($name), "@"), "jmp {old}\n",
                    $crate::label!($library, $default, stringify!($name), "@@"), "jmp {default}\n",
                    $crate::label!($library, $new, stringify!($name), "@"), "jmp {new}\n",
                ),
                old = sym $module::$function::<$old>,
                default = sym $module::$function::<$default>,
                new = sym $module::$function::<$new>,
                options(att_syntax)
            );
        )*
    };
}

/// Exports functions without a body, which pass their names on to one that refuses.
#[macro_export]
macro_rules! refuse_all {
    ($library:literal $versions:tt by $refused:path: $($name:ident)*) => {
        $(
            core::arch::global_asm!(
                concat!(
                    ".section .rodata\n7: .asciz \"", stringify!($name), "\"\n",
                    $crate::versions!($library $versions stringify!($name), "leaq 7b(%rip), %rdi\njmp {refused}"),
                ),
                refused = sym $refused,
                options(att_syntax)
            );
        )*
    };
}
