use super::*;

#[test]
fn inc_wraps_after_the_limit_dec_from_zero_to_it() {
    let inc = |old, limit| Increment::<u32>::apply(old, limit, false);
    assert_eq!((inc(0, 3), inc(2, 3), inc(3, 3), inc(9, 3)), (1, 3, 0, 0));
    assert_eq!((inc(0, 0), inc(u32::MAX, u32::MAX)), (0, 0));
    let dec = |old, limit| Decrement::<u32>::apply(old, limit, false);
    assert_eq!((dec(3, 3), dec(1, 3), dec(0, 3), dec(4, 3)), (2, 0, 3, 3));
    assert_eq!((dec(0, 0), dec(0, u32::MAX)), (0, u32::MAX));
}

#[test]
fn min_and_max_respect_the_sign() {
    assert_eq!(Min::<i32>::apply(-1, 1, false), -1);
    assert_eq!(Min::<u32>::apply(u32::MAX, 1, false), 1);
    assert_eq!(Max::<i64>::apply(-1, 1, false), 1);
    assert_eq!(Max::<u64>::apply(u64::MAX, 1, false), u64::MAX);
}

#[test]
fn subnormal_sums_survive_in_shared_memory_only() {
    let (one, two) = (1u32, 2u32);
    assert_eq!(AddFloat::<f32>::apply(one, two, true), 3);
    assert_eq!(AddFloat::<f32>::apply(one, two, false), 0);
    assert_eq!(AddFloat::<f32>::apply(0x8000_0001, 0x8000_0001, false), 0x8000_0000);
    assert_eq!(AddFloat::<f32>::apply(1.5f32.to_bits(), 2.25f32.to_bits(), false), 3.75f32.to_bits());
}

#[test]
fn packed_halves_add_separately() {
    let pair = |low: f32, high: f32| {
        u32::from(f16::from_f32(low).to_bits()) | u32::from(f16::from_f32(high).to_bits()) << 16
    };
    assert_eq!(AddFloat::<[f16; 2]>::apply(pair(1.0, 65504.0), pair(0.5, 65504.0), false), {
        pair(1.5, f32::INFINITY)
    });
    let bfloat = |value: f32| bf16::from_f32(value).to_bits();
    assert_eq!(AddFloat::<bf16>::apply(bfloat(256.0), bfloat(1.0), false), bfloat(256.0));
}

#[test]
fn host_atomics_match_plain_updates() {
    fn check<U: Update>(samples: &[U::Value])
    where
        U::Value: std::fmt::Debug,
    {
        for &old in samples {
            for &b in samples {
                let mut cell = old;
                // SAFETY: a live, aligned value without other users.
                let found = unsafe { U::indivisibly(&raw mut cell, b, false) };
                assert_eq!(found, old);
                assert_eq!(cell, U::apply(old, b, false));
            }
        }
    }
    let words = [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX];
    let double_words = [0, 1, u64::from(u32::MAX), 1 << 63, u64::MAX];
    check::<Add<u32>>(&words);
    check::<Exchange<u32>>(&words);
    check::<And<u32>>(&words);
    check::<Increment<u32>>(&words);
    check::<Decrement<u32>>(&words);
    check::<AddFloat<[f16; 2]>>(&words);
    check::<Min<i32>>(&[0, 1, -1, i32::MAX, i32::MIN]);
    check::<Add<u64>>(&double_words);
    check::<Exchange<u64>>(&double_words);
    check::<Xor<u64>>(&double_words);
    check::<Max<i64>>(&[0, 1, -1, i64::MAX, i64::MIN]);
    check::<AddFloat<f16>>(&[0, 1, 0x3c00, 0x7bff]);
}

#[test]
fn merging_updates_compose() {
    fn check<U: Update>(samples: &[U::Value])
    where
        U::Value: std::fmt::Debug,
    {
        assert!(U::MERGES);
        for &old in samples {
            for &first in samples {
                for &second in samples {
                    let apart = U::apply(U::apply(old, first, false), second, false);
                    assert_eq!(U::apply(old, U::apply(first, second, false), false), apart);
                }
            }
        }
    }
    let words = [0, 1, 5, 0x7fff_ffff, 0x8000_0000, 0xf0f0_f0f0, u32::MAX];
    check::<Add<u32>>(&words);
    check::<And<u32>>(&words);
    check::<Or<u32>>(&words);
    check::<Xor<u32>>(&words);
    check::<Min<u32>>(&words);
    check::<Max<i32>>(&words.map(|word| word as i32));
}
