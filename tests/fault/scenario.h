/* Scenarios of failing calls: for every public function what it needs, one call of it, and what has
 * to hold when memory or a file fails it. test_faults.c runs them, test_kills.c those that
 * write. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "fit.h"
#include "ledger.h"

#include <shiftvit/shiftvit.h>

enum { CLASSES = 3, SIDE = 8, COUNT = 12, BATCH = 4, PIXELS = SIDE * SIDE * 3 };
enum { OUT_BYTES = 1 << 16 };

/* Every kind of handle, in the order in which they are freed. */
#define HANDLES(X)                                                                                 \
    X(trainer)                                                                                     \
    X(folder_lock)                                                                                 \
    X(loader)                                                                                      \
    X(predictor)                                                                                   \
    X(extractor)                                                                                   \
    X(features)                                                                                    \
    X(image)                                                                                       \
    X(checkpoint)                                                                                  \
    X(optimizer)                                                                                   \
    X(session)                                                                                     \
    X(dataset)                                                                                     \
    X(model)                                                                                       \
    X(context)

#define HANDLE(noun) svit_##noun *noun;
typedef struct handles {
    HANDLES(HANDLE)
} handles;
#undef HANDLE

/* Floats or doubles in world.out. */
typedef struct world_values {
    size_t at, bytes;
    int is_double;
} world_values;
enum { MOST_VALUES = 16 };

/* What a scenario runs in: the handles that it needs, those that its call makes, and where the call
 * writes. Everything is made anew for each fault. */
typedef struct world {
    ledger book;              /* of the context's allocations */
    int model_of;             /* number of the kind of model: world_use */
    svit_model_config config; /* of that kind */
    int hides_folder;         /* 1: the folder of outputs is not part of a digest */
    handles has, made;
    handles other;          /* what a scenario prepares besides */
    uint8_t out[OUT_BYTES]; /* what the call writes */
    size_t out_used;
    world_values values[MOST_VALUES]; /* arrays in `out` */
    size_t value_arrays;
} world;

/* What world_make makes. Each includes what it is made of. */
enum {
    NEEDS_NOTHING = 0,
    NEEDS_CONTEXT = 1,
    NEEDS_MODEL = 2 | NEEDS_CONTEXT,
    NEEDS_SESSION = 4 | NEEDS_MODEL,      /* for training, with the gradient of its input */
    NEEDS_BACKWARD = 8 | NEEDS_SESSION,   /* a forward and a backward */
    NEEDS_OPTIMIZER = 16 | NEEDS_SESSION, /* with a step behind it and an average of the weights */
    NEEDS_DATASET = 32 | NEEDS_CONTEXT,   /* in memory */
    NEEDS_LOADER = 64 | NEEDS_DATASET,
    NEEDS_CHECKPOINT = 128 | NEEDS_CONTEXT,
    NEEDS_FEATURES = 256 | NEEDS_CONTEXT,
    NEEDS_PREDICTOR = 512 | NEEDS_CONTEXT,
    NEEDS_TRAINER = 1024 | NEEDS_DATASET | NEEDS_MODEL, /* before its first step */
    NEEDS_LOCK = 2048 | NEEDS_CONTEXT,
    NEEDS_OLD_FILE = 8192,            /* at world_target */
    NEEDS_FILES = 16384,              /* the folder of images is the dataset */
    NEEDS_SHARDS = 32768,             /* shards without an index in the folder of outputs */
    NEEDS_RUN = 65536 | NEEDS_CONTEXT /* a finished run in the folder of outputs */
};

/* What may happen. */
enum {
    PURE = 1,          /* the call allocates nothing and uses no files */
    NO_ERROR = 2,      /* the function returns no status: a getter, a constant or a free */
    EVERY_MODEL = 4,   /* the scenario runs with each kind of model */
    GOES_ON = 8,       /* a failed call keeps what it has done until then, and the next goes on */
    NO_DIGEST = 16,    /* results depend on the machine, or tell of the fault */
    HAS_IMAGES = 32,   /* the scenario needs the decoders */
    KEEPS = 64,        /* a failed call may keep memory, an open file or an index for the next */
    FILLS = 256,       /* a failed call may have written to its arrays */
    HAS_THREADS = 128, /* the call starts threads, whose allocations come in any order */
    APPENDS = 512,     /* what is appended stays on a disk that is dead when it is to be removed */
    WRITES = 1024 /* the call writes one file, whole or not at all: it is killed at each call */
};

typedef struct scenario {
    const char *function, *variant; /* "": the function's only or first scenario */
    int needs, flags;
    svit_status (*call)(world *w, svit_error *err);
    void (*prepare)(world *w); /* NULL, or what else is made before the call */
    struct scenario *next;
} scenario;

/* All scenarios, in no order. */
extern scenario *all_scenarios;

/* Writes all scenarios in the order of their functions to out[MOST_SCENARIOS]. Returns how many
 * there are. */
