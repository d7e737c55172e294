/* Reads the headers of tar archives, as Python's tarfile understands them. */
#include "data/shards/tar.h"

#include "base/size.h"
#include "io/file_kind.h"

#include <string.h>

/* The fields of a header: offsets and widths in bytes. */
enum {
    NAME = 0,
    NAME_WIDTH = 100,
    BYTES = 124,
    BYTES_WIDTH = 12,
    CHECKSUM = 148,
    CHECKSUM_WIDTH = 8,
    KIND = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_WIDTH = 155
};

/* Bytes of a pax header or a long name that are read at most. */
enum { EXTENSION_LIMIT = 1 << 20 };

/* What the headers in front of a member's own say about it. The first one that states a name or a
 * size wins. `any` says that there is one, global ones aside. */
typedef struct overrides {
    bool any, has_name, has_bytes;
    uint64_t bytes;
} overrides;

/*@ requires \valid_read(tar) && (err == \null || \valid(err));
    assigns *err;
    ensures \result == SVIT_E_FORMAT; */
static svit_status fail(const sv_tar *tar, svit_error *err, const char *problem)
{
    return sv_fail(err, SVIT_E_FORMAT, "'%s' is no tar archive that can be read: at byte %llu, %s",
                   tar->path, (unsigned long long)tar->at, problem);
}

/* Reads a number: octal digits that spaces may surround, or, if the first bit is set, the other
 * bits as a big-endian number. An empty field is 0. */
/*@ requires \valid(out) && \valid_read(field + (0 .. width - 1)) && width > 0;
    requires \separated(out, field + (0 .. width - 1));
    assigns *out; */
