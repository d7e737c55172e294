/* Operations of features, and of heads that are fitted to them. */
#include "calls.h"

static svit_features_config random_config(void)
{
    static const char *const layers[] = {NULL, "features", "blocks.0", "nothing"};
    svit_features_config config;
    svit_features_config_init(&config, sizeof config);
    config.batch = calls_choose(4);
    config.compute = (int32_t)calls_choose(4);
    config.tokens = (int32_t)calls_choose(5);
    config.layer = layers[calls_choose(4)];
    return config;
}

static void compute(void)
{
    const svit_features_config config = random_config();
    const svit_pipeline_config pipeline = small_pipeline();
    CREATE(features, svit_features_free,
           svit_features_compute(OUT(features), ANY(models), ANY(datasets),
                                 calls_choose(2) ? &pipeline : NULL,
                                 calls_choose(2) ? &config : NULL, ERR));
}

static void create(void)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    CREATE(features, svit_features_free,
           svit_features_create(OUT(features), fuzz_context(), calls_numbers, calls_labels,
                                calls_choose(6), calls_choose(4) ? 8 : calls_choose(20),
                                calls_choose(5), calls_choose(2) ? names : NULL, ERR));
}

static void append(void)
{
    svit_features *set = ANY(features);
    if (svit_features_count(set) <= SAMPLES)
        TRY(svit_features_append(set, ANY(features), ERR));
}

static void save(void)
{
    TRY(svit_features_save(ANY(features), calls_file("features"), ERR));
}

static void load(void)
{
    CREATE(features, svit_features_free,
           svit_features_load(OUT(features), fuzz_context(), calls_file("features"), ERR));
}

static void knn(void)
{
    TRY(svit_features_knn(ANY(features), calls_numbers, calls_choose(4), calls_choose(5),
                          calls_choose(3) / 2.0, calls_results, ERR));
}

static void nearest(void)
{
    size_t indices[4 * 4] = {0}, k = calls_choose(5);
    float distances[4 * 4];
    const svit_features *set = ANY(features);
    TRY(svit_features_nearest(set, calls_numbers, calls_choose(4), k, (int32_t)calls_choose(3),
                              indices, distances, ERR));
    for (size_t i = 0; i < 4 * 4; i++)
        FUZZ_CHECK(indices[i] == 0 || indices[i] < svit_features_count(set));
}

static void coreset(void)
{
    CREATE(features, svit_features_free,
           svit_features_coreset(OUT(features), ANY(features), calls_choose(6), ERR));
}

static void fit_head(void)
{
    svit_head_config config;
    svit_head_config_init(&config, sizeof config);
    config.epochs = 1 + calls_choose(2);
    config.batch = calls_choose(4);
    config.balanced = (int32_t)calls_choose(3);
    TRY(svit_model_fit_head(ANY(models), ANY(features), &config, ERR));
}

static void fit_class(void)
{
    svit_class_config config;
    svit_class_config_init(&config, sizeof config);
    config.recall = calls_choose(3) / 2.0;
    TRY(svit_model_fit_class(ANY(models), calls_choose(2) ? "new" : NULL, ANY(features),
                             calls_choose(2) ? ANY(features) : NULL,
                             calls_choose(2) ? &config : NULL, ERR));
}

static void read_values(void)
{
    const svit_features *set = ANY(features);
    const float *values = svit_features_values(set);
    const int32_t *labels = svit_features_labels(set);
    const size_t count = svit_features_count(set);
    for (size_t i = 0; i < count; i++)
        FUZZ_CHECK(labels[i] >= -1 && labels[i] < (int32_t)svit_features_classes(set));
    if (count > 0)
        FUZZ_CHECK(values[count * svit_features_channels(set) - 1] < 1e38f);
    int32_t tokens;
    size_t height = 1, width = 1;
    if (svit_features_grid(set, &tokens, &height, &width, ERR) == SVIT_OK)
        FUZZ_CHECK(height >= 1 && width >= 1);
    fuzz_check_text(svit_features_layer(set));
    fuzz_check_text(svit_features_model(set));
    fuzz_check_text(svit_features_class_name(set, calls_choose(5)));
}

static void open_extractor(void)
{
    const svit_features_config config = random_config();
    const svit_pipeline_config pipeline = small_pipeline();
    CREATE(extractors, svit_extractor_free,
           svit_extractor_create(OUT(extractors), ANY(models), calls_choose(2) ? &pipeline : NULL,
                                 calls_choose(2) ? &config : NULL, ERR));
}

static void extract(void)
{
    svit_extractor *extractor = ANY(extractors);
    int32_t tokens;
    size_t height = 0, width = 0, n = calls_choose(4);
    const size_t side = 1 + calls_choose(20);
    if (svit_extractor_grid(extractor, &tokens, &height, &width, ERR) != SVIT_OK ||
        n * height * width * svit_extractor_channels(extractor) > NUMBERS)
        return;
    TRY(svit_extract_f32(extractor, calls_numbers, n, side, side, calls_results, ERR));
}

/* New ones come last, so that the recorded bytes keep their meaning as far as they can. */
static const calls_operation operations[] = {
    compute,   create,      append,  save,    load,           knn,    fit_head,
    fit_class, read_values, nearest, coreset, open_extractor, extract};
const calls_table calls_of_features = CALLS_TABLE(operations);
