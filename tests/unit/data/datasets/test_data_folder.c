/* Checks datasets of image folders: the order of the samples, their labels, which files are ignored
 * and which are refused. */
#include "build.h"
#include "data_support.h"

#include <shiftvit/dataset.h>
#include <shiftvit/image.h>

/* An image of one colour. */
static void plain_write(svit_context *context, const test_folder *folder, const char *name,
                        uint8_t value, size_t height, size_t width)
{
    static uint8_t rgb[64 * 64 * 3];
    memset(rgb, value, sizeof rgb);
    WORKS(svit_image_write_png(context, path_in(folder, name), rgb, height, width, err));
}

START_TEST(test_classes_and_images_are_in_byte_order)
{
    NEEDS(HAS_PNG, "PNG");
    atomic_llong held = 0;
    svit_context *context = context_counting(&held);
    test_folder folder = folder_make();
    subfolder_make(&folder, "b");
    subfolder_make(&folder, "a");
    subfolder_make(&folder, "Z");
    subfolder_make(&folder, "aa-empty");
    subfolder_make(&folder, "zz-empty");
    subfolder_make(&folder, ".hidden");
    plain_write(context, &folder, ".hidden/p.png", 50, 4, 4);
    subfolder_make(&folder, "ab-of-hidden-files");
    file_write(&folder, "ab-of-hidden-files/.p.png", "hidden", 6);
    file_write(&folder, "a/._10.png", "hidden", 6);
    subfolder_make(&folder, "a/c.png"); /* a folder in spite of its name */
    plain_write(context, &folder, "a/10.png", 10, 8, 8);
    plain_write(context, &folder, "a/9.png", 9, 2, 64);
    plain_write(context, &folder, "b/x.PNG", 20, 5, 3);
    plain_write(context, &folder, "Z/y.jpeg", 30, 1, 1); /* a PNG file in spite of its name */
    file_write(&folder, "a/notes.txt", "no image", 8);
    plain_write(context, &folder, "stray.png", 40, 4, 4);
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_folder(&dataset, context, folder.path, 4, 6, 3, SVIT_SOURCE_NEAREST, err));
    ck_assert_uint_eq(svit_dataset_count(dataset), 4);
    ck_assert_uint_eq(svit_dataset_height(dataset), 4);
    ck_assert_uint_eq(svit_dataset_width(dataset), 6);
    ck_assert_uint_eq(svit_dataset_classes(dataset), 3);
    const char *const names[] = {"Z", "a", "b"};
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(svit_dataset_class_name(dataset, i), names[i]);
    ck_assert_ptr_null(svit_dataset_class_name(dataset, 3));
    const struct {
        int32_t label;
        uint8_t value;
    } wanted[] = {{0, 30}, {1, 10}, {1, 9}, {2, 20}};
    for (size_t i = 0; i < 4; i++) {
        uint8_t rgb[4 * 6 * 3];
        int32_t label = -1;
        WORKS(svit_dataset_sample(dataset, i, rgb, &label, err));
        ck_assert_int_eq(label, wanted[i].label);
        for (size_t p = 0; p < sizeof rgb; p++)
            ck_assert_uint_eq(rgb[p], wanted[i].value);
    }
    svit_dataset_free(dataset);
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
    folder_remove(&folder);
}
END_TEST

START_TEST(test_images_are_brought_to_size_by_nearest_neighbour)
{
    NEEDS(HAS_PNG, "PNG");
    svit_context *context = context_open();
    test_folder folder = folder_make();
    subfolder_make(&folder, "only");
    static uint8_t rgb[50 * 37 * 3];
    static uint8_t wanted[32 * 32 * 3];
    static uint8_t got[32 * 32 * 3];
    bytes_fill(rgb, sizeof rgb, 21);
    WORKS(svit_image_write_png(context, path_in(&folder, "only/p.png"), rgb, 50, 37, err));
    WORKS(svit_resize_nearest_u8(rgb, 50, 37, wanted, 32, 32, err));
    svit_dataset *dataset = NULL;
    WORKS(svit_dataset_folder(&dataset, context, folder.path, 32, 32, 3, SVIT_SOURCE_NEAREST, err));
    int32_t label = -1;
    WORKS(svit_dataset_sample(dataset, 0, got, &label, err));
    ck_assert_mem_eq(got, wanted, sizeof got);
    svit_dataset_free(dataset);
    folder_remove(&folder);
    svit_context_free(context);
}
END_TEST

