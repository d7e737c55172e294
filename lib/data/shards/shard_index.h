/* The index of a shard: where the image of each sample is, and its label. It is made from the
 * headers of the archive and the members that hold labels, and kept in a file beside the shard. */
#ifndef SV_SHARD_INDEX_H
#define SV_SHARD_INDEX_H

#include "base/files/file.h"
#include "data/shards/tar.h"

/* What the name of an index's file has behind that of its shard. */
#define SV_SHARD_INDEX_ENDING ".index"

/* What tells the labels of a shard. */
typedef enum sv_shard_labels {
    SV_LABELS_NONE = 0,   /* there is no sample */
    SV_LABELS_NUMBER = 1, /* the number of a class */
    SV_LABELS_TEXT = 2    /* the name of a class */
} sv_shard_labels;

/* The classes that numbers may have: as many as a model may have. One wrong number would otherwise
 * take the memory of all classes below it. */
enum { SV_SHARD_CLASSES = 1 << 20 };

/* A sample, as it is in memory and in the file of an index. */
typedef struct sv_shard_sample {
    uint64_t offset; /* of the image's bytes in the shard; its header is the block before */
    uint32_t bytes;
    int32_t label; /* the class, or the index of its name among the names */
} sv_shard_sample;

/* An index. All zero: empty. Released by sv_shard_index_free. */
typedef struct sv_shard_index {
    uint64_t shard_bytes;   /* the size of the shard when it was read */
    int64_t shard_modified; /* the time of its last change then, in nanoseconds since 1970 */
    sv_shard_sample *samples;
    size_t count, capacity; /* samples */
    char *names;            /* [name_bytes] texts that end with NUL, distinct and in byte order */
    size_t name_bytes, name_capacity;
    uint32_t name_count;
    uint32_t labels; /* sv_shard_labels */
    sv_tar_end end;  /* how the archive ends */
} sv_shard_index;

/* Reads the index of the shard `path` from its file, or makes it and tries to write the file, whose
 * name is that of the shard and ".index". A file that is damaged, or was made from another state of
 * the shard, is made anew; a file of this name that is no index stays. An archive that does not end
 * in zeros alone has no file.
 *
 * SVIT_E_FORMAT names the shard and the sample or the byte: the archive is damaged, a sample has no
 * image, no label or two members with one ending, or its label is not accepted. SVIT_E_IO,
 * SVIT_E_MEMORY. */
svit_status sv_shard_index_open(sv_shard_index *out, const sv_allocator *allocator,
                                const char *path, svit_error *err);
void sv_shard_index_free(const sv_allocator *allocator, sv_shard_index *index);

/* shard_index_make.c: makes an index from the shard, which is open. The caller frees *out, also
 * after a failure. */
svit_status sv_shard_index_make(sv_shard_index *out, const sv_allocator *allocator, sv_file *file,
                                const char *path, svit_error *err);

/* Appends name[bytes], which includes its NUL byte, to the names of an index. SVIT_E_MEMORY. */
svit_status sv_shard_add_name(sv_shard_index *index, const sv_allocator *allocator,
                              const char *name, size_t bytes, svit_error *err);

#endif
