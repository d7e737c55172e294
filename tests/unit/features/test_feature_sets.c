/* Feature sets: computed from a dataset, joined, and searched for nearest neighbours. */
#include "test_feature_sets_support.h"

#include "features/features.h"

/* Every row belongs to its image and label, also in the last batch, which is not full. */
START_TEST(test_rows_are_the_layer_of_their_images)
{
    static const struct {
        const char *json, *layer;
        size_t channels;
    } CASES[] = {{VIT, NULL, 48}, {DISTILLED, NULL, 48}, {SHIFTVIT, "features", 48}};
    fixture f;
    float row[48];
    const size_t c = CASES[_i].channels;
    open_fixture(&f, CASES[_i].json, 2);
    svit_features *set = compute(&f, CASES[_i].layer, SVIT_TOKENS_MEAN, 8);
    ck_assert_uint_eq(svit_features_count(set), COUNT);
    ck_assert_uint_eq(svit_features_channels(set), c);
    ck_assert_uint_eq(svit_features_classes(set), 10);
    ck_assert_str_eq(svit_features_layer(set), "features");
    ck_assert_str_eq(svit_features_class_name(set, 3), svit_dataset_class_name(f.data, 3));
    ck_assert_ptr_null(svit_features_class_name(set, 10));
    for (size_t i = 0; i < COUNT; i++) {
        layer_of(&f, "features", i, row, c);
        ck_assert_int_eq(svit_features_labels(set)[i], (int32_t)(i % 10));
        for (size_t k = 0; k < c; k++)
            ck_assert_float_eq_tol(svit_features_values(set)[i * c + k], row[k], 2e-6f);
    }
    svit_features_free(set);
    close_fixture(&f);
}
END_TEST

/* The mean leaves out the class token and the registers; the class token is the first one. */
START_TEST(test_tokens_are_pooled)
{
    fixture f;
    float block[TOKENS * DIM];
    open_fixture(&f, VIT, 2);
    svit_features *mean = compute(&f, "blocks.0", SVIT_TOKENS_MEAN, 4);
    svit_features *class = compute(&f, "blocks.0", SVIT_TOKENS_CLASS, 4);
    ck_assert_uint_eq(svit_features_channels(mean), DIM);
    for (size_t i = 0; i < COUNT; i++) {
        layer_of(&f, "blocks.0", i, block, TOKENS * DIM);
        for (size_t k = 0; k < DIM; k++) {
            double sum = 0;
            for (size_t t = 3; t < TOKENS; t++)
                sum += (double)block[t * DIM + k] / 16;
            ck_assert_double_le(fabs(svit_features_values(mean)[i * DIM + k] - sum), 1e-5);
            ck_assert_float_eq_tol(svit_features_values(class)[i * DIM + k], block[k], 1e-5f);
        }
    }
    svit_features_free(class);
    svit_features_free(mean);
    close_fixture(&f);
}
END_TEST

static void same_values(const svit_features *a, const svit_features *b)
{
    const size_t elements = svit_features_count(a) * svit_features_channels(a);
    ck_assert_uint_eq(elements, svit_features_count(b) * svit_features_channels(b));
    ck_assert_mem_eq(svit_features_values(a), svit_features_values(b), elements * sizeof(float));
}

START_TEST(test_threads_change_no_bit)
{
    fixture one, three;
    open_fixture(&one, SHIFTVIT, 1);
    open_fixture(&three, SHIFTVIT, 3);
    svit_features *a = compute(&one, NULL, SVIT_TOKENS_MEAN, 8),
                  *b = compute(&three, NULL, SVIT_TOKENS_MEAN, 8);
    same_values(a, b);
    float first[COUNT * 10], second[COUNT * 10];
    const float *queries = svit_features_values(a);
    OK(svit_features_knn(a, queries, COUNT, 5, 0.07, first, err));
    OK(svit_features_knn(b, queries, COUNT, 5, 0.07, second, err));
    ck_assert_mem_eq(first, second, sizeof first);
    svit_features_free(a);
    svit_features_free(b);
    close_fixture(&one);
    close_fixture(&three);
}
END_TEST

