/* The microkernels of each type of packed B, and their lists by number of vectors. */
#ifndef SV_TILE_MICROKERNEL_LIST_IMPL_H
#define SV_TILE_MICROKERNEL_LIST_IMPL_H

#include "gemm/tile/tile_microkernel_impl.h"

/* x86 CPUs without AVX2 are rare: they do with fewer microkernels, one for both layouts of A. */
#if !defined(__AVX2__) && !defined(__aarch64__)
#define SV_SMALL_BASELINE
#define TILE_ROW_MAJOR A_ANY
#else
#define TILE_ROW_MAJOR A_ROW_MAJOR
#endif

/* The arguments, if there are 32 registers and therefore micropanels of four vectors. */
#if defined(SV_32_REGISTERS)
#define TILE_IF_32_REGISTERS(...) __VA_ARGS__
#else
#define TILE_IF_32_REGISTERS(...)
#endif

/* Defines the microkernels of a type of packed B that is not widened. Most of the time is spent in
 * those of MR rows and three or four vectors, which are compiled for each layout of A. */
#define TILE_MICROKERNELS(prefix, type)                                                            \
    TILE_MICROKERNEL(prefix##_full_1, MR_OF_1, 1, type, A_ANY, false)                              \
    TILE_MICROKERNEL(prefix##_half_1, MR_OF_1 / 2, 1, type, A_ANY, false)                          \
    TILE_MICROKERNEL(prefix##_single_1, 1, 1, type, A_ANY, false)                                  \
    TILE_MICROKERNEL(prefix##_full_2, MR_OF_2, 2, type, A_ANY, true)                               \
    TILE_MICROKERNEL(prefix##_half_2, MR_OF_2 / 2, 2, type, A_ANY, false)                          \
    TILE_MICROKERNEL(prefix##_single_2, 1, 2, type, A_ANY, false)                                  \
    TILE_MICROKERNEL(prefix##_full_3, MR_OF_3, 3, type, TILE_ROW_MAJOR, true)                      \
    TILE_MICROKERNEL(prefix##_half_3, MR_OF_3 / 2, 3, type, A_ANY, false)                          \
    TILE_MICROKERNEL(prefix##_single_3, 1, 3, type, A_ANY, false)                                  \
    TILE_IF_32_REGISTERS(                                                                          \
        TILE_MICROKERNEL(prefix##_small_m_3, SMALL_M_MR_OF_3, 3, type, A_ROW_MAJOR, true)          \
            TILE_MICROKERNEL(prefix##_full_4, MR_OF_4, 4, type, A_ROW_MAJOR, true)                 \
                TILE_MICROKERNEL(prefix##_half_4, MR_OF_4 / 2, 4, type, A_ANY, false)              \
                    TILE_MICROKERNEL(prefix##_single_4, 1, 4, type, A_ANY, false))

/* Defines those for a column-major A. */
#if defined(SV_SMALL_BASELINE)
#define TILE_COLUMN_MAJOR_MICROKERNELS(prefix, type)
#define TILE_COLUMN_MAJOR_LIST(prefix) TILE_MICROKERNEL_LIST(prefix)
#else
#define TILE_COLUMN_MAJOR_MICROKERNELS(prefix, type)                                               \
    TILE_MICROKERNEL(prefix##_columns_3, MR_OF_3, 3, type, A_COLUMN_MAJOR, true)                   \
    TILE_IF_32_REGISTERS(                                                                          \
        TILE_MICROKERNEL(prefix##_columns_4, MR_OF_4, 4, type, A_COLUMN_MAJOR, true))
#define TILE_COLUMN_MAJOR_LIST(prefix) TILE_LIST(prefix, prefix##_columns_3, prefix##_columns_4)
#endif

/* Their lists, by number of vectors. With a small M, A is row-major. */
#if defined(SV_32_REGISTERS)
#define TILE_SMALL_M_3(prefix) prefix##_small_m_3
#else
#define TILE_SMALL_M_3(prefix) prefix##_full_3
#endif
#define TILE_ENTRY(prefix, vectors, full, small_m_mr, small_m)                                     \
    {                                                                                              \
        MR_OF_##vectors, small_m_mr, full, small_m, prefix##_half_##vectors, NULL,                 \
            prefix##_single_##vectors                                                              \
    }
#define TILE_LIST(prefix, full_3, full_4)                                                          \
    {                                                                                              \
        {0}, TILE_ENTRY(prefix, 1, prefix##_full_1, MR_OF_1, prefix##_full_1),                     \
            TILE_ENTRY(prefix, 2, prefix##_full_2, MR_OF_2, prefix##_full_2),                      \
            TILE_ENTRY(prefix, 3, full_3, SMALL_M_MR_OF_3, TILE_SMALL_M_3(prefix)),                \
            TILE_IF_32_REGISTERS(TILE_ENTRY(prefix, 4, full_4, MR_OF_4, prefix##_full_4))          \
    }
#define TILE_MICROKERNEL_LIST(prefix) TILE_LIST(prefix, prefix##_full_3, prefix##_full_4)

/* The same for a type that is widened in registers. The rows that MR leaves over take little of the
 * time, since with a large M they are few and with a small M reading B takes most of it. So one
 * microkernel of MR rows and one of a single row do. */
#if defined(SV_SMALL_BASELINE)
#define TILE_WIDENING_FULL(name, rows, vectors, type)
#define TILE_WIDENING_ENTRY(mr, full, single)                                                      \
    {                                                                                              \
        1, 1, single, single, NULL, NULL, single                                                   \
    }
#else
#define TILE_WIDENING_FULL(name, rows, vectors, type)                                              \
    TILE_MICROKERNEL(name, rows, vectors, type, A_ROW_MAJOR, false)
#define TILE_WIDENING_ENTRY(mr, full, single)                                                      \
    {                                                                                              \
        mr, mr, full, full, NULL, NULL, single                                                     \
    }
#endif
#define TILE_WIDENING_MICROKERNELS(prefix, type)                                                   \
    TILE_WIDENING_FULL(prefix##_full_1, MR_OF_1, 1, type)                                          \
    TILE_MICROKERNEL(prefix##_single_1, 1, 1, type, A_ROW_MAJOR, false)                            \
    TILE_WIDENING_FULL(prefix##_full_2, MR_OF_2, 2, type)                                          \
    TILE_MICROKERNEL(prefix##_single_2, 1, 2, type, A_ROW_MAJOR, false)                            \
    TILE_WIDENING_FULL(prefix##_full_3, SMALL_M_MR_OF_3, 3, type)                                  \
    TILE_MICROKERNEL(prefix##_single_3, 1, 3, type, A_ROW_MAJOR, false)                            \
    TILE_IF_32_REGISTERS(TILE_WIDENING_FULL(prefix##_full_4, MR_OF_4, 4, type)                     \
                             TILE_MICROKERNEL(prefix##_single_4, 1, 4, type, A_ROW_MAJOR, false))
#define TILE_WIDENING_MICROKERNEL_LIST(prefix)                                                     \
    {                                                                                              \
        {0}, TILE_WIDENING_ENTRY(MR_OF_1, prefix##_full_1, prefix##_single_1),                     \
            TILE_WIDENING_ENTRY(MR_OF_2, prefix##_full_2, prefix##_single_2),                      \
            TILE_WIDENING_ENTRY(SMALL_M_MR_OF_3, prefix##_full_3, prefix##_single_3),              \
            TILE_IF_32_REGISTERS(TILE_WIDENING_ENTRY(MR_OF_4, prefix##_full_4, prefix##_single_4)) \
    }

/* The same for matrix products, whose rows come in pairs. */
#define TILE_MATRIX_MICROKERNELS(prefix, type)                                                     \
    TILE_MATRIX_ROWS(prefix, 1, type)                                                              \
    TILE_MATRIX_ROWS(prefix, 2, type)                                                              \
    TILE_MATRIX_ROWS(prefix, 3, type)                                                              \
    TILE_MATRIX_ROWS(prefix, 4, type)                                                              \
    TILE_MICROKERNEL(prefix##_half_1, 4, 1, type, A_ROW_MAJOR, false)                              \
    TILE_MICROKERNEL(prefix##_half_2, 4, 2, type, A_ROW_MAJOR, false)                              \
    TILE_MICROKERNEL(prefix##_half_3, 4, 3, type, A_ROW_MAJOR, false)
#define TILE_MATRIX_ROWS(prefix, vectors, type)                                                    \
    TILE_MICROKERNEL(prefix##_full_##vectors, MR_OF_##vectors, vectors, type, A_ROW_MAJOR, true)   \
    TILE_MICROKERNEL(prefix##_pair_##vectors, 2, vectors, type, A_ROW_MAJOR, false)                \
    TILE_MICROKERNEL(prefix##_single_##vectors, 1, vectors, type, A_ROW_MAJOR, false)
#define TILE_MATRIX_ENTRY(prefix, vectors, half)                                                   \
    {                                                                                              \
        MR_OF_##vectors, MR_OF_##vectors, prefix##_full_##vectors, prefix##_full_##vectors, half,  \
            prefix##_pair_##vectors, prefix##_single_##vectors                                     \
    }
#define TILE_MATRIX_LIST(prefix)                                                                   \
    {                                                                                              \
        {0}, TILE_MATRIX_ENTRY(prefix, 1, prefix##_half_1),                                        \
            TILE_MATRIX_ENTRY(prefix, 2, prefix##_half_2),                                         \
            TILE_MATRIX_ENTRY(prefix, 3, prefix##_half_3), TILE_MATRIX_ENTRY(prefix, 4, NULL)      \
    }

#endif
