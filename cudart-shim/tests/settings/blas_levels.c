/* Functions of levels 1 to 3 and factors of batches, beside sums in double precision. Functions are
 * called by their names, for the letters S, D, C and Z. */
#define _GNU_SOURCE
#include "blas.h"
#include <complex.h>
#include <dlfcn.h>
#include <stdarg.h>

typedef double complex number;
typedef int (*Function)();

enum { LOWER, UPPER, FULL_MATRIX };
enum { FULL, BAND, PACKED };

static cublasHandle_t handle;
static char letter;
static int type;

static Function function(const char *pattern, ...)
{
    char name[64];
    va_list list;
    va_start(list, pattern);
    vsnprintf(name, sizeof name, pattern, list);
    va_end(list);
    void *found = dlsym(RTLD_DEFAULT, name);
    if (found == NULL) {
        printf("no %s\n", name);
        exit(1);
    }
    return (Function)found;
}

/* The function of the letter. */
#define CALL(NAME, ...) CHECK(function("cublas%c" NAME, letter)(handle, ##__VA_ARGS__))

static int is_complex(void) { return parts_of(type) == 2; }

static number read_at(const void *array, int64_t index)
{
    const int parts = parts_of(type);
    const double re = get(array, (size_t)index * parts, type);
    return parts == 2 ? re + get(array, (size_t)index * parts + 1, type) * I : re;
}

static void write_at(void *array, int64_t index, number value)
{
    const int parts = parts_of(type);
    put(array, (size_t)index * parts, type, creal(value));
    if (parts == 2)
        put(array, (size_t)index * parts + 1, type, cimag(value));
}

static void compare(const char *what, number told, number expected, double size)
{
    const double limit = precision_of(type) * (size + 1) * 4;
    if (!(cabs(told - expected) <= limit)) {
        if (failures++ < 20)
            printf("%c%s: %g%+gi, not %g%+gi\n", letter, what, creal(told), cimag(told), creal(expected),
                   cimag(expected));
    }
}

/* A scalar of the letter's type, or its real type. */
struct Value {
    double words[2];
    number value;
};

static struct Value scalar(double re, double im, int is_real)
{
    struct Value made = {{0, 0}, is_complex() && !is_real ? re + im * I : re};
    write_at(made.words, 0, made.value);
    return made;
}

/* A vector with an increment: element i of n. */
struct Sequence {
    struct Array array;
    int n, increment;
};

static int64_t place_in(const struct Sequence *v, int i)
{
    return v->increment > 0 ? (int64_t)i * v->increment : (int64_t)(i + 1 - v->n) * v->increment;
}

static struct Sequence sequence(int n, int increment)
{
    struct Sequence made = {array_of((size_t)(1 + (n - 1) * abs(increment)), type), n, increment};
    return made;
}

static number before(const struct Sequence *v, int i) { return read_at(v->array.host, place_in(v, i)); }

static void compare_sequence(const char *what, const struct Sequence *v, const number *expected, double size)
{
    void *results = results_of(&v->array);
    for (int i = 0; i < v->n; i++)
        compare(what, read_at(results, place_in(v, i)), expected[i], size);
    free(results);
}

/* A matrix of any storage and structure. */
struct Shape {
    struct Array array;
    int rows, columns, leading, storage, below, above, fill, is_hermitian, is_symmetric, is_unit;
};

static int64_t place_of(const struct Shape *a, int i, int j)
{
    if (a->storage == FULL)
        return i + (int64_t)j * a->leading;
    if (a->storage == BAND)
        return a->above + i - j + (int64_t)j * a->leading;
    return a->fill == LOWER ? i + (int64_t)(2 * a->rows - j - 1) * j / 2 : i + (int64_t)j * (j + 1) / 2;
}

static int is_stored(const struct Shape *a, int i, int j)
{
    if ((a->fill == LOWER && i < j) || (a->fill == UPPER && i > j))
        return 0;
    return a->storage != BAND || (i - j <= a->below && j - i <= a->above);
}

