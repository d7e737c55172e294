/* Checks datasets that a CSV file lists: quoting, labels, targets, and files that are refused. */
#include "build.h"
#include "test_data_support.h"

#include <shiftvit/dataset.h>
#include <shiftvit/image.h>

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

START_TEST(test_refused_files)
{
    refuse("", SVIT_E_FORMAT, "the first line is \"path,label\"");
    refuse("path\na.png\n", SVIT_E_FORMAT, "the first line is");
    refuse("file,label\na.png,b\n", SVIT_E_FORMAT, "the first line is");
    refuse("path,label\n", SVIT_E_FORMAT, "lists no images");
    refuse("path,label\na.png,b\nc.png\n", SVIT_E_FORMAT,
           "line 3: it has 1 fields; the first line has 2");
    refuse("path,label\na.png,b,c\n", SVIT_E_FORMAT, "line 2: it has 3 fields");
    refuse("path,label\n\"a\nb.png\",c\n\"d.png,e\n", SVIT_E_FORMAT, "a quote does not end");
    refuse("path,label\n\"a\"b.png,c\n", SVIT_E_FORMAT, "line 2: a comma or the end of the line");
    refuse("path,label\na.png,\xff\n", SVIT_E_FORMAT, "line 2: field 2 is not UTF-8");
    refuse("path,x\na.png,1\nb.png,two\n", SVIT_E_FORMAT, "image 2: 'two' of 'x' is no number");
    static const char *const numbers[] = {"", "-", "1.", ".5", "1e", "nan", "1e39", "0x1", "1 "};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[64];
        snprintf(text, sizeof text, "path,x\na.png,%s\n", numbers[i]);
        refuse(text, SVIT_E_FORMAT, "is no number of float32");
    }
    svit_dataset *dataset = NULL;
    FAILS(svit_dataset_list(&dataset, context, path_in(&folder, "none.csv"), &pipeline, err),
          SVIT_E_IO, "none.csv");
    file_write(&folder, "list.csv", "path,label\na\0b,c\n", 17);
    FAILS(svit_dataset_list(&dataset, context, path_in(&folder, "list.csv"), &pipeline, err),
          SVIT_E_FORMAT, "has a NUL byte");
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("data_list");
    TCase *c = tcase_create("data_list");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_labels);
    tcase_add_test(c, test_targets);
    tcase_add_test(c, test_refused_files);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
