//! Control flow.

/// Lines of this group: `control_ops! { callback … }` expands to `callback! { … [ lines ] }`.
#[macro_export]
macro_rules! control_ops {
    ($callback:ident $($before:tt)*) => {
        $callback! { $($before)* [
            /// Branches to the label.
            bra: "bra{.uni} a:label", 1.0, 10, Branch, Branch, "9.7.12.3";
            /// Branches to the label at index a of the list.
            brx_idx: "brx.idx{.uni} a:u32, b:targets", 6.0, 30, Branch, Branch, "9.7.12.4";
            /// Calls a function, directly or through a register with its prototype or list of targets.
            call: "call{.uni} {d:params}, a:function{, b:params}{, c:prototype}", 1.0, 10, Branch, Call, "9.7.12.5";
            /// Returns to the caller; ends the thread in a kernel.
            ret: "ret{.uni}", 1.0, 10, Branch, Exit, "9.7.12.6";
            /// Ends the thread.
            exit: "exit", 1.0, 10, Branch, Exit, "9.7.12.7";
            /// Stops the grid with a fault.
            trap: "trap", 1.0, 10, Branch, Exit, "9.7.19.4";
            /// Stops for a debugger; a fault without one.
            brkpt: "brkpt", 1.0, 11, Branch, Exit, "9.7.19.1";
            /// Waits about a nanoseconds, at most twice as long.
            nanosleep: "nanosleep.u32 a", 6.2, 70, Branch, Volatile, "9.7.19.2";
            /// Counts a performance monitor event.
            pmevent: "pmevent a:u32", 1.4, 10, Branch, Pure, "9.7.19.3";
            /// Counts the performance monitor events of a mask.
            pmevent_mask: "pmevent.mask a:u32", 3.0, 20, Branch, Pure, "9.7.19.3";
            /// Allows dependent grids to start, or waits for the grids that this one depends on.
            griddepcontrol: "griddepcontrol(.launch_dependents|.wait)", 7.8, 90, Branch, Pure, "9.7.13.13";
            /// Changes the warp's maximum number of registers.
            setmaxnreg: "setmaxnreg(.inc|.dec).sync.aligned.u32 a", 8.0, "90a", Branch, Pure, "9.7.19.5";
        ] }
    };
}