static number entry_of(const struct Shape *a, const void *values, int i, int j)
{
    if (i == j && a->is_unit)
        return 1;
    if (!is_stored(a, i, j)) {
        if (!(a->is_hermitian || a->is_symmetric) || !is_stored(a, j, i))
            return 0;
        const number value = read_at(values, place_of(a, j, i));
        return a->is_hermitian ? conj(value) : value;
    }
    const number value = read_at(values, place_of(a, i, j));
    return i == j && a->is_hermitian ? creal(value) : value;
}

static number entry(const struct Shape *a, int operation, int i, int j)
{
    if (operation == OP_N)
        return entry_of(a, a->array.host, i, j);
    const number value = entry_of(a, a->array.host, j, i);
    return operation == OP_C ? conj(value) : value;
}

static struct Shape shape(int rows, int columns, int storage, int fill, int width)
{
    struct Shape a = {.rows = rows, .columns = columns, .storage = storage, .fill = fill, .below = rows,
                      .above = columns};
    if (storage == BAND) {
        a.below = fill == UPPER ? 0 : width;
        a.above = fill == LOWER ? 0 : fill == UPPER ? width : width + 1;
    }
    a.leading = storage == BAND ? a.below + a.above + 2 : rows + 3;
    a.array = array_of((size_t)a.leading * (columns + 1), type);
    /* Triangles are well conditioned. */
    if (rows == columns && fill != FULL_MATRIX) {
        for (int i = 0; i < rows; i++)
            write_at(a.array.host, place_of(&a, i, i), 6 + read_at(a.array.host, place_of(&a, i, i)));
        for (int j = 0; j < columns; j++)
            for (int i = 0; i < rows; i++)
                if (i != j && is_stored(&a, i, j))
                    write_at(a.array.host, place_of(&a, i, j), read_at(a.array.host, place_of(&a, i, j)) / 8);
        CHECK(cudaMemcpy(a.array.device, a.array.host, a.array.elements * part_size(type), cudaMemcpyHostToDevice));
    }
    return a;
}

