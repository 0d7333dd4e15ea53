//! Cube maps: face and position that a direction hits (CUDA programming guide, cubemap textures).

/// Intersection of a direction with a cube.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Face: +x, -x, +y, -y, +z, -z.
    pub face: u32,
    /// Position on the face, from 0 to 1.
    pub place: [f64; 2],
}

/// Face that a direction hits.
fn face([x, y, z]: [f64; 3]) -> u32 {
    if x.abs() >= y.abs() && x.abs() >= z.abs() {
        u32::from(x < 0.0)
    } else if y.abs() >= z.abs() {
        2 + u32::from(y < 0.0)
    } else {
        4 + u32::from(z < 0.0)
    }
}

/// Components of a direction across, down and into a face.
fn components(face: u32, [x, y, z]: [f64; 3]) -> [f64; 3] {
    match face {
        0 => [-z, -y, x],
        1 => [z, -y, -x],
        2 => [x, z, y],
        3 => [x, -z, -y],
        4 => [x, -y, z],
        _ => [-x, -y, -z],
    }
}

/// Intersection of a direction with the cube.
pub fn hit(direction: [f64; 3]) -> Hit {
    let face = face(direction);
    let [s, t, m] = components(face, direction);
    let place = [s, t].map(|component| if m == 0.0 { 0.5 } else { (component / m + 1.0) / 2.0 });
    Hit { face, place }
}

/// Derivative of the position on the face that `direction` hits, for a derivative of the direction.
pub fn derivative(direction: [f64; 3], derivative: [f64; 3]) -> [f64; 3] {
    let face = face(direction);
    let [s, t, m] = components(face, direction);
    let [ds, dt, dm] = components(face, derivative);
    let change =
        |component: f64, by: f64| if m == 0.0 { 0.0 } else { (by * m - component * dm) / (2.0 * m * m) };
    [change(s, ds), change(t, dt), 0.0]
}

/// Direction to a position in the plane of a face, possibly outside of the face.
pub fn direction(face: u32, place: [f64; 2]) -> [f64; 3] {
    let [s, t] = place.map(|place| 2.0 * place - 1.0);
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table of the guide: face, m, s, t by the largest component.
    #[test]
    fn cube_faces_match_the_guides_table() {
        let place = |s: f64, t: f64, m: f64| [(s / m + 1.0) / 2.0, (t / m + 1.0) / 2.0];
        let (x, y, z) = (3.0, 2.0, 1.0);
        assert_eq!(hit([x, y, z]), Hit { face: 0, place: place(-z, -y, x) });
        assert_eq!(hit([-x, y, z]), Hit { face: 1, place: place(z, -y, x) });
        assert_eq!(hit([z, x, y]), Hit { face: 2, place: place(z, y, x) });
        assert_eq!(hit([z, -x, y]), Hit { face: 3, place: place(z, -y, x) });
        assert_eq!(hit([z, y, x]), Hit { face: 4, place: place(z, -y, x) });
        assert_eq!(hit([z, y, -x]), Hit { face: 5, place: place(-z, -y, x) });
    }

    #[test]
    fn directions_hit_their_position() {
        for face in 0..6 {
            for place in [[0.5, 0.5], [0.125, 0.75], [0.875, 0.25]] {
                assert_eq!(hit(direction(face, place)), Hit { face, place });
            }
        }
    }

    #[test]
    fn cube_derivatives_match_differences() {
        let (at, by) = ([2.0, 0.5, -0.25], [0.01, -0.03, 0.02]);
        let step = 1e-6;
        let moved = [0, 1, 2].map(|axis| at[axis] + step * by[axis]);
        let (before, after) = (hit(at).place, hit(moved).place);
        for axis in 0..2 {
            let expected = (after[axis] - before[axis]) / step;
            assert!((derivative(at, by)[axis] - expected).abs() < 1e-6);
        }
    }
}