START_TEST(test_folders_that_are_no_dataset_are_refused)
{
    atomic_llong held = 0;
    svit_context *context = context_counting(&held);
    test_folder folder = folder_make();
    svit_dataset *dataset = NULL;
    FAILS(svit_dataset_folder(&dataset, context, folder.path, 4, 4, 3, SVIT_SOURCE_NEAREST, err),
          SVIT_E_FORMAT, "no subfolder of");
    file_write(&folder, "file.png", "x", 1);
    FAILS(svit_dataset_folder(&dataset, context, folder.path, 4, 4, 3, SVIT_SOURCE_NEAREST, err),
          SVIT_E_FORMAT, "no subfolder of");
    FAILS(svit_dataset_folder(&dataset, context, path_in(&folder, "file.png"), 4, 4, 3,
                              SVIT_SOURCE_NEAREST, err),
          SVIT_E_IO, "file.png");
    FAILS(svit_dataset_folder(&dataset, context, path_in(&folder, "none"), 4, 4, 3,
                              SVIT_SOURCE_NEAREST, err),
          SVIT_E_IO, "none");
    subfolder_make(&folder, "a");
    file_write(&folder, "a/readme", "x", 1);
    FAILS(svit_dataset_folder(&dataset, context, folder.path, 4, 4, 3, SVIT_SOURCE_NEAREST, err),
          SVIT_E_FORMAT, "/a' has files (1) and no image among them");
    file_write(&folder, "a/empty.jpg", "", 0);
    WORKS(svit_dataset_folder(&dataset, context, folder.path, 4, 4, 3, SVIT_SOURCE_NEAREST, err));
    uint8_t rgb[48];
    int32_t label = -1;
    FAILS(svit_dataset_sample(dataset, 0, rgb, &label, err), SVIT_E_FORMAT, "a/empty.jpg");
    ck_assert_int_eq(label, -1);
    ck_assert_int_eq(unlink(path_in(&folder, "a/empty.jpg")), 0);
    FAILS(svit_dataset_sample(dataset, 0, rgb, &label, err), SVIT_E_IO, "a/empty.jpg");
    svit_dataset_free(dataset);
    FAILS(svit_dataset_folder(NULL, context, folder.path, 4, 4, 3, SVIT_SOURCE_NEAREST, err),
          SVIT_E_ARGUMENT, "out");
    FAILS(svit_dataset_folder(&dataset, NULL, folder.path, 4, 4, 3, SVIT_SOURCE_NEAREST, err),
          SVIT_E_ARGUMENT, "context");
    FAILS(svit_dataset_folder(&dataset, context, NULL, 4, 4, 3, SVIT_SOURCE_NEAREST, err),
          SVIT_E_ARGUMENT, "folder");
    FAILS(svit_dataset_folder(&dataset, context, folder.path, 0, 4, 3, SVIT_SOURCE_NEAREST, err),
          SVIT_E_ARGUMENT, "height is 0");
    FAILS(
        svit_dataset_folder(&dataset, context, folder.path, 4, 16385, 3, SVIT_SOURCE_NEAREST, err),
        SVIT_E_ARGUMENT, "width is 16385");
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
    folder_remove(&folder);
}
END_TEST

/* Class names are written to model files, which are UTF-8. Regression: the error comes only after
 * an epoch. */
START_TEST(test_names_that_are_not_utf8_are_refused)
{
    NEEDS(HAS_PNG, "PNG");
    if (!has_posix_names())
        return;
    static const struct {
        const char *folder;
        const char *file;
        const char *part; /* part of the message; NULL: the name is accepted */
    } NAMES[] = {
        {"caf\xe9", "p.png", "'caf\\xE9'"},
        {"good", "\xff.png", "'\\xFF.png'"},
        {"caf\xc3\xa9", "\xe2\x82\xac\xf0\x9f\x98\x80.png", NULL},
        {"overlong\xc0\xaf", "p.png", "'overlong\\xC0\\xAF'"},
        {"overlong\xe0\x80\xaf", "p.png", "\\xE0\\x80\\xAF"},
        {"surrogate\xed\xa0\x80", "p.png", "\\xED\\xA0\\x80"},
        {"beyond\xf4\x90\x80\x80", "p.png", "\\xF4\\x90\\x80\\x80"},
        {"cut\xe2\x82", "p.png", "'cut\\xE2\\x82'"},
        {"\x1b[31mred\xff", "p.png", "'\\x1B[31mred\\xFF'"},
        {"no-image\xff", "notes.txt", "has files (1) and no image among them"},
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        atomic_llong held = 0;
        svit_context *context = context_counting(&held);
        test_folder folder = folder_make();
        svit_dataset *dataset = NULL;
        char name[64];
        subfolder_make(&folder, NAMES[i].folder);
        snprintf(name, sizeof name, "%s/%s", NAMES[i].folder, NAMES[i].file);
        plain_write(context, &folder, name, 1, 2, 2);
        if (NAMES[i].part)
            FAILS(svit_dataset_folder(&dataset, context, folder.path, 4, 4, 3, SVIT_SOURCE_NEAREST,
                                      err),
                  SVIT_E_FORMAT, NAMES[i].part);
        else
            WORKS(svit_dataset_folder(&dataset, context, folder.path, 4, 4, 3, SVIT_SOURCE_NEAREST,
                                      err));
        svit_dataset_free(dataset);
        svit_context_free(context);
        ck_assert_int_eq(held, 0);
        folder_remove(&folder);
    }
}
END_TEST

