crate::ops::not_yet! { lg2_approx ex2_approx tanh_approx }
