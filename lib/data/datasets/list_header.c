/* Checks the first line of a list of image files, and tells the usual mistakes in it apart. */
#include "data/datasets/list_header.h"

#include "base/text/ascii.h"
#include "base/text/unique.h"
#include "data/decoding/image_formats.h"

#include <string.h>

const char sv_list_header[] =
    "the first line is \"path,label\", or \"path\" and the names of one or more columns of numbers";

bool sv_is_blank(const char *text)
{
    return text[strspn(text, " \t")] == '\0';
}

/* Whether a name is `wanted` but for upper case and spaces around it. */
static bool is_nearly(const char *name, const char *wanted)
{
    const size_t length = strlen(wanted);
    name += strspn(name, " \t");
    return sv_ascii_equal(name, wanted, length) && sv_is_blank(name + length);
}

/* The index that pandas writes in front has no name. If pandas reads such a file and writes it
 * again, the name is "Unnamed: 0". */
static bool is_index(const char *name)
{
    return sv_is_blank(name) || strcmp(name, "Unnamed: 0") == 0;
}

static svit_status fail_first_column(const sv_csv *csv, const char *path, svit_error *err)
{
    const char *name = sv_csv_field(csv, 0, 0);
    if (csv->columns > 1 && is_index(name))
        return sv_fail(err, SVIT_E_FORMAT,
                       "'%s': the first column has the name '%.40s', as the index that pandas "
                       "writes; to_csv(index=False) leaves it out; %s",
                       path, name, sv_list_header);
    if (sv_is_image_name(name))
        return sv_fail(err, SVIT_E_FORMAT,
                       "'%s': the first line lists the image '%.40s' and names no columns; %s",
                       path, name, sv_list_header);
    for (size_t column = 1; column < csv->columns; column++)
        if (strcmp(sv_csv_field(csv, 0, column), "path") == 0)
            return sv_fail(err, SVIT_E_FORMAT, "'%s': \"path\" is column %zu, after '%.40s'; %s",
                           path, column + 1, name, sv_list_header);
    return sv_fail(err, SVIT_E_FORMAT, "'%s': the first column is called '%.40s'; %s", path, name,
                   sv_list_header);
}

static svit_status check_distinct(const sv_csv *csv, const char *path,
                                  const sv_allocator *allocator, svit_error *err)
{
    size_t twice[2];
    const char *const *names = (const char *const *)csv->fields;
    SVIT_TRY(sv_texts_find_twice(twice, names, csv->columns, allocator, err));
    if (twice[1] == 0)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_FORMAT,
                   "'%s': two columns are called '%.40s'; different names are needed", path,
                   names[twice[1]]);
}

svit_status sv_list_check_header(const sv_csv *csv, const char *path, const sv_allocator *allocator,
                                 svit_error *err)
{
    if (strcmp(sv_csv_field(csv, 0, 0), "path") != 0)
        return fail_first_column(csv, path, err);
    if (csv->columns < 2)
        return sv_fail(err, SVIT_E_FORMAT, "'%s': \"path\" is the only column; %s", path,
                       sv_list_header);
    for (size_t column = 1; column < csv->columns; column++) {
        const char *name = sv_csv_field(csv, 0, column);
        if (sv_is_blank(name))
            return sv_fail(err, SVIT_E_FORMAT, "'%s': column %zu has no name; %s", path, column + 1,
                           sv_list_header);
        if (csv->columns == 2 && is_nearly(name, "label") && strcmp(name, "label") != 0)
            return sv_fail(err, SVIT_E_FORMAT, "'%s': column %zu is called '%.40s'; %s", path,
                           column + 1, name, sv_list_header);
    }
    return check_distinct(csv, path, allocator, err);
}
