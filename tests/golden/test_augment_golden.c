/* Compares every augmentation operation and policy with the bytes that Pillow, torchvision and timm
 * give. All bytes are equal. */
#include "data/augmentation/policy.h"
#include "data/augmentation/steps.h"
#include "data/resampling/antialias.h"
#include "golden.h"

#include "fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static sv_safetensors *file;

static void setup(void)
{
    file = golden_open("augment");
}

static void teardown(void)
{
    sv_safetensors_close(file);
}

/* Images [height, width, 3], one after the other. Several are in use at a time. */
typedef struct picture {
    const uint8_t *rgb;
    size_t height, width;
} picture;

/* A tensor of bytes. *count receives the number of images [height, width, 3] in it. */
static picture read_images(const char *name, size_t *count)
{
    const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
    ck_assert_msg(entry != NULL, "there is no '%s'", name);
    const sv_tensor_desc *desc = &entry->desc;
    ck_assert_uint_eq(desc->dtype, SV_DTYPE_U8);
    static uint8_t memory[4][1 << 18];
    static size_t next;
    uint8_t *bytes = memory[next++ % 4];
    ck_assert_uint_le(entry->bytes, sizeof memory[0]);
    WORKS(sv_safetensors_read_bytes(file, entry, bytes, err));
    picture p = {bytes, (size_t)desc->shape[desc->rank - 3], (size_t)desc->shape[desc->rank - 2]};
    *count = desc->elements / (p.height * p.width * 3);
    return p;
}

static picture input(int number)
{
    char name[16];
    size_t count;
    snprintf(name, sizeof name, "img%d", number);
    return read_images(name, &count);
}

static void check_bytes(const char *what, size_t row, const uint8_t *out, const picture *wanted)
{
    size_t bytes = wanted->height * wanted->width * 3, different = 0;
    int largest = 0;
    const uint8_t *want = wanted->rgb + row * bytes;
    for (size_t i = 0; i < bytes; i++) {
        int off = abs(out[i] - want[i]);
        different += off != 0;
        largest = off > largest ? off : largest;
    }
    ck_assert_msg(different == 0, "%s, row %zu: %zu of %zu bytes differ, by at most %d", what, row,
                  different, bytes, largest);
}

static const struct {
    const char *name;
    sv_operation operation;
} OPERATIONS[] = {
    {"shear_x", SV_SHEAR_X},
    {"shear_y", SV_SHEAR_Y},
    {"translate_x", SV_TRANSLATE_X},
    {"translate_y", SV_TRANSLATE_Y},
    {"rotate", SV_ROTATE},
    {"brightness", SV_BRIGHTNESS},
    {"color", SV_COLOR},
    {"contrast", SV_CONTRAST},
    {"sharpness", SV_SHARPNESS},
    {"posterize", SV_POSTERIZE},
    {"solarize", SV_SOLARIZE},
    {"hue", SV_HUE},
    {"autocontrast", SV_AUTOCONTRAST},
    {"equalize", SV_EQUALIZE},
    {"invert", SV_INVERT},
};
enum { GEOMETRIC = 5, WITH_VALUES = 12, COUNT = sizeof OPERATIONS / sizeof *OPERATIONS };

static uint8_t out[64 * 64 * 3];

/* Applies operation `_i` to each image at each value. */
static void check_operation(int index, const char *suffix)
{
    char name[64];
    float none = 0, *values = &none;
    size_t count = 1, rows = 0;
    snprintf(name, sizeof name, "op.%s.values", OPERATIONS[index].name);
    if (index < WITH_VALUES)
        values = golden_floats(file, name, &count);
    for (int i = 0; i < 3; i++) {
        picture in = input(i);
        snprintf(name, sizeof name, "op.%s%s.img%d", OPERATIONS[index].name, suffix, i);
        picture wanted = read_images(name, &rows);
        ck_assert_uint_eq(rows, count);
        for (size_t row = 0; row < count; row++) {
            sv_operation_apply(out, in.rgb, in.height, in.width, OPERATIONS[index].operation,
                               values[row]);
            check_bytes(name, row, out, &wanted);
        }
    }
    if (values != &none)
        golden_free(values);
}

