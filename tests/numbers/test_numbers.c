/* Compares every kernel, and what else computes in float32, with references in long double: no
 * error is above the bound of its row, on any instruction set.
 *
 *   test_numbers                runs the tests
 *   test_numbers --table        prints the tables of docs/numerics.md, "Errors of the kernels"
 *   test_numbers --check FILE   compares the rows and bounds of that page with those of the program
 */
#include "rows.h"

#include "isa.h"
#include "suite.h"

#include "base/threads/cpu.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const numbers_rows *const FILES[] = {
    &numbers_norm,   &numbers_rotary,  &numbers_activations, &numbers_softmax, &numbers_sums,
    &numbers_copies, &numbers_matmuls, &numbers_losses,      &numbers_updates,
};
enum { FILE_COUNT = sizeof FILES / sizeof *FILES };

static size_t count_rows(void)
{
    size_t count = 0;
    for (size_t i = 0; i < FILE_COUNT; i++)
        count += FILES[i]->count;
    return count;
}

static const numbers_row *row_at(size_t index)
{
    size_t file = 0;
    for (; index >= FILES[file]->count; file++)
        index -= FILES[file]->count;
    return &FILES[file]->rows[index];
}

/* Runs a row on the kernels of one instruction set. */
static numbers_errors run_row(const numbers_row *row, const sv_kernels *k)
{
    numbers_errors errors = {.seed = 1};
    static const char *const names[] = {"ordinary", "sweep",     "wide",     "large",
                                        "tiny",     "subnormal", "opposite", "near"};
    for (int range = 0; range < NUMBERS_RANGES; range++) {
        if (!(row->ranges >> range & 1))
            continue;
        double largest = errors.largest;
        errors.range = (numbers_range)range;
        errors.floor = 2 * (double)FLT_MIN;
        row->run(&errors, k);
        size_t length = strlen(errors.place);
        if (errors.largest > largest)
            snprintf(errors.place + length, sizeof errors.place - length, " (%s)", names[range]);
    }
    return errors;
}

/* Whether this build and this CPU can run the row on the kernels of an instruction set. */
static bool runs_here(const numbers_row *row, sv_isa isa)
{
    if (!row->run || !sv_cpu_has(isa))
        return false;
    if (!row->once)
        return true;
    return sv_cpu_has(row->needs) && (row->needs != SV_ISA_AMX || sv_cpu_request_amx());
}

/* Iteration row * ISA_COUNT + instruction set. A function that is compiled once runs with the
 * kernels of the best one. */
START_TEST(test_errors_are_within_their_bounds)
{
    const numbers_row *row = row_at((size_t)_i / ISA_COUNT);
    const sv_isa isa = ISAS[_i % ISA_COUNT];
    if (row->once && _i % ISA_COUNT > 0)
        return;
    if (!runs_here(row, isa)) {
        skip_check(row->name);
        return;
    }
    numbers_errors errors = run_row(row, sv_kernels_for(row->once ? sv_cpu_isa() : isa));
    if (errors.count == 0)
        skip_check(row->name);
    ck_assert_msg(errors.largest <= row->bound, "%s on %s: %g ulp at %s; at most %g are expected",
                  row->name, sv_isa_name(isa), errors.largest, errors.place, row->bound);
}
END_TEST

#define NAME_OF(result, name, parameters) #name,
static const char *const KERNEL_NAMES[] = {SV_KERNEL_LIST(NAME_OF)};
enum { KERNEL_COUNT = sizeof KERNEL_NAMES / sizeof *KERNEL_NAMES };

START_TEST(test_every_kernel_has_a_row)
{
    size_t found = 0;
    for (size_t i = 0; i < count_rows(); i++)
        found += strcmp(row_at(i)->name, KERNEL_NAMES[_i]) == 0;
    ck_assert_msg(found == 1, "the kernel %s has %zu rows in tests/numbers, not 1",
                  KERNEL_NAMES[_i], found);
}
END_TEST

static void format_bound(char *line, size_t size, const numbers_row *row)
{
    static const char *const measures[] = {"bits", "result", "terms"};
    snprintf(line, size, "| %s | %s | %.7g | %s |", row->name, measures[row->measure], row->bound,
             row->reason);
}

