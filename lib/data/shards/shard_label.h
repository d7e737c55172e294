/* The member of a sample that says its class. */
#ifndef SV_SHARD_LABEL_H
#define SV_SHARD_LABEL_H

#include "base/files/file.h"
#include "data/shards/shard_index.h"

/* Bytes of a member of this kind that are read at most. */
enum { SV_SHARD_LABEL_LIMIT = 1 << 20 };

/* Adds the label of a sample to an index: *label is a class, or the offset of a name that was added
 * to index->names. text[bytes], which ends with a NUL byte, is the member: a decimal number, or, if
 * is_json, an object as Python writes it, in which the first of "label", "cls" and "class" counts
 * that is a number from 0 on or a name. `where` names the sample. SVIT_E_FORMAT: it is none of
 * these, of another kind than the label of the sample before, or not below SV_SHARD_CLASSES. */
svit_status sv_shard_label_read(sv_shard_index *index, const sv_allocator *allocator,
                                int32_t *label, const char *text, size_t bytes, bool is_json,
                                const char *where, svit_error *err);

#endif
