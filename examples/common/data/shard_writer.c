/* Writes tar archives (ustar) of images and labels. Nothing in them depends on the time or the
 * user. */
#include "data/shard_writer.h"

#include "data/png_bytes.h"
#include "program/path_text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 512 };

typedef struct writer {
    struct program *program;
    const svit_dataset *data;
    char folder[PATH_CAPACITY]; /* of the archives */
    const char *name;           /* what their names begin with */
    FILE *file;                 /* the archive that is being written, or NULL */
    size_t shards;              /* that were begun */
    uint8_t *pixels;            /* of an image */
    png_bytes image;            /* the bytes of its file */
} writer;

/* Writes the path of archive `shard`, or that under which it is written. */
static svit_status shard_path(writer *self, char *path, size_t shard, int is_part)
{
    char name[300];
    snprintf(name, sizeof name, is_part ? ".%.200s-%06zu.tar.part" : "%.200s-%06zu.tar", self->name,
             shard);
    return path_join(self->program, path, self->folder, name);
}

static svit_status fail_write(writer *self, const char *path)
{
    return program_fail(self->program, SVIT_E_IO, "cannot write '%s': %s", path, strerror(errno));
}

/* Removes what an export that was killed has left: an archive that never got its name. */
static void remove_part(writer *self, const char *entry)
{
    char path[PATH_CAPACITY];
    const size_t front = strlen(self->name);
    const char *rest = entry + 1 + front;
    if (entry[0] == '.' && strncmp(entry + 1, self->name, front) == 0 && rest[0] == '-' &&
        strcmp(rest + 1 + strspn(rest + 1, "0123456789"), ".tar.part") == 0 &&
        path_join(self->program, path, self->folder, entry) == SVIT_OK)
        unlink(path);
}

/* Fails if the folder has an archive of this name: a pattern would take old and new ones together.
 */
static svit_status check_free(writer *self)
{
    DIR *folder = opendir(self->folder);
    if (!folder)
        return program_fail(self->program, SVIT_E_IO, "cannot open the folder '%s': %s",
                            self->folder, strerror(errno));
    const size_t front = strlen(self->name);
    const struct dirent *entry;
    char found[256] = "";
    while ((entry = readdir(folder))) {
        remove_part(self, entry->d_name);
        const char *rest = entry->d_name + front;
        if (strncmp(entry->d_name, self->name, front) == 0 && rest[0] == '-' &&
            strspn(rest + 1, "0123456789") > 0 && strstr(rest, ".tar"))
            snprintf(found, sizeof found, "%s", entry->d_name);
    }
    closedir(folder);
    if (found[0])
        return program_fail(self->program, SVIT_E_STATE,
                            "'%s/%s' is there already; remove the shards, or take another name: "
                            "--shards DIR/PREFIX",
                            self->folder, found);
    return SVIT_OK;
}

/* Checks the names of classes and a classes.txt that is there; writes one if there is none and
 * `writes` is set. */
static svit_status name_classes(writer *self, int writes)
{
    char path[PATH_CAPACITY], *text = NULL, *old = NULL;
    size_t bytes = 0;
    if (!svit_dataset_class_name(self->data, 0))
        return SVIT_OK;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return program_fail(self->program, SVIT_E_MEMORY, "no memory for the names of classes");
    svit_status status = path_join(self->program, path, self->folder, "classes.txt");
    for (size_t k = 0; k < svit_dataset_classes(self->data) && status == SVIT_OK; k++) {
        const char *name = svit_dataset_class_name(self->data, k);
        if (name[0] == '\0' || strpbrk(name, "\r\n"))
            status = program_fail(self->program, SVIT_E_UNSUPPORTED,
                                  "the name of class %zu is empty or has a line break; classes.txt "
                                  "has one name on each line",
                                  k);
        fprintf(out, "%s\n", name);
    }
    if (fclose(out) != 0 && status == SVIT_OK)
        status = program_fail(self->program, SVIT_E_MEMORY, "no memory for the names of classes");
    if (status == SVIT_OK && path_exists(path)) {
        status = path_read_text(self->program, path, &old);
        if (status == SVIT_OK && strcmp(old, text) != 0)
            status =
                program_fail(self->program, SVIT_E_STATE,
                             "'%s' has other classes; shards of one folder share them, so take "
                             "another folder",
                             path);
    } else if (status == SVIT_OK && writes) {
        status = svit_file_replace(path, text, bytes, &self->program->err);
    }
    free(old);
    free(text);
    return status;
}

