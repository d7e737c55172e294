/* Loads shared libraries at run time with dlopen. */
#include "base/files/dynamic_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* RTLD_NOW resolves all symbols here, so that a missing one does not abort a later call. */
sv_dynamic_library *sv_dynamic_library_open(const char *soname, char *reason, size_t capacity)
{
    void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        snprintf(reason, capacity, "%s", text ? text : "no reason is given");
    }
    return handle;
}

bool sv_dynamic_library_find(void *function, sv_dynamic_library *library, const char *name)
{
    void *address = dlsym(library ? (void *)library : RTLD_DEFAULT, name);
    if (address)
        memcpy(function, &address,
               sizeof address); /* ISO C has no cast from void * to a function pointer; POSIX
                                   guarantees the representation */
    return address != NULL;
}