START_TEST(test_operations)
{
    check_operation(_i, _i < GEOMETRIC ? ".nearest" : "");
}
END_TEST

static const struct {
    const char *name;
    sv_operation operation;
} NAMES[] = {{"ShearX", SV_SHEAR_X},
             {"ShearY", SV_SHEAR_Y},
             {"TranslateX", SV_TRANSLATE_X},
             {"TranslateY", SV_TRANSLATE_Y},
             {"Rotate", SV_ROTATE},
             {"Brightness", SV_BRIGHTNESS},
             {"Color", SV_COLOR},
             {"Contrast", SV_CONTRAST},
             {"Sharpness", SV_SHARPNESS},
             {"Posterize", SV_POSTERIZE},
             {"Solarize", SV_SOLARIZE}};

/* The magnitudes of a policy, which the tables have without the sign and before the 1 of factors
 * and the truncation of translations. */
static void check_table(const char *policy_name, sv_policy policy, size_t height, size_t width)
{
    char name[96];
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        sv_operation operation = NAMES[i].operation;
        bool moves = operation == SV_TRANSLATE_X || operation == SV_TRANSLATE_Y;
        size_t count;
        snprintf(name, sizeof name, "table.torchvision.%s.%s", policy_name, NAMES[i].name);
        if (moves && policy != SV_TRIVIALAUGMENT)
            snprintf(name + strlen(name), 16, ".%zux%zu", height, width);
        float *table = golden_floats(file, name, &count);
        for (uint32_t bin = 0; bin < count; bin++)
            for (int negative = 0; negative < 2; negative++) {
                double value = sv_policy_value(policy, operation, bin, negative, height, width);
                double wanted =
                    negative && sv_operation_is_signed(operation) ? -table[bin] : table[bin];
                if (moves)
                    wanted = trunc(wanted);
                if (operation >= SV_BRIGHTNESS && operation <= SV_SHARPNESS)
                    wanted++;
                ck_assert_msg(fabs(value - wanted) <= 2e-6 * fabs(wanted),
                              "%s[%u] is %.9g, not %.9g", name, bin, value, wanted);
            }
        golden_free(table);
    }
}

START_TEST(test_magnitudes)
{
    check_table("randaugment31", SV_RANDAUGMENT, 32, 32);
    check_table("randaugment31", SV_RANDAUGMENT, 37, 53);
    check_table("autoaugment10", SV_AUTOAUGMENT, 32, 32);
    check_table("autoaugment10", SV_AUTOAUGMENT, 37, 53);
    check_table("trivialaugment31", SV_TRIVIALAUGMENT, 32, 32);
}
END_TEST

/* Every operation at one magnitude, with both signs. */
START_TEST(test_randaugment_and_trivialaugment)
{
    const char *policy = _i ? "trivialaugment" : "randaugment";
    char name[64];
    size_t rows;
    picture in = input(0);
    snprintf(name, sizeof name, "%s.bin", policy);
    int32_t *bin = golden_labels(file, name, NULL);
    snprintf(name, sizeof name, "%s.img0", policy);
    picture wanted = read_images(name, &rows);
    ck_assert_uint_eq(rows, 2 * SV_POLICY_OPERATIONS);
    for (size_t row = 0; row < rows; row++) {
        sv_operation operation = sv_policy_operations[row / 2];
        double value = sv_policy_value(_i ? SV_TRIVIALAUGMENT : SV_RANDAUGMENT, operation,
                                       (uint32_t)*bin, row % 2, in.height, in.width);
        sv_operation_apply(out, in.rgb, in.height, in.width, operation, value);
        check_bytes(name, row, out, &wanted);
    }
    golden_free(bin);
}
END_TEST