static svit_status begin_shard(writer *self)
{
    char path[PATH_CAPACITY];
    TRY(shard_path(self, path, self->shards, 1));
    self->file = fopen(path, "wb");
    if (!self->file)
        return fail_write(self, path);
    self->shards++;
    return SVIT_OK;
}

/* Ends the archive with two blocks of zeros, on the disk. */
static svit_status end_shard(writer *self)
{
    static const char zeros[2 * BLOCK];
    char path[PATH_CAPACITY];
    if (!self->file)
        return SVIT_OK;
    TRY(shard_path(self, path, self->shards - 1, 1));
    FILE *file = self->file;
    self->file = NULL;
    int failed =
        fwrite(zeros, sizeof zeros, 1, file) != 1 || fflush(file) != 0 || fsync(fileno(file)) != 0;
    const int code = errno; /* of the first failure */
    if (fclose(file) == 0 || failed)
        errno = code;
    else
        failed = 1;
    return failed ? fail_write(self, path) : SVIT_OK;
}

/* Appends a member: its header, its data, and zeros up to a whole block. */
static svit_status put_member(writer *self, size_t index, const char *ending, const void *data,
                              size_t bytes)
{
    /* Eleven octal digits; no image that the library decodes is nearly as large. */
    static const unsigned long long MOST = 077777777777;
    static const char zeros[BLOCK];
    char header[BLOCK] = {0}, path[PATH_CAPACITY];
    unsigned sum = 0;
    if ((unsigned long long)bytes > MOST)
        return program_fail(self->program, SVIT_E_UNSUPPORTED,
                            "image %zu has %zu bytes; a member of an archive has at most %llu",
                            index, bytes, MOST);
    snprintf(header, 100, "%09zu.%s", index, ending);
    memcpy(header + 100, "0000644", 7);                               /* mode */
    memcpy(header + 108, "0000000", 7);                               /* user */
    memcpy(header + 116, "0000000", 7);                               /* group */
    snprintf(header + 124, 12, "%011llo", (unsigned long long)bytes); /* size */
    memcpy(header + 136, "00000000000", 11);                          /* time */
    memset(header + 148, ' ', 8);                                     /* checksum */
    header[156] = '0';                                                /* a file */
    memcpy(header + 257, "ustar\00000", 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum & 0777777u);
    const size_t rest = (BLOCK - bytes % BLOCK) % BLOCK;
    if (fwrite(header, BLOCK, 1, self->file) == 1 && fwrite(data, 1, bytes, self->file) == bytes &&
        fwrite(zeros, 1, rest, self->file) == rest)
        return SVIT_OK;
    TRY(shard_path(self, path, self->shards - 1, 1));
    return fail_write(self, path);
}

/* Reads a whole file to self->image. */
static svit_status read_file(writer *self, const char *path)
{
    png_bytes *image = &self->image;
    FILE *file = fopen(path, "rb");
    size_t got = 1;
    image->length = 0;
    while (file && got > 0) {
        if (image->length == image->capacity) {
            const size_t capacity = 2 * image->capacity + 65536;
            unsigned char *larger = realloc(image->data, capacity);
            if (!larger)
                break;
            image->data = larger;
            image->capacity = capacity;
        }
        got = fread(image->data + image->length, 1, image->capacity - image->length, file);
        image->length += got;
    }
    const int failed = !file || ferror(file) || got > 0;
    const int code = errno;
    if (file)
        fclose(file);
    if (failed)
        return program_fail(self->program, SVIT_E_IO, "cannot read '%s': %s", path, strerror(code));
    return SVIT_OK;
}

/* The ending of an image file by its first bytes, as the library knows formats; NULL: it is none.
 */
static const char *ending_of(const png_bytes *image)
{
    static const struct {
        const char *bytes, *ending;
    } FORMATS[] = {{"\xff\xd8", "jpg"}, {"\x89PNG", "png"}, {"RIFF", "webp"}};
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
        const size_t length = strlen(FORMATS[i].bytes);
        if (image->length >= length && memcmp(image->data, FORMATS[i].bytes, length) == 0)
            return FORMATS[i].ending;
    }
    return NULL;
}

