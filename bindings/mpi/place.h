/* What the parts of the MPI library share. It uses MPI, POSIX threads, the public API of shiftvit,
 * and the floating-point environment of its additions. */
#ifndef SVIT_MPI_PLACE_H
#define SVIT_MPI_PLACE_H

#include <shiftvit/mpi.h>

#include <pthread.h>
#include <stdbool.h>

/* One bucket whose sums are on their way. */
typedef struct job {
    size_t elements;
    float **partials; /* [partial sums of this rank], of the job alone, for later steps too */
    float *sum;
} job;

/* Buckets that the program has begun and the thread works off in their order. */
typedef struct job_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *jobs; /* [capacity] */
    size_t capacity, begun, done;
    bool ends;
} job_queue;

/* The addition of row `from` to row `to`. A row is a partial sum of all ranks; rows are in
 * ascending order of leaves, so of ranks. */
typedef struct addition {
    size_t to, from;
} addition;

struct svit_mpi {
    MPI_Comm communicator; /* a copy, for this library alone */
    bool finalizes;        /* svit_mpi_free calls MPI_Finalize */
    bool has_failed;       /* MPI has failed, so none of its functions may be called */
    uint32_t leaves, rank, ranks;

    /* The tree above what one rank can add alone. */
    addition *additions; /* [addition_count] */
    size_t addition_count;
    size_t *first_row; /* [ranks + 1]: of each rank's partial sums */
    bool in_halves;    /* the ranks are a power of two, each with one partial sum */

    /* Memory of the exchange. */
    float *sent, *received;
    size_t sent_elements, received_elements; /* capacities */
    int *counts, *places;                    /* [2 * ranks]: numbers and offsets of the elements
                                                sent to each rank, then of those received */

    pthread_t thread;
    bool has_thread;
    job_queue queue;
    svit_status status; /* of the thread, as `error`; the queue's lock guards both */
    svit_error error;
    uint64_t bytes;       /* that the thread has sent; of it alone */
    svit_mpi_times times; /* the queue's lock guards them */
};

/* exchange.c */

/* Prepares additions, rows and in_halves. */
svit_status sv_mpi_plan_exchange(svit_mpi *self, svit_error *err);

/* Makes job->sum the sum of all leaves on every rank. */
svit_status sv_mpi_exchange(svit_mpi *self, const job *one, svit_error *err);

/* Collects `bytes` bytes of each rank, in the order of ranks: all[ranks, bytes]. */
svit_status sv_mpi_exchange_bytes(svit_mpi *self, const void *mine, void *all, size_t bytes,
                                  svit_error *err);

/* thread.c */

/* Allocates the first jobs with their arrays, so that svit_reducer.begin needs no memory. The rows
 * are planned. False: there is none. */
bool sv_mpi_queue_allocate(svit_mpi *self);

svit_status sv_mpi_thread_start(svit_mpi *self, svit_error *err);
void sv_mpi_thread_end(svit_mpi *self);

/* The functions of the reducer. */
svit_status sv_mpi_begin_bucket(void *user, const svit_bucket *bucket, svit_error *err);
svit_status sv_mpi_finish_buckets(void *user, svit_error *err);
svit_status sv_mpi_gather(void *user, const void *mine, void *all, size_t bytes, svit_error *err);

/* Sets a formatted message and returns `status`. */
svit_status sv_mpi_fail(svit_error *err, svit_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* SVIT_E_IO with MPI's own message unless `code` is MPI_SUCCESS. */
svit_status sv_mpi_check(svit_mpi *self, int code, svit_error *err);

/* Seconds of a clock that never goes back. */
double sv_mpi_clock_seconds(void);

#endif
