/* Loops over the few channels of a pixel. */
#ifndef SV_BY_CHANNELS_H
#define SV_BY_CHANNELS_H

/* A function whose first argument is the number of channels, or of bytes of a pixel. */
#define SV_OF_CHANNELS static inline __attribute__((always_inline)) void

/* Calls such a function with a constant, so that the compiler unrolls its loops over channels. */
#define SV_BY_CHANNELS(channels, function, ...)                                                    \
    ((channels) == 1   ? function(1, __VA_ARGS__)                                                  \
     : (channels) == 4 ? function(4, __VA_ARGS__)                                                  \
                       : function(3, __VA_ARGS__))

/* Does the same with the bytes of a pixel: those of 1, 3 or 4 bytes, or of as many floats. */
#define SV_BY_PIXEL_BYTES(bytes, function, ...)                                                    \
    ((bytes) == 1    ? function(1, __VA_ARGS__)                                                    \
     : (bytes) == 4  ? function(4, __VA_ARGS__)                                                    \
     : (bytes) == 12 ? function(12, __VA_ARGS__)                                                   \
     : (bytes) == 16 ? function(16, __VA_ARGS__)                                                   \
                     : function(3, __VA_ARGS__))

#endif
