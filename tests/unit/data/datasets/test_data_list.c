/* Checks datasets that a CSV file lists: quoting, labels, targets, and files that are refused. */
#include "build.h"
#include "data_support.h"

#include <shiftvit/dataset.h>
#include <shiftvit/image.h>

#include <math.h>

static test_folder folder;
static svit_context *context;
static atomic_llong held;
static svit_pipeline_config pipeline;

static void setup(void)
{
    folder = folder_make();
    held = 0;
    context = context_counting(&held);
    ck_assert_int_eq(svit_pipeline_config_init(&pipeline, sizeof pipeline), SVIT_OK);
    pipeline.source_height = pipeline.source_width = 4;
}

static void teardown(void)
{
    folder_remove(&folder);
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
}

/* An image of one grey. */
static void write_image(const char *name, uint8_t value)
{
    uint8_t rgb[4 * 4 * 3];
    memset(rgb, value, sizeof rgb);
    WORKS(svit_image_write_png(context, path_in(&folder, name), rgb, 4, 4, err));
}

static svit_status open_list(svit_dataset **out, const char *text, svit_error *err)
{
    file_write(&folder, "list.csv", text, strlen(text));
    return svit_dataset_list(out, context, path_in(&folder, "list.csv"), &pipeline, err);
}

static void refuse(const char *text, svit_status wanted, const char *part)
{
    svit_dataset *dataset = NULL;
    FAILS(open_list(&dataset, text, err), wanted, part);
    ck_assert_ptr_null(dataset);
}

START_TEST(test_labels)
{
    NEEDS(HAS_PNG, "PNG");
    if (!has_posix_names())
        return;
    subfolder_make(&folder, "a, \"b\"");
    write_image("a, \"b\"/x.png", 10);
    write_image("y.png", 20);
    svit_dataset *dataset = NULL;
    WORKS(open_list(&dataset,
                    "\xEF\xBB\xBFpath,label\r\n\r\ny.png,\"tree, old\"\r\n"
                    "\"a, \"\"b\"\"/x.png\",cat\ny.png,cat",
                    err));
    ck_assert_uint_eq(svit_dataset_count(dataset), 3);
    ck_assert_uint_eq(svit_dataset_classes(dataset), 2);
    ck_assert_str_eq(svit_dataset_class_name(dataset, 0), "cat");
    ck_assert_str_eq(svit_dataset_class_name(dataset, 1), "tree, old");
    ck_assert_int_eq(svit_dataset_has_targets(dataset), 0);
    const int32_t labels[] = {1, 0, 0};
    const uint8_t values[] = {20, 10, 20};
    for (size_t i = 0; i < 3; i++) {
        uint8_t rgb[4 * 4 * 3];
        int32_t label = -1;
        WORKS(svit_dataset_sample(dataset, i, rgb, &label, err));
        ck_assert_int_eq(label, labels[i]);
        ck_assert_uint_eq(rgb[47], values[i]);
        WORKS(svit_dataset_label(dataset, i, &label, err));
        ck_assert_int_eq(label, labels[i]);
    }
    float targets[2];
    WORKS(svit_dataset_targets(dataset, 1, targets, err));
    ck_assert(targets[0] == 1 && targets[1] == 0);
    svit_dataset_free(dataset);
}
END_TEST

START_TEST(test_targets)
{
    svit_dataset *dataset = NULL;
    WORKS(open_list(&dataset, "path,age,size\na.png,2.5,-1e-3\nb.png,0,007\n", err));
    ck_assert_uint_eq(svit_dataset_count(dataset), 2);
    ck_assert_uint_eq(svit_dataset_classes(dataset), 2);
    ck_assert_str_eq(svit_dataset_class_name(dataset, 1), "size");
    float targets[2];
    WORKS(svit_dataset_targets(dataset, 0, targets, err));
    ck_assert(targets[0] == 2.5f && targets[1] == -1e-3f);
    WORKS(svit_dataset_targets(dataset, 1, targets, err));
    ck_assert(targets[0] == 0 && targets[1] == 7);
    uint8_t rgb[4 * 4 * 3];
    int32_t label;
    FAILS(svit_dataset_sample(dataset, 0, rgb, &label, err), SVIT_E_IO, "a.png");
    svit_dataset_free(dataset);
}
END_TEST

/* Numbers as JSON writes them, or with zeros in front; a path without a folder is in the current
 * one. */