static void print_cell(const numbers_row *row, sv_isa isa, numbers_errors *worst)
{
    if (!runs_here(row, isa)) {
        printf(" - |");
        return;
    }
    numbers_errors errors = run_row(row, sv_kernels_for(isa));
    if (errors.largest >= worst->largest)
        *worst = errors;
    printf(" %.3g (%.2g) |", errors.largest, errors.count ? errors.sum / errors.count : 0);
}

/* Prints the measured errors of the rows that are compiled once, or of the others. */
static void print_errors(int once)
{
    printf("\n| function | values | largest error (mean)");
    for (size_t i = 0; !once && i < ISA_COUNT; i++)
        printf("%s%s", i ? " | " : ": ", sv_isa_name(ISAS[i]));
    printf(" | place of the largest |\n|---|---|%s---|\n", once ? "---|" : "---|---|---|");
    for (size_t i = 0; i < count_rows(); i++) {
        const numbers_row *row = row_at(i);
        numbers_errors worst = {0};
        if (row->once != once || !runs_here(row, SV_ISA_BASELINE))
            continue;
        size_t values = run_row(row, sv_kernels_for(SV_ISA_BASELINE)).count;
        if (values == 0)
            continue;
        printf("| %s | %zu |", row->name, values);
        for (size_t isa = 0; isa < (once ? 1 : ISA_COUNT); isa++)
            print_cell(row, once ? SV_ISA_BASELINE : ISAS[isa], &worst);
        printf(" %s |\n", worst.largest > 0 ? worst.place : "");
    }
}

static int print_tables(void)
{
    char line[256];
    printf("| function | ulp of | bound | why |\n|---|---|---|---|\n");
    for (size_t i = 0; i < count_rows(); i++) {
        format_bound(line, sizeof line, row_at(i));
        puts(line);
    }
    printf("\nMeasured on a CPU with %s:\n", sv_isa_name(sv_cpu_isa()));
    print_errors(0);
    printf("\nFunctions that are compiled once:\n");
    print_errors(1);
    return EXIT_SUCCESS;
}

#define BEGIN "<!-- errors of the kernels: begin -->\n"
#define END "<!-- errors of the kernels: end -->\n"

/* Whether the page's table of bounds, the first one after BEGIN, is that of the program. */
static int check_page(const char *path)
{
    static char page[1 << 20];
    char line[256];
    FILE *file = fopen(path, "rb");
    size_t bytes = file ? fread(page, 1, sizeof page - 1, file) : 0, rows = 0;
    if (file)
        fclose(file);
    page[bytes] = '\0';
    char *at = strstr(page, BEGIN), *end = at ? strstr(at, "\nMeasured on ") : NULL;
    if (!end || !strstr(end, END)) {
        fprintf(stderr, "%s: no tables between '%.*s' and its end\n", path, (int)strlen(BEGIN) - 1,
                BEGIN);
        return EXIT_FAILURE;
    }
    *end = '\0';
    for (const char *row = at; (row = strstr(row, "\n| ")) != NULL; row++)
        rows++;
    int same = rows == count_rows() + 1;
    for (size_t i = 0; i < count_rows(); i++) {
        format_bound(line, sizeof line, row_at(i));
        if (strstr(at, line))
            continue;
        fprintf(stderr, "%s has no line '%s'\n", path, line);
        same = 0;
    }
    if (!same)
        fprintf(stderr,
                "%s: %zu rows; the program has %zu. Replace the tables by those of "
                "test_numbers --table\n",
                path, rows ? rows - 1 : 0, count_rows());
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

static Suite *numbers_suite(void)
{
    Suite *suite = suite_create("numbers");
    TCase *all = tcase_create("errors");
    tcase_add_loop_test(all, test_every_kernel_has_a_row, 0, KERNEL_COUNT);
    tcase_add_loop_test(all, test_errors_are_within_their_bounds, 0, (int)count_rows() * ISA_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

int main(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "--table") == 0)
        return print_tables();
    if (count == 3 && strcmp(arguments[1], "--check") == 0)
        return check_page(arguments[2]);
    return run_suite(numbers_suite);
}
