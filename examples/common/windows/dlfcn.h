/* MPI's libraries are loaded by dlopen; Windows has none of those. */
#ifndef EXAMPLE_WINDOWS_DLFCN_H
#define EXAMPLE_WINDOWS_DLFCN_H

#include <stddef.h>

enum { RTLD_NOW = 2, RTLD_GLOBAL = 256 };

static inline void *dlopen(const char *path, int flags)
{
    (void)path;
    (void)flags;
    return NULL;
}

static inline void *dlsym(void *library, const char *name)
{
    (void)library;
    (void)name;
    return NULL;
}

static inline char *dlerror(void)
{
    return (char *)"MPI needs another system than Windows";
}

#endif
