/* Maps files into memory with mmap. */
#include "base/files/mapping.h"

#include "base/files/descriptor.h"

#include <sys/mman.h>
#include <unistd.h>

static uintptr_t page_bytes(void)
{
    return (uintptr_t)sysconf(_SC_PAGESIZE);
}

svit_status sv_mapping_create(sv_mapping *out, const sv_file *file, svit_error *err)
{
    uint64_t size = sv_file_size(file);
    if (size == 0 || size > SIZE_MAX)
        return sv_fail(err, SVIT_E_IO, "'%s' has %llu bytes, which cannot be mapped",
                       sv_file_path(file), (unsigned long long)size);
    char *base = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                      sv_file_descriptor(file), 0);
    if (base == MAP_FAILED)
        return sv_fail_io(err, "map", sv_file_path(file));
#ifdef MADV_NOHUGEPAGE
    /* With huge pages an access would read 2 MiB, most of which may have been discarded before. */
    madvise(base, (size_t)size, MADV_NOHUGEPAGE);
#endif
    *out = (sv_mapping){base, (size_t)size};
    return SVIT_OK;
}

void sv_mapping_free(sv_mapping *mapping)
{
    if (mapping->base)
        munmap(mapping->base, mapping->bytes);
    *mapping = (sv_mapping){NULL, 0};
}

void sv_mapping_discard(const void *from, size_t bytes)
{
    uintptr_t page = page_bytes(), begin = (uintptr_t)from;
    uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes) / page * page;
    if (first < end)
        madvise((char *)from + (first - begin), end - first, MADV_DONTNEED);
}

/* Copies all pages with one call, if the system has it (Linux 5.14). Returns whether it did. */
static bool populate(uintptr_t first, uintptr_t end)
{
#ifdef MADV_POPULATE_WRITE
    return madvise((void *)first, end - first, MADV_POPULATE_WRITE) == 0;
#else
    (void)first;
    (void)end;
    return false;
#endif
}

void sv_mapping_prefault(void *from, size_t bytes)
{
    uintptr_t page = page_bytes(), begin = (uintptr_t)from;
    uintptr_t first = begin / page * page, end = (begin + bytes + page - 1) / page * page;
    if (populate(first, end))
        return;
    volatile char *at = from;
    for (size_t done = 0; done < bytes; done += page - (begin + done) % page)
        at[done] = at[done];
}
