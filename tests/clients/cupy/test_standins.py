"""Calls of 10.2 libraries that PyPI lacks fail with the name of the function."""

import cupy as cp
import cupyx.scipy.sparse
import pytest
from cupy.cuda import cufft
from cupy_backends.cuda.libs import cusolver, cusparse


def test_fourier_transforms(capfd):
    with pytest.raises(cufft.CuFFTError, match="CUFFT_NOT_SUPPORTED"):
        cp.fft.fft(cp.ones(8))
    assert "cufftCreate: libcufft.so.10 is a stand-in" in capfd.readouterr().err


def test_solvers(capfd):
    with pytest.raises(cusolver.CUSOLVERError, match="CUSOLVER_STATUS_NOT_SUPPORTED"):
        cp.linalg.solve(cp.eye(3), cp.ones(3))
    assert "cusolverDnCreate: libcusolver.so.10 is a stand-in" in capfd.readouterr().err


def test_sparse_matrices(capfd):
    with pytest.raises(cusparse.CuSparseError, match="stand-in"):
        cupyx.scipy.sparse.csr_matrix((cp.ones(3), cp.arange(3), cp.arange(4)))
    assert "cusparseCreateMatDescr: libcusparse.so.10 is a stand-in" in capfd.readouterr().err