enum { MOST_SCENARIOS = 1024 };
int list_scenarios(const scenario **out);

/* Defines a scenario of `function`: SCENARIO(svit_step, NEEDS_OPTIMIZER, PURE) { return ...; } The
 * body has `w` and `err`. It uses none of Check's macros, which allocate and write. */
#define SCENARIO(function, needs, flags) VARIANT(function, , needs, flags, NULL)

/* Defines a further scenario of `function`. */
#define VARIANT(function, variant, needs, flags, prepare)                                          \
    static svit_status call_##function##variant(world *w, svit_error *err);                        \
    __attribute__((constructor)) static void list_##function##variant(void)                        \
    {                                                                                              \
        static scenario one = {#function, #variant, needs, flags, call_##function##variant,        \
                               prepare,   NULL};                                                   \
        one.next = all_scenarios;                                                                  \
        all_scenarios = &one;                                                                      \
    }                                                                                              \
    static svit_status call_##function##variant(world *w, svit_error *err)

/* Defines the scenario of a function that cannot fail. `digested` is a value that it returns. */
#define GETTER(function, needs, arguments)                                                         \
    SCENARIO(function, needs, PURE | NO_ERROR)                                                     \
    {                                                                                              \
        (void)w;                                                                                   \
        (void)err;                                                                                 \
        (void)function arguments;                                                                  \
        return SVIT_OK;                                                                            \
    }

/* Room in w->out for `count` values of `type`, as an argument of a call that writes. */
#define OUT(type, count)                                                                           \
    ((type *)world_out(w, (count) * sizeof(type),                                                  \
                       _Generic((type *)NULL, float * : OUT_FLOAT, double * : OUT_DOUBLE, default  \
                                : OUT_OTHER)))
enum { OUT_OTHER, OUT_FLOAT, OUT_DOUBLE };
void *world_out(world *w, size_t bytes, int values);

/* The number of floats and doubles in w->out that are not finite. */
size_t world_count_not_finite(const world *w);

/* Changes the weights of every model that a world needs; NULL: they stay. */
extern void (*world_change_model)(svit_model *model);

/* Values for arguments: images[COUNT, SIDE, SIDE, 3] of floats and bytes, labels[COUNT] and
 * targets[COUNT, CLASSES], which sum to 1 in each row, and logits likewise. */
extern float world_images[COUNT * PIXELS], world_logits[COUNT * CLASSES];
extern float world_targets[COUNT * CLASSES];
extern uint8_t world_bytes[COUNT * PIXELS];
extern int32_t world_labels[COUNT];
extern const char *const world_names[CLASSES];
extern const char world_old[]; /* content of the old file */

/* The path of a file of the folder that every world reads, or of the one for outputs. Eight results
 * are valid at a time. */
const char *world_asset(const char *name);
const char *world_path(const char *name);
#define TARGET world_path("target.safetensors")

/* The two folders; "" outside of world_folders_make. */
extern char world_assets[64], world_folder[64];

/* Makes the folders and writes the files that every world reads; removes them. */
void world_folders_make(void);
void world_folders_remove(void);

enum { MODELS = 6, MODEL_WHITENED = 1, MODEL_VIT = 3, MODEL_PLAIN_VIT = 5 };
void world_use(world *w, int model_of);

svit_pipeline_config world_pipeline(void);
svit_session_config world_session(void);
svit_optimizer_config world_optimizer(void);
svit_trainer_config world_trainer(void);
svit_context_config world_context(world *w);

/* The file in memory; valid until the folders are removed. */
typedef struct world_data {
    void *data;
    size_t bytes;
} world_data;
extern world_data world_model_file, world_png, world_jpeg, world_tar;

/* Writes the archive of shards, with one time for all worlds, which its index has. */
void world_write_shards(world *w);

/* Makes the folder of outputs and all that the scenario needs. */
void world_make(world *w, const scenario *of, int model_of);

/* The same in the folder of outputs as it is. */
void world_make_again(world *w, const scenario *of, int model_of);

/* Frees what was made, and fails if memory of the context is left. */
void world_free(world *w);

/* Clears w->out and w->made for a call. */
void world_begin(world *w);

/* Whether a failed call has written to w->out or w->made. */
int world_is_touched(const world *w);

/* Whether the handle is one that a call has made. */
int world_has_made(const void *handle);

/* A hash of the handles of w->has and of the folder of outputs, which stay as they are. */
uint64_t world_digest(world *w);
uint64_t world_digest_folder(void);

/* The same without the temporary files, whose number is added to *leftovers. */
uint64_t world_digest_without(uint64_t *leftovers);

/* A hash of all that a successful call has left, and of how its handles go on: loaders bring a
 * batch, trainers run to their end. */
uint64_t world_digest_results(world *w);

uint64_t world_hash(uint64_t hash, const void *data, size_t bytes);

#endif
