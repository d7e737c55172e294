/* Walks through a folder of classes: finds the images of each class, also in folders inside of its
 * folder, and counts what is left out. One walk belongs to one thread. */
#ifndef SV_FOLDER_WALK_H
#define SV_FOLDER_WALK_H

#include "base/files/file.h"
#include "context/context.h"

/* Levels of folders below that of its class to which a walk goes at most. */
enum { SV_FOLDER_DEPTH = 32 };

/* Why something is left out. */
enum {
    SV_LEFT_ENDING,  /* a file's name has no ending of an image format */
    SV_LEFT_OUTSIDE, /* an image beside the classes' folders */
    SV_LEFT_LINK,    /* a link beside them that leads nowhere, and may have been one of them */
    SV_LEFT_EMPTY,   /* a subfolder without files */
    SV_LEFT_SEEN,    /* a link to a folder that the class has already, or to the root or above */
    SV_LEFT_DEEP,    /* a folder deeper than SV_FOLDER_DEPTH */
    SV_LEFT_REASONS
};

typedef struct sv_left_out {
    size_t count;
    uint64_t reading;  /* sv_walk.reading when the example was found */
    char example[256]; /* the first one's path in the folder of classes */
} sv_left_out;

/* A walk. The caller sets the first two members and leaves the others zero. Besides the listings it
 * takes at most 1 KiB, or 100 bytes for each folder of one class if that is more. */
typedef struct sv_walk {
    const sv_allocator *allocator;
    const char *root;   /* the folder of classes */
    sv_folder_id *seen; /* [capacity] a hash table of the folders that the class has already */
    size_t seen_count, capacity;
    uint64_t reading; /* the number of the folder that is being read */
    sv_left_out left_out[SV_LEFT_REASONS];
} sv_walk;

/* Lists the names of the subfolders of the root, in byte order, and counts what is left out
 * beside them: images, and links that lead nowhere. Hidden ones are passed over: names with a dot
 * in front, and those that systems create unasked, such as Thumbs.db and __MACOSX. */
svit_status sv_walk_classes(sv_listing *classes, sv_walk *walk, svit_error *err);

/* Lists the images in root/name and in the folders inside, as paths from there in byte order. Each
 * folder is read once, so that symbolic links make no circle. *files counts the images and the
 * files that are none. The caller frees *images with sv_listing_free, also after a failure. */
svit_status sv_walk_images(sv_listing *images, size_t *files, sv_walk *walk, const char *name,
                           svit_error *err);

/* Tells the context's log what was left out: one warning for each reason. */
void sv_walk_report(const sv_walk *walk, const svit_context *context);

void sv_walk_free(sv_walk *walk);

#endif
