//! Data-parallel training: what adds the gradients of several processes or threads, in a fixed
//! order.
//!
//! A batch is cut into leaves, whose number does not depend on who computes them. Each rank runs
//! svit_forward and svit_backward for each of its leaves, and the session adds the leaves' gradients
//! in one binary tree: at each level the sums of leaves 2 i 2^level and (2 i + 1) 2^level, each of
//! 2^level leaves, become one, and a sum without a partner stays as it is. A rank adds what it has
//! alone; a reducer adds the rest. So the bits of a step depend on the batch, the leaves and the
//! seed, and not on the ranks, provided that the reducer's additions are those of the library: in
//! float32, rounded to nearest, with subnormal operands and results flushed to zero on x86 (FTZ and
//! DAZ of MXCSR) and Arm (FZ). \<shiftvit/mpi.h\> has a reducer over MPI; a program may bring its own.
//!
//! In a loop of the program's own, leaf l of a batch of N images (fewer at the end of an epoch) has
//! k = svit_partition_begin(N, leaves, l + 1) - svit_partition_begin(N, leaves, l) of them, which
//! may be 0; max_batch of the session is at least that of the largest leaf. A loader of the rank
//! returns the images of its leaves one behind the other. The gradient of a leaf's mean loss is
//! multiplied by k / N. Before each forward svit_session_set_counter gets a number that step and
//! leaf determine, such as step \* leaves + l.

// Written by bindings/rust/generate from the C headers.

use crate::status::*;
use std::os::raw::c_void;

/// The sum of the gradients of the leaves from `leaf` to the end of a node of the tree.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_partial_sum {
    /// the first of the node; two nodes of a bucket never have the same
    pub leaf: u64,
    /// \[elements\] of the bucket
    pub values: *mut f32,
}

/// A range of the gradients of which this rank has computed all that it can. Ranks begin the same
/// buckets in the same order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_bucket {
    /// bytes that the library has filled
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// 0, 1, ...: since the last optimiser step
    pub number: u64,
    /// at least 1
    pub elements: u64,
    /// of partial sums, at least 1
    pub count: u64,
    /// \[count\], in ascending order of leaves; valid during the call
    pub partials: *const svit_partial_sum,
    /// \[elements\]: becomes the sum of all leaves; the `values` of one of the partials
    pub sum: *mut f32,
}

/// What adds the sums of several ranks, and the place of one session among them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_reducer {
    /// sizeof(svit_reducer)
    pub struct_size: u32,
    /// of a batch: 1 to 65536, at least `ranks`
    pub leaves: u32,
    /// of the session: 0 to ranks - 1
    pub rank: u32,
    /// 1 or more
    pub ranks: u32,
    /// passed to the functions
    pub user: *mut c_void,
    /// may be NULL with one rank
    pub begin: svit_reducer_begin_function,
    /// may be NULL with one rank
    pub finish: svit_reducer_finish_function,
    /// may be NULL with one rank, and without a trainer
    pub gather: svit_reducer_gather_function,
}

/// One addition of the tree between sums that no single rank can add: the sum that begins with leaf
/// `from` is added to the one that begins with leaf `to`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct svit_reduction {
    /// a leaf
    pub to: u64,
    /// a leaf behind it
    pub from: u64,
    /// who has the sum at `to`
    pub to_rank: u32,
    /// who has the sum at `from`; may be the same
    pub from_rank: u32,
}

/// Begins to add a bucket, and returns; the arrays stay where they are until svit_reducer.finish
/// returns. The reducer may change them. It is called while the backward of lower layers is still to
/// come, so that the transfer overlaps with it. A failure is returned by svit_backward, and this
/// rank begins none of the later buckets. A `begin` that fails on one rank alone leaves the others
/// waiting for them in `finish`, unless the reducer tells them: what it needs, such as memory, it
/// gets beforehand.
pub type svit_reducer_begin_function = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        bucket: *const svit_bucket,
        err: *mut svit_error,
    ) -> svit_status,
>;

/// Returns when the sums of all buckets that were begun are in place: svit_step calls it. A failure
/// is returned by svit_step, which then changes no weight. Where buckets were begun and no svit_step
/// came, svit_session_zero_gradients, svit_session_set_reducer and svit_session_free call it before
/// they touch the arrays, so `user` lives longer than the session.
pub type svit_reducer_finish_function = Option<
    unsafe extern "C" fn(user: *mut c_void, err: *mut svit_error) -> svit_status,
>;

/// Collects `bytes` bytes of each rank: all\[ranks, bytes\], the same on all of them. A trainer calls
/// it, on every rank and in the same order: for metrics, for failures and to end together.
pub type svit_reducer_gather_function = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        mine: *const c_void,
        all: *mut c_void,
        bytes: usize,
        err: *mut svit_error,
    ) -> svit_status,
>;

extern "C" {
    /// Fills `reducer` with the defaults: one leaf, rank 0 of one rank, without functions. `size` is
    /// sizeof(svit_reducer) as the caller was compiled. Any thread may call it.
    pub fn svit_reducer_init(reducer: *mut svit_reducer, size: usize) -> svit_status;

    /// The first of the items that belong to part `part` of `parts`: floor(items \* part / parts). The
    /// images of a leaf in a batch of n are svit_partition_begin(n, leaves, leaf) up to that of leaf +
    /// 1, and so are the leaves of a rank among `leaves`. `parts` is at most 2^32; 0 gives 0. Any number
    /// of threads may call it.
    pub fn svit_partition_begin(items: u64, parts: u64, part: u64) -> u64;

    /// Writes the additions that are left to a reducer, in an order in which they can be done, to
    /// plan\[capacity\], and their number, at most leaves - 1, to \*needed unless that is NULL. After them
    /// rank 0 has the sum of all leaves at leaf 0. A capacity of 0 asks for the number alone; `plan` may
    /// then be NULL. SVIT_E_ARGUMENT: leaves or ranks are out of range, or there are more additions than
    /// `capacity`, if that is not 0; \*needed is written in that case too. Any number of threads may call
    /// it.
    pub fn svit_reduction_plan(
        leaves: u32,
        ranks: u32,
        plan: *mut svit_reduction,
        capacity: usize,
        needed: *mut usize,
        err: *mut svit_error,
    ) -> svit_status;
}