static void level1(int n, int incx, int incy)
{
    const struct Value alpha = scalar(0.75, -0.5, 0), real = scalar(-1.25, 0, 1);
    struct Sequence x = sequence(n, incx), y = sequence(n, incy);
    number *expected = calloc((size_t)n, sizeof *expected), *other = calloc((size_t)n, sizeof *other);
    void *dx = x.array.device, *dy = y.array.device;
    number product = 0, adjoint = 0;
    double sum = 0, squares = 0, largest = -1, least = 1e9;
    int first_largest = 0, first_least = 0;
    for (int i = 0; i < n; i++) {
        product += before(&x, i) * before(&y, i);
        adjoint += conj(before(&x, i)) * before(&y, i);
        const double size = fabs(creal(before(&x, i))) + fabs(cimag(before(&x, i)));
        sum += size;
        squares += creal(before(&x, i) * conj(before(&x, i)));
        if (size > largest) {
            largest = size;
            first_largest = i + 1;
        }
        if (size < least) {
            least = size;
            first_least = i + 1;
        }
    }
    double result[2] = {0, 0};
    const char *real_names[] = {"S", "D", "Sc", "Dz"};
    const int kind = letter == 'S' ? 0 : letter == 'D' ? 1 : letter == 'C' ? 2 : 3;
    if (is_complex()) {
        CALL("dotu_v2", n, dx, incx, dy, incy, result);
        compare("dotu", read_at(result, 0), product, n);
        CALL("dotc_v2", n, dx, incx, dy, incy, result);
        compare("dotc", read_at(result, 0), adjoint, n);
    } else {
        CALL("dot_v2", n, dx, incx, dy, incy, result);
        compare("dot", read_at(result, 0), product, n);
    }
    if (incx > 0) {
        const int real_type = part_size(type) == 8 ? R_64F : R_32F;
        int index = 0;
        CHECK(function("cublas%sasum_v2", real_names[kind])(handle, n, dx, incx, result));
        compare("asum", get(result, 0, real_type), sum, n);
        CHECK(function("cublas%snrm2_v2", real_names[kind])(handle, n, dx, incx, result));
        compare("nrm2", get(result, 0, real_type), sqrt(squares), n);
        CHECK(function("cublasI%camax_v2", letter + 32)(handle, n, dx, incx, &index));
        compare("amax", index, first_largest, 0);
        CHECK(function("cublasI%camin_v2", letter + 32)(handle, n, dx, incx, &index));
        compare("amin", index, first_least, 0);
    }
    for (int i = 0; i < n; i++)
        expected[i] = alpha.value * before(&x, i) + before(&y, i);
    CALL("axpy_v2", n, &alpha, dx, incx, dy, incy);
    compare_sequence("axpy", &y, expected, 2);
    CALL("swap_v2", n, dx, incx, dy, incy);
    compare_sequence("swap", &x, expected, 2);
    CALL("copy_v2", n, dx, incx, dy, incy);
    compare_sequence("copy", &y, expected, 2);
    /* A rotation of the two equal vectors. */
    const struct Value c = scalar(0.6, 0, 1), s = scalar(0.8, 0, 0);
    for (int i = 0; i < n; i++) {
        other[i] = 0.6 * expected[i] - 0.8 * expected[i];
        expected[i] = 0.6 * expected[i] + 0.8 * expected[i];
    }
    CALL("rot_v2", n, dx, incx, dy, incy, &c, &s);
    compare_sequence("rot", &x, expected, 2);
    compare_sequence("rot", &y, other, 2);
    if (incx > 0) {
        for (int i = 0; i < n; i++)
            expected[i] *= alpha.value;
        CALL("scal_v2", n, &alpha, dx, incx);
        compare_sequence("scal", &x, expected, 2);
        if (is_complex()) {
            for (int i = 0; i < n; i++)
                expected[i] *= real.value;
            CHECK(function(letter == 'C' ? "cublasCsscal_v2" : "cublasZdscal_v2")(handle, n, &real, dx, incx));
            compare_sequence("scal by a real number", &x, expected, 3);
        }
    }
    free(expected);
    free(other);
    release(&x.array);
    release(&y.array);
}

/* y = alpha * op(a) * x + beta * y by `name`; `head` are the arguments before alpha. */
static void matvec(const char *name, const struct Shape *a, int operation, const int *head, int heads)
{
    const int rows = operation == OP_N ? a->rows : a->columns, columns = operation == OP_N ? a->columns : a->rows;
    const struct Value alpha = scalar(0.5, 0.25, 0), beta = scalar(-0.75, 0.5, 0);
    struct Sequence x = sequence(columns, 2), y = sequence(rows, -1);
    void *dx = x.array.device, *dy = y.array.device, *da = a->array.device;
    number *expected = calloc((size_t)rows, sizeof *expected);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++)
            expected[i] += entry(a, operation, i, j) * before(&x, j);
        expected[i] = alpha.value * expected[i] + beta.value * before(&y, i);
    }
    Function f = function("cublas%c%s_v2", letter, name);
    if (heads == 5)
        CHECK(f(handle, head[0], head[1], head[2], head[3], head[4], &alpha, da, a->leading, dx, 2, &beta, dy, -1));
    else if (heads == 3)
        CHECK(f(handle, head[0], head[1], head[2], &alpha, da, a->leading, dx, 2, &beta, dy, -1));
    else if (a->storage == PACKED)
        CHECK(f(handle, head[0], head[1], &alpha, da, dx, 2, &beta, dy, -1));
    else
        CHECK(f(handle, head[0], head[1], &alpha, da, a->leading, dx, 2, &beta, dy, -1));
    compare_sequence(name, &y, expected, columns * 4);
    free(expected);
    release(&x.array);
    release(&y.array);
}