/* The description tells two models apart, but not two heads of one model. */
START_TEST(test_description_is_that_of_the_weights_below_the_head)
{
    fixture f;
    open_fixture(&f, VIT, 1);
    svit_features *a = compute(&f, NULL, 0, 32);
    OK(svit_model_replace_head(f.model, 4, 9, err));
    svit_features *b = compute(&f, NULL, 0, 32);
    ck_assert_str_eq(svit_features_model(a), svit_features_model(b));
    float bias[DIM] = {1};
    OK(svit_model_set_parameter(f.model, "blocks.1.mlp.fc2.bias", bias, DIM, err));
    svit_features *c = compute(&f, NULL, 0, 32);
    ck_assert_str_ne(svit_features_model(a), svit_features_model(c));
    svit_features_free(a);
    svit_features_free(b);
    svit_features_free(c);
    close_fixture(&f);
}
END_TEST

START_TEST(test_what_cannot_be_computed_is_named)
{
    fixture f;
    svit_features *out = NULL;
    svit_features_config config;
    svit_pipeline_config grey = pipeline_of(24);
    open_fixture(&f, SHIFTVIT, 1);
    svit_features_config_init(&config, sizeof config);
    config.layer = "blocks.9";
    FAILS(svit_features_compute(&out, f.model, f.data, NULL, &config, err), SVIT_E_ARGUMENT,
          "layer is 'blocks.9'");
    config.layer = "layers.0.blocks.0";
    config.tokens = SVIT_TOKENS_CLASS;
    FAILS(svit_features_compute(&out, f.model, f.data, NULL, &config, err), SVIT_E_ARGUMENT,
          "'layers.0.blocks.0' has no class token");
    config.tokens = 4;
    FAILS(svit_features_compute(&out, f.model, f.data, NULL, &config, err), SVIT_E_ARGUMENT,
          "tokens is 4");
    config.tokens = 0;
    config.compute = 3;
    FAILS(svit_features_compute(&out, f.model, f.data, NULL, &config, err), SVIT_E_ARGUMENT,
          "compute is 3; it is 0..2: 'f32' or 'bf16' or 'int8'");
    config.compute = 0;
    config.batch = 0;
    FAILS(svit_features_compute(&out, f.model, f.data, NULL, &config, err), SVIT_E_ARGUMENT,
          "batch is 0; it is in [1, 65536]");
    grey.channels = 1;
    FAILS(svit_features_compute(&out, f.model, f.data, &grey, NULL, err), SVIT_E_ARGUMENT,
          "in_channels 3; channels of the pipeline is 1");
    OK(svit_model_set_pipeline(f.model, NULL, err));
    FAILS(svit_features_compute(&out, f.model, f.data, NULL, NULL, err), SVIT_E_STATE, "pipeline");
    FAILS(svit_features_compute(&out, NULL, f.data, NULL, NULL, err), SVIT_E_ARGUMENT,
          "model is NULL");
    ck_assert_ptr_null(out);
    close_fixture(&f);
}
END_TEST

static svit_features *make(svit_context *context, const float *values, const int32_t *labels,
                           size_t n, size_t c, size_t classes, const char *const *names)
{
    svit_features *out = NULL;
    OK(svit_features_create(&out, context, values, labels, n, c, classes, names, err));
    return out;
}

