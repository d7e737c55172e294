/* Chooses between the operations on colours and on positions. */
#include "data/augmentation/operations.h"

#include <string.h>

void sv_operation_apply(uint8_t *out, const uint8_t *in, size_t height, size_t width,
                        sv_operation operation, double value)
{
    if (operation == SV_IDENTITY)
        memcpy(out, in, height * width * 3);
    else if (operation <= SV_ROTATE)
        sv_geometry_apply(out, in, height, width, operation, value);
    else
        sv_color_apply(out, in, height, width, operation, value);
}
