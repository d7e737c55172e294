/* What JavaScript needs beside the C interface: the sizes of its structs, the memory in use, and
 * the pixels of canvases as the library's decoders would give them. */
#include <shiftvit/shiftvit.h>

#include <malloc.h>

/* In the order of STRUCTS in memory.js. */
static const size_t STRUCT_BYTES[] = {
    sizeof(svit_error),          sizeof(svit_model_config),     sizeof(svit_pipeline_config),
    sizeof(svit_session_config), sizeof(svit_optimizer_config), sizeof(svit_head_config),
    sizeof(svit_class_config),   sizeof(svit_context_config),
};
enum { STRUCTS = sizeof STRUCT_BYTES / sizeof *STRUCT_BYTES };

/* Returns the bytes of struct number `index`; 0 past the end. */
SVIT_API size_t module_struct_bytes(size_t index)
{
    return index < STRUCTS ? STRUCT_BYTES[index] : 0;
}

/* Returns the bytes that are allocated. */
SVIT_API size_t module_used_bytes(void)
{
    return (size_t)mallinfo().uordblks;
}

/* Turns n RGBA pixels into as many of `channels` channels, in place, as svit_image_decode does: 1
 * is the luma of the colours, 3 is blended with black, 4 stays. */
SVIT_API void module_convert_rgba(uint8_t *pixels, size_t n, size_t channels)
{
    const uint8_t *in = pixels;
    uint8_t *out = pixels;
    for (size_t i = 0; channels == 1 && i < n; i++, in += 4)
        *out++ = (uint8_t)((19595 * in[0] + 38470 * in[1] + 7471 * in[2] + 0x8000) >> 16);
    for (size_t i = 0; channels == 3 && i < n; i++, in += 4)
        for (size_t c = 0; c < 3; c++)
            *out++ = (uint8_t)((in[c] * in[3] + 127) / 255);
}
