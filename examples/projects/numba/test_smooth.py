import numpy as np
import pytest

from smooth import smooth


@pytest.mark.parametrize("size", [1, 127, 128, 1000])
def test_mean_of_neighbours_equals_numpys(size):
    values = np.random.default_rng(size).random(size)
    padded = [values[max(i - 2, 0) : i + 3].mean() for i in range(size)]
    np.testing.assert_allclose(smooth(values, 2), padded, rtol=1e-12)


@pytest.mark.voltsim(check="memory,races")
def test_filter_stays_inside_of_its_arrays():
    assert smooth(np.ones(130), 5).sum() == 130
