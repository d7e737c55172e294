/* The table of element types at each of them. */
#include "tensor/dtype.c"

int main(void)
{
    //@ loop unroll 22;
    for (unsigned i = 0; i <= SV_DTYPE_BOOL; i++) {
        sv_dtype_bits((sv_dtype)i);
        sv_dtype_name((sv_dtype)i);
    }
    return 0;
}