START_TEST(test_numbers_of_targets)
{
    static const struct {
        const char *text;
        float value; /* NAN: it is refused */
    } cases[] = {{"1e2", 100},  {"1E+2", 100}, {"-1.5E-1", -0.15f}, {"000.50", 0.5f}, {"-0", 0},
                 {"1e", NAN},   {"1E-", NAN},  {"1e+x", NAN},       {".5", NAN},      {"1.", NAN},
                 {"-", NAN},    {"+1", NAN},   {"1 ", NAN},         {"0x1", NAN},     {"nan", NAN},
                 {"1e39", NAN}, {"inf", NAN},  {"3.4e38", 3.4e38f}, {"1e400", NAN},   {"", NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        svit_dataset *dataset = NULL;
        char text[64];
        float targets[2];
        snprintf(text, sizeof text, "path,x,y\na.png,%s,1\n", cases[i].text);
        if (isnan(cases[i].value)) {
            refuse(text, SVIT_E_FORMAT, "line 2: '");
            continue;
        }
        WORKS(open_list(&dataset, text, err));
        WORKS(svit_dataset_targets(dataset, 0, targets, err));
        ck_assert_float_eq(targets[0], cases[i].value);
        svit_dataset_free(dataset);
    }
    NEEDS(HAS_PNG, "PNG");
    svit_dataset *dataset = NULL;
    uint8_t rgb[4 * 4 * 3];
    int32_t label;
    write_image("b.png", 7);
    svit_dataset_free(dataset);
    WORKS(open_list(&dataset, "path,label\nb.png,cat\n", err));
    svit_dataset_free(dataset);
    ck_assert_int_eq(chdir(folder.path), 0);
    WORKS(svit_dataset_list(&dataset, context, "list.csv", &pipeline, err));
    WORKS(svit_dataset_sample(dataset, 0, rgb, &label, err));
    ck_assert_int_eq(rgb[0], 7);
    svit_dataset_free(dataset);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

/* What the first line may be instead, and what the message says that it found. */
START_TEST(test_first_lines_that_are_refused)
{
    static const char HEADER[] = "the first line is \"path,label\", or \"path\" and the names";
    static const struct {
        const char *text, *part;
    } LINES[] = {
        {"", "is empty; the first line is"},
        {"\r\r\n\n", "is empty; the first line is"},
        {"path;label\na.png;b\n", "line 1: semicolons separate the fields; commas are accepted"},
        {"path\tlabel\na.png\tb\n", "line 1: tabs separate the fields; commas are accepted"},
        {"\n\npath;age\na.png;2,5\n", "line 3: semicolons separate the fields"},
        {"\"path\";\"label\"\n", "line 1: semicolons separate the fields"},
        {"\"path\"\t\"label\"\n", "line 1: tabs separate the fields"},
        {"path,label\n\"a.png\";b\n", "line 2: semicolons separate the fields"},
        {"path\na.png\n", "\"path\" is the only column"},
        {"file,label\na.png,b\n", "the first column is called 'file'"},
        {"Path,label\na.png,b\n", "the first column is called 'Path'"},
        {"label,path\nb,a.png\n", "\"path\" is column 2, after 'label'"},
        {",path,label\n0,a.png,b\n", "the name '', as the index that pandas writes"},
        {"Unnamed: 0,path,label\n0,a.png,b\n", "'Unnamed: 0', as the index that pandas"},
        {"a.png,b\nc.png,d\n", "the first line lists the image 'a.png' and names no columns"},
        {"path,Label\na.png,b\n", "column 2 is called 'Label'"},
        {"path, label\na.png,b\n", "column 2 is called ' label'"},
        {"path,LABEL \na.png,b\n", "column 2 is called 'LABEL '"},
        {"path,x,\na.png,1,2\n", "column 3 has no name"},
        {"Unnamed: 0\n0\n", "the first column is called 'Unnamed: 0'"},
    };
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        refuse(LINES[i].text, SVIT_E_FORMAT, LINES[i].part);
        if (!strstr(LINES[i].part, "separate"))
            refuse(LINES[i].text, SVIT_E_FORMAT, HEADER);
    }
    refuse("path,x,y,x\na.png,1,2,3\n", SVIT_E_FORMAT, "two columns are called 'x'");
    refuse("path,path\na.png,1\n", SVIT_E_FORMAT, "two columns are called 'path'");
    refuse("path,labels\na.png,cat\n", SVIT_E_FORMAT, "is called \"label\"");
    refuse("path,kind\na.png,cat\n", SVIT_E_FORMAT, "is called \"label\"");
}
END_TEST

/* Texts that are empty, after every form of line end, with and without empty and longer lines in
 * front. */
START_TEST(test_empty_texts_are_named_with_their_line)
{
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    static const struct {
        const char *row, *part;
    } ROWS[] = {{"a.png,", "line 3: the label is empty"},
                {"a.png,\"\"", "line 3: the label is empty"},
                {"a.png, \t", "line 3: the label is empty"},
                {",cat", "line 3: the path is empty"},
                {"  ,cat", "line 3: the path is empty"}};
    for (size_t e = 0; e < 3; e++)
        for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
            char text[128];
            snprintf(text, sizeof text, "path,label%sb.png,cat%s%s%s", ends[e], ends[e],
                     ROWS[i].row, ends[e]);
            refuse(text, SVIT_E_FORMAT, ROWS[i].part);
            snprintf(text, sizeof text, "path,label%s%s%s", ends[e], ends[e], ROWS[i].row);
            refuse(text, SVIT_E_FORMAT, ROWS[i].part);
            snprintf(text, sizeof text, "path,label%s\"b%s.png\",x%s%s", ends[e], ends[e], ends[e],
                     ROWS[i].row);
            refuse(text, SVIT_E_FORMAT, "line 4: the ");
        }
}
END_TEST

