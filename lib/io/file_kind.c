/* Recognises file formats by their first bytes. */
#include "io/file_kind.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *start;
    size_t bytes;
    const char *kind;
} KINDS[] = {
    {"\x89PNG\r\n\x1a\n", 8, "a PNG image"},
    {"\xff\xd8\xff", 3, "a JPEG image"},
    {"GIF8", 4, "a GIF image"},
    {"PK\3\4", 4, "a zip archive (as torch.save, Keras and NumPy write)"},
    {"\x89HDF\r\n\x1a\n", 8, "an HDF5 file (as Keras writes)"},
    {"GGUF", 4, "a GGUF file"},
    {"\x93NUMPY", 6, "a NumPy array"},
    {"\x80\2", 2, "a Python pickle (as torch.save wrote)"},
    {"\x80\3", 2, "a Python pickle"},
    {"\x80\4", 2, "a Python pickle"},
    {"\x80\5", 2, "a Python pickle"},
    /* The version of the format and the tag of the producer's name, as most writers begin. */
    {"\x08\6\x12", 3, "an ONNX file"},
    {"\x08\7\x12", 3, "an ONNX file"},
    {"\x08\x08\x12", 3, "an ONNX file"},
    {"\x08\x09\x12", 3, "an ONNX file"},
    {"\x08\x0a\x12", 3, "an ONNX file"},
    {"\x08\x0b\x12", 3, "an ONNX file"},
    {"\x1f\x8b", 2, "a gzip archive"},
    {"BZh", 3, "a bzip2 archive"},
    {"\xfd"
     "7zXZ",
     6, "an xz archive"},
    {"\x28\xb5\x2f\xfd", 4, "a Zstandard archive"},
    {"\x7f"
     "ELF",
     4, "a program or library"},
    {"version https://git-lfs", 23,
     "a Git LFS pointer, which has to be replaced by the file itself"},
    {"<!DOCTYPE", 9, "an HTML page"},
    {"<!doctype", 9, "an HTML page"},
    {"<html", 5, "an HTML page"},
};

/*@ assigns \nothing; */
static bool is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Whether all bytes are printable ASCII or white space. The header length of a safetensors file
 * never is: eight such bytes would mean more bytes than a file can have. */
/*@ requires \valid_read(start + (0 .. bytes - 1));
    assigns \nothing; */
static bool is_text(const uint8_t *start, size_t bytes)
{
    /*@ loop invariant i <= bytes;
        loop assigns i; */
    for (size_t i = 0; i < bytes; i++)
        if (start[i] >= 0x7f || (start[i] < 0x20 && !is_space(start[i])))
            return false;
    return bytes > 0;
}

const char *sv_file_kind(const uint8_t *start, size_t bytes)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (bytes >= KINDS[i].bytes && memcmp(start, KINDS[i].start, KINDS[i].bytes) == 0)
            return KINDS[i].kind;
    if (!is_text(start, bytes))
        return NULL;
    size_t at = 0;
    while (at < bytes && is_space(start[at]))
        at++;
    return at < bytes && (start[at] == '{' || start[at] == '[') ? "a JSON text" : "a text";
}
