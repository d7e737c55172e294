/* The one door to shared libraries that are loaded when they are first asked for. */
#ifndef SV_DYNAMIC_LIBRARY_H
#define SV_DYNAMIC_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sv_dynamic_library sv_dynamic_library;

/* Loads a shared library by its soname, from where the system's linker looks for libraries, its
 * names seen by nobody else; it stays for the life of the process. NULL where it cannot be loaded:
 * the linker's reason is in `reason`. Any thread. */
sv_dynamic_library *sv_dynamic_library_open(const char *soname, char *reason, size_t capacity);

/* Sets the pointer to a function at `function` to what the library, or one that it brings with it,
 * has by `name`. Without a library (NULL): to what the program and all that it was linked with has,
 * which goes before what a library brings with it. False where nothing has that name; the pointer
 * is left alone. Any thread. */
bool sv_dynamic_library_find(void *function, sv_dynamic_library *library, const char *name);

#endif
