/* Recognises image files by the endings of their names. */
#include "data/decoding/image_formats.h"

#include <shiftvit/image.h>

#include <string.h>
#include <strings.h>

#define ENDINGS_OF(format, endings) endings

SVIT_API const char *svit_image_endings(void)
{
    static const char ALL[] = SV_IMAGE_FORMATS(ENDINGS_OF);
    return ALL + 1;
}

bool sv_is_image_name(const char *name)
{
    const char *ending = strrchr(name, '.');
    if (!ending)
        return false;
    const size_t length = strlen(ending);
    for (const char *at = svit_image_endings(); at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strcspn(at, " ") == length && strncasecmp(at, ending, length) == 0)
            return true;
    }
    return false;
}
