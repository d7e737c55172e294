/* The one file that loads shared libraries while the program runs. */
#include "base/dynamic_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* All that the library refers to is looked up at once, so that what is missing shows here and not
 * in the middle of a product. */
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
        memcpy(function, &address, sizeof address); /* C converts no such pointers; POSIX does */
    return address != NULL;
}
