/* The place of a training program among the processes of an MPI job. The MPI library is loaded when
 * it is asked for, so that the program runs where there is none. */
#ifndef EXAMPLE_MPI_PLACE_H
#define EXAMPLE_MPI_PLACE_H

#define SVIT_MPI_WITHOUT_MPI_H
#include "program/program.h"

#include <shiftvit/mpi.h>

#include <stdbool.h>

/* All zero: the process works alone, and the functions do nothing. */
typedef struct mpi_place {
    void *library;
    svit_mpi *mpi;
    svit_reducer reducer;
    struct rank_report *reports; /* [at least ranks], for mpi_agree */
    svit_status (*get_times)(const svit_mpi *, svit_mpi_times *, size_t, svit_error *);
    void (*free_place)(svit_mpi *);
} mpi_place;

/* The values of --mpi, which ends with NULL: auto, openmpi, mpich. */
extern const char *const mpi_names[];

/* Loads libshiftvit-openmpi or libshiftvit-mpich, `name` of them or the one whose mpirun has
 * started the process, and takes the place. From then on a process other than rank 0 prints
 * nothing, nor does it say why all have failed to take their places. A failure says what to
 * install. */
svit_status mpi_open(mpi_place *self, struct program *program, const char *name, uint32_t leaves);

/* Returns the same on all ranks: SVIT_OK, or the failure of one of them. All call it. */
svit_status mpi_agree(const mpi_place *self, struct program *program, svit_status status);

/* Whether this process is the one that prints and writes: rank 0, or the only one. */
bool mpi_is_first(const mpi_place *self);

/* Prints what the ranks have spent on each other. */
void mpi_report(const mpi_place *self);

/* Gives the place back; all ranks call it. */
void mpi_close(mpi_place *self);

#endif
