/* Checks which files of a folder of classes are images, in what order they come, and that what is
 * left out is told once, by reason. */
#include "build.h"
#include "data_support.h"

#include <shiftvit/dataset.h>
#include <shiftvit/image.h>

#include <ctype.h>

/* What the library has told the log. */
static char told[8192];
static size_t told_count;

static void take_message(void *user, int32_t level, const char *message)
{
    (void)user;
    ck_assert_int_eq(level, SVIT_LOG_WARNING);
    size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, "%s\n", message);
    told_count++;
}

/* An allocator that counts the bytes that are held, and fails at one call. */
static atomic_llong held;
static long calls, failing;

static void *failing_allocate(void *user, size_t bytes, size_t alignment)
{
    if (++calls == failing)
        return NULL;
    return counting_allocate(user, bytes, alignment);
}

static test_folder folder;
static svit_context *context;

static void setup(void)
{
    folder = folder_make();
    told[0] = '\0';
    told_count = 0;
    held = 0;
    calls = failing = 0;
    svit_context_config config = {.struct_size = sizeof config,
                                  .threads = 1,
                                  .allocate = failing_allocate,
                                  .release = counting_release,
                                  .allocator_user = &held,
                                  .log = take_message};
    WORKS(svit_context_create(&context, &config, err));
}

/* Removes a tree in which symbolic links may make circles. */
static void tree_remove(const char *path)
{
    sv_allocator allocator = sv_allocator_default();
    sv_listing listing;
    WORKS(sv_folder_list(&listing, &allocator, path, err));
    for (size_t i = 0; i < listing.count; i++) {
        char inner[1024];
        snprintf(inner, sizeof inner, "%s/%s", path, listing.names[i]);
        if (unlink(inner) != 0)
            tree_remove(inner);
    }
    sv_listing_free(&allocator, &listing);
    ck_assert_int_eq(rmdir(path), 0);
}

static void teardown(void)
{
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
    tree_remove(folder.path);
}

static svit_status open_folder(svit_dataset **out, svit_error *err)
{
    return svit_dataset_folder(out, context, path_in(&folder, "set"), 2, 2, 3, SVIT_SOURCE_NEAREST,
                               err);
}

/* Makes the folders of a path in the test's folder, but not its last part. */
static void make_parents(const char *path)
{
    char part[512];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdir(path_in(&folder, part), 0700);
    }
}

/* Writes a PNG file of one colour, whatever its ending. */
static void write_image(const char *path, uint8_t value)
{
    uint8_t rgb[2 * 2 * 3];
    memset(rgb, value, sizeof rgb);
    make_parents(path);
    WORKS(svit_image_write_png(context, path_in(&folder, path), rgb, 2, 2, err));
}

static const char *path_of(const svit_dataset *dataset, size_t index)
{
    static char path[1024];
    size_t needed = 0;
    WORKS(svit_dataset_path(dataset, index, path, sizeof path, &needed, err));
    ck_assert_uint_eq(needed, strlen(path) + 1);
    return path;
}

/* Changes letters to upper case: none, all, or every second one. */
static void change_case(char *text, int way)
{
    for (int i = 0; text[i]; i++)
        if (way == 1 || (way == 2 && i % 2))
            text[i] = (char)toupper((unsigned char)text[i]);
}

enum { DEPTH = 32 };

static void put_nested(char *path, size_t capacity, int class, int depth)
{
    snprintf(path, capacity, "set/class%d", class);
    for (int i = 0; i < depth; i++)
        strcat(path, i % 2 ? "/A" : "/b");
}

/* Every ending x upper and lower case x depth, in two classes. */
START_TEST(test_every_ending_is_read_in_every_case_and_depth)
{
    NEEDS(HAS_PNG, "PNG");
    static const int depths[] = {0, 1, 2, DEPTH};
    size_t count = 0;
    for (const char *at = svit_image_endings(); at; at = strchr(at, ' ')) {
        at += *at == ' ';
        for (int way = 0; way < 3; way++)
            for (size_t d = 0; d < 4; d++, count++) {
                char path[512], name[16];
                snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
                change_case(name, way);
                put_nested(path, sizeof path, (int)(count % 2), depths[d]);
                snprintf(path + strlen(path), 64, "/%c%03zu%s", count % 3 ? 'z' : '0', count, name);
                write_image(path, (uint8_t)count);
            }
    }
    ck_assert_uint_ge(count, 5 * 3 * 4);
    svit_dataset *dataset = NULL;
    WORKS(open_folder(&dataset, err));
    ck_assert_uint_eq(svit_dataset_count(dataset), count);
    char before[1024] = "";
    uint8_t seen[256] = {0};
    for (size_t i = 0; i < count; i++) {
        uint8_t rgb[12];
        int32_t label = -1;
        const char *path = path_of(dataset, i);
        ck_assert_int_lt(strcmp(before, path), 0);
        WORKS(svit_dataset_sample(dataset, i, rgb, &label, err));
        const int value = atoi(strrchr(path, '/') + 2);
        ck_assert_int_eq(rgb[0], value);
        ck_assert_int_eq(label, value % 2);
        ck_assert_int_eq(seen[value]++, 0);
        strcpy(before, path);
    }
    ck_assert_str_eq(told, "");
    svit_dataset_free(dataset);
}
END_TEST

