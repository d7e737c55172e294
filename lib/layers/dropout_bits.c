/* Dropout and DropPath from counter-based random numbers. */
#include "layers/dropout_bits.h"

#include "base/numbers/random.h"

enum { STEPS = 65536 };

void sv_dropout_rate(uint32_t *threshold, real *scale, double rate)
{
    uint32_t steps = (uint32_t)(rate * STEPS + 0.5);
    *threshold = steps < STEPS ? steps : STEPS - 1;
    *scale = (real)((double)STEPS / (STEPS - *threshold));
}

void sv_dropout_mask(const sv_run *run, uint32_t number, uint32_t which, uint32_t threshold,
                     uint32_t *words, size_t first, size_t blocks, size_t c)
{
    sv_mask_source source = {
        {(uint32_t)run->pass.seed, (uint32_t)(run->pass.seed >> 32)},
        {(number * 2 + which) * 4, (uint32_t)run->pass.counter,
         SV_STREAM_DROPOUT << 24 | (uint32_t)(run->pass.counter >> 32 & 0xFFFFFF)},
        threshold};
    run->exec.context->kernels->dropout_mask(words, &source, first, blocks, c);
}

void sv_draw_drop_path_scales(const sv_run *run, uint32_t number, double rate, real *scales)
{
    double keep = 1 - rate;
    for (size_t image = 0; image < run->pass.n; image++) {
        sv_random random;
        sv_random_start(&random, run->pass.seed, SV_STREAM_DROP_PATH,
                        run->pass.counter << 16 | number, (uint32_t)image);
        scales[image] = sv_random_unit(&random) < keep ? (real)(1 / keep) : 0;
    }
}
