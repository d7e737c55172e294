/* What the WebP reader assumes of libwebp. */
#ifndef SV_PROOF_ASSUMED_WEBP_H
#define SV_PROOF_ASSUMED_WEBP_H

#include <webp/decode.h>

/*@ requires \valid_read(data + (0 .. bytes - 1)) && \valid(features);
    assigns *features; */
static inline VP8StatusCode WebPGetFeatures(const uint8_t *data, size_t bytes,
                                            WebPBitstreamFeatures *features);

#endif
