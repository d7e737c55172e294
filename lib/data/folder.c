/* Datasets of image files in one subfolder for each class. The names are listed once; images are
 * decoded when they are read. */
#include "base/file.h"
#include "data/checks.h"
#include "data/dataset_ops.h"
#include "data/image_file.h"
#include "data/path.h"
#include "data/pipeline_config.h"
#include "data/source.h"

#include <string.h>
#include <strings.h>

/* The images of one class. */
typedef struct class_files {
    sv_listing listing;
    char *folder;
} class_files;

typedef struct folder_set {
    svit_dataset base;
    sv_source source;    /* how an image is brought to the size of the dataset */
    sv_listing classes;  /* names of subfolders, those with images first */
    size_t folder_count; /* subfolders */
    class_files *files;  /* [folder_count] in the order of `classes` */
    size_t *first;       /* [folder_count + 1] index of each class's first sample */
} folder_set;

/* The class of sample `index`, by binary search. */
static size_t class_of(const folder_set *self, size_t index)
{
    size_t low = 0;
    size_t high = self->base.classes;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (self->first[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static svit_status image_load(const folder_set *self, const char *path, uint8_t *out,
                              svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    sv_pixels pixels;
    SVIT_TRY(sv_image_file_read(&pixels, allocator, path, self->base.channels, err));
    svit_status status = sv_source_step(allocator, &self->source, pixels.data, pixels.height,
                                        pixels.width, out, err);
    sv_release(allocator, pixels.data, pixels.bytes);
    return status;
}

static svit_status folder_label(const svit_dataset *dataset, size_t index, int32_t *label,
                                svit_error *err)
{
    (void)err;
    *label = (int32_t)class_of((const folder_set *)dataset, index);
    return SVIT_OK;
}

static svit_status folder_sample(const svit_dataset *dataset, size_t index, void *pixels,
                                 int32_t *label, svit_error *err)
{
    const folder_set *self = (const folder_set *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    size_t class = class_of(self, index);
    const class_files *files = &self->files[class];
    char *path = NULL;
    SVIT_TRY(sv_path_join(&path, allocator, files->folder,
                          files->listing.names[index - self->first[class]], err));
    svit_status status = image_load(self, path, pixels, err);
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

static void folder_free(svit_dataset *dataset)
{
    folder_set *self = (folder_set *)dataset;
    const sv_allocator *allocator = &dataset->context->allocator;
    for (size_t i = 0; self->files && i < self->folder_count; i++)
        files_free(allocator, &self->files[i]);
    sv_release(allocator, self->files, self->folder_count * sizeof *self->files);
    sv_release(allocator, self->first, (self->folder_count + 1) * sizeof *self->first);
    sv_listing_free(allocator, &self->classes);
}

static const sv_dataset_ops FOLDER = {.bytes = sizeof(folder_set),
                                      .sample = folder_sample,
                                      .label = folder_label,
                                      .free = folder_free};

static bool is_image(const char *name)
{
    static const char *const ENDINGS[] = {".jpg", ".jpeg", ".png"};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof ENDINGS / sizeof *ENDINGS; i++)
        if (strcasecmp(ending, ENDINGS[i]) == 0)
            return true;
    return false;
}

/* Keeps only the subfolders, or only the images, of a listing in their order. Hidden entries are
 * dropped: folders such as .git, and the ._NAME.jpg of macOS, which are not images. */
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

static svit_status subfolders_list(folder_set *self, const char *folder, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    SVIT_TRY(sv_folder_list(&self->classes, allocator, folder, err));
    listing_keep(&self->classes, allocator, true);
    size_t count = self->classes.count;
    if (count > INT32_MAX)
        return sv_fail(err, SVIT_E_FORMAT, "'%s' has %zu subfolders; at most %d are read", folder,
                       count, INT32_MAX);
    self->folder_count = count;
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(allocator, &memory, count, sizeof *self->files, "a folder", err));
    self->files = memory;
    SVIT_TRY(
        sv_allocate_array(allocator, &memory, count + 1, sizeof *self->first, "a folder", err));
    self->first = memory;
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

/* Lists the images of each subfolder. A subfolder without images is not a class. */
static svit_status classes_list(folder_set *self, const char *folder, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    SVIT_TRY(subfolders_list(self, folder, err));
    sv_listing *classes = &self->classes;
    size_t kept = 0;
    for (size_t i = 0; i < self->folder_count; i++) {
        SVIT_TRY(images_list(&self->files[i], allocator, folder, classes->names[i], err));
        if (self->files[i].listing.count == 0) {
            files_free(allocator, &self->files[i]);
            continue;
        }
        char *name = classes->names[i];
        classes->names[i] = classes->names[kept];
        classes->names[kept] = name;
        class_files files = self->files[i];
        self->files[i] = self->files[kept];
        self->files[kept] = files;
        self->first[kept + 1] = self->first[kept] + files.listing.count;
        kept++;
    }
    if (kept == 0)
        return sv_fail(err, SVIT_E_FORMAT,
                       "no subfolder of '%s' has an image; one for each class is needed, with "
                       "*.jpg, *.jpeg or *.png in it",
                       folder);
    self->base.classes = kept;
    self->base.names = (const char *const *)classes->names;
    self->base.count = self->first[kept];
    return SVIT_OK;
}

static svit_status create(svit_dataset **out, svit_context *context, const char *folder,
                          const sv_source *source, svit_error *err)
{
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, context, &FOLDER, err));
    dataset->height = source->height;
    dataset->width = source->width;
    dataset->channels = source->channels;
    folder_set *self = (folder_set *)dataset;
    self->source = *source;
    svit_status status = classes_list(self, folder, err);
    if (status != SVIT_OK) {
        svit_dataset_free(dataset);
        return status;
    }
    *out = dataset;
    return SVIT_OK;
}

SVIT_API svit_status svit_dataset_folder(svit_dataset **out, svit_context *context,
                                         const char *folder, size_t height, size_t width,
                                         size_t channels, int32_t filter, svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(folder);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_channels(__func__, channels, err));
    SVIT_TRY(sv_source_filter_check(filter, __func__, "filter", err));
    const sv_source source = sv_source_make(filter, height, width, channels);
    return create(out, context, folder, &source, err);
}

SVIT_API svit_status svit_dataset_folder_pipeline(svit_dataset **out, svit_context *context,
                                                  const char *folder,
                                                  const svit_pipeline_config *pipeline,
                                                  svit_error *err)
{
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(folder);
    SV_REQUIRE(pipeline);
    svit_pipeline_config local;
    SVIT_TRY(sv_pipeline_config_read(&local, pipeline, err));
    const sv_source source = sv_source_of(&local);
    return create(out, context, folder, &source, err);
}
