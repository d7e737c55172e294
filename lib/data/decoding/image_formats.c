/* Recognises image files by the endings of their names. */
#include "data/decoding/image_formats.h"

#include "base/text/ascii.h"

#include <shiftvit/image.h>

#include <stdint.h>
#include <string.h>

#define ENDINGS_OF(format, endings) endings

SVIT_API const char *svit_image_endings(void)
{
    static const char ALL[] = SV_IMAGE_FORMATS(ENDINGS_OF);
    return ALL + 1;
}

size_t sv_image_ending(const char *ending)
{
    const size_t length = strlen(ending);
    size_t place = 0;
    for (const char *at = svit_image_endings(); at; at = strchr(at, ' '), place++) {
        at += *at == ' ';
        if (strcspn(at, " ") == length && sv_ascii_equal(at, ending, length))
            return place;
    }
    return SIZE_MAX;
}

bool sv_is_image_name(const char *name)
{
    const char *ending = strrchr(name, '.');
    return ending && sv_image_ending(ending) != SIZE_MAX;
}
