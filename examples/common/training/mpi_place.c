/* The place of a training program among the processes of an MPI job. */
#include "training/mpi_place.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AUTO, OPENMPI, MPICH };
const char *const mpi_names[] = {"auto", "openmpi", "mpich", NULL};

/* The ABI version of the libraries is that of the header. */
static const char *const files[] = {
    [OPENMPI] = "libshiftvit-openmpi.so.1", [MPICH] = "libshiftvit-mpich.so.1"};

/* The MPI whose mpirun has started the process, by the variables that it sets; AUTO if none is
 * there. */
static int find_launcher(void)
{
    if (getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK"))
        return OPENMPI;
    return getenv("PMI_SIZE") ? MPICH : AUTO;
}

/* What the mpirun that has started the process says of it. */
typedef struct launch {
    int launcher; /* OPENMPI, MPICH; AUTO: none has */
    long started; /* processes; 0: it does not say */
    long rank;    /* 0 if it does not say */
} launch;

/* Reads a number from a variable of the environment; 0 if it is not there. */
static long number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text ? strtol(text, NULL, 10) : 0;
}

static launch find_launch(void)
{
    const int launcher = find_launcher();
    if (launcher != OPENMPI)
        return (launch){launcher, number_of("PMI_SIZE"), number_of("PMI_RANK")};
    const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? "OMPI_COMM_WORLD_RANK" : "PMIX_RANK";
    return (launch){launcher, number_of("OMPI_COMM_WORLD_SIZE"), number_of(rank)};
}

/* Writes which of the libraries it has loaded to *used. */
static svit_status load(mpi_place *self, struct program *program, int wanted, int *used)
{
    const int first = wanted == AUTO ? OPENMPI : wanted, last = wanted == AUTO ? MPICH : wanted;
    const char *reason = "";
    for (int i = first; i <= last && !self->library; i++) {
        self->library = dlopen(files[i], RTLD_NOW | RTLD_GLOBAL);
        *used = i;
        reason = self->library ? "" : dlerror();
    }
    if (self->library)
        return SVIT_OK;
    return program_fail(program, SVIT_E_UNSUPPORTED,
                        "--mpi: %s; install the library of the mpirun in use, or build it where "
                        "libopenmpi-dev or libmpich-dev is installed; LD_LIBRARY_PATH may name its "
                        "folder",
                        reason);
}

/* Writes the address of a function to the pointer at `out`. */
static svit_status find(const mpi_place *self, struct program *program, const char *name, void *out)
{
    void *address = dlsym(self->library, name);
    memcpy(out, &address, sizeof address);
    return address ? SVIT_OK
                   : program_fail(program, SVIT_E_VERSION, "--mpi: the library has no %s", name);
}

/* What a rank brings along. */
typedef struct rank_report {
    int32_t status;
    char message[sizeof((svit_error *)NULL)->message];
} rank_report;

/* Allocates what mpi_agree needs, so that it cannot fail on one rank alone. There are at most as
 * many ranks as leaves. */
static svit_status allocate_reports(mpi_place *self, struct program *program, uint32_t leaves)
{
    self->reports = calloc(leaves, sizeof *self->reports);
    return self->reports ? SVIT_OK
                         : program_fail(program, SVIT_E_MEMORY, "no memory for the ranks");
}

static svit_status take_place(mpi_place *self, struct program *program, uint32_t leaves)
{
    svit_status (*start)(svit_mpi **, uint32_t, svit_error *);
    svit_status (*get_reducer)(svit_mpi *, svit_reducer *, size_t, svit_error *);
    TRY(find(self, program, "svit_mpi_start", &start));
    TRY(find(self, program, "svit_mpi_get_reducer", &get_reducer));
    TRY(find(self, program, "svit_mpi_get_times", &self->get_times));
    TRY(find(self, program, "svit_mpi_free", &self->free_place));
    TRY(start(&self->mpi, leaves, &program->err));
    return get_reducer(self->mpi, &self->reducer, sizeof self->reducer, &program->err);
}

/* Fails if mpirun has started several processes and this MPI knows of one, because it is
 * another. */
static svit_status check_launcher(const mpi_place *self, struct program *program,
                                  const launch *from, int used)
{
    if (self->reducer.ranks > 1 || from->started <= 1)
        return SVIT_OK;
    return program_fail(program, SVIT_E_ARGUMENT,
                        "--mpi: mpirun has started %ld processes, but %s knows of one; the mpirun "
                        "is that of %s",
                        from->started, mpi_names[used], mpi_names[from->launcher]);
}

/* Leaves it to rank 0 to say why no rank has a place, where all of them know the same. Failures of
 * memory, of MPI itself or of an older library may be those of one rank alone. */
static svit_status leave_to_first(struct program *program, svit_status status, long rank)
{
    enum { SECONDS = 2 };
    if (rank == 0 || (status != SVIT_E_ARGUMENT && status != SVIT_E_STATE))
        return status;
    program->is_mute = 1;
    /* mpirun ends the job when the first process has failed, and rank 0 has to speak before. */
    sleep(SECONDS);
    return status;
}

svit_status mpi_open(mpi_place *self, struct program *program, const char *name, uint32_t leaves)
{
    /* MPI sets such variables itself, so they are read before it starts. */
    const launch from = find_launch();
    int wanted = from.launcher, used = AUTO;
    for (int i = OPENMPI; i <= MPICH; i++)
        if (strcmp(name, mpi_names[i]) == 0)
            wanted = i;
    TRY(load(self, program, wanted, &used));
    TRY(allocate_reports(self, program, leaves));
    svit_status status = take_place(self, program, leaves);
    if (status == SVIT_OK)
        status = check_launcher(self, program, &from, used);
    if (status != SVIT_OK)
        return leave_to_first(program, status, from.rank);
    if (mpi_is_first(self))
        return SVIT_OK;
    program->quiet = program->is_mute = 1;
    program->json = 0;
    return SVIT_OK;
}

svit_status mpi_agree(const mpi_place *self, struct program *program, svit_status status)
{
    const svit_reducer *reducer = &self->reducer;
    if (!self->mpi)
        return status;
    rank_report mine = {.status = status}, *all = self->reports;
    memcpy(mine.message, program->err.message, sizeof mine.message);
    svit_status found = reducer->gather(reducer->user, &mine, all, sizeof mine, &program->err);
    for (uint32_t rank = 0; rank < reducer->ranks && found == SVIT_OK && status == SVIT_OK; rank++)
        if (all[rank].status != SVIT_OK)
            found = program_fail(program, all[rank].status, "rank %" PRIu32 " of %" PRIu32 ": %s",
                                 rank, reducer->ranks, all[rank].message);
    return status != SVIT_OK ? status : found;
}

bool mpi_is_first(const mpi_place *self)
{
    return self->reducer.rank == 0;
}

void mpi_report(const mpi_place *self)
{
    svit_mpi_times times;
    if (!self->mpi || self->get_times(self->mpi, &times, sizeof times, NULL) != SVIT_OK)
        return;
    fprintf(stderr,
            "rank 0 of %" PRIu32 ": %.1f MB of gradients sent; %.2f s of exchange, %.2f s of it "
            "not hidden; %.2f s until all ranks had met\n",
            self->reducer.ranks, 1e-6 * (double)times.sent_bytes, times.exchange_seconds,
            times.wait_seconds, times.gather_seconds);
}

void mpi_close(mpi_place *self)
{
    if (self->mpi)
        self->free_place(self->mpi);
    free(self->reports);
    /* MPI libraries do not like to be unloaded. */
    *self = (mpi_place){0};
}
