/* The image formats that sv_decode reads, and the endings of their files' names. */
#ifndef SV_IMAGE_FORMATS_H
#define SV_IMAGE_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

/* ROW(format, endings): one row for each format, whether or not the build has its decoder. The
 * endings are in lower case, each after a space. */
#define SV_IMAGE_FORMATS(ROW)                                                                      \
    ROW(JPEG, " .jpg .jpeg .jpe .jfif")                                                            \
    ROW(PNG, " .png")                                                                              \
    ROW(WEBP, " .webp")

/* Whether a file's name ends as that of an image, in either case. */
bool sv_is_image_name(const char *name);

/* The place of an ending with its dot, in either case, among those of svit_image_endings. SIZE_MAX:
 * it is none of them. */
size_t sv_image_ending(const char *ending);

#endif
