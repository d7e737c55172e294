/* The public constants by name, for languages that cannot read C headers. */
#ifndef SV_CONSTANTS_H
#define SV_CONSTANTS_H

#include "base/status.h"

/* A row has its name in itself: a pointer would need a relocation, which takes more room. */
typedef struct sv_constant {
    char name[40];
    int32_t value;
} sv_constant;

/* All enumerators of the public headers, and a row without a name after them. The build makes the
 * table from the headers, with constants.awk. */
extern const sv_constant sv_constants[];

#endif
