/* Anonymous memory and its protection, as guard.h and test_matmul.c use them. */
#ifndef TEST_WINDOWS_MMAN_H
#define TEST_WINDOWS_MMAN_H

#include <stddef.h>

/* Of <windows.h>, which has names that tests use for other things. */
__declspec(dllimport) void *__stdcall VirtualAlloc(void *at, size_t bytes, unsigned long type,
                                                   unsigned long protection);
__declspec(dllimport) int __stdcall VirtualFree(void *at, size_t bytes, unsigned long type);
__declspec(dllimport) int __stdcall VirtualProtect(void *at, size_t bytes, unsigned long protection,
                                                   unsigned long *before);

enum {
    PROT_NONE = 0,
    PROT_READ = 1,
    PROT_WRITE = 2,
    MAP_PRIVATE = 1,
    MAP_ANONYMOUS = 2,
    MAP_NORESERVE = 4
};
#define MAP_FAILED ((void *)-1)

static inline void *mmap(void *at, size_t bytes, int protection, int flags, int file, long offset)
{
    (void)at;
    (void)protection;
    (void)flags;
    (void)file;
    (void)offset;
    void *memory = VirtualAlloc(NULL, bytes, 0x3000, 0x04);
    return memory ? memory : MAP_FAILED;
}

static inline int munmap(void *at, size_t bytes)
{
    (void)bytes;
    return VirtualFree(at, 0, 0x8000) ? 0 : -1;
}

static inline int mprotect(void *at, size_t bytes, int protection)
{
    unsigned long before;
    return VirtualProtect(at, bytes, protection == PROT_NONE ? 0x01 : 0x04, &before) ? 0 : -1;
}

#endif
