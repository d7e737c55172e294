/* Loops over the channels of a pixel, which are mostly few. */
#ifndef SV_BY_CHANNELS_H
#define SV_BY_CHANNELS_H

/* A function whose first argument is the number of channels, or of bytes of a pixel. */
#define SV_OF_CHANNELS static inline __attribute__((always_inline)) void

#ifdef __OPTIMIZE_SIZE__ /* a build that is to be small has each loop once */
#define SV_BY_CHANNELS(channels, function, ...) function(channels, __VA_ARGS__)
#define SV_BY_PIXEL_BYTES(bytes, function, ...) function(bytes, __VA_ARGS__)
#else
/* Calls such a function with a constant where the channels are those of image files, so that the
 * compiler unrolls its loops over them. */
#define SV_BY_CHANNELS(channels, function, ...)                                                    \
    ((channels) == 3   ? function(3, __VA_ARGS__)                                                  \
     : (channels) == 1 ? function(1, __VA_ARGS__)                                                  \
     : (channels) == 4 ? function(4, __VA_ARGS__)                                                  \
                       : function(channels, __VA_ARGS__))

/* Does the same with the bytes of a pixel: those of 1, 3 or 4 bytes, or of as many floats. */
#define SV_BY_PIXEL_BYTES(bytes, function, ...)                                                    \
    ((bytes) == 12   ? function(12, __VA_ARGS__)                                                   \
     : (bytes) == 16 ? function(16, __VA_ARGS__)                                                   \
                     : SV_BY_CHANNELS(bytes, function, __VA_ARGS__))
#endif

#endif
