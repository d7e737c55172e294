/* Contracts of the functions that the proofs call and do not prove. SOUNDNESS.md explains each. */
#ifndef SV_PROOF_ASSUMED_H
#define SV_PROOF_ASSUMED_H

#include "base/files/file.h"
#include "base/memory.h"
#include "base/status.h"

#include <stddef.h>
#include <string.h>

/*@ requires err == \null || \valid(err);
    assigns *err;
    ensures \result == status; */
svit_status sv_fail(svit_error *err, svit_status status, const char *format, ...);

/*@ requires err == \null || \valid(err);
    assigns *err;
    ensures \result == SVIT_E_MEMORY; */
svit_status sv_fail_memory(svit_error *err, size_t bytes, const char *what);

/*@ assigns \result \from bytes;
    ensures \result == \null || \valid((char *)\result + (0 .. bytes - 1)); */
void *sv_allocate(const sv_allocator *allocator, size_t bytes);

/*@ assigns \nothing; */
void sv_release(const sv_allocator *allocator, void *memory, size_t bytes);

/*@ axiomatic files {
      logic integer file_size(sv_file *file);
    } */

/*@ assigns \nothing;
    ensures \result == file_size((sv_file *)file); */
uint64_t sv_file_size(const sv_file *file);

/*@ assigns \nothing; */
int64_t sv_file_modified(const sv_file *file);

/*@ requires \valid((char *)data + (0 .. bytes - 1));
    requires err == \null || \valid(err);
    assigns ((char *)data)[0 .. bytes - 1], *err; */
svit_status sv_file_read_at(sv_file *file, uint64_t offset, void *data, size_t bytes,
                            svit_error *err);

/*@ lemma ended_string: \forall char *s, integer k;
        0 <= k && s[k] == 0 && \valid_read(s + (0 .. k)) ==> valid_read_string(s); */

#endif
