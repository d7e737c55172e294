/* Tells the pictures that these programs draw from photographs. */
#ifndef EXAMPLE_DRAWN_PICTURE_H
#define EXAMPLE_DRAWN_PICTURE_H

enum { PICTURE_MARK_AT = 33, PICTURE_MARK_SIZE = 29 };

/* A tEXt chunk of PNG, "Software" with the text "shiftvit", which belongs behind the header chunk:
 * at PICTURE_MARK_AT in the file. */
extern const unsigned char picture_mark[PICTURE_MARK_SIZE];

/* Returns 1 if the file is a PNG file that has the mark, 0 if it does not or cannot be read. */
int picture_is_drawn(const char *path);

#endif