/* x = op(a) * x, or the inverse, for triangles. */
static void triangle(const char *name, struct Shape *a, int operation, int is_unit, int is_inverse, int width)
{
    const int n = a->rows;
    a->is_unit = is_unit;
    struct Sequence x = sequence(n, 3);
    void *dx = x.array.device, *da = a->array.device;
    number *expected = calloc((size_t)n, sizeof *expected);
    Function f = function("cublas%c%s_v2", letter, name);
    if (a->storage == BAND)
        CHECK(f(handle, a->fill, operation, is_unit, n, width, da, a->leading, dx, 3));
    else if (a->storage == PACKED)
        CHECK(f(handle, a->fill, operation, is_unit, n, da, dx, 3));
    else
        CHECK(f(handle, a->fill, operation, is_unit, n, da, a->leading, dx, 3));
    void *results = results_of(&x.array);
    for (int i = 0; i < n; i++) {
        number sum = 0;
        for (int j = 0; j < n; j++)
            sum += entry(a, operation, i, j) * (is_inverse ? read_at(results, place_in(&x, j)) : before(&x, j));
        compare(name, is_inverse ? sum : read_at(results, place_in(&x, i)), is_inverse ? before(&x, i) : sum, n * 8);
    }
    a->is_unit = 0;
    free(results);
    free(expected);
    release(&x.array);
}

/* Updates of a matrix by vectors. */
static void update(const char *name, struct Shape *a, int is_conjugated, int has_two, int has_real_factor)
{
    const struct Value alpha = scalar(0.5, 0.25, has_real_factor);
    struct Sequence x = sequence(a->rows, 1), y = sequence(a->columns, 2);
    void *dx = x.array.device, *dy = y.array.device, *da = a->array.device;
    Function f = function("cublas%c%s%s", letter, name, "_v2");
    if (a->fill == FULL_MATRIX)
        CHECK(f(handle, a->rows, a->columns, &alpha, dx, 1, dy, 2, da, a->leading));
    else if (has_two)
        CHECK(f(handle, a->fill, a->rows, &alpha, dx, 1, dy, 2, da, a->leading));
    else
        CHECK(f(handle, a->fill, a->rows, &alpha, dx, 1, da, a->leading));
    void *results = results_of(&a->array);
    const struct Sequence *right = a->fill == FULL_MATRIX || has_two ? &y : &x;
#define TURNED(V) (is_conjugated ? conj(V) : (V))
    for (int j = 0; j < a->columns; j++)
        for (int i = 0; i < a->rows; i++) {
            const int64_t place = place_of(a, i, j);
            if (!is_stored(a, i, j)) {
                if (a->storage == FULL)
                    compare(name, read_at(results, place), read_at(a->array.host, place), 0);
                continue;
            }
            number value = read_at(a->array.host, place) + alpha.value * before(&x, i) * TURNED(before(right, j));
            if (has_two)
                value += TURNED(alpha.value) * before(&y, i) * TURNED(before(&x, j));
            if (i == j && is_conjugated && a->fill != FULL_MATRIX)
                value = creal(value);
            compare(name, read_at(results, place), value, 4);
        }
    free(results);
    release(&x.array);
    release(&y.array);
}

