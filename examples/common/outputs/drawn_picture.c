/* Tells the pictures that these programs draw from photographs, by what their files say. */
#include "outputs/drawn_picture.h"

#include <stdio.h>
#include <string.h>

/* The length of the data, the type, the data, and the CRC-32 of type and data. */
const unsigned char picture_mark[PICTURE_MARK_SIZE] = {
    0,   0,    0,   17,  't', 'E', 'X', 't', 'S', 'o', 'f',  't',  'w',  'a', 'r',
    'e', '\0', 's', 'h', 'i', 'f', 't', 'v', 'i', 't', 0xdc, 0xc1, 0xd2, 0x3b};

int picture_is_drawn(const char *path)
{
    unsigned char begin[PICTURE_MARK_AT + PICTURE_MARK_SIZE];
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    const size_t length = fread(begin, 1, sizeof begin, file);
    fclose(file);
    return length == sizeof begin &&
           memcmp(begin + PICTURE_MARK_AT, picture_mark, PICTURE_MARK_SIZE) == 0;
}
