/* sv_file_kind on every start of a file that its callers give it: 0 to SV_FILE_START bytes. */
#include "io/file_kind.c"

#include <__fc_builtin.h>

int main(void)
{
    uint8_t bytes[SV_FILE_START];
    Frama_C_make_unknown((char *)bytes, sizeof bytes);
    //@ loop unroll 65;
    for (size_t n = 0; n <= SV_FILE_START; n++)
        sv_file_kind(bytes + (SV_FILE_START - n), n);
    return 0;
}
