/* Maps files into memory by views of Windows that copy a page when it is written. */
#include "base/files/mapping.h"

#include "base/files/windows/handle.h"

static uintptr_t page_bytes(void)
{
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return system.dwPageSize;
}

/* The view keeps the file's pages when the handles of the file and of the mapping are closed. */
svit_status sv_mapping_create(sv_mapping *out, const sv_file *file, svit_error *err)
{
    uint64_t size = sv_file_size(file);
    if (size == 0 || size > SIZE_MAX)
        return sv_fail(err, SVIT_E_IO, "'%s' has %llu bytes, which cannot be mapped",
                       sv_file_path(file), (unsigned long long)size);
    HANDLE pages = CreateFileMappingW(sv_file_handle(file), NULL, PAGE_WRITECOPY,
                                      (DWORD)(size >> 32), (DWORD)size, NULL);
    char *base = pages ? MapViewOfFile(pages, FILE_MAP_COPY, 0, 0, (size_t)size) : NULL;
    if (!base)
        sv_set_errno();
    if (pages)
        CloseHandle(pages);
    if (!base)
        return sv_fail_io(err, "map", sv_file_path(file));
    *out = (sv_mapping){base, (size_t)size};
    return SVIT_OK;
}

void sv_mapping_free(sv_mapping *mapping)
{
    if (mapping->base)
        UnmapViewOfFile(mapping->base);
    *mapping = (sv_mapping){NULL, 0};
}

/* Unlocking pages that are not locked takes them out of the working set. */
void sv_mapping_discard(const void *from, size_t bytes)
{
    uintptr_t page = page_bytes(), begin = (uintptr_t)from;
    uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes) / page * page;
    if (first < end)
        VirtualUnlock((char *)from + (first - begin), end - first);
}

void sv_mapping_prefault(void *from, size_t bytes)
{
    uintptr_t page = page_bytes(), begin = (uintptr_t)from;
    volatile char *at = from;
    for (size_t done = 0; done < bytes; done += page - (begin + done) % page)
        at[done] = at[done];
}