/* Both operations of each pair of AutoAugment, with given signs. */
START_TEST(test_autoaugment)
{
    const char *policy = _i ? "imagenet" : "cifar10";
    const sv_sub_policy *pairs = _i ? sv_autoaugment_imagenet : sv_autoaugment_cifar10;
    char name[64];
    size_t rows;
    static uint8_t between[32 * 32 * 3];
    picture in = input(0);
    snprintf(name, sizeof name, "autoaugment.%s.signs", policy);
    int32_t *signs = golden_labels(file, name, NULL);
    snprintf(name, sizeof name, "autoaugment.%s.img0", policy);
    picture wanted = read_images(name, &rows);
    ck_assert_uint_eq(rows, SV_SUB_POLICIES);
    for (size_t row = 0; row < rows; row++) {
        const uint8_t *from = in.rgb;
        uint8_t *to = between;
        for (size_t step = 0; step < 2; step++, from = between, to = out) {
            sv_operation operation = pairs[row].steps[step].operation;
            double value =
                sv_policy_value(SV_AUTOAUGMENT, operation, pairs[row].steps[step].magnitude,
                                signs[2 * row + step] == 0, in.height, in.width);
            sv_operation_apply(to, from, in.height, in.width, operation, value);
        }
        check_bytes(name, row, out, &wanted);
    }
    golden_free(signs);
}
END_TEST

START_TEST(test_padded_crops)
{
    const char *mode = _i ? "reflect" : "zero";
    int32_t *offsets = golden_labels(file, "crop.offsets", NULL);
    for (int image = 0; image < 2; image++) {
        char name[32];
        size_t rows;
        picture in = input(image);
        snprintf(name, sizeof name, "crop.%s.img%d", mode, image);
        picture wanted = read_images(name, &rows);
        for (size_t row = 0; row < rows; row++) {
            sv_augment_crop(out, in.rgb, in.height, in.width, 3, 4, (size_t)offsets[2 * row],
                            (size_t)offsets[2 * row + 1], _i == 1);
            check_bytes(name, row, out, &wanted);
        }
    }
    golden_free(offsets);
}
END_TEST

START_TEST(test_mirror)
{
    size_t rows;
    picture in = input(1), wanted = read_images("flip.img1", &rows);
    sv_augment_mirror(out, in.rgb, in.height, in.width, 3);
    check_bytes("flip.img1", 0, out, &wanted);
}
END_TEST

START_TEST(test_erased_boxes)
{
    int32_t *box = golden_labels(file, "erase.box", NULL);
    size_t elements;
    float *image = golden_floats(file, "erase.x", &elements);
    float *wanted = golden_floats(file, "erase.zero", NULL);
    sv_augment_erase(image, 18, 3, (size_t)box[0], (size_t)box[1], (size_t)box[2], (size_t)box[3]);
    ck_assert_double_eq(golden_difference(image, wanted, elements), 0);
    golden_free(wanted);
    golden_free(image);
    golden_free(box);
}
END_TEST

START_TEST(test_cutout_boxes)
{
    size_t count;
    int32_t *rule = golden_labels(file, "cutout.rule", &count);
    for (const int32_t *row = rule; row < rule + count; row += 9)
        for (int axis = 0; axis < 2; axis++) {
            size_t first, lines;
            sv_cutout_range(&first, &lines, (size_t)row[axis], (size_t)row[2],
                            (size_t)row[3 + axis]);
            ck_assert_uint_eq(first, (size_t)row[5 + 2 * axis]);
            ck_assert_uint_eq(first + lines, (size_t)row[6 + 2 * axis]);
        }
    golden_free(rule);
}
END_TEST