/* A folder: paths with a slash at the end are folders, "a -> b" is a link a with the target b, and
 * the others are files; images of the PNG format if they end in .png. */
typedef struct tree {
    const char *entries[12];
    size_t count;        /* images that are found; 0: the folder is refused */
    const char *told[3]; /* parts of what is told, in order; or of the message */
} tree;

static const tree TREES[] = {
    {{"set/a/1.png"}, 1, {0}},
    {{"set/a/1.png", "set/a/2.bmp", "set/a/b/3.gif", "set/c/4.png", "set/c/5"},
     2,
     {"set': 3 left out, such as 'a/2.bmp': the name ends in none of .jpg .jpeg .jpe .jfif .png"}},
    {{"set/a/1.png", "set/a/.DS_Store", "set/a/._1.jpg", "set/a/Thumbs.db", "set/a/DESKTOP.INI",
      "set/a/@eaDir/2.png", "set/__MACOSX/a/3.png", "set/.git/4.png", "set/a/.b/5.png"},
     1,
     {0}},
    {{"set/stray.png", "set/README.txt", "set/a/1.png"},
     1,
     {"1 left out, such as 'stray.png': an image outside of the subfolders has no class"}},
    {{"set/a/1.png", "set/b/", "set/c/d/e/"},
     1,
     {"2 left out, such as 'b': a subfolder without files is no class"}},
    {{"set/b/c/d/1.png", "set/a/2.png"}, 2, {0}},
    {{"set/a/1.png", "set/b/2.bmp", "set/b/c/3.webm"},
     0,
     {"set/b' has files (2) and no image among them; files that end in .jpg .jpeg .jpe .jfif "
      ".png"}},
    {{"set/1.png"}, 0, {"no subfolder of '"}},
    {{"set/a/", "set/b/c/"}, 0, {"no subfolder of '"}},
    /* Links in circles: to the folder itself, to those that contain it, to the whole system. */
    {{"set/a/1.png", "set/a/l -> .", "set/a/s/m -> ..", "set/a/up -> ../..", "set/a/root -> /",
      "set/l -> .", "set/a/out -> ../../.."},
     1,
     {"6 left out, such as 'a/l': this link leads to a folder that is read already"}},
    /* Two links to one folder: read once by a class, but by each of two classes. */
    {{"far/1.png", "far/b/2.png", "set/a/x -> ../../far", "set/a/y -> ../../far/b",
      "set/a/z -> ../../far"},
     2,
     {"such as 'a/z'"}},
    {{"far/1.png", "set/a -> ../far", "set/b -> ../far", "set/c/3.png"}, 3, {0}},
    {{"set/a/1.png", "set/b/other -> ../a"}, 2, {0}},
    {{"set/a/1.png", "set/a/broken.png -> nowhere", "set/a/x -> 1.png"},
     2,
     {"such as 'a/x': the name ends in none"}},
    {{"set/a/1.png", "set/c -> gone", "set/b -> gone/b", "set/.d -> gone"},
     1,
     {"2 left out, such as 'b': this link leads nowhere"}},
    {{"set/a/1.png", "set/b/2.bmp/3.png", "set/c.png/4.png"}, 3, {0}},
    {{"set/a/1.png", "set/a/2.bmp", "set/b/", "set/3.png"},
     1,
     {"1 left out, such as 'a/2.bmp'", "1 left out, such as '3.png'", "1 left out, such as 'b'"}},
    {{"set/a/1.png", "set/a/bad\xff.bmp"}, 1, {"such as 'a/bad\\xFF.bmp'"}},
};

static bool can_be_made(const tree *of)
{
    bool posix = false;
    for (size_t i = 0; i < 12 && of->entries[i]; i++)
        posix = posix || strstr(of->entries[i], " -> ") || strchr(of->entries[i], '\xff');
    return !posix || has_posix_names();
}

