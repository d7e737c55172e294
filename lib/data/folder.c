/* Folders of images: a subfolder a class. Names are kept, images are decoded when read. */
#include "base/file.h"
#include "data/checks.h"
#include "data/dataset_ops.h"
#include "data/image_file.h"
#include "data/path.h"
#include "data/source.h"

#include <string.h>
#include <strings.h>

/* One class: its folder, and a listing in which only images are left. */
typedef struct class_files {
    sv_listing listing;
    char *folder;
} class_files;

typedef struct folder_set {
    svit_dataset base;
    int32_t filter;     /* SVIT_SOURCE_* */
    sv_listing classes; /* the names of subfolders; those of the classes come first */
    size_t file_count;  /* subfolders */
    class_files *files; /* [file_count] in the order of `classes` */
    size_t *first;      /* [file_count + 1] the number of a class's first sample */
} folder_set;

/* The class of sample `index`: the last whose first sample is not after it. */
static size_t class_of(const folder_set *own, size_t index)
{
    size_t low = 0;
    size_t high = own->base.classes;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (own->first[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static svit_status image_load(const folder_set *own, const char *path, uint8_t *rgb,
                              svit_error *err)
{
    const sv_allocator *allocator = &own->base.context->allocator;
    sv_pixels pixels;
    SVIT_TRY(sv_image_file_read(&pixels, allocator, path, err));
    svit_status status = sv_source_step(allocator, own->filter, pixels.rgb, pixels.height,
                                        pixels.width, rgb, own->base.height, own->base.width, err);
    sv_release(allocator, pixels.rgb, pixels.bytes);
    return status;
}

static svit_status folder_sample(const svit_dataset *dataset, size_t index, uint8_t *rgb,
                                 int32_t *label, svit_error *err)
{
    const folder_set *own = (const folder_set *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    size_t class = class_of(own, index);
    const class_files *files = &own->files[class];
    char *path = NULL;
    SVIT_TRY(sv_path_join(&path, allocator, files->folder,
                          files->listing.names[index - own->first[class]], err));
    svit_status status = image_load(own, path, rgb, err);
    sv_release_text(allocator, path);
    SVIT_TRY(status);
    *label = (int32_t) class;
    return SVIT_OK;
}

static void files_free(const sv_allocator *allocator, class_files *files)
{
    sv_listing_free(allocator, &files->listing);
    sv_release_text(allocator, files->folder);
    *files = (class_files){0};
}

static void folder_end(svit_dataset *dataset)
{
    folder_set *own = (folder_set *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    for (size_t i = 0; own->files && i < own->file_count; i++)
        files_free(allocator, &own->files[i]);
    sv_release(allocator, own->files, own->file_count * sizeof *own->files);
    sv_release(allocator, own->first, (own->file_count + 1) * sizeof *own->first);
    sv_listing_free(allocator, &own->classes);
}

static const sv_dataset_ops FOLDER = {sizeof(folder_set), folder_sample, folder_end};

static bool is_image(const char *name)
{
    static const char *const ENDINGS[] = {".jpg", ".jpeg", ".png"};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof ENDINGS / sizeof *ENDINGS; i++)
        if (strcasecmp(ending, ENDINGS[i]) == 0)
            return true;
    return false;
}

/* Leaves only the subfolders, or only the images, in a listing; their order stays. Hidden ones go:
 * the system's, such as .git, and a Mac's ._NAME.jpg, which is no image. */
static void listing_keep(sv_listing *listing, const sv_allocator *allocator, bool folders)
{
    size_t kept = 0;
    for (size_t i = 0; i < listing->count; i++) {
        char *name = listing->names[i];
        bool is_folder = listing->folders[i];
        if (name[0] != '.' && is_folder == folders && (folders || is_image(name))) {
            listing->names[kept] = name;
            listing->folders[kept++] = is_folder;
        } else {
            sv_release_text(allocator, name);
        }
    }
    listing->count = kept;
}

static svit_status subfolders_list(folder_set *own, const char *folder, svit_error *err)
{
    const sv_allocator *allocator = &own->base.context->allocator;
    SVIT_TRY(sv_folder_list(&own->classes, allocator, folder, err));
    listing_keep(&own->classes, allocator, true);
    size_t count = own->classes.count;
    if (count > INT32_MAX)
        return sv_fail(err, SVIT_E_FORMAT, "'%s' has %zu subfolders; at most %d are read", folder,
                       count, INT32_MAX);
    own->file_count = count;
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(allocator, &memory, count, sizeof *own->files, "a folder", err));
    own->files = memory;
    SVIT_TRY(sv_allocate_array(allocator, &memory, count + 1, sizeof *own->first, "a folder", err));
    own->first = memory;
    return SVIT_OK;
}

static svit_status images_list(class_files *files, const sv_allocator *allocator,
                               const char *folder, const char *name, svit_error *err)
{
    SVIT_TRY(sv_path_join(&files->folder, allocator, folder, name, err));
    SVIT_TRY(sv_folder_list(&files->listing, allocator, files->folder, err));
    listing_keep(&files->listing, allocator, false);
    if (files->listing.count == 0)
        return SVIT_OK;
    SVIT_TRY(sv_name_check(folder, name, err));
    for (size_t i = 0; i < files->listing.count; i++)
        SVIT_TRY(sv_name_check(files->folder, files->listing.names[i], err));
    return SVIT_OK;
}

/* Lists the images of each subfolder. One without images is no class, and leaves the list. */
static svit_status classes_list(folder_set *own, const char *folder, svit_error *err)
{
    const sv_allocator *allocator = &own->base.context->allocator;
    SVIT_TRY(subfolders_list(own, folder, err));
    sv_listing *classes = &own->classes;
    size_t kept = 0;
    for (size_t i = 0; i < own->file_count; i++) {
        SVIT_TRY(images_list(&own->files[i], allocator, folder, classes->names[i], err));
        if (own->files[i].listing.count == 0) {
            files_free(allocator, &own->files[i]);
            continue;
        }
        char *name = classes->names[i];
        classes->names[i] = classes->names[kept];
        classes->names[kept] = name;
        class_files files = own->files[i];
        own->files[i] = own->files[kept];
        own->files[kept] = files;
        own->first[kept + 1] = own->first[kept] + files.listing.count;
        kept++;
    }
    if (kept == 0)
        return sv_fail(err, SVIT_E_FORMAT,
                       "no subfolder of '%s' has an image; one for each class is needed, with "
                       "*.jpg, *.jpeg or *.png in it",
                       folder);
    own->base.classes = kept;
    own->base.names = (const char *const *)classes->names;
    own->base.count = own->first[kept];
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_folder(svit_dataset **out, svit_context *context,
                                         const char *folder, size_t height, size_t width,
                                         int32_t filter, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(folder);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_source_filter_check(filter, __func__, "filter", err));
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, context, &FOLDER, err));
    dataset->height = height;
    dataset->width = width;
    folder_set *own = (folder_set *)dataset;
    own->filter = filter;
    svit_status status = classes_list(own, folder, err);
    if (status != SVIT_OK) {
        svit_dataset_free(dataset);
        return status;
    }
    *out = dataset;
    return SVIT_OK;
}
