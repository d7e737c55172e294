/* Data-parallel training over MPI: a reducer whose ranks are the processes of a communicator. It is
 * in a library of its own, of which there is one for each MPI: libshiftvit-openmpi and
 * libshiftvit-mpich, with the same functions (pkg-config shiftvit-openmpi, shiftvit-mpich).
 * libshiftvit itself knows nothing of MPI.
 *
 * A program that links neither, such as one that loads the library when it is asked to, defines
 * SVIT_MPI_WITHOUT_MPI_H before it includes this header, and uses svit_mpi_start. */
#ifndef SHIFTVIT_MPI_H
#define SHIFTVIT_MPI_H

#include <shiftvit/reducer.h>

#ifndef SVIT_MPI_WITHOUT_MPI_H
/* In C++, mpi.h without the bindings for C++ that some MPIs still have, since these need a library
 * more. A program that uses them includes mpi.h first. */
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

/* A place among the processes of a communicator, with a thread of its own that exchanges gradients
 * while the program computes. That thread calls MPI from the reducer's `begin` up to the return of
 * its `finish`, so that MPI needs MPI_THREAD_SERIALIZED, and the program calls no MPI function in
 * between unless it has MPI_THREAD_MULTIPLE. One thread at a time may use the handle. */
typedef struct svit_mpi svit_mpi;

#ifndef SVIT_MPI_WITHOUT_MPI_H
/* Creates a place in a copy of `communicator`; all its processes call it, with the same `leaves`:
 * those of the reducer, at least as many as processes. The caller owns *out and frees it with
 * svit_mpi_free before MPI_Finalize.
 *
 * SVIT_E_STATE: MPI has not been initialised, or with less than MPI_THREAD_SERIALIZED.
 * SVIT_E_ARGUMENT: `communicator` is MPI_COMM_NULL, or `leaves` is out of range or differs between
 * processes. SVIT_E_MEMORY: there is not enough memory, or no thread could be started. SVIT_E_IO:
 * MPI has failed. What fails on one process for memory, all return. */
SVIT_API svit_status svit_mpi_create(svit_mpi **out, MPI_Comm communicator, uint32_t leaves,
                                     svit_error *err);
#endif

/* Initialises MPI unless the program has, and creates a place in a copy of MPI_COMM_WORLD as
 * svit_mpi_create does. svit_mpi_free, on the same thread, then finalises what was initialised
 * here, and so does a failure other than SVIT_E_IO, after which MPI is left alone. */
SVIT_API svit_status svit_mpi_start(svit_mpi **out, uint32_t leaves, svit_error *err);

/* Ends the thread and frees the place. All processes call it and wait there for each other, except
 * after a failure of MPI, so that no garbage collector should call it. NULL is allowed. */
SVIT_API void svit_mpi_free(svit_mpi *mpi);

/* Fills *reducer for svit_trainer_config.reducer or svit_session_set_reducer. It is valid until
 * svit_mpi_free. `size` is sizeof(svit_reducer) as the caller was compiled. */
SVIT_API svit_status svit_mpi_get_reducer(svit_mpi *mpi, svit_reducer *reducer, size_t size,
                                          svit_error *err);

/* What the ranks have spent on each other so far, in seconds of the calling process. */
typedef struct svit_mpi_times {
    uint32_t struct_size;    /* sizeof(svit_mpi_times) of the caller */
    uint32_t reserved;       /* 0 */
    double exchange_seconds; /* of the thread, in MPI and in additions */
    double wait_seconds;     /* of the program in the reducer's finish: what was not hidden behind
                                backward */
    double gather_seconds;   /* of the program in the reducer's gather: mostly waiting for the
                                slowest rank */
    uint64_t sent_bytes;     /* of gradients, by this rank */
} svit_mpi_times;

/* Writes the times to *times. `size` is sizeof(svit_mpi_times) as the caller was compiled. It may
 * be called by the thread that uses the reducer, or after it. */
SVIT_API svit_status svit_mpi_get_times(const svit_mpi *mpi, svit_mpi_times *times, size_t size,
                                        svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