static void make_tree(const tree *of)
{
    for (size_t i = 0; i < 12 && of->entries[i]; i++) {
        char path[512];
        const char *entry = of->entries[i], *arrow = strstr(entry, " -> ");
        snprintf(path, sizeof path, "%.*s", arrow ? (int)(arrow - entry) : (int)strlen(entry),
                 entry);
        make_parents(path);
        if (arrow)
            ck_assert_int_eq(symlink(arrow + 4, path_in(&folder, path)), 0);
        else if (strstr(path, ".png"))
            write_image(path, (uint8_t)i);
        else if (path[strlen(path) - 1] != '/')
            file_write(&folder, path, "x", 1);
    }
}

static void check_told(const tree *of, const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < 3 && of->told[i]; i++, count++) {
        const char *at = strstr(text, of->told[i]);
        ck_assert_msg(at != NULL, "'%s' is not in '%s'", of->told[i], text);
        text = at;
    }
    if (of->count)
        ck_assert_msg(told_count == count, "%zu messages: %s", told_count, told);
}

START_TEST(test_what_is_left_out_is_told_by_reason)
{
    NEEDS(HAS_PNG, "PNG");
    const tree *of = &TREES[_i];
    if (!can_be_made(of))
        return;
    svit_error error = ERROR_RECORD;
    svit_dataset *dataset = NULL;
    make_tree(of);
    svit_status status = open_folder(&dataset, &error);
    ck_assert_int_eq(status, of->count ? SVIT_OK : SVIT_E_FORMAT);
    ck_assert_uint_eq(svit_dataset_count(dataset), of->count);
    check_told(of, of->count ? told : error.message);
    svit_dataset_free(dataset);
}
END_TEST

/* The table of folders grows with them, and keeps those that it has. */
START_TEST(test_a_link_leads_to_any_of_many_folders)
{
    NEEDS(HAS_PNG, "PNG");
    enum { FOLDERS = 100 };
    if (!has_posix_names())
        return;
    svit_dataset *dataset = NULL;
    char path[64], target[64];
    for (int i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof path, "set/class/f%03d/1.png", i);
        write_image(path, 1);
        snprintf(path, sizeof path, "set/class/z%03d", i);
        snprintf(target, sizeof target, "f%03d", i);
        ck_assert_int_eq(symlink(target, path_in(&folder, path)), 0);
    }
    WORKS(open_folder(&dataset, err));
    ck_assert_uint_eq(svit_dataset_count(dataset), FOLDERS);
    ck_assert_msg(strstr(told, "100 left out, such as 'class/z000': this link leads to a folder"),
                  "%s", told);
    svit_dataset_free(dataset);
}
END_TEST

/* Each allocation fails once. */
START_TEST(test_a_lack_of_memory_leaks_nothing)
{
    NEEDS(HAS_PNG, "PNG");
    svit_dataset *dataset = NULL;
    if (TREES[_i].count == 0 || !can_be_made(&TREES[_i]))
        return;
    make_tree(&TREES[_i]);
    const long long before = held;
    for (failing = 1; failing < 10000; failing++) {
        svit_error error = ERROR_RECORD;
        calls = 0;
        svit_status status = open_folder(&dataset, &error);
        if (status == SVIT_OK)
            break;
        ck_assert_int_eq(status, SVIT_E_MEMORY);
        ck_assert_int_eq(held, before);
    }
    ck_assert_int_gt(failing, 5);
    svit_dataset_free(dataset);
}
END_TEST

START_TEST(test_a_folder_too_deep_is_left_out)
{
    NEEDS(HAS_PNG, "PNG");
    svit_dataset *dataset = NULL;
    char path[512];
    for (int depth = DEPTH - 1; depth <= DEPTH + 2; depth++) {
        put_nested(path, sizeof path, 0, depth);
        write_image(strcat(path, "/1.png"), 1);
    }
    WORKS(open_folder(&dataset, err));
    ck_assert_uint_eq(svit_dataset_count(dataset), 2);
    ck_assert_msg(strstr(told, "more than 32 folders below its class") != NULL, "%s", told);
    ck_assert_uint_eq(told_count, 1);
    svit_dataset_free(dataset);
}
END_TEST

static Suite *suite(void)
{
    const int trees = sizeof TREES / sizeof *TREES;
    Suite *all = suite_create("data_walk");
    TCase *c = tcase_create("data_walk");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test_every_ending_is_read_in_every_case_and_depth);
    tcase_add_loop_test(c, test_what_is_left_out_is_told_by_reason, 0, trees);
    tcase_add_test(c, test_a_link_leads_to_any_of_many_folders);
    tcase_add_loop_test(c, test_a_lack_of_memory_leaks_nothing, 0, trees);
    tcase_add_test(c, test_a_folder_too_deep_is_left_out);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
