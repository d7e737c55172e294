/* Turns images by the metadata of orientations.safetensors, in EXIF data and XMP of every kind, as
 * Pillow turns them. The argument is the format, "jpeg", "png" or "webp". make_orientations.py
 * describes the records. */
#include "data_support.h"

#include "io/safetensors.h"

#include <shiftvit/image.h>

enum { JPEG, PNG, WEBP, PNG_LATE, RECORD_HEADER = 4, MOST = 1 << 16 };
enum { HEIGHT = 2, WIDTH = 3, PIXELS = HEIGHT * WIDTH };

static int wanted_format;
static const char *const NAMES[] = {"jpeg", "png", "webp"};

typedef struct bytes {
    uint8_t *data;
    size_t count;
} bytes;

static bytes tensor_read(const sv_safetensors *file, const char *name)
{
    const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
    ck_assert_ptr_nonnull(entry);
    bytes out = {malloc(entry->bytes), entry->bytes};
    WORKS(sv_safetensors_read_bytes(file, entry, out.data, err));
    return out;
}

static void append(bytes *to, const void *data, size_t count)
{
    ck_assert_uint_le(to->count + count, MOST);
    memcpy(to->data + to->count, data, count);
    to->count += count;
}

/* Appends `base` with the metadata before the byte `at`. */
static void insert(bytes *to, const bytes *base, size_t at, const uint8_t *metadata, size_t count)
{
    append(to, base->data, at);
    append(to, metadata, count);
    append(to, base->data + at, base->count - at);
}

/* Appends an extended WebP file: a VP8X chunk of 3 x 2 pixels, the chunks of `base`, and those
 * behind the flags. */
static void extend(bytes *to, const bytes *base, const uint8_t *metadata, size_t count)
{
    const uint8_t header[] = {'V', 'P', '8', 'X',       10, 0, 0,          0, metadata[0],
                              0,   0,   0,   WIDTH - 1, 0,  0, HEIGHT - 1, 0, 0};
    uint32_t size = (uint32_t)(4 + sizeof header + (base->count - 12) + (count - 1));
    append(to, "RIFF", 4);
    for (int i = 0; i < 4; i++)
        append(to, (uint8_t[]){(uint8_t)(size >> 8 * i)}, 1);
    append(to, "WEBP", 4);
    append(to, header, sizeof header);
    append(to, base->data + 12, base->count - 12);
    append(to, metadata + 1, count - 1);
}

static void assemble(bytes *to, const bytes *base, int place, const uint8_t *metadata, size_t count)
{
    enum { BEHIND_SOI = 2, BEHIND_IHDR = 8 + 12 + 13, IEND = 12 };
    to->count = 0;
    if (place == WEBP)
        extend(to, base, metadata, count);
    else
        insert(to, base,
               place == JPEG  ? BEHIND_SOI
               : place == PNG ? BEHIND_IHDR
                              : base->count - IEND,
               metadata, count);
}

/* The pixels of the stored image are ABC above DEF. */
static const char *const TURNED[] = {"",       "ABCDEF", "CBAFED", "FEDCBA", "DEFABC",
                                     "ADBECF", "DAEBFC", "FCEBDA", "CFBEAD"};

static void check(const svit_image *image, const uint8_t *plain, unsigned orientation,
                  size_t number)
{
    ck_assert(orientation >= 1 && orientation <= 8);
    ck_assert_msg(svit_image_height(image) == (orientation > 4 ? WIDTH : HEIGHT),
                  "record %zu is %zu x %zu, not orientation %u", number, svit_image_height(image),
                  svit_image_width(image), orientation);
    for (size_t i = 0; i < PIXELS; i++)
        ck_assert_msg(memcmp(svit_image_pixels(image) + 3 * i,
                             plain + 3 * (TURNED[orientation][i] - 'A'), 3) == 0,
                      "record %zu: pixel %zu is not that of orientation %u", number, i,
                      orientation);
}

START_TEST(test_images_are_turned_as_by_pillow)
{
    atomic_llong held = 0;
    sv_allocator allocator = sv_allocator_default();
    svit_context *context = context_counting(&held);
    sv_safetensors *file = NULL;
    WORKS(sv_safetensors_open(&file, &allocator, GOLDEN_FOLDER "/images/orientations.safetensors",
                              err));
    bytes base = tensor_read(file, NAMES[wanted_format]), records = tensor_read(file, "records");
    bytes made = {malloc(MOST), 0};
    uint8_t plain[3 * PIXELS];
    svit_image *image = NULL;
    WORKS(svit_image_decode(&image, context, base.data, base.count, "plain", 3, err));
    memcpy(plain, svit_image_pixels(image), sizeof plain);
    svit_image_free(image);
    size_t number = 0, tried = 0;
    for (size_t at = 0; at < records.count; number++) {
        const uint8_t *record = records.data + at;
        size_t count = record[2] + 256u * record[3];
        at += RECORD_HEADER + count;
        ck_assert_uint_le(at, records.count);
        if ((record[0] == PNG_LATE ? PNG : record[0]) != wanted_format)
            continue;
        assemble(&made, &base, record[0], record + RECORD_HEADER, count);
        WORKS(svit_image_decode(&image, context, made.data, made.count, "record", 3, err));
        check(image, plain, record[1], number);
        svit_image_free(image);
        tried++;
    }
    printf("%s: %zu records\n", NAMES[wanted_format], tried);
    ck_assert_uint_gt(tried, 500);
    free(made.data);
    free(records.data);
    free(base.data);
    sv_safetensors_close(file);
    svit_context_free(context);
    ck_assert_int_eq(held, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("orientations_golden");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, test_images_are_turned_as_by_pillow);
    suite_add_tcase(all, cases);
    return all;
}

int main(int count, char **arguments)
{
    const char *format = count > 1 ? arguments[1] : NAMES[PNG];
    while (wanted_format < WEBP && strcmp(format, NAMES[wanted_format]) != 0)
        wanted_format++;
    return run_suite(suite);
}