static void level2(int n)
{
    const int m = n + 7, width = 3;
    for (int operation = OP_N; operation <= (is_complex() ? OP_C : OP_T); operation++) {
        struct Shape full = shape(m, n, FULL, FULL_MATRIX, 0), band = shape(m, n, BAND, FULL_MATRIX, width);
        matvec("gemv", &full, operation, (int[]){operation, m, n}, 3);
        matvec("gbmv", &band, operation, (int[]){operation, m, n, band.below, band.above}, 5);
        release(&full.array);
        release(&band.array);
        for (int fill = LOWER; fill <= UPPER; fill++)
            for (int storage = FULL; storage <= PACKED; storage++) {
                static const char *products[] = {"trmv", "tbmv", "tpmv"}, *systems[] = {"trsv", "tbsv", "tpsv"};
                struct Shape a = shape(n, n, storage, fill, width);
                triangle(products[storage], &a, operation, fill, 0, width);
                triangle(systems[storage], &a, operation, !fill, 1, width);
                release(&a.array);
            }
    }
    for (int fill = LOWER; fill <= UPPER; fill++)
        for (int storage = FULL; storage <= PACKED; storage++) {
            static const char *symmetric[] = {"symv", "sbmv", "spmv"}, *hermitian[] = {"hemv", "hbmv", "hpmv"};
            struct Shape a = shape(n, n, storage, fill, width);
            a.is_hermitian = is_complex();
            a.is_symmetric = !a.is_hermitian;
            const int head[] = {fill, n, width};
            matvec((is_complex() ? hermitian : symmetric)[storage], &a, OP_N, head, storage == BAND ? 3 : 2);
            if (storage != BAND) {
                static const char *one[] = {"syr", "", "spr"}, *two[] = {"syr2", "", "spr2"};
                static const char *one_hermitian[] = {"her", "", "hpr"}, *two_hermitian[] = {"her2", "", "hpr2"};
                update((is_complex() ? one_hermitian : one)[storage], &a, is_complex(), 0, 1);
                release(&a.array);
                a = shape(n, n, storage, fill, width);
                update((is_complex() ? two_hermitian : two)[storage], &a, is_complex(), 1, 0);
            }
            release(&a.array);
        }
    struct Shape full = shape(m, n, FULL, FULL_MATRIX, 0);
    update(is_complex() ? "geru" : "ger", &full, 0, 0, 0);
    release(&full.array);
    if (is_complex()) {
        full = shape(m, n, FULL, FULL_MATRIX, 0);
        update("gerc", &full, 1, 0, 0);
        release(&full.array);
    }
}

/* Compares c with the expected values, in its triangle if it has one. */
static void compare_matrix(const char *what, const struct Shape *c, const number *expected, double size)
{
    void *results = results_of(&c->array);
    for (int j = 0; j < c->columns; j++)
        for (int i = 0; i < c->rows; i++) {
            const int64_t place = place_of(c, i, j);
            if (is_stored(c, i, j))
                compare(what, read_at(results, place), expected[i + (size_t)j * c->rows], size);
            else
                compare(what, read_at(results, place), read_at(c->array.host, place), 0);
        }
    free(results);
}