START_TEST(test_arrays_that_are_not_accepted_are_named)
{
    svit_context *context = context_of(1);
    svit_features *out = NULL;
    const float values[4] = {1, 2, 3, 4}, bad[4] = {1, 2, NAN, 4};
    const int32_t labels[2] = {0, 1}, high[2] = {0, 2}, low[2] = {-2, 0};
    const char *const names[2] = {"cat", NULL}, *const bytes[2] = {"cat", "\xff"};
    FAILS(svit_features_create(&out, context, values, labels, 0, 2, 2, NULL, err), SVIT_E_ARGUMENT,
          "count and channels are 0 and 2");
    FAILS(svit_features_create(&out, context, values, labels, 2, 0, 2, NULL, err), SVIT_E_ARGUMENT,
          "are 2 and 0");
    FAILS(svit_features_create(&out, context, values, labels, 1, (1 << 20) + 1, 2, NULL, err),
          SVIT_E_ARGUMENT, "count and channels are 1 and 1048577");
    FAILS(svit_features_create(&out, context, values, labels, 2, 2, (1 << 20) + 1, NULL, err),
          SVIT_E_ARGUMENT, "classes is 1048577");
    FAILS(svit_features_create(&out, context, bad, labels, 2, 2, 2, NULL, err), SVIT_E_ARGUMENT,
          "features[1, 0] is ");
    FAILS(svit_features_create(&out, context, values, high, 2, 2, 2, NULL, err), SVIT_E_ARGUMENT,
          "labels[1] is 2; with 2 classes");
    FAILS(svit_features_create(&out, context, values, low, 2, 2, 2, NULL, err), SVIT_E_ARGUMENT,
          "labels[0] is -2");
    FAILS(svit_features_create(&out, context, values, labels, 2, 2, 2, names, err), SVIT_E_ARGUMENT,
          "class_names[1] is NULL");
    FAILS(svit_features_create(&out, context, values, labels, 2, 2, 2, bytes, err), SVIT_E_ARGUMENT,
          "class_names[1] is '");
    ck_assert_ptr_null(out);
    svit_features *none = make(context, values, NULL, 2, 2, 0, NULL);
    ck_assert_int_eq(svit_features_labels(none)[1], -1);
    svit_features_free(none);
    svit_context_free(context);
}
END_TEST

/* What differs of two sets of patches is named; a set of no layer goes with any. */
START_TEST(test_sets_of_other_grids_are_not_joined)
{
    static const struct {
        int32_t tokens;
        size_t height, width;
    } grids[] = {{SVIT_TOKENS_MEAN, 2, 3},
                 {SVIT_TOKENS_PATCHES, 1, 3},
                 {SVIT_TOKENS_PATCHES, 2, 1},
                 {SVIT_TOKENS_PATCHES, 3, 2}};
    static const char *const names[] = {"owl", "cat", "fox"}, *const one[] = {"owl"};
    svit_context *context = context_of(1);
    const float values[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const int32_t labels[6] = {0};
    svit_features *set = make(context, values, labels, 6, 2, 3, names);
    svit_features *other = make(context, values, labels, 6, 2, 1, one);
    set->tokens = SVIT_TOKENS_PATCHES;
    set->grid_height = 2;
    set->grid_width = 3;
    OK(sv_features_set_text(set, &set->layer, "a", err));
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        char wanted[64];
        other->tokens = grids[i].tokens;
        other->grid_height = grids[i].height;
        other->grid_width = grids[i].width;
        snprintf(wanted, sizeof wanted, "of %zu x %zu tokens; both have the same", grids[i].height,
                 grids[i].width);
        FAILS(svit_features_append(set, other, err), SVIT_E_ARGUMENT, wanted);
    }
    other->tokens = set->tokens;
    other->grid_height = 2;
    other->grid_width = 3;
    OK(svit_features_append(set, other, err));
    ck_assert_uint_eq(svit_features_count(set), 12);
    ck_assert_uint_eq(svit_features_classes(set), 3);
    ck_assert_int_eq(svit_features_labels(set)[11], 0);
    svit_features_free(other);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

/* Regression: two classes of one name became one if the other set had the name, and stayed two if
 * it had not. */
START_TEST(test_sets_with_two_classes_of_one_name_are_not_joined)
{
    static const char *const twice[] = {"cat", "owl", "owl"}, *const one[] = {"owl"},
                             *const other[] = {"fox"};
    svit_context *context = context_of(1);
    const float values[4] = {1, 2, 3, 4};
    const int32_t labels[2] = {0};
    for (int i = 0; i < 2; i++) {
        svit_features *set = make(context, values, labels, 2, 2, 1, i ? one : other);
        svit_features *odd = make(context, values, labels, 2, 2, 3, twice);
        FAILS(svit_features_append(set, odd, err), SVIT_E_ARGUMENT,
              "classes 1 and 2 of other are 'owl'; different names are needed");
        FAILS(svit_features_append(odd, set, err), SVIT_E_ARGUMENT,
              "classes 1 and 2 of features are 'owl'");
        ck_assert_uint_eq(svit_features_count(set), 2);
        ck_assert_uint_eq(svit_features_classes(odd), 3);
        svit_features_free(odd);
        svit_features_free(set);
    }
    svit_context_free(context);
}
END_TEST

/* The elements, or only their bytes, are more than a size can be. */
START_TEST(test_features_that_fit_no_memory)
{
    static const size_t SIZES[][2] = {
        {SIZE_MAX / 2, 4}, {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX / 4, 2}, {SIZE_MAX / 4 + 1, 1}};
    svit_context *context = context_of(1);
    const float value = 0;
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        svit_features *out = NULL;
        char wanted[96];
        snprintf(wanted, sizeof wanted, "%zu x %zu features do not fit memory", SIZES[i][0],
                 SIZES[i][1]);
        FAILS(svit_features_create(&out, context, &value, NULL, SIZES[i][0], SIZES[i][1], 0, NULL,
                                   err),
              SVIT_E_MEMORY, wanted);
        ck_assert_ptr_null(out);
    }
    svit_context_free(context);
}
END_TEST

