//! Floating-point arithmetic (PTX manual 9.7.3 to 9.7.5).

use super::not_yet;

not_yet! {
    add add_double add_half sub sub_double sub_half mul mul_double mul_half fma fma_double fma_half mad mad_double
    div div_approx div_double abs abs_double abs_half neg neg_double neg_half min min_double min_half max max_double
    max_half rcp rcp_approx rcp_double rcp_approx_double sqrt sqrt_approx sqrt_double rsqrt_approx
    rsqrt_approx_double rsqrt_approx_ftz_double sin_approx cos_approx lg2_approx ex2_approx tanh_approx testp copysign
}
