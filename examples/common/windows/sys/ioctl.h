/* The width of a terminal, which is taken for unknown. */
#ifndef EXAMPLE_WINDOWS_IOCTL_H
#define EXAMPLE_WINDOWS_IOCTL_H

enum { TIOCGWINSZ };
struct winsize {
    unsigned short ws_col;
};

static inline int ioctl(int file, int request, struct winsize *size)
{
    (void)file;
    (void)request;
    (void)size;
    return -1;
}

#endif