/* Brings the bytes of an image and their ending: its file, or what it becomes. */
static svit_status bring_image(writer *self, size_t index, const char **ending)
{
    struct program *program = self->program;
    char path[PATH_CAPACITY];
    int32_t label;
    TRY(svit_dataset_path(self->data, index, path, sizeof path, NULL, &program->err));
    if (!path[0]) {
        *ending = "png";
        TRY(svit_dataset_sample(self->data, index, self->pixels, &label, &program->err));
        return canvas_encode(&self->image, program, self->pixels, svit_dataset_height(self->data),
                             svit_dataset_width(self->data));
    }
    TRY(read_file(self, path));
    *ending = ending_of(&self->image);
    if (!*ending)
        return program_fail(program, SVIT_E_FORMAT, "'%s' is no JPEG, PNG or WebP image", path);
    return SVIT_OK;
}

static svit_status put_sample(writer *self, size_t index)
{
    char label_text[16];
    const char *ending = NULL;
    int32_t label = 0;
    TRY(svit_dataset_label(self->data, index, &label, &self->program->err));
    TRY(bring_image(self, index, &ending));
    const int length = snprintf(label_text, sizeof label_text, "%d", label);
    TRY(put_member(self, index, "cls", label_text, (size_t)length));
    return put_member(self, index, ending, self->image.data, self->image.length);
}

static svit_status put_samples(writer *self, size_t count, size_t per_shard)
{
    for (size_t i = 0; i < count; i++) {
        if (i % per_shard == 0) {
            TRY(end_shard(self));
            TRY(begin_shard(self));
        }
        TRY(put_sample(self, i));
    }
    return end_shard(self);
}

/* Gives all archives their names; *named is the number of those that have them. */
static svit_status name_shards(writer *self, size_t *named)
{
    char part[PATH_CAPACITY], path[PATH_CAPACITY];
    for (; *named < self->shards; ++*named) {
        TRY(shard_path(self, part, *named, 1));
        TRY(shard_path(self, path, *named, 0));
        if (rename(part, path) != 0)
            return fail_write(self, path);
    }
    return SVIT_OK;
}

/* Names what has been written or, after a failure, removes it. */
static svit_status finish(writer *self, svit_status status)
{
    char path[PATH_CAPACITY];
    size_t named = 0;
    if (status == SVIT_OK)
        status = name_shards(self, &named);
    if (status == SVIT_OK)
        status = name_classes(self, 1);
    for (size_t k = 0; status != SVIT_OK && k < self->shards; k++)
        if (shard_path(self, path, k, k >= named) == SVIT_OK)
            unlink(path);
    return status;
}

/* The beginning of the names of a prefix's archives. */
static const char *shards_name(const char *prefix)
{
    const char *slash = strrchr(prefix, '/');
    return slash ? slash + 1 : prefix;
}

svit_status shards_folder(struct program *self, char *folder, const char *prefix)
{
    const char *name = shards_name(prefix);
    const int length = (int)(name - prefix);
    if (!name[0] || strlen(name) > 200 || strlen(prefix) >= PATH_CAPACITY)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--shards is '%.80s'; a folder and the beginning of a name of at most "
                            "200 characters are needed, such as data/train",
                            prefix);
    /* Without the slash, which is the folder where it comes first. */
    snprintf(folder, PATH_CAPACITY, "%.*s", length > 1 ? length - 1 : 1, length ? prefix : ".");
    return SVIT_OK;
}

/* Splits the prefix into its folder, which is created, and the names' beginning. */
static svit_status open_folder(writer *self, const char *prefix)
{
    self->name = shards_name(prefix);
    TRY(shards_folder(self->program, self->folder, prefix));
    TRY(path_make_folder(self->program, self->folder));
    return check_free(self);
}

svit_status shards_write(struct program *self, const svit_dataset *data, const char *prefix,
                         size_t count, size_t per_shard, size_t *shards)
{
    writer out = {.program = self, .data = data};
    if (svit_dataset_has_targets(data))
        return program_fail(
            self, SVIT_E_ARGUMENT,
            "--shards: the data have numbers instead of classes; shards have the class of each "
            "image");
    TRY(open_folder(&out, prefix));
    out.pixels = calloc(svit_dataset_height(data) * svit_dataset_width(data), 3);
    svit_status status = out.pixels ? name_classes(&out, 0)
                                    : program_fail(self, SVIT_E_MEMORY, "no memory for an image");
    if (status == SVIT_OK)
        status = put_samples(&out, count, per_shard);
    if (out.file)
        fclose(out.file);
    *shards = out.shards;
    status = finish(&out, status);
    free(out.image.data);
    free(out.pixels);
    return status;
}
