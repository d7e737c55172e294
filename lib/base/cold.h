/* Code that runs seldom, such as once for a file that is opened or a configuration that is written.
 */
#ifndef SV_COLD_H
#define SV_COLD_H

/* Begins the declaration of such a function: the compiler makes it, and what it alone calls, small
 * instead of fast. */
#if defined(__GNUC__)
#define SV_COLD __attribute__((cold))
#else
#define SV_COLD
#endif

#endif
