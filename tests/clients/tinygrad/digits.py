"""Pictures of digits, 28 x 28, in the manner of MNIST: glyphs of seven rows, drawn larger, moved, with pale and noisy pixels."""

import random

SIDE = 28
CLASSES = 10
# Pixels of a glyph's rows as bits; the leftmost of five is the highest.
GLYPHS = [
    [0x0E, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0E],
    [0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E],
    [0x0E, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1F],
    [0x1F, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0E],
    [0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02],
    [0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E],
    [0x06, 0x08, 0x10, 0x1E, 0x11, 0x11, 0x0E],
    [0x1F, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08],
    [0x0E, 0x11, 0x11, 0x0E, 0x11, 0x11, 0x0E],
    [0x0E, 0x11, 0x11, 0x0F, 0x01, 0x02, 0x0C],
]
# Pixels of a picture per pixel of a glyph.
SCALE = 3


def picture(digit, numbers):
    """Returns one picture of a digit by rows, with pixels between -0.6 and 1.2."""
    top = numbers.randint(2, SIDE - 7 * SCALE - 2)
    left = numbers.randint(3, SIDE - 5 * SCALE - 3)
    ink = numbers.uniform(0.8, 1.2)
    pixels = [numbers.uniform(-0.6, -0.4) for _ in range(SIDE * SIDE)]
    for row in range(7 * SCALE):
        bits = GLYPHS[digit][row // SCALE]
        for column in range(5 * SCALE):
            if bits >> (4 - column // SCALE) & 1:
                pixels[(top + row) * SIDE + left + column] = ink * numbers.uniform(0.7, 1.0)
    return pixels


def batch(count, seed):
    """Returns `count` pictures as one list of pixels, and their digits, which depend only on the seed."""
    numbers = random.Random(seed)
    digits = [numbers.randrange(CLASSES) for _ in range(count)]
    return [pixel for digit in digits for pixel in picture(digit, numbers)], digits