/* The four changes of a jitter in a given order, with bytes between them. */
START_TEST(test_color_jitter)
{
    static const sv_operation changes[] = {SV_BRIGHTNESS, SV_CONTRAST, SV_COLOR, SV_HUE};
    static uint8_t buffers[2][64 * 64 * 3];
    int32_t *order = golden_labels(file, "jitter.order", NULL);
    float *factors = golden_floats(file, "jitter.factors", NULL);
    for (int image = 0; image < 2; image++) {
        char name[32];
        size_t rows;
        picture in = input(image);
        snprintf(name, sizeof name, "jitter.img%d", image);
        picture wanted = read_images(name, &rows);
        for (size_t row = 0; row < rows; row++) {
            memcpy(buffers[0], in.rgb, in.height * in.width * 3);
            int at = 0;
            for (int step = 0; step < 4; step++) {
                int change = order[4 * row + (size_t)step];
                if (change < 0)
                    continue;
                sv_operation_apply(buffers[!at], buffers[at], in.height, in.width, changes[change],
                                   (double)factors[4 * row + (size_t)change]);
                at = !at;
            }
            check_bytes(name, row, buffers[at], &wanted);
        }
    }
    golden_free(factors);
    golden_free(order);
}
END_TEST

/* Boxes of given areas and ratios, and given boxes resized to 32 x 32 and 48 x 48. A larger box
 * than the output, which sv_augment_resized_crop cannot have, is left out. */
START_TEST(test_resized_crops)
{
    float *rules = golden_floats(file, "resized_crop.rule", NULL);
    for (size_t i = 0; i < 12; i++) {
        const float *rule = rules + 6 * i;
        sv_crop_box box = {0, 0, 0, 0};
        bool fits = sv_resized_crop_sides(&box, (size_t)rule[0], (size_t)rule[1], (double)rule[2],
                                          (double)rule[3]);
        ck_assert(fits == (rule[4] <= rule[0] && rule[5] <= rule[1]));
        ck_assert_uint_eq(box.height, fits ? (size_t)rule[4] : 0);
        ck_assert_uint_eq(box.width, fits ? (size_t)rule[5] : 0);
    }
    golden_free(rules);
    int32_t *boxes = golden_labels(file, "resized_crop.boxes", NULL);
    int compared = 0;
    for (size_t side = 32; side <= 48; side += 16)
        for (int bicubic = 0; bicubic < 2; bicubic++) {
            char name[64];
            size_t rows;
            snprintf(name, sizeof name, "resized_crop.%zu.%s.pil.img1", side,
                     bicubic ? "bicubic" : "bilinear");
            picture wanted = read_images(name, &rows), in = input(1);
            for (size_t row = 0; row < rows; row++) {
                const int32_t *box = boxes + 4 * row;
                static uint8_t resized[48 * 48 * 3];
                static int32_t scratch[8192];
                if ((size_t)box[2] > side || (size_t)box[3] > side)
                    continue;
                ck_assert_uint_le(sv_antialias_enlarge_scratch(side, side, 3), sizeof scratch);
                sv_antialias_enlarge(
                    resized, side, side, in.rgb + ((size_t)box[0] * in.width + (size_t)box[1]) * 3,
                    (size_t)box[2], (size_t)box[3], 3, in.width,
                    bicubic ? SV_ANTIALIAS_BICUBIC : SV_ANTIALIAS_BILINEAR, scratch);
                check_bytes(name, row, resized, &wanted);
                compared++;
            }
        }
    ck_assert_int_ge(compared, 4);
    golden_free(boxes);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("augment_golden");
    TCase *c = tcase_create("augment_golden");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_operations, 0, COUNT);
    tcase_add_test(c, test_magnitudes);
    tcase_add_loop_test(c, test_randaugment_and_trivialaugment, 0, 2);
    tcase_add_loop_test(c, test_autoaugment, 0, 2);
    tcase_add_loop_test(c, test_padded_crops, 0, 2);
    tcase_add_test(c, test_mirror);
    tcase_add_test(c, test_erased_boxes);
    tcase_add_test(c, test_cutout_boxes);
    tcase_add_test(c, test_color_jitter);
    tcase_add_test(c, test_resized_crops);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
