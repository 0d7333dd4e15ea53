"""Test convolutions: shapes, results in double precision, and error bounds."""

from dataclasses import dataclass
from math import ceil, log2, sqrt

import numpy as np

# Largest relative error of a rounding: half the distance from 1 to the next number.
UNIT = {"half": 2.0**-11, "float": 2.0**-24, "double": 2.0**-53}


@dataclass(frozen=True)
class Shape:
    """Convolution of `images` images; the result is `alpha` times the convolution plus `beta` times the previous value."""

    name: str
    images: int
    channels: int
    size: tuple
    outputs: int
    window: tuple
    padding: tuple = (0, 0)
    stride: tuple = (1, 1)
    dilation: tuple = (1, 1)
    groups: int = 1
    flipped: bool = False
    alpha: float = 1.0
    beta: float = 0.0

    @property
    def image(self):
        return (self.images, self.channels, *self.size)

    @property
    def filter(self):
        return (self.outputs, self.channels // self.groups, *self.window)

    @property
    def output(self):
        def extent(axis):
            span = (self.window[axis] - 1) * self.dilation[axis] + 1
            return (self.size[axis] + 2 * self.padding[axis] - span) // self.stride[axis] + 1

        return (self.images, self.outputs, extent(0), extent(1))


SHAPES = [
    Shape("3x3", 2, 5, (12, 11), 7, (3, 3), padding=(1, 1)),
    Shape("3x3-wide", 1, 16, (14, 14), 32, (3, 3), padding=(1, 1)),
    Shape("3x3-stride", 2, 6, (13, 15), 10, (3, 3), padding=(1, 1), stride=(2, 2)),
    Shape("3x3-dilation", 1, 8, (16, 14), 8, (3, 3), padding=(2, 2), dilation=(2, 2)),
    Shape("3x3-groups", 2, 8, (10, 10), 12, (3, 3), padding=(1, 1), groups=2),
    Shape("3x3-depthwise", 1, 8, (12, 12), 8, (3, 3), padding=(1, 1), groups=8),
    Shape("3x3-flipped", 1, 4, (9, 9), 6, (3, 3), flipped=True),
    Shape("3x3-blended", 2, 4, (10, 12), 8, (3, 3), padding=(1, 1), alpha=0.5, beta=2.0),
    Shape("5x5", 3, 1, (28, 28), 20, (5, 5)),
    Shape("5x5-padded", 2, 3, (17, 14), 9, (5, 5), padding=(2, 2)),
    Shape("5x5-stride", 1, 8, (15, 15), 16, (5, 5), padding=(2, 2), stride=(2, 2)),
    Shape("1x1", 2, 24, (7, 9), 16, (1, 1)),
    Shape("7x3", 1, 3, (20, 18), 8, (7, 3), padding=(3, 1)),
    Shape("tiles", 1, 2, (40, 70), 3, (5, 5), padding=(2, 2)),
]

DIRECT = {
    "implicit_gemm",
    "implicit_precomp_gemm",
    "gemm",
    "direct",
    "algo_0",
    "algo_1",
    "algo_3",
}


# These algorithms add partial sums to the result in memory, which rounds each to the data type.
ADDED_IN_PLACE = {
    ("backward_data", "algo_0"),
    ("backward_data", "algo_1"),
    ("backward_filter", "algo_0"),
    ("backward_filter", "algo_3"),
}


def operands_and_result(direction, x, w, y):
    """Returns the operands of the convolution in cuDNN's order, and the result."""
    return {"forward": ((x, w), y), "backward_data": ((w, y), x), "backward_filter": ((x, y), w)}[direction]


def direct(direction, shape, first, second):
    """Computes the convolution in doubles by its definition."""
    x_shape, w_shape, (_, _, height, width) = shape.image, shape.filter, shape.output
    pad_y, pad_x = shape.padding
    padded = np.zeros((x_shape[0], x_shape[1], x_shape[2] + 2 * pad_y, x_shape[3] + 2 * pad_x))
    inside = (slice(None), slice(None), slice(pad_y, pad_y + x_shape[2]), slice(pad_x, pad_x + x_shape[3]))
    flip = (slice(None), slice(None), slice(None, None, -1), slice(None, None, -1))
    first, second = first.astype(np.float64), second.astype(np.float64)
    w = w_gradient = y = None
    if direction == "forward":
        padded[inside], w = first, second
        y = np.zeros(shape.output)
    elif direction == "backward_data":
        w, y = first, second
    else:
        padded[inside], y = first, second
        w_gradient = np.zeros(w_shape)
    if w is not None and shape.flipped:
        w = w[flip]
    per_group = (shape.outputs // shape.groups, shape.channels // shape.groups)
    for group in range(shape.groups):
        k = slice(group * per_group[0], (group + 1) * per_group[0])
        c = slice(group * per_group[1], (group + 1) * per_group[1])
        for row in range(shape.window[0]):
            for column in range(shape.window[1]):
                top, left = row * shape.dilation[0], column * shape.dilation[1]
                rows = slice(top, top + shape.stride[0] * (height - 1) + 1, shape.stride[0])
                columns = slice(left, left + shape.stride[1] * (width - 1) + 1, shape.stride[1])
                part = padded[:, c, rows, columns]
                if direction == "forward":
                    y[:, k] += np.einsum("ncpq,kc->nkpq", part, w[k, :, row, column])
                elif direction == "backward_data":
                    part += np.einsum("nkpq,kc->ncpq", y[:, k], w[k, :, row, column])
                else:
                    w_gradient[k, :, row, column] += np.einsum("nkpq,ncpq->kc", y[:, k], part)
    if direction == "forward":
        return y
    if direction == "backward_data":
        return padded[inside]
    return w_gradient[flip] if shape.flipped else w_gradient


def terms(direction, shape):
    """Returns the number of images or channels and the total number of products in one sum of the result."""
    if direction == "backward_filter":
        return shape.images, shape.images * shape.output[2] * shape.output[3]
    channels = (shape.channels if direction == "forward" else shape.outputs) // shape.groups
    return channels, channels * shape.window[0] * shape.window[1]


def growth(count):
    """Error bound of a sum of `count` products in any order, in units of rounding of the sum of absolute values.

    `count` at the worst (Higham, Accuracy and Stability of Numerical Algorithms, 3.1); beyond six times its square root
    it is not seen (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, theorem 2.4).
    """
    return min(count, 6 * sqrt(count)) + 2


def norms(direction, shape, first, second):
    """Returns the largest sum of products of the 2-norms of both operands' planes."""
    norm = [np.sqrt((part.astype(np.float64) ** 2).sum(axis=(2, 3))) for part in (first, second)]
    if direction == "backward_filter":
        return (norm[1].T @ norm[0]).max()
    group = shape.outputs // shape.groups
    largest = 0.0
    for number in range(shape.groups):
        k = slice(number * group, (number + 1) * group)
        c = slice(number * shape.filter[1], (number + 1) * shape.filter[1])
        products = norm[0][:, c] @ norm[1][k].T if direction == "forward" else norm[1][:, k] @ norm[0][k]
        largest = max(largest, products.max())
    return largest


def amplification(outputs, window):
    """How a Winograd convolution of `window` numbers, `outputs` at a time, amplifies errors of independent numbers of
    variance 1, in both dimensions.

    The transforms A, G and B are Cook and Toom's for the points of cuDNN, which the constants in its kernels tell, and
    infinity. That errors grow so with the size of a tile is in Barabasz, Anderson, Soodhalter and Gregg, Error Analysis
    and Improving the Accuracy of Winograd Convolution for Deep Neural Networks (2020).
    """
    points = [0, 1, -1, 2, -2, 1 / 2, -1 / 2, 1 / 3, -1 / 3, 3 / 2, -3 / 2, -3][: outputs + window - 2]
    into_result = np.array([[point**power for point in points] for power in range(outputs)])
    of_window = [
        [point**power / np.prod([point - other for other in points if other != point]) for power in range(window)]
        for point in points
    ]
    of_image = [np.poly([other for other in points if other != point]) for point in points]
    # The point at infinity: the last rows.
    into_result = np.hstack([into_result, np.eye(outputs)[:, -1:]])
    of_window.append(np.eye(window)[-1])
    of_image.append(np.poly(points))
    between = [np.dot(g, g) * np.dot(b, b) for g, b in zip(of_window, of_image)]
    return max(np.dot(row**2, between) for row in into_result)


def allowed(direction, algorithm, shape, types, first, second):
    """Returns the error bound of each number of the convolution, before scaling and rounding."""
    unit = UNIT[types[1]]
    channels, products = terms(direction, shape)
    if algorithm in DIRECT:
        if (direction, algorithm) in ADDED_IN_PLACE:
            unit = UNIT[types[0]]
        return unit * growth(products) * direct(direction, shape, np.abs(first), np.abs(second))
    if algorithm.startswith("fft"):
        # Three transforms, of 7 roundings a stage (Higham, theorem 24.2), and the sum over channels, for each of the
        # operands' planes; all in the 2-norm, as transforms keep it.
        stages = sum(ceil(log2(extent + 2 * pad)) for extent, pad in zip(shape.size, shape.padding))
        return unit * (21 * stages + growth(channels)) * norms(direction, shape, first, second)
    # Winograd: six standard deviations. A number sees the roundings of the sums of three transforms in two dimensions.
    outputs, window = (2, 3) if algorithm == "winograd" else (4, 3) if max(shape.window) == 3 else (9, 5)
    if direction == "backward_filter":
        outputs, window = window, outputs
        tiles = shape.output[2] * shape.output[3] / window**2
        channels = ceil(shape.images * max(tiles, 1))
    roundings = 2 * (window + 2 * (outputs + window - 1))
    sizes = [np.sqrt((part.astype(np.float64) ** 2).mean()) for part in (first, second)]
    return 6 * unit * amplification(outputs, window) * sqrt(roundings * channels) * sizes[0] * sizes[1]
