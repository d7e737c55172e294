/* Opens a shared library of shiftvit and calls it, where no Python can: for wheels.sh.
 *
 * usage: open_library LIBRARY */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>

static void *open_library(const char *path)
{
    return (void *)LoadLibraryA(path);
}

static void *find(void *library, const char *name)
{
    return (void *)GetProcAddress(library, name);
}
#else
#include <dlfcn.h>

static void *open_library(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *find(void *library, const char *name)
{
    return dlsym(library, name);
}
#endif

int main(int argc, char **argv)
{
    void *library = argc == 2 ? open_library(argv[1]) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n",
                argc == 2 ? "cannot open the library" : "usage: open_library LIBRARY");
        return 1;
    }
    const char *(*version)(void);
    const char *(*preset)(size_t);
    *(void **)&version = find(library, "svit_version_string");
    *(void **)&preset = find(library, "svit_model_preset_name");
    if (!version || !preset || !strstr(preset(0), "shiftvit"))
        return 1;
    printf("ok version %s, preset %s\n", version(), preset(0));
    return 0;
}
