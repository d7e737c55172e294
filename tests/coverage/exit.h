/* In the build that counts coverage, a child of fork that ends by _exit writes its counts before.
 * Every file includes this first, so that it includes nothing itself: files of the library may use
 * names of <unistd.h>. */
void __gcov_dump(void);
_Noreturn void _Exit(int status);

static inline _Noreturn void exit_with_counts(int status)
{
    __gcov_dump();
    _Exit(status);
}
#define _exit exit_with_counts