static bool read_number(uint64_t *out, const uint8_t *field, size_t width)
{
    uint64_t value = 0;
    size_t i = 0;
    if (field[0] & 0x80) {
        value = field[0] & 0x7f;
        /*@ loop invariant 1 <= i <= width;
            loop assigns i, value; */
        for (i = 1; i < width && value >> 55 == 0; i++)
            value = value << 8 | field[i];
        *out = value;
        return i == width;
    }
    /*@ loop invariant i <= width;
        loop assigns i; */
    while (i < width && field[i] == ' ')
        i++;
    /*@ loop invariant i <= width;
        loop assigns i, value; */
    for (; i < width && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(field[i] - '0'); /* at most 12 digits, 36 bits */
    *out = value;
    return i == width || field[i] == ' ' || field[i] == '\0';
}

/* The checksum is the sum of the header's bytes with spaces in its place. */
/*@ requires \valid_read(header + (0 .. SV_TAR_BLOCK - 1));
    assigns \nothing; */
static bool checksum_is_right(const uint8_t *header)
{
    uint64_t wanted, sum = CHECKSUM_WIDTH * ' ', as_signed = sum;
    /*@ loop invariant 0 <= i <= SV_TAR_BLOCK;
        loop assigns i, sum, as_signed; */
    for (int i = 0; i < SV_TAR_BLOCK; i++) {
        const uint64_t byte = i < CHECKSUM || i >= CHECKSUM + CHECKSUM_WIDTH ? header[i] : 0u;
        sum += byte;
        as_signed += byte < 128 ? byte : byte - 256; /* old programs: modulo 2^64 */
    }
    return read_number(&wanted, header + CHECKSUM, CHECKSUM_WIDTH) &&
           (wanted == sum || wanted == as_signed);
}

/*@ predicate is_named(sv_tar_member *member) = member->name[SV_TAR_NAME] == 0; */
/*@ requires \valid_read(tar) && \valid(out) && (err == \null || \valid(err));
    requires \valid_read(name + (0 .. bytes - 1)) && is_named(out);
    requires \separated(tar, out, err, name + (0 .. bytes - 1));
    assigns out->name[0 .. SV_TAR_NAME], *err;
    ensures is_named(out); */
static svit_status set_name(const sv_tar *tar, sv_tar_member *out, const char *name, size_t bytes,
                            svit_error *err)
{
    if (bytes > SV_TAR_NAME)
        return fail(tar, err, "a name has more than 4096 bytes");
    memcpy(out->name, name, bytes);
    out->name[bytes] = '\0';
    return SVIT_OK;
}

/* Whether text[bytes] is wanted[length]. */
/*@ requires \valid_read(text + (0 .. bytes - 1)) && \valid_read(wanted + (0 .. length - 1));
    assigns \nothing; */
static bool is_text(const char *text, size_t bytes, const char *wanted, size_t length)
{
    return bytes == length && memcmp(text, wanted, length) == 0;
}

/* Takes the keyword key[key_bytes] of a pax header, whose value is value[bytes]. Those of sparse
 * files change where the data are, so they are refused. */
/*@ requires \valid_read(tar) && \valid(out) && \valid(extra) && (err == \null || \valid(err));
    requires \valid_read(key + (0 .. key_bytes - 1)) && \valid_read(value + (0 .. bytes - 1));
    requires \separated(tar, out, extra, err, value + (0 .. bytes - 1));
    requires is_named(out);
    assigns out->name[0 .. SV_TAR_NAME], *extra, *err;
    ensures is_named(out); */
static svit_status take_keyword(const sv_tar *tar, sv_tar_member *out, overrides *extra,
                                const char *key, size_t key_bytes, const char *value, size_t bytes,
                                svit_error *err)
{
    enum { SPARSE = 11 };
    if (key_bytes >= SPARSE && is_text(key, SPARSE, "GNU.sparse.", SPARSE))
        return fail(tar, err, "a sparse file begins; store files whole");
    if (is_text(key, key_bytes, "path", 4) && bytes > 0) {
        extra->has_name = true;
        return set_name(tar, out, value, bytes, err);
    }
    if (!is_text(key, key_bytes, "size", 4))
        return SVIT_OK;
    extra->has_bytes = true;
    extra->bytes = 0;
    /*@ loop invariant i <= bytes;
        loop assigns i, extra->bytes; */
    for (size_t i = 0; i < bytes; i++) {
        if (value[i] < '0' || value[i] > '9' || i >= 18)
            return fail(tar, err, "a pax header has no decimal size");
        extra->bytes = extra->bytes * 10 + (uint64_t)(value[i] - '0');
    }
    return bytes > 0 ? SVIT_OK : fail(tar, err, "a pax header has no decimal size");
}

/* Reads the records "LENGTH KEYWORD=VALUE\n" of a pax header, text[bytes]. The
 * last of several records with one keyword counts. */
/*@ requires \valid_read(tar) && \valid(out) && \valid(extra) && (err == \null || \valid(err));
    requires \valid_read(text + (0 .. bytes - 1));
    requires \separated(tar, out, extra, err, text + (0 .. bytes - 1));
    requires is_named(out);
    assigns out->name[0 .. SV_TAR_NAME], *extra, *err;
    ensures is_named(out); */
static svit_status read_pax(const sv_tar *tar, sv_tar_member *out, overrides *extra,
                            const char *text, size_t bytes, svit_error *err)
{
    overrides found = {0};
    /*@ loop invariant at <= bytes;
        loop invariant is_named(out);
        loop assigns at, found, out->name[0 .. SV_TAR_NAME], *err; */
    for (size_t at = 0; at < bytes && text[at] != '\0';) {
        size_t length = 0, i = at;
        /*@ loop invariant at <= i <= bytes;
            loop assigns i, length; */
        for (; i < bytes && i < at + 8 && text[i] >= '0' && text[i] <= '9'; i++)
            length = length * 10 + (size_t)(text[i] - '0');
        const size_t end = at + length;
        if (i >= bytes || text[i] != ' ' || end <= i + 1 || end > bytes || text[end - 1] != '\n')
            return fail(tar, err, "a record of a pax header has another length than it says");
        const char *key = text + i + 1, *equals = memchr(key, '=', end - i - 2);
        if (!equals)
            return fail(tar, err, "a record of a pax header has no '='");
        const size_t key_bytes = (size_t)(equals - key);
        const size_t value_bytes = end - i - 3 - key_bytes;
        if (!extra->has_name || !is_text(key, key_bytes, "path", 4))
            SVIT_TRY(take_keyword(tar, out, &found, key, key_bytes, equals + 1, value_bytes, err));
        at = end;
    }
    extra->has_name |= found.has_name;
    if (found.has_bytes && !extra->has_bytes) {
        extra->has_bytes = true;
        extra->bytes = found.bytes;
    }
    return SVIT_OK;
}

/* Reads text[bytes], the data of a header of kind L (long name), x, X or g (pax), which belongs to
 * the next member. */
/*@ requires \valid_read(tar) && \valid(out) && \valid(extra) && (err == \null || \valid(err));
    requires \valid_read(text + (0 .. bytes - 1));
    requires \separated(tar, out, extra, err, text + (0 .. bytes - 1));
    requires is_named(out);
    assigns out->name[0 .. SV_TAR_NAME], *extra, *err;
    ensures is_named(out); */
static svit_status take_extension(const sv_tar *tar, sv_tar_member *out, overrides *extra,
                                  uint8_t kind, const char *text, size_t bytes, svit_error *err)
{
    if (kind == 'L') {
        if (extra->has_name)
            return SVIT_OK;
        extra->has_name = true;
        return set_name(tar, out, text, strnlen(text, bytes), err);
    }
    overrides global = {0};
    SVIT_TRY(read_pax(tar, out, kind == 'g' ? &global : extra, text, bytes, err));
    if (global.has_name || global.has_bytes)
        return fail(tar, err, "a pax header gives all members one name or size");
    return SVIT_OK;
}

/* Reads the data, of `bytes` bytes at tar->at, of a pax header or a long name. */
/*@ requires \valid_read(tar) && \valid(out) && \valid(extra) && (err == \null || \valid(err));
    requires \separated(tar, out, extra, err);
    requires is_named(out);
    assigns out->name[0 .. SV_TAR_NAME], *extra, *err;
    ensures is_named(out); */
static svit_status read_extension(const sv_tar *tar, sv_tar_member *out, overrides *extra,
                                  uint8_t kind, uint64_t bytes, svit_error *err)
{
    if (bytes > EXTENSION_LIMIT)
        return fail(tar, err, "a pax header or a long name has more than 1 MiB");
    char *text = sv_allocate(tar->allocator, (size_t)bytes + 1);
    if (!text)
        return sv_fail_memory(err, (size_t)bytes + 1, "a header of a tar archive");
    /*@ admit \separated(text + (0 .. bytes), tar, out, extra, err); */
    svit_status status = sv_file_read_at(tar->file, tar->at, text, (size_t)bytes, err);
    /*@ assert is_named(out); */
    text[bytes] = '\0';
    /*@ assert is_named(out); */
    if (status == SVIT_OK)
        status = take_extension(tar, out, extra, kind, text, (size_t)bytes, err);
    sv_release(tar->allocator, text, (size_t)bytes + 1);
    return status;
}

/* Whether a member of that kind says something about the next one: a long name or target of a link
 * of GNU's, a pax header. */
/*@ assigns \nothing; */
static bool is_extension(uint8_t kind)
{
    return kind == 'L' || kind == 'K' || kind == 'x' || kind == 'X' || kind == 'g';
}

/* Reads the block at tar->at. *is_end: there is none, or it is the zeros at the end. */
/*@ requires \valid_read(tar) && \valid(header + (0 .. SV_TAR_BLOCK - 1)) && \valid(is_end);
    requires err == \null || \valid(err);
    requires \separated(tar, header + (0 .. SV_TAR_BLOCK - 1), is_end, err);
    requires tar->at <= file_size(tar->file);
    assigns header[0 .. SV_TAR_BLOCK - 1], *is_end, *err;
    ensures \result == SVIT_OK && !*is_end ==> tar->at + SV_TAR_BLOCK <= file_size(tar->file); */
static svit_status read_header(const sv_tar *tar, uint8_t *header, bool *is_end, svit_error *err)
{
    static const uint8_t ZEROS[SV_TAR_BLOCK];
    const uint64_t left = sv_file_size(tar->file) - tar->at;
    *is_end = tar->at > 0 && left == 0;
    if (*is_end)
        return SVIT_OK;
    if (left < SV_TAR_BLOCK)
        return fail(tar, err, left ? "a header is cut" : "the file is empty");
    SVIT_TRY(sv_file_read_at(tar->file, tar->at, header, SV_TAR_BLOCK, err));
    *is_end = memcmp(header, ZEROS, SV_TAR_BLOCK) == 0;
    if (!*is_end && !checksum_is_right(header))
        return fail(tar, err, "a header has a wrong checksum");
    return SVIT_OK;
}

/* The member's name by its own header: "prefix/name". GNU's headers have other things at the
 * prefix. */
/*@ requires \valid(out) && \valid_read(header + (0 .. SV_TAR_BLOCK - 1)) && is_named(out);
    requires \separated(out, header + (0 .. SV_TAR_BLOCK - 1));
    assigns out->name[0 .. SV_TAR_NAME];
    ensures is_named(out); */
static void take_name(sv_tar_member *out, const uint8_t *header)
{
    const char *prefix = (const char *)header + PREFIX, *name = (const char *)header + NAME;
    size_t front = 0;
    if (memcmp(header + MAGIC, "ustar", 6) == 0 && prefix[0]) {
        front = strnlen(prefix, PREFIX_WIDTH);
        memcpy(out->name, prefix, front);
        out->name[front++] = '/';
    }
    /*@ assert front <= PREFIX_WIDTH + 1 && is_named(out); */
    const size_t back = strnlen(name, NAME_WIDTH);
    memcpy(out->name + front, name, back);
    /*@ assert is_named(out); */
    out->name[front + back] = '\0';
}

/* The bytes that follow a header, up to the next one. Links, folders and devices have none. */
/*@ assigns \nothing; */
static uint64_t padded_bytes(uint8_t kind, uint64_t bytes)
{
    if (kind >= '1' && kind <= '6')
        return 0;
    return (bytes + SV_TAR_BLOCK - 1) / SV_TAR_BLOCK * SV_TAR_BLOCK;
}

/* Whether a kind is that of a regular file, whose name is `name`. Old archives know folders by the
 * slash at the end. */
/*@ requires valid_read_string(name);
    assigns \nothing; */
static bool is_regular(uint8_t kind, const char *name)
{
    const size_t length = strlen(name);
    return kind == '0' || kind == '7' || (kind == '\0' && !(length > 0 && name[length - 1] == '/'));
}

svit_status sv_tar_next(sv_tar *tar, sv_tar_member *out, bool *is_end, svit_error *err)
{
    overrides extra = {0};
    out->name[SV_TAR_NAME] = '\0'; /* every name ends here if not before */
    /*@ loop invariant tar->at <= file_size(tar->file);
        loop invariant is_named(out);
        loop assigns tar->at, *out, *is_end, *err, extra; */
    for (;;) {
        uint8_t header[SV_TAR_BLOCK];
        uint64_t bytes;
        SVIT_TRY(read_header(tar, header, is_end, err));
        if (*is_end)
            return extra.any ? fail(tar, err, "the member of a pax header or long name is missing")
                             : SVIT_OK;
        const uint8_t kind = header[KIND];
        const bool extends = is_extension(kind);
        if (!read_number(&bytes, header + BYTES, BYTES_WIDTH))
            return fail(tar, err, "a header has no size");
        if (kind == 'S')
            return fail(tar, err, "a sparse file begins; store files whole");
        if (extra.has_bytes && !extends)
            bytes = extra.bytes;
        const uint64_t left = sv_file_size(tar->file) - tar->at - SV_TAR_BLOCK;
        const uint64_t padded = padded_bytes(kind, bytes);
        if (padded > left)
            return fail(tar, err, "a member has more bytes than the file; it may be cut");
        tar->at += SV_TAR_BLOCK;
        const uint64_t offset = tar->at;
        if (extends && kind != 'K')
            SVIT_TRY(read_extension(tar, out, &extra, kind, bytes, err));
        tar->at += padded;
        extra.any |= extends && kind != 'g';
        if (extends)
            continue;
        if (!extra.has_name)
            take_name(out, header);
        if (is_regular(kind, out->name)) {
            out->offset = offset;
            out->bytes = bytes;
            return SVIT_OK;
        }
        extra = (overrides){0};
    }
}

svit_status sv_tar_find_end(sv_tar_end *out, const sv_tar *tar, svit_error *err)
{
    enum { LOOKED_AT = 1 << 20 };
    static const uint8_t ZEROS[SV_TAR_BLOCK];
    const uint64_t left = sv_file_size(tar->file) - tar->at;
    const size_t bytes = left < LOOKED_AT ? (size_t)left : LOOKED_AT;
    *out = left == 0 ? SV_TAR_END_MISSING : SV_TAR_END_ZEROS;
    for (size_t at = 0; at < bytes && *out == SV_TAR_END_ZEROS; at += SV_TAR_BLOCK) {
        uint8_t block[SV_TAR_BLOCK];
        const size_t count = sv_size_min(bytes - at, SV_TAR_BLOCK);
        SVIT_TRY(sv_file_read_at(tar->file, tar->at + at, block, count, err));
        if (memcmp(block, ZEROS, count) != 0)
            *out = SV_TAR_END_DATA;
    }
    return SVIT_OK;
}

svit_status sv_tar_explain(const sv_tar *tar, svit_status status, svit_error *err)
{
    uint8_t start[SV_TAR_BLOCK];
    const uint64_t size = sv_file_size(tar->file);
    const size_t bytes = size < sizeof start ? (size_t)size : sizeof start;
    if (status != SVIT_E_FORMAT || tar->at > 0 ||
        sv_file_read_at(tar->file, 0, start, bytes, NULL) != SVIT_OK)
        return status;
    /* A damaged header begins with a name, which is a text, too. */
    const bool is_header = bytes == SV_TAR_BLOCK && memcmp(start + MAGIC, "ustar", 5) == 0;
    const char *kind = is_header ? NULL : sv_file_kind(start, sv_size_min(bytes, SV_FILE_START));
    return kind ? sv_fail(err, SVIT_E_FORMAT,
                          "'%s' is %s; a tar archive that is not compressed is needed", tar->path,
                          kind)
                : status;
}
