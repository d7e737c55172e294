/* Memory that ends, or begins, where a page begins that must not be touched: a read or a write
 * beyond it is a signal. */
#ifndef TEST_GUARD_H
#define TEST_GUARD_H

#include <check.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Returns a copy of data[bytes], whose first byte (`at_start`) or last byte is next to the page. It
 * stays until the process ends. `data` NULL: the bytes are 0xff, which as floats are NaN. */
static inline void *guard_copy(const void *data, size_t bytes, int at_start)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page + 2;
    char *memory =
        mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(memory != MAP_FAILED);
    memset(memory, 0xff, pages * page);
    char *copy = at_start ? memory + page : memory + (pages - 1) * page - bytes;
    if (data)
        memcpy(copy, data, bytes);
    ck_assert_int_eq(mprotect(memory, page, PROT_NONE), 0);
    ck_assert_int_eq(mprotect(memory + (pages - 1) * page, page, PROT_NONE), 0);
    return copy;
}

#endif
