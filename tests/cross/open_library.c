/* Opens a shared library of shiftvit and calls it, where no Python can: for wheels.sh.
 *
 * usage: open_library LIBRARY */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: open_library LIBRARY");
        return 1;
    }
    const char *(*version)(void);
    const char *(*preset)(size_t);
    *(void **)&version = dlsym(library, "svit_version_string");
    *(void **)&preset = dlsym(library, "svit_model_preset_name");
    if (!version || !preset || !strstr(preset(0), "shiftvit"))
        return 1;
    printf("ok version %s, preset %s\n", version(), preset(0));
    return 0;
}