/* A set that grows by one sample at a time moves a few times only, and keeps what it has. */
START_TEST(test_a_set_grows_by_single_samples)
{
    enum { GROWN = 1000, MOVES = 20 };
    svit_context *context = context_of(1);
    const float first[2] = {0, 0.5F};
    const int32_t label = 0;
    svit_features *set = make(context, first, &label, 1, 2, GROWN, NULL);
    const float *place = svit_features_values(set);
    int moves = 0;
    for (int32_t i = 1; i < GROWN; i++) {
        const float row[2] = {(float)i, (float)i + 0.5F};
        svit_features *one = make(context, row, &i, 1, 2, GROWN, NULL);
        OK(svit_features_append(set, one, err));
        moves += svit_features_values(set) != place;
        place = svit_features_values(set);
        svit_features_free(one);
    }
    ck_assert_int_le(moves, MOVES);
    ck_assert_uint_eq(svit_features_count(set), GROWN);
    for (int32_t i = 0; i < GROWN; i++) {
        ck_assert_int_eq(svit_features_labels(set)[i], i);
        ck_assert_float_eq(place[2 * i], (float)i);
        ck_assert_float_eq(place[2 * i + 1], (float)i + 0.5F);
    }
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

/* The other set's "owl" is the first one's class 1, and "fox" is new. */
START_TEST(test_classes_are_joined_by_name)
{
    svit_context *context = context_of(1);
    const float a[4] = {1, 2, 3, 4}, b[6] = {5, 6, 7, 8, 9, 10};
    const int32_t of_a[2] = {1, 0}, of_b[3] = {1, 0, -1};
    const char *const names_a[] = {"cat", "owl"}, *const names_b[] = {"fox", "owl"};
    svit_features *set = make(context, a, of_a, 2, 2, 2, names_a);
    svit_features *other = make(context, b, of_b, 3, 2, 2, names_b);
    OK(svit_features_append(set, other, err));
    const int32_t expected[] = {1, 0, 1, 2, -1};
    ck_assert_uint_eq(svit_features_count(set), 5);
    ck_assert_uint_eq(svit_features_classes(set), 3);
    ck_assert_mem_eq(svit_features_labels(set), expected, sizeof expected);
    for (size_t i = 0; i < 10; i++)
        ck_assert_float_eq(svit_features_values(set)[i], (float)(i + 1));
    ck_assert_str_eq(svit_features_class_name(set, 2), "fox");
    svit_features *nameless = make(context, b, of_b, 3, 2, 2, NULL);
    svit_features *wide = make(context, b, NULL, 2, 3, 0, NULL);
    FAILS(svit_features_append(set, nameless, err), SVIT_E_ARGUMENT, "only one of the sets");
    FAILS(svit_features_append(set, wide, err), SVIT_E_ARGUMENT, "2 and 3 channels");
    FAILS(svit_features_append(set, set, err), SVIT_E_ARGUMENT, "the same set");
    ck_assert_uint_eq(svit_features_count(set), 5);
    svit_features *more = make(context, a, of_a, 2, 2, 7, NULL);
    OK(svit_features_append(nameless, more, err));
    ck_assert_uint_eq(svit_features_classes(nameless), 7);
    ck_assert_int_eq(svit_features_labels(nameless)[3], 1);
    svit_features_free(more);
    svit_features_free(wide);
    svit_features_free(nameless);
    svit_features_free(other);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

/* Similarities of the query (1, 0) are 1, 0.6, 0.6 and -1 whatever the lengths of the rows are. Of
 * the equal ones the first, of class 1, is the second neighbour. */
START_TEST(test_neighbours_vote_by_similarity)
{
    svit_context *context = context_of(2);
    const float rows[] = {2, 0, 300, 400, 0.6f, -0.8f, -5, 0}, query[] = {7, 0};
    const int32_t labels[] = {0, 1, 2, 2};
    svit_features *set = make(context, rows, labels, 4, 2, 3, NULL);
    float p[3];
    OK(svit_features_knn(set, query, 1, 2, 0.5, p, err));
    const double vote = exp((0.6 - 1) / 0.5);
    ck_assert_double_le(fabs(p[0] - 1 / (1 + vote)), 1e-6);
    ck_assert_double_le(fabs(p[1] - vote / (1 + vote)), 1e-6);
    ck_assert_float_eq(p[2], 0);
    OK(svit_features_knn(set, query, 1, 100, 0.5, p, err));
    const double last = exp(-2 / 0.5), sum = 1 + 2 * vote + last;
    ck_assert_double_le(fabs(p[2] - (vote + last) / sum), 1e-6);
    OK(svit_features_knn(set, query, 1, 4, 1e-300, p, err));
    ck_assert_float_eq(p[0], 1);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

/* At a high temperature all votes are equal, and the most frequent class wins by one sample. */
START_TEST(test_many_equal_votes_are_counted)
{
    enum { MORE = 3001, ALL = 2 * MORE - 1 };
    static float rows[ALL * 2];
    static int32_t labels[ALL];
    float query[2] = {1, 0}, p[2];
    svit_features *set = NULL;
    svit_context *context = context_of(1);
    for (size_t i = 0; i < ALL; i++) {
        rows[2 * i] = 1;
        rows[2 * i + 1] = (float)i / ALL;
        labels[i] = i >= MORE - 1;
    }
    OK(svit_features_create(&set, context, rows, labels, ALL, 2, 2, NULL, err));
    OK(svit_features_knn(set, query, 1, ALL, 1e9, p, err));
    ck_assert_float_eq_tol(p[0], (float)(MORE - 1) / ALL, 1e-7f);
    ck_assert_float_eq_tol(p[1], (float)MORE / ALL, 1e-7f);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

/* The votes of a million neighbours of one class in three add up to 1. */
START_TEST(test_votes_of_many_neighbours_add_up)
{
    enum { MANY = 1000000 };
    float *rows = malloc(2 * MANY * sizeof *rows), p[3];
    int32_t *labels = malloc(MANY * sizeof *labels);
    const float query[2] = {1, 0};
    svit_context *context = context_of(2);
    svit_features *set = NULL;
    for (size_t i = 0; i < MANY; i++) {
        rows[2 * i] = 1;
        rows[2 * i + 1] = (float)i / MANY;
        labels[i] = i % 3 == 0;
    }
    OK(svit_features_create(&set, context, rows, labels, MANY, 2, 3, NULL, err));
    OK(svit_features_knn(set, query, 1, MANY, 0.7, p, err));
    ck_assert_double_le(fabs((double)p[0] + p[1] + p[2] - 1), 1e-7);
    svit_features_free(set);
    svit_context_free(context);
    free(labels);
    free(rows);
}
END_TEST

/* Whichever comes first, the nearest row and the first of the two equal ones are the neighbours. */
START_TEST(test_first_of_equal_neighbours_counts)
{
    static const float ROWS[3][6] = {{1, 0, 0.6f, 0.8f, 0.6f, -0.8f},
                                     {0.6f, 0.8f, 1, 0, 0.6f, -0.8f},
                                     {0.6f, 0.8f, 0.6f, -0.8f, 1, 0}};
    static const int32_t LABELS[3][3] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0}};
    const float query[] = {1, 0};
    svit_context *context = context_of(1);
    svit_features *set = make(context, ROWS[_i], LABELS[_i], 3, 2, 3, NULL);
    float p[3];
    OK(svit_features_knn(set, query, 1, 2, 1, p, err));
    ck_assert_float_gt(p[0], p[1]);
    ck_assert_float_gt(p[1], 0.3f);
    ck_assert_float_eq(p[2], 0);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

/* Squares of these features overflow float32, and one row has no direction. */
START_TEST(test_neighbours_of_extreme_features)
{
    svit_context *context = context_of(1);
    const float rows[] = {3e38f, 3e38f, 0, 0, -1e-38f, -1e-38f}, queries[] = {1e-38f, 1e-38f, 0, 0};
    const int32_t labels[] = {0, 1, 2};
    svit_features *set = make(context, rows, labels, 3, 2, 3, NULL);
    float p[6];
    OK(svit_features_knn(set, queries, 2, 1, 0.07, p, err));
    const float expected[] = {1, 0, 0, 1, 0, 0};
    ck_assert_mem_eq(p, expected, sizeof p);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

START_TEST(test_arguments_of_neighbours_are_named)
{
    svit_context *context = context_of(1);
    const float rows[] = {1, 2, 3, 4}, bad[] = {1, INFINITY};
    const int32_t labels[] = {0, 1};
    svit_features *set = make(context, rows, labels, 2, 2, 2, NULL);
    svit_features *none = make(context, rows, NULL, 2, 2, 2, NULL);
    float p[2];
    FAILS(svit_features_knn(set, rows, 0, 1, 1, p, err), SVIT_E_ARGUMENT, "n is 0");
    FAILS(svit_features_knn(set, rows, 1, 0, 1, p, err), SVIT_E_ARGUMENT, "k is 0");
    FAILS(svit_features_knn(set, rows, 1, 1, 0, p, err), SVIT_E_ARGUMENT, "temperature is 0");
    FAILS(svit_features_knn(set, rows, 1, 1, NAN, p, err), SVIT_E_ARGUMENT, "temperature is ");
    /* A subnormal temperature gave NaN. */
    FAILS(svit_features_knn(set, rows, 1, 1, 1e-310, p, err), SVIT_E_ARGUMENT, "temperature is 1");
    WORKS(svit_features_knn(set, rows, 1, 2, 2.3e-308, p, err));
    ck_assert_float_eq(p[0], 1);
    FAILS(svit_features_knn(set, bad, 1, 1, 1, p, err), SVIT_E_ARGUMENT, "queries[0, 1] is inf");
    FAILS(svit_features_knn(none, rows, 1, 1, 1, p, err), SVIT_E_ARGUMENT, "labels[0]");
    svit_features_free(none);
    svit_features_free(set);
    svit_context_free(context);
}
END_TEST

static Suite *feature_sets_suite(void)
{
    Suite *suite = suite_create("feature sets");
    TCase *tests = tcase_create("core");
    tcase_add_loop_test(tests, test_rows_are_the_layer_of_their_images, 0, 3);
    tcase_add_test(tests, test_tokens_are_pooled);
    tcase_add_test(tests, test_threads_change_no_bit);
    tcase_add_test(tests, test_description_is_that_of_the_weights_below_the_head);
    tcase_add_test(tests, test_what_cannot_be_computed_is_named);
    tcase_add_test(tests, test_arrays_that_are_not_accepted_are_named);
    tcase_add_test(tests, test_sets_of_other_grids_are_not_joined);
    tcase_add_test(tests, test_sets_with_two_classes_of_one_name_are_not_joined);
    tcase_add_test(tests, test_features_that_fit_no_memory);
    tcase_add_test(tests, test_a_set_grows_by_single_samples);
    tcase_add_test(tests, test_classes_are_joined_by_name);
    tcase_add_test(tests, test_neighbours_vote_by_similarity);
    tcase_add_test(tests, test_votes_of_many_neighbours_add_up);
    tcase_add_test(tests, test_many_equal_votes_are_counted);
    tcase_add_loop_test(tests, test_first_of_equal_neighbours_counts, 0, 3);
    tcase_add_test(tests, test_neighbours_of_extreme_features);
    tcase_add_test(tests, test_arguments_of_neighbours_are_named);
    suite_add_tcase(suite, tests);
    return suite;
}

TEST_MAIN(feature_sets_suite)
