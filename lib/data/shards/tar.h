/* Reading of tar archives: ustar (POSIX.1-1988), pax (POSIX.1-2001) and GNU's long names. Only the
 * headers are read. */
#ifndef SV_TAR_H
#define SV_TAR_H

#include "base/files/file.h"

enum {
    SV_TAR_BLOCK = 512, /* bytes of a header; data begin at multiples of it */
    SV_TAR_NAME = 4096  /* bytes of the longest name */
};

/* How an archive ends. */
typedef enum sv_tar_end {
    SV_TAR_END_ZEROS = 0, /* with zeros */
    SV_TAR_END_MISSING,   /* without: it may be cut between two members */
    SV_TAR_END_DATA       /* with data behind the zeros: it may be two archives in one file */
} sv_tar_end;

/* An archive that is read from its first member to its last. The caller sets the first three
 * members and leaves `at` 0. */
typedef struct sv_tar {
    const sv_allocator *allocator;
    sv_file *file;
    const char *path; /* of the file, for messages */
    uint64_t at;      /* the byte at which the next header begins */
} sv_tar;

/* A regular file in an archive. Its data lie within the archive. */
typedef struct sv_tar_member {
    char name[SV_TAR_NAME + 1];
    uint64_t offset, bytes; /* of its data */
} sv_tar_member;

/* Reads on to the next regular file; members of other kinds are skipped. *is_end says that there is
 * none. The archive ends at a block of zeros or at the end of the file; what follows the zeros is
 * not read.
 *
 * SVIT_E_FORMAT names the archive, the byte and the problem: a header whose checksum or numbers are
 * wrong, a member whose data exceed the file, a sparse file, a longer name than SV_TAR_NAME.
 * SVIT_E_IO, SVIT_E_MEMORY. */
/*@ requires \valid(tar) && \valid(out) && \valid(is_end) && (err == \null || \valid(err));
    requires \separated(tar, out, is_end, err) && tar->at <= file_size(tar->file);
    assigns tar->at, *out, *is_end, *err;
    ensures tar->at <= file_size(tar->file); */
svit_status sv_tar_next(sv_tar *tar, sv_tar_member *out, bool *is_end, svit_error *err);

/* Tells how an archive ends that was read to its end. Of what is behind the first zeros, 1 MiB is
 * looked at, the largest record that tar writes as a rule. SVIT_E_IO. */
svit_status sv_tar_find_end(sv_tar_end *out, const sv_tar *tar, svit_error *err);

/* Replaces the failure `status` of the first call of sv_tar_next by one that says what the file is,
 * if that can be told from its first bytes. Returns its status. */
svit_status sv_tar_explain(const sv_tar *tar, svit_status status, svit_error *err);

#endif