static void level3(int m, int n)
{
    const int most = (m > n ? m : n) + 1;
    number *expected = calloc((size_t)most * most, sizeof *expected);
    const struct Value alpha = scalar(0.5, 0.25, 0), beta = scalar(-0.75, 0.5, 0);
    const struct Value real_alpha = scalar(0.5, 0, 1), real_beta = scalar(-0.75, 0, 1), one = scalar(1, 0, 0);
    struct Shape b = shape(m, n, FULL, FULL_MATRIX, 0);
    for (int fill = LOWER; fill <= UPPER; fill++)
        for (int side = 0; side < 2; side++) {
            const int k = side == 0 ? m : n;
            struct Shape a = shape(k, k, FULL, fill, 0), c = shape(m, n, FULL, FULL_MATRIX, 0);
            a.is_hermitian = is_complex();
            a.is_symmetric = !a.is_hermitian;
            for (int i = 0; i < m; i++)
                for (int j = 0; j < n; j++) {
                    number sum = 0;
                    for (int l = 0; l < k; l++)
                        sum += side == 0 ? entry(&a, OP_N, i, l) * entry(&b, OP_N, l, j)
                                         : entry(&b, OP_N, i, l) * entry(&a, OP_N, l, j);
                    expected[i + (size_t)j * m] = alpha.value * sum + beta.value * entry(&c, OP_N, i, j);
                }
            CHECK(function("cublas%c%s_v2", letter, is_complex() ? "hemm" : "symm")(
                handle, side, fill, m, n, &alpha, a.array.device, a.leading, b.array.device, b.leading, &beta,
                c.array.device, c.leading));
            compare_matrix("symm", &c, expected, k * 4);
            a.is_hermitian = a.is_symmetric = 0;
            for (int operation = OP_N; operation <= (is_complex() ? OP_C : OP_T); operation++) {
                a.is_unit = operation == OP_T;
                for (int i = 0; i < m; i++)
                    for (int j = 0; j < n; j++) {
                        number sum = 0;
                        for (int l = 0; l < k; l++)
                            sum += side == 0 ? entry(&a, operation, i, l) * entry(&b, OP_N, l, j)
                                             : entry(&b, OP_N, i, l) * entry(&a, operation, l, j);
                        expected[i + (size_t)j * m] = alpha.value * sum;
                    }
                struct Shape x = shape(m, n, FULL, FULL_MATRIX, 0);
                CALL("trmm_v2", side, fill, operation, a.is_unit, m, n, &alpha, a.array.device, a.leading,
                     b.array.device, b.leading, x.array.device, x.leading);
                compare_matrix("trmm", &x, expected, k * 8);
                /* In place, and back. */
                CALL("trmm_v2", side, fill, operation, a.is_unit, m, n, &one, a.array.device, a.leading,
                     x.array.device, x.leading, x.array.device, x.leading);
                CALL("trsm_v2", side, fill, operation, a.is_unit, m, n, &one, a.array.device, a.leading,
                     x.array.device, x.leading);
                compare_matrix("trsm", &x, expected, k * 32);
                release(&x.array);
            }
            release(&a.array);
            release(&c.array);
        }
    for (int fill = LOWER; fill <= UPPER; fill++)
        for (int transposed = 0; transposed < 2; transposed++)
            for (int two = 0; two < 2; two++) {
                /* c has m rows and columns; n is the inner dimension. */
                const int operation = !transposed ? OP_N : is_complex() ? OP_C : OP_T;
                const int other = transposed ? OP_N : is_complex() ? OP_C : OP_T;
                struct Shape a = transposed ? shape(n, m, FULL, FULL_MATRIX, 0) : shape(m, n, FULL, FULL_MATRIX, 0);
                struct Shape d = transposed ? shape(n, m, FULL, FULL_MATRIX, 0) : shape(m, n, FULL, FULL_MATRIX, 0);
                struct Shape c = shape(m, m, FULL, fill, 0);
                for (int i = 0; i < m; i++)
                    for (int j = 0; j < m; j++) {
                        number sum = 0, mirrored = 0;
                        for (int l = 0; l < n; l++) {
                            sum += entry(&a, operation, i, l) * entry(two ? &d : &a, other, l, j);
                            mirrored += entry(&d, operation, i, l) * entry(&a, other, l, j);
                        }
                        number value = (two ? alpha.value : real_alpha.value) * sum;
                        if (two)
                            value += conj(alpha.value) * mirrored;
                        value += real_beta.value * read_at(c.array.host, place_of(&c, i, j));
                        expected[i + (size_t)j * m] = i == j && is_complex() ? creal(value) : value;
                    }
                const char *name = two ? (is_complex() ? "her2k" : "syr2k") : is_complex() ? "herk" : "syrk";
                Function f = function("cublas%c%s_v2", letter, name);
                if (two)
                    CHECK(f(handle, fill, operation, m, n, &alpha, a.array.device, a.leading, d.array.device,
                            d.leading, &real_beta, c.array.device, c.leading));
                else
                    CHECK(f(handle, fill, operation, m, n, &real_alpha, a.array.device, a.leading, &real_beta,
                            c.array.device, c.leading));
                compare_matrix(name, &c, expected, n * 8);
                release(&a.array);
                release(&d.array);
                release(&c.array);
            }
    struct Shape a = shape(n, m, FULL, FULL_MATRIX, 0), c = shape(m, n, FULL, FULL_MATRIX, 0);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            expected[i + (size_t)j * m] = alpha.value * entry(&a, OP_T, i, j) + beta.value * entry(&b, OP_N, i, j);
    CALL("geam", OP_T, OP_N, m, n, &alpha, a.array.device, a.leading, &beta, b.array.device, b.leading,
         c.array.device, c.leading);
    compare_matrix("geam", &c, expected, 4);
    struct Sequence x = sequence(m, 2);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            expected[i + (size_t)j * m] = before(&x, i) * entry(&b, OP_N, i, j);
    CALL("dgmm", 0, m, n, b.array.device, b.leading, x.array.device, 2, c.array.device, c.leading);
    compare_matrix("dgmm", &c, expected, 4);
    release(&x.array);
    release(&a.array);
    release(&b.array);
    release(&c.array);
    free(expected);
}

