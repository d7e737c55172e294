/* Public headers of a release, which tests/abi/record.sh has written. */
/* clang-format off */
#include <stddef.h>
#include <stdint.h>
#define SVIT_API
#ifndef SHIFTVIT_MPI_H
#define SHIFTVIT_MPI_H 
#ifndef SVIT_MPI_WITHOUT_MPI_H
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>
#endif
#ifdef __cplusplus
extern "C" {
#endif
typedef struct svit_mpi svit_mpi;
#ifndef SVIT_MPI_WITHOUT_MPI_H
SVIT_API svit_status svit_mpi_create(svit_mpi **out, MPI_Comm communicator, uint32_t leaves,
                                     svit_error *err);
#endif
SVIT_API svit_status svit_mpi_start(svit_mpi **out, uint32_t leaves, svit_error *err);
SVIT_API void svit_mpi_free(svit_mpi *mpi);
SVIT_API svit_status svit_mpi_get_reducer(svit_mpi *mpi, svit_reducer *reducer, size_t size,
                                          svit_error *err);
typedef struct svit_mpi_times {
    uint32_t struct_size;
    uint32_t reserved;
    double exchange_seconds;
    double wait_seconds;
    double gather_seconds;
    uint64_t sent_bytes;
} svit_mpi_times;
SVIT_API svit_status svit_mpi_get_times(const svit_mpi *mpi, svit_mpi_times *times, size_t size,
                                        svit_error *err);
#ifdef __cplusplus
}
#endif
#endif