/* The same list with every form of line end, also mixed. */
START_TEST(test_every_line_end_is_read)
{
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    for (size_t i = 0; i < 3 * 3 * 3; i++) {
        char text[128];
        svit_dataset *dataset = NULL;
        snprintf(text, sizeof text, "path,label%sa.png,x%s%s\"b.png\",y%sc.png,x", ends[i % 3],
                 ends[i / 3 % 3], i % 2 ? "" : ends[i / 3 % 3], ends[i / 9]);
        WORKS(open_list(&dataset, text, err));
        ck_assert_uint_eq(svit_dataset_count(dataset), 3);
        ck_assert_uint_eq(svit_dataset_classes(dataset), 2);
        ck_assert_str_eq(svit_dataset_class_name(dataset, 1), "y");
        svit_dataset_free(dataset);
    }
}
END_TEST

START_TEST(test_refused_files)
{
    refuse("path,label\n", SVIT_E_FORMAT, "lists no images");
    refuse("path,label\na.png,b\nc.png\n", SVIT_E_FORMAT,
           "line 3: it has 1 fields; the first line has 2");
    refuse("path,label\na.png,b,c\n", SVIT_E_FORMAT, "line 2: it has 3 fields");
    refuse("path,label\n\"a\nb.png\",c\n\"d.png,e\n", SVIT_E_FORMAT, "a quote does not end");
    refuse("path,label\n\"a\"b.png,c\n", SVIT_E_FORMAT, "line 2: a comma or the end of the line");
    refuse("path,label\na.png,\xff\n", SVIT_E_FORMAT, "line 2: field 2 is not UTF-8");
    refuse("path,x\na.png,1\n\nb.png,two\n", SVIT_E_FORMAT,
           "line 4: 'two' of 'x' is no number of float32; a column of class names is called");
    static const char *const numbers[] = {"", "-", "1.", ".5", "1e", "nan", "1e39", "0x1", "1 "};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[64];
        snprintf(text, sizeof text, "path,x\na.png,%s\n", numbers[i]);
        refuse(text, SVIT_E_FORMAT, "is no number of float32");
    }
    /* A number that is missing is no name of a class. */
    svit_dataset *dataset = NULL;
    static const char *const missing[] = {"", "nan", "NaN"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        char text[64];
        svit_error error = ERROR_RECORD;
        snprintf(text, sizeof text, "path,x\na.png,%s\n", missing[i]);
        ck_assert_int_eq(open_list(&dataset, text, &error), SVIT_E_FORMAT);
        ck_assert_msg(!strstr(error.message, "class names"), "%s", error.message);
    }
    FAILS(svit_dataset_list(&dataset, context, path_in(&folder, "none.csv"), &pipeline, err),
          SVIT_E_IO, "none.csv");
    file_write(&folder, "list.csv", "path,label\na\0b,c\n", 17);
    FAILS(svit_dataset_list(&dataset, context, path_in(&folder, "list.csv"), &pipeline, err),
          SVIT_E_FORMAT, "has a NUL byte");
}
END_TEST

/* The paths of a list that was opened by a relative path, and one that is absolute. */
START_TEST(test_images_are_found_when_the_program_works_in_another_folder)
{
    NEEDS(HAS_PNG, "PNG");
    char text[128], path[128];
    subfolder_make(&folder, "a");
    write_image("a/x.png", 10);
    write_image("y.png", 20);
    snprintf(text, sizeof text, "path,label\nx.png,c\n%s/y.png,c\n", folder.path);
    file_write(&folder, "a/list.csv", text, strlen(text));
    svit_dataset *dataset = NULL;
    ck_assert_int_eq(chdir(folder.path), 0);
    WORKS(svit_dataset_list(&dataset, context, "a/list.csv", &pipeline, err));
    ck_assert_int_eq(chdir("/"), 0);
    for (size_t i = 0; i < 2; i++) {
        uint8_t rgb[4 * 4 * 3];
        int32_t label;
        WORKS(svit_dataset_sample(dataset, i, rgb, &label, err));
        ck_assert_uint_eq(rgb[0], i ? 20 : 10);
    }
    WORKS(svit_dataset_path(dataset, 0, path, sizeof path, NULL, err));
    ck_assert_str_eq(path, "a/x.png");
    svit_dataset_free(dataset);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("data_list");
    TCase *c = tcase_create("data_list");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_labels);
    tcase_add_test(c, test_targets);
    tcase_add_test(c, test_numbers_of_targets);
    tcase_add_test(c, test_first_lines_that_are_refused);
    tcase_add_test(c, test_empty_texts_are_named_with_their_line);
    tcase_add_test(c, test_every_line_end_is_read);
    tcase_add_test(c, test_refused_files);
    tcase_add_test(c, test_images_are_found_when_the_program_works_in_another_folder);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
