/* What all fuzz targets share: a context with a limited allocator, files in memory, numbers from
 * the input's bytes, and checks that stop the process where a promise of the interface is broken.
 *
 * A target is one file with LLVMFuzzerTestOneInput. It is linked with libFuzzer, or with replay.c,
 * which runs it on the files of its corpus. */
#ifndef FUZZ_H
#define FUZZ_H

#include <shiftvit/shiftvit.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts with the condition as its message if it does not hold. */
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_failed(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_failed(const char *condition, const char *file, int line);

/* The bytes of an input that are left. After the end, all numbers are 0. */
typedef struct fuzz_bytes {
    const uint8_t *data;
    size_t size;
} fuzz_bytes;

/* The next 1 to 8 bytes, the lowest first. */
uint64_t fuzz_take(fuzz_bytes *bytes, unsigned count);

/* A number of low..high from the next bytes. */
uint32_t fuzz_range(fuzz_bytes *bytes, uint32_t low, uint32_t high);

/* A float: small numbers mostly, but also the bits of any float, NaN and infinity among them. */
float fuzz_float(fuzz_bytes *bytes);

/* count elements of these; the caller frees them with free. */
float *fuzz_floats(fuzz_bytes *bytes, size_t count);

/* The whole rest as a text that ends with NUL; the caller frees it with free. */
char *fuzz_text(const uint8_t *data, size_t size);

/* The context of the process: one thread, an allocator of at most FUZZ_MEMORY bytes, and a log
 * whose messages are checked. It is created at the first call. */
svit_context *fuzz_context(void);
enum { FUZZ_MEMORY = 64 << 20 };

/* Lets the allocation number `calls` from now on, from 1, fail, and with `always` all after it; 0:
 * none. */
void fuzz_fail_allocation(size_t calls, bool always);

/* Checks that everything that was allocated from the context was released again. Returns 0, as
 * LLVMFuzzerTestOneInput does. */
int fuzz_end(void);

/* An error record to pass to a call. */
#define FUZZ_ERROR                                                                                 \
    {                                                                                              \
        .struct_size = sizeof(svit_error)                                                          \
    }

/* Returns whether the call succeeded. A status that is none, a failure that left another code in
 * `err`, or a message that is empty, not UTF-8 or has control characters, aborts. */
bool fuzz_ok(svit_status status, const svit_error *err);

/* Aborts if the text is not UTF-8. NULL is allowed. */
void fuzz_check_text(const char *text);

/* The path of the file `name` in a folder of this process, which is in memory and empty at first.
 * The text is valid until the fourth call after this one. */
const char *fuzz_path(const char *name);

/* Writes data[size] to that file. */
const char *fuzz_file(const char *name, const void *data, size_t size);

/* Removes everything in the folder. */
void fuzz_clear_folder(void);

/* A small model of the architecture `kind` mod 3 (SVIT_ARCHITECTURE_*) with a pipeline and class
 * names. */
svit_model *fuzz_model(unsigned kind);

/* Fills `config` with its configuration: 8 x 8 pixels, 3 classes. */
void fuzz_model_config(svit_model_config *config, unsigned kind);

/* Checks a model that was read: parameters that are finite, and names that are UTF-8. Saves it,
 * reads it again and checks that the same bytes are saved then. */
void fuzz_check_model(svit_model *model);

#endif
