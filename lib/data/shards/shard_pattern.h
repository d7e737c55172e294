/* The shards that a text stands for. */
#ifndef SV_SHARD_PATTERN_H
#define SV_SHARD_PATTERN_H

#include "base/files/file.h"

/* Lists the paths of the shards of `pattern`: with a range such as {000..127}, one for each number,
 * padded with zeros to the digits of the longer of both if one begins with 0; with * or ? in the
 * name of the file, the files of the folder whose names match, in byte order, but no hidden ones
 * and no indices; otherwise one path. The caller frees *out with sv_listing_free, also after a
 * failure. SVIT_E_ARGUMENT: there are several ranges, or one that falls or is too long; a brace
 * that begins none is a character of the path, whose name is refused only if no file has it.
 * SVIT_E_IO: no file matches, or the folder cannot be listed. */
svit_status sv_shard_paths(sv_listing *out, const sv_allocator *allocator, const char *pattern,
                           svit_error *err);

#endif