/* The bytes that the system gives, which are whole cache lines, and the most of them so far. */
static size_t given, most_given;

static size_t whole_lines(size_t bytes, size_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

static void *peak_allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    given += whole_lines(bytes, alignment);
    most_given = given > most_given ? given : most_given;
    return aligned_alloc(alignment, whole_lines(bytes, alignment));
}

static void peak_release(void *user, void *memory, size_t bytes)
{
    (void)user;
    given -= whole_lines(bytes, SV_ALIGNMENT);
    free(memory);
}

/* Listings of 8,000 images: in one class, and in many. */
START_TEST(test_an_image_takes_less_than_64_bytes_while_a_folder_is_listed)
{
    static const size_t CLASSES[] = {1, 400};
    enum { IMAGES = 8000, MOST = 64 };
    for (size_t k = 0; k < sizeof CLASSES / sizeof *CLASSES; k++) {
        const size_t classes = CLASSES[k], images = IMAGES / classes;
        test_folder folder = folder_make();
        char name[64];
        for (size_t class = 0; class < classes; class ++) {
            snprintf(name, sizeof name, "n%08zu", class);
            subfolder_make(&folder, name);
            for (size_t i = 0; i < images; i++) {
                snprintf(name, sizeof name, "n%08zu/%zu_%zu.JPEG", class, class, i * 7919 % images);
                file_write(&folder, name, "", 0);
            }
        }
        svit_context_config config = {.struct_size = sizeof config,
                                      .threads = 1,
                                      .allocate = peak_allocate,
                                      .release = peak_release};
        svit_context *context = NULL;
        svit_dataset *dataset = NULL;
        WORKS(svit_context_create(&context, &config, err));
        const size_t before = most_given = given;
        WORKS(
            svit_dataset_folder(&dataset, context, folder.path, 4, 4, 3, SVIT_SOURCE_NEAREST, err));
        const size_t count = svit_dataset_count(dataset), taken = most_given - before;
        ck_assert_uint_eq(count, images * classes);
        /* A class has a table of its folders, two lists and two paths besides. */
        ck_assert_msg(taken <= count * MOST + 4096 + classes * 1024,
                      "%zu classes of %zu images take %zu bytes, %zu an image", classes, images,
                      taken, taken / count);
        svit_dataset_free(dataset);
        ck_assert_uint_eq(given, before);
        svit_context_free(context);
        folder_remove(&folder);
    }
}
END_TEST

/* Another folder with files of the same names would be read without an error. */
START_TEST(test_images_are_found_when_the_program_works_in_another_folder)
{
    NEEDS(HAS_PNG, "PNG");
    svit_context *context = context_open();
    test_folder folder = folder_make();
    static const char *const folders[] = {"here",      "there",      "here/set",
                                          "there/set", "here/set/c", "there/set/c"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        subfolder_make(&folder, folders[i]);
    plain_write(context, &folder, "here/set/c/x.png", 10, 4, 4);
    plain_write(context, &folder, "there/set/c/x.png", 20, 4, 4);
    svit_dataset *dataset = NULL;
    uint8_t rgb[4 * 4 * 3];
    int32_t label;
    char path[64];
    ck_assert_int_eq(chdir(path_in(&folder, "here")), 0);
    WORKS(svit_dataset_folder(&dataset, context, "set", 4, 4, 3, SVIT_SOURCE_NEAREST, err));
    ck_assert_int_eq(chdir(path_in(&folder, "there")), 0);
    WORKS(svit_dataset_sample(dataset, 0, rgb, &label, err));
    ck_assert_uint_eq(rgb[0], 10);
    WORKS(svit_dataset_path(dataset, 0, path, sizeof path, NULL, err));
    ck_assert_str_eq(path, "set/c/x.png");
    ck_assert_int_eq(chdir("/"), 0);
    svit_dataset_free(dataset);
    svit_context_free(context);
    folder_remove(&folder);
}
END_TEST

static Suite *folder_suite(void)
{
    Suite *suite = suite_create("data_folder");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, test_classes_and_images_are_in_byte_order);
    tcase_add_test(cases, test_images_are_brought_to_size_by_nearest_neighbour);
    tcase_add_test(cases, test_folders_that_are_no_dataset_are_refused);
    tcase_add_test(cases, test_names_that_are_not_utf8_are_refused);
    tcase_add_test(cases, test_images_are_found_when_the_program_works_in_another_folder);
    tcase_add_test(cases, test_an_image_takes_less_than_64_bytes_while_a_folder_is_listed);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(folder_suite)
