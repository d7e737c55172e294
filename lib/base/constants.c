/* Finds public constants by name and by index. */
#include "base/constants.h"

#include <string.h>

SVIT_API svit_status svit_constant(const char *name, int64_t *value, svit_error *err)
{
    SV_REQUIRE(name);
    SV_REQUIRE(value);
    for (const sv_constant *constant = sv_constants; constant->name[0]; constant++)
        if (strcmp(constant->name, name) == 0) {
            *value = constant->value;
            return SVIT_OK;
        }
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "name is '%.100s'; svit_constant_name lists the constants that there are", name);
}

SVIT_API const char *svit_constant_name(size_t index)
{
    size_t count = 0;
    while (sv_constants[count].name[0])
        count++;
    return index < count ? sv_constants[index].name : NULL;
}
