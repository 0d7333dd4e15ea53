crate::ops::not_yet! { sin_approx cos_approx }
