/* Loads and unloads the library 50 times and counts the threads, files, mappings and allocated
 * bytes of the process.  dlopen LIBRARY
 *
 * glibc counts freed memory in a thread's cache as allocated: run it without that cache, by
 * GLIBC_TUNABLES=glibc.malloc.tcache_count=0. */
#include <shiftvit/shiftvit.h>

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

/* The smallest allocation of glibc takes 32 bytes on 64-bit machines: with half of that for each
 * load, nothing was lost each time. */
enum { WARM_UP = 10, LOADS = 50, SMALLEST_CHUNK = 32 };

static int entries(const char *folder)
{
    int count = 0;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        count += entry->d_name[0] != '.';
    if (list)
        closedir(list);
    return count;
}

static int lines(const char *file)
{
    int count = 0, c;
    FILE *text = fopen(file, "r");
    while (text && (c = fgetc(text)) != EOF)
        count += c == '\n';
    if (text)
        fclose(text);
    return count;
}

/* What a process could lose with each load. */
typedef struct usage {
    int threads, files, mappings;
    size_t allocated;
} usage;

static usage current_usage(void)
{
    return (usage){entries("/proc/self/task"), entries("/proc/self/fd"), lines("/proc/self/maps"),
                   mallinfo2().uordblks + mallinfo2().hblkhd};
}

static int find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address ? 0 : (fprintf(stderr, "%s is missing\n", name), 1);
}

/* Loads the library, runs an image through a model on two threads, and unloads it. */
static int load_once(const char *path)
{
    svit_status (*context_create)(svit_context **, const svit_context_config *, svit_error *);
    svit_status (*config_init)(svit_context_config *, size_t);
    svit_status (*preset)(svit_model_config *, size_t, const char *, svit_error *);
    svit_status (*model_create)(svit_model **, svit_context *, const svit_model_config *, uint64_t,
                                svit_error *);
    svit_status (*session_create)(svit_session **, svit_model *, const svit_session_config *,
                                  svit_error *);
    svit_status (*forward)(svit_session *, const float *, size_t, float *, svit_error *);
    void (*context_free)(svit_context *), (*model_free)(svit_model *),
        (*session_free)(svit_session *);
    static float image[48 * 48 * 3], logits[10];
    svit_error err = {.struct_size = sizeof err};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    if (find(library, "svit_context_create", &context_create) ||
        find(library, "svit_context_config_init", &config_init) ||
        find(library, "svit_model_config_preset", &preset) ||
        find(library, "svit_model_create", &model_create) ||
        find(library, "svit_session_create", &session_create) ||
        find(library, "svit_forward", &forward) ||
        find(library, "svit_context_free", &context_free) ||
        find(library, "svit_model_free", &model_free) ||
        find(library, "svit_session_free", &session_free))
        return 1;
    svit_context_config config;
    svit_model_config model_config;
    svit_context *context = NULL;
    svit_model *model = NULL;
    svit_session *session = NULL;
    config_init(&config, sizeof config);
    config.threads = 2;
    if (context_create(&context, &config, &err) ||
        preset(&model_config, sizeof model_config, "shiftvit-cifar10", &err) ||
        model_create(&model, context, &model_config, 1, &err) ||
        session_create(&session, model, NULL, &err) || forward(session, image, 1, logits, &err))
        fprintf(stderr, "%s\n", err.message);
    session_free(session);
    model_free(model);
    context_free(context);
    if (dlclose(library))
        return fprintf(stderr, "%s\n", dlerror()), 1;
    if (dlopen(path, RTLD_NOW | RTLD_NOLOAD))
        return fprintf(stderr, "the library stays loaded\n"), 1;
    return err.code != SVIT_OK;
}

int main(int count, char **arguments)
{
    usage before = {0};
    for (int load = 0; load < WARM_UP + LOADS && count == 2; load++) {
        if (load == WARM_UP)
            before = current_usage();
        if (load_once(arguments[1]))
            return 1;
    }
    usage after = current_usage();
    printf("threads %d, then %d; files %d, then %d; mappings %d, then %d; bytes %zu, then %zu\n",
           before.threads, after.threads, before.files, after.files, before.mappings,
           after.mappings, before.allocated, after.allocated);
    return !(count == 2 && after.threads == before.threads && after.files == before.files &&
             after.mappings <= before.mappings &&
             after.allocated < before.allocated + LOADS * SMALLEST_CHUNK / 2);
}
