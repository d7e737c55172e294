/* Calls of the system for files that fail on purpose: see failing_files.c. */
#ifndef FAILING_FILES_H
#define FAILING_FILES_H

#include <stddef.h>

/* What a call of the system does. */
typedef enum file_operation {
    FILE_OPEN,
    FILE_READ,
    FILE_WRITE,
    FILE_SYNC,
    FILE_RENAME,
    FILE_MAKE_FOLDER,
    FILE_CLOSE,
    FILE_STAT,
    FILE_MAP,
    FILE_TRUNCATE,
    FILE_OPEN_FOLDER,
    FILE_LIST,
    FILE_REMOVE,
    FILE_REMOVE_FOLDER,
    FILE_LOCK,
    FILE_RIGHTS,
    FILE_RESOLVE,
    FILE_THREAD, /* no file, but a call that a system without room refuses, too */
    FILE_OPERATIONS
} file_operation;

/* What happens at a call, besides an errno value that it fails with. */
enum {
    FILE_SHORT = -1, /* a read or a write of fewer bytes than were asked for */
    FILE_END = -2,   /* a read that finds the end of the file */
    FILE_FULL = -3,  /* a write of fewer bytes, after which every write fails with ENOSPC */
    FILE_KILL = -4,  /* SIGKILL before the call */
    FILE_TEAR = -5,  /* SIGKILL after the first half of a write */
    FILE_DEAD = -6,  /* the call and every later one fail with EIO */
    FILE_BLIND = -7  /* the call and every later one that examines a file fail with EIO */
};

const char *file_operation_name(file_operation operation);

/* With 1 stops the clock of the process, so that files with times in them have the same bytes in
 * every run; with 0 lets it go on. */
void files_stop_clock(int stands);

/* Counts the calls from now on, and makes call number `n`, from 1, fail with `fault`. 0: no call
 * fails. */
void files_arm(size_t n, int fault);

/* Lets all calls succeed. Returns the number of calls that a fault has changed. */
size_t files_disarm(void);

/* The number of calls since files_arm. */
size_t files_count(void);

/* What call number `n`, from 1, did. */
file_operation files_operation(size_t n);

#endif