/* Factors of a batch, solutions with them, and inverses. */
static void factors(int n, int sides)
{
    enum { BATCHES = 3 };
    struct Shape a[BATCHES], b[BATCHES], inverse[BATCHES];
    void *addresses[3][BATCHES], **device;
    for (int batch = 0; batch < BATCHES; batch++) {
        a[batch] = shape(n, n, FULL, FULL_MATRIX, 0);
        b[batch] = shape(n, sides, FULL, FULL_MATRIX, 0);
        inverse[batch] = shape(n, n, FULL, FULL_MATRIX, 0);
        addresses[0][batch] = a[batch].array.device;
        addresses[1][batch] = b[batch].array.device;
        addresses[2][batch] = inverse[batch].array.device;
    }
    int *pivots, information[BATCHES], host_information = -1;
    CHECK(cudaMalloc((void **)&device, sizeof addresses));
    CHECK(cudaMemcpy(device, addresses, sizeof addresses, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc((void **)&pivots, sizeof(int) * BATCHES * (n + 1)));
    int *of_device = pivots + BATCHES * n;
    CALL("getrfBatched", n, device, a[0].leading, pivots, of_device, BATCHES);
    CHECK(cudaMemcpy(information, of_device, sizeof information, cudaMemcpyDeviceToHost));
    for (int operation = OP_N; operation <= (is_complex() ? OP_C : OP_T); operation++) {
        for (int batch = 0; batch < BATCHES; batch++)
            CHECK(cudaMemcpy(b[batch].array.device, b[batch].array.host, b[batch].array.elements * part_size(type),
                             cudaMemcpyHostToDevice));
        CALL("getrsBatched", operation, n, sides, device, a[0].leading, pivots, device + BATCHES, b[0].leading,
             &host_information, BATCHES);
        for (int batch = 0; batch < BATCHES; batch++) {
            compare("getrf", information[batch], 0, 0);
            void *x = results_of(&b[batch].array);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < sides; j++) {
                    number sum = 0;
                    double size = 0;
                    for (int l = 0; l < n; l++) {
                        const number part =
                            entry(&a[batch], operation, i, l) * read_at(x, place_of(&b[batch], l, j));
                        sum += part;
                        size += cabs(part);
                    }
                    compare("getrs", sum, entry(&b[batch], OP_N, i, j), size * n);
                }
            free(x);
        }
    }
    CALL("getriBatched", n, device, a[0].leading, pivots, device + 2 * BATCHES, inverse[0].leading, of_device,
         BATCHES);
    for (int batch = 0; batch < BATCHES; batch++) {
        void *x = results_of(&inverse[batch].array);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                number sum = 0;
                double size = 0;
                for (int l = 0; l < n; l++) {
                    const number part = entry(&a[batch], OP_N, i, l) * read_at(x, place_of(&inverse[batch], l, j));
                    sum += part;
                    size += cabs(part);
                }
                compare("getri", sum, i == j, size * n);
            }
        free(x);
        release(&a[batch].array);
        release(&b[batch].array);
        release(&inverse[batch].array);
    }
    CHECK(cudaFree(device));
    CHECK(cudaFree(pivots));
}

int main(void)
{
    static const int TYPES[] = {R_32F, R_64F, C_32F, C_64F};
    CHECK(cublasCreate_v2(&handle));
    for (int kind = 0; kind < 4; kind++) {
        letter = "SDCZ"[kind];
        type = TYPES[kind];
        level1(1, 1, 1);
        level1(1000, 2, 1);
        level1(77, -1, 3);
        level2(1);
        level2(19);
        level3(1, 3);
        level3(35, 20);
        level3(17, 70);
        factors(1, 1);
        factors(23, 4);
    }
    CHECK(cublasDestroy_v2(handle));
    return failures > 0;
}
