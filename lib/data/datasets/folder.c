/* Datasets of image files in one subfolder for each class. The paths are listed once; images are
 * decoded when they are read. A listing holds, for each image, its path from the class's folder, 2
 * bytes and a pointer (file.h). */
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/threads/fp_env.h"
#include "data/checks.h"
#include "data/datasets/dataset_ops.h"
#include "data/datasets/folder_walk.h"
#include "data/datasets/path.h"

#include <shiftvit/image.h>

/* The images of one class. */
typedef struct class_files {
    sv_listing listing; /* paths from `folder` */
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

static svit_status folder_label(const svit_dataset *dataset, size_t index, int32_t *label,
                                svit_error *err)
{
    (void)err;
    *label = (int32_t)class_of((const folder_set *)dataset, index);
    return SVIT_OK;
}

static svit_status folder_path(const svit_dataset *dataset, size_t index, char **path,
                               svit_error *err)
{
    const folder_set *self = (const folder_set *)dataset;
    size_t class = class_of(self, index);
    const class_files *files = &self->files[class];
    return sv_path_join(path, &dataset->context->allocator, files->folder,
                        files->listing.names[index - self->first[class]], err);
}

static svit_status folder_sample(const svit_dataset *dataset, size_t index,
                                 const sv_first_crop *crop, void *pixels, int32_t *label,
                                 svit_error *err)
{
    const folder_set *self = (const folder_set *)dataset;
    char *path = NULL;
    SVIT_TRY(sv_dataset_file(dataset, index, &path, err));
    svit_status status = sv_source_read(dataset->context, &self->source, path, crop, pixels, err);
    sv_release_text(&dataset->context->allocator, path);
    SVIT_TRY(status);
    *label = (int32_t)class_of(self, index);
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
                                      .path = folder_path,
                                      .free = folder_free};

/* Lists the subfolders of the walk's root. */
static svit_status subfolders_list(folder_set *self, sv_walk *walk, svit_error *err)
{
    const sv_allocator *allocator = &self->base.context->allocator;
    SVIT_TRY(sv_walk_classes(&self->classes, walk, err));
    size_t count = self->classes.count;
    if (count > INT32_MAX)
        return sv_fail(err, SVIT_E_FORMAT, "'%s' has %zu subfolders; at most %d are read",
                       walk->root, count, INT32_MAX);
    self->folder_count = count;
    void *memory = NULL;
    SVIT_TRY(sv_allocate_array(allocator, &memory, count, sizeof *self->files, "a folder", err));
    self->files = memory;
    SVIT_TRY(
        sv_allocate_array(allocator, &memory, count + 1, sizeof *self->first, "a folder", err));
    self->first = memory;
    return SVIT_OK;
}

/* Lists the images of a class. A folder without any file is no class; one whose files are all no
 * images is a mistake that would silently remove a class. */
static svit_status images_list(class_files *files, sv_walk *walk, const char *name, svit_error *err)
{
    size_t count = 0;
    SVIT_TRY(sv_path_join(&files->folder, walk->allocator, walk->root, name, err));
    SVIT_TRY(sv_walk_images(&files->listing, &count, walk, name, err));
    if (count > 0 && files->listing.count == 0)
        return sv_fail(
            err, SVIT_E_FORMAT,
            "'%s' has files (%zu) and no image among them; files that end in %s are read",
            files->folder, count, svit_image_endings());
    if (count == 0)
        return SVIT_OK;
    SVIT_TRY(sv_name_check(walk->root, name, err));
    for (size_t i = 0; i < files->listing.count; i++)
        SVIT_TRY(sv_name_check(files->folder, files->listing.names[i], err));
    return SVIT_OK;
}

/* Moves class `from` to the place `to`, whose entry takes its place. */
static void swap_classes(folder_set *self, size_t from, size_t to)
{
    char *name = self->classes.names[from];
    self->classes.names[from] = self->classes.names[to];
    self->classes.names[to] = name;
    class_files files = self->files[from];
    self->files[from] = self->files[to];
    self->files[to] = files;
}

/* Lists the images of each subfolder. Those without any come last and are no classes. */
static svit_status classes_list(folder_set *self, sv_walk *walk, svit_error *err)
{
    SVIT_TRY(subfolders_list(self, walk, err));
    size_t kept = 0;
    for (size_t i = 0; i < self->folder_count; i++) {
        SVIT_TRY(images_list(&self->files[i], walk, self->classes.names[i], err));
        if (self->files[i].listing.count == 0)
            continue;
        swap_classes(self, i, kept);
        self->first[kept + 1] = self->first[kept] + self->files[kept].listing.count;
        kept++;
    }
    if (kept == 0)
        return sv_fail(
            err, SVIT_E_FORMAT,
            "no subfolder of '%s' has an image; one for each class is needed, with files "
            "in it that end in %s",
            walk->root, svit_image_endings());
    if (self->first[kept] > UINT32_MAX)
        return sv_fail(err, SVIT_E_FORMAT, "'%s' has %zu images; at most %u are read", walk->root,
                       self->first[kept], UINT32_MAX);
    self->base.classes = kept;
    self->base.names = (const char *const *)self->classes.names;
    self->base.count = self->first[kept];
    return SVIT_OK;
}

static svit_status create(svit_dataset **out, svit_context *context, const char *folder,
                          const sv_source *source, svit_error *err)
{
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, context, &FOLDER, err));
    sv_dataset_set_files(dataset, source);
    folder_set *self = (folder_set *)dataset;
    self->source = *source;
    sv_walk walk = {.allocator = &context->allocator, .root = folder};
    svit_status status = sv_path_home(&dataset->home, &context->allocator, folder, err);
    if (status == SVIT_OK)
        status = classes_list(self, &walk, err);
    sv_walk_free(&walk);
    if (status == SVIT_OK)
        sv_walk_report(&walk, context);
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
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(folder);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_file_channels(__func__, channels, err));
    SVIT_TRY(sv_source_filter_check(filter, __func__, "filter", err));
    const sv_source source = sv_source_make(filter, height, width, channels);
    return create(out, context, folder, &source, err);
}

SVIT_API svit_status svit_dataset_folder_pipeline(svit_dataset **out, svit_context *context,
                                                  const char *folder,
                                                  const svit_pipeline_config *pipeline,
                                                  svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    SV_REQUIRE(folder);
    SV_REQUIRE(pipeline);
    sv_source source;
    SVIT_TRY(sv_source_of_files(&source, __func__, pipeline, err));
    return create(out, context, folder, &source, err);
}
