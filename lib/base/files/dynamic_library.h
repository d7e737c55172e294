/* Shared libraries that the library loads at run time. */
#ifndef SV_DYNAMIC_LIBRARY_H
#define SV_DYNAMIC_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sv_dynamic_library sv_dynamic_library;

/* Loads a shared library by its soname from the dynamic linker's search path. Its symbols are not
 * visible to other libraries, and it is never unloaded. Returns NULL if it cannot be loaded, with
 * the linker's reason in reason[capacity]. Any thread may call it. */
sv_dynamic_library *sv_dynamic_library_open(const char *soname, char *reason, size_t capacity);

/* Looks a function up in the library and its dependencies, or, if `library` is NULL, in the program
 * and the libraries it was linked with. Stores it in the function pointer at `function`. Returns
 * false, and leaves the pointer unchanged, if there is no symbol `name`. Any thread. */
bool sv_dynamic_library_find(void *function, sv_dynamic_library *library, const char *name);

#endif
