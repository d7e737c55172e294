/* Writes a data set as WebDataset's shards. */
#ifndef EXAMPLE_SHARD_WRITER_H
#define EXAMPLE_SHARD_WRITER_H

#include "program/program.h"

/* Writes the folder of the archives of a prefix to folder[PATH_CAPACITY]. */
svit_status shards_folder(struct program *self, char *folder, const char *prefix);

/* Writes the first `count` images of `data` to the tar archives PREFIX-000000.tar,
 * PREFIX-000001.tar, ..., of `per_shard` samples each, and the names of the classes to classes.txt
 * beside them. An image that is a file is copied as it is, another becomes a PNG file. The same
 * data give the same bytes. The archives get their names when all have been written; after a
 * failure there are none. *shards is their number.
 *
 * SVIT_E_STATE: there are archives of that prefix, or classes.txt has other names.
 * SVIT_E_UNSUPPORTED: the data have targets instead of labels, or the name of a class has a line
 * break. */
svit_status shards_write(struct program *self, const svit_dataset *data, const char *prefix,
                         size_t count, size_t per_shard, size_t *shards);

#endif
