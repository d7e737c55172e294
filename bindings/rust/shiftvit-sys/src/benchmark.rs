//! Benchmarks: the speed of a matrix product as the layers of a model compute it.

// Written by bindings/rust/generate from the C headers.

use crate::context::*;
use crate::status::*;

// Which product of a linear layer y = x W^T is computed. All matrices are row-major.

/// c\[m, n\] = a\[m, k\] b\[n, k\]^T: the output y
pub const SVIT_MATMUL_FORWARD: i32 = 0;
/// c\[m, n\] = a\[m, k\] b\[k, n\]: the gradient of x
pub const SVIT_MATMUL_INPUT_GRADIENT: i32 = 1;
/// c\[m, n\] += a\[k, m\]^T b\[k, n\]: the gradient of W
pub const SVIT_MATMUL_WEIGHT_GRADIENT: i32 = 2;

/// The shape and the precision of a matrix product. A, B and C are float32 in memory.
///
/// With `heads` 0 it is the product of a linear layer: it is split over all workers, and the weight
/// B is packed beforehand. Otherwise there are `heads` products of attention (images times heads):
/// each is computed by one worker, which packs B each time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_matmul {
    /// sizeof(svit_matmul)
    pub struct_size: u32,
    /// SVIT_MATMUL_\*
    pub form: i32,
    /// rows of C, 1..268435456
    pub m: u32,
    /// columns of C, 1..268435456
    pub n: u32,
    /// length of each dot product, 1..268435456
    pub k: u32,
    /// 0\..268435456
    pub heads: u32,
    /// SVIT_COMPUTE_F32: the GEMM backend of the context;
    /// SVIT_COMPUTE_BF16: as in a bfloat16 session
    pub compute: i32,
}

extern "C" {
    /// Fills `matmul` with SVIT_MATMUL_FORWARD of a linear layer in float32. The caller then sets m, n
    /// and k, which are 0. `size` is sizeof(svit_matmul) as the caller was compiled. SVIT_E_ARGUMENT as
    /// svit_context_config_init. Any thread may call it.
    pub fn svit_matmul_init(matmul: *mut svit_matmul, size: usize) -> svit_status;

    /// Measures the speed of a matrix product of random values on all workers of the context. One
    /// product runs as a warm-up. Then products run for `seconds` (0..3600; 0: one product), and \*gflops
    /// is the speed in 1e9 floating-point operations per second. A multiply-add counts as two
    /// operations, and all heads count. The matrices come from the context's allocator and are released
    /// before the function returns. Attention products are contiguous and cover a whole head here,
    /// whereas the attention layer computes them in blocks of queries.
    ///
    /// \*gflops is written only on success. SVIT_E_ARGUMENT names the field that is out of range;
    /// SVIT_E_UNSUPPORTED: the build computes in SVIT_COMPUTE_F32 alone; SVIT_E_MEMORY means that the
    /// matrices do not fit into memory. Any thread may call it, and concurrent calls on one context take
    /// turns with its workers.
    pub fn svit_benchmark_matmul(
        context: *mut svit_context,
        matmul: *const svit_matmul,
        seconds: f64,
        gflops: *mut f64,
        err: *mut svit_error,
    ) -> svit_status;
}
