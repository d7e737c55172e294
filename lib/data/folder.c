/* Folders of pictures: a subfolder a class. Names are kept, pictures are decoded when read. */
#include "base/file.h"
#include "data/checks.h"
#include "data/dataset_table.h"
#include "data/path.h"
#include "data/picture_file.h"

#include <shiftvit/image.h>

#include <string.h>
#include <strings.h>

/* One class: its folder, and a listing in which only pictures are left. */
typedef struct class_files {
    sv_listing listing;
    char *folder;
} class_files;

typedef struct folder_set {
    svit_dataset base;
    sv_listing classes; /* subfolders only */
    class_files *files; /* [classes.count] */
    size_t *first;      /* [classes.count + 1] the number of a class's first sample */
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

static svit_status picture_load(const folder_set *own, const char *path, uint8_t *rgb,
                                svit_error *err)
{
    const sv_allocator *allocator = &own->base.context->allocator;
    sv_pixels pixels;
    SVIT_TRY(sv_picture_read(&pixels, allocator, path, err));
    svit_status status = svit_resize_nearest_u8(pixels.rgb, pixels.height, pixels.width, rgb,
                                                own->base.height, own->base.width, err);
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
    svit_status status = picture_load(own, path, rgb, err);
    sv_release_text(allocator, path);
    SVIT_TRY(status);
    *label = (int32_t) class;
    return SVIT_OK;
}

static void folder_end(svit_dataset *dataset)
{
    folder_set *own = (folder_set *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    for (size_t i = 0; own->files && i < own->classes.count; i++) {
        sv_listing_free(allocator, &own->files[i].listing);
        sv_release_text(allocator, own->files[i].folder);
    }
    sv_release(allocator, own->files, own->classes.count * sizeof *own->files);
    sv_release(allocator, own->first, (own->classes.count + 1) * sizeof *own->first);
    sv_listing_free(allocator, &own->classes);
}

static const sv_dataset_table FOLDER = {sizeof(folder_set), folder_sample, folder_end};

static bool is_picture(const char *name)
{
    static const char *const ENDINGS[] = {".jpg", ".jpeg", ".png"};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof ENDINGS / sizeof *ENDINGS; i++)
        if (strcasecmp(ending, ENDINGS[i]) == 0)
            return true;
    return false;
}

/* Leaves only the subfolders, or only the pictures, in a listing; their order stays. */
static void listing_keep(sv_listing *listing, const sv_allocator *allocator, bool folders)
{
    size_t kept = 0;
    for (size_t i = 0; i < listing->count; i++) {
        bool wanted =
            folders ? listing->folders[i] : !listing->folders[i] && is_picture(listing->names[i]);
        if (wanted) {
            listing->names[kept] = listing->names[i];
            listing->folders[kept++] = listing->folders[i];
        } else {
            sv_release_text(allocator, listing->names[i]);
        }
    }
    listing->count = kept;
}

static svit_status classes_list(folder_set *own, const char *folder, svit_error *err)
{
    const sv_allocator *allocator = &own->base.context->allocator;
    SVIT_TRY(sv_folder_list(&own->classes, allocator, folder, err));
    listing_keep(&own->classes, allocator, true);
    size_t count = own->classes.count;
    if (count < 1 || count > INT32_MAX)
        return sv_fail(err, SVIT_E_FORMAT, "'%s' has %zu subfolders; one for each class is needed",
                       folder, count);
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(allocator, &memory, count, sizeof *own->files, "a folder", err));
    own->files = memory;
    SVIT_TRY(sv_allocate_array(allocator, &memory, count + 1, sizeof *own->first, "a folder", err));
    own->first = memory;
    own->base.classes = count;
    own->base.names = (const char *const *)own->classes.names;
    return SVIT_OK;
}

static svit_status pictures_list(folder_set *own, const char *folder, svit_error *err)
{
    const sv_allocator *allocator = &own->base.context->allocator;
    for (size_t i = 0; i < own->classes.count; i++) {
        class_files *files = &own->files[i];
        SVIT_TRY(sv_path_join(&files->folder, allocator, folder, own->classes.names[i], err));
        SVIT_TRY(sv_folder_list(&files->listing, allocator, files->folder, err));
        listing_keep(&files->listing, allocator, false);
        own->first[i + 1] = own->first[i] + files->listing.count;
    }
    own->base.count = own->first[own->classes.count];
    if (own->base.count == 0)
        return sv_fail(err, SVIT_E_FORMAT,
                       "no subfolder of '%s' has a picture; *.jpg, *.jpeg and *.png are read",
                       folder);
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_folder(svit_dataset **out, svit_context *context,
                                         const char *folder, size_t height, size_t width,
                                         svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(folder);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, context, &FOLDER, err));
    dataset->height = height;
    dataset->width = width;
    folder_set *own = (folder_set *)dataset;
    svit_status status = classes_list(own, folder, err);
    if (status == SVIT_OK)
        status = pictures_list(own, folder, err);
    if (status != SVIT_OK) {
        svit_dataset_free(dataset);
        return status;
    }
    *out = dataset;
    return SVIT_OK;
}
