/* What a program changes after an optimiser was created counts in its updates: each setting of
 * svit_optimizer_set_f64, for each kind of optimiser, and the weights. */
#include "base/text/pattern.h"
#include "fit.h"

enum { CLASSES = 7, UPDATES = 3, KINDS = 4, RULES = 2, KEYS_MAX = 16 };

static svit_context *context;
static const char *const KIND_NAMES[KINDS] = {"adamw", "sgd", "muon", "lion"};

static void setup(void)
{
    context = fit_context(1);
}

static void teardown(void)
{
    svit_context_free(context);
}

/* A model, its session and its optimiser. */
typedef struct rig {
    svit_model *model;
    svit_session *session;
    svit_optimizer *optimizer;
} rig;

static rig rig_make(const char *json)
{
    rig r;
    svit_session_config session;
    svit_optimizer_config config;
    r.model = fit_model(context, CLASSES, 1);
    WORKS(svit_session_config_init(&session, sizeof session));
    session.mode = SVIT_MODE_TRAIN;
    session.max_batch = 1;
    WORKS(svit_session_create(&r.session, r.model, &session, err));
    WORKS(svit_optimizer_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_optimizer_create(&r.optimizer, r.model, &config, err));
    return r;
}

static void rig_free(rig *r)
{
    svit_optimizer_free(r->optimizer);
    svit_session_free(r->session);
    svit_model_free(r->model);
}

/* Updates with gradients that differ from step to step. */
static void update(rig *r)
{
    for (size_t step = 0; step < UPDATES; step++) {
        const char *name;
        for (size_t i = 0; (name = svit_model_parameter_name(r->model, i)) != NULL; i++) {
            const size_t elements = fit_elements(r->model, name);
            float *gradient = malloc(elements * sizeof *gradient);
            for (size_t k = 0; k < elements; k++)
                gradient[k] = (float)((step + 2) * (k + i + 1) % 5) - 1.5f;
            WORKS(svit_session_set_gradient(r->session, name, gradient, elements, err));
            free(gradient);
        }
        WORKS(svit_step(r->optimizer, r->session, err));
    }
}

/* Whether two rigs have the same weights and the same averages. */
static int same(rig *a, rig *b)
{
    int all = fit_same(a->model, b->model);
    WORKS(svit_optimizer_swap_ema(a->optimizer, err));
    WORKS(svit_optimizer_swap_ema(b->optimizer, err));
    return fit_same(a->model, b->model) && all;
}

/* The keys that svit_optimizer_set_f64 knows, as its message lists them. */
static size_t find_keys(char keys[KEYS_MAX][32])
{
    rig r = rig_make("{}");
    svit_error error = {.struct_size = sizeof error};
    ck_assert_int_eq(svit_optimizer_set_f64(r.optimizer, "none", 0, &error), SVIT_E_ARGUMENT);
    double value;
    FAILS(svit_optimizer_get_f64(r.optimizer, "none", &value, err), SVIT_E_ARGUMENT,
          "clip_norm, ema_momentum, gradient_norm");
    size_t count = 0;
    for (char *key = strtok(strstr(error.message, "known are ") + 10, ", "); key;
         key = strtok(NULL, ", "))
        snprintf(keys[count++], sizeof keys[0], "%s", key);
    rig_free(&r);
    return count;
}

/* An optimiser of the kind and decay rule with keys[which] at `value`, and the others above 0. One
 * group has a decay of its own. */
static void describe(char out[1024], int kind, int rule, char keys[KEYS_MAX][32], size_t count,
                     size_t which, double value)
{
    int length = snprintf(
        out, 1024,
        "{\"optimizer\": \"%s\", \"decay_rule\": \"%s\", \"ema\": \"plain\", \"decay_exclude\": "
        "[\"norm\"], \"groups\": [{\"pattern\": \"head.*\", \"weight_decay\": 0.25}, "
        "{\"pattern\": \"patch_embed.*\", \"weight_decay\": 0.25}, "
        "{\"pattern\": \"patch_embed.proj.*\"}]",
        KIND_NAMES[kind], rule ? "unscaled" : "scaled");
    for (size_t i = 0; i < count; i++)
        length += snprintf(out + length, 1024 - (size_t)length, ", \"%s\": %g", keys[i],
                           i == which ? value : 0.125);
    snprintf(out + length, 1024 - (size_t)length, "}");
}

START_TEST(test_each_setting_counts_from_the_change_on)
{
    const int kind = _i / RULES, rule = _i % RULES;
    char keys[KEYS_MAX][32], before[1024], after[1024];
    const size_t count = find_keys(keys);
    ck_assert_uint_eq(count, 5);
    for (size_t i = 0; i < count; i++)
        for (int rises = 0; rises < 2; rises++) {
            const double from = rises ? 0 : 0.5, to = rises ? 0.5 : 0;
            describe(before, kind, rule, keys, count, i, from);
            describe(after, kind, rule, keys, count, i, to);
            rig unchanged = rig_make(before), changed = rig_make(before), anew = rig_make(after);
            WORKS(svit_optimizer_set_f64(changed.optimizer, keys[i], to, err));
            double value = -1;
            WORKS(svit_optimizer_get_f64(changed.optimizer, keys[i], &value, err));
            ck_assert_double_eq(value, to);
            update(&unchanged);
            update(&changed);
            update(&anew);
            const int is_moments = kind == SVIT_OPTIMIZER_ADAMW || kind == SVIT_OPTIMIZER_LION;
            /* AdamW and Lion have no such momentum; the sizes of the gradients cancel in updates
             * but those of SGD. */
            const int must_differ = strcmp(keys[i], "momentum") == 0    ? !is_moments
                                    : strcmp(keys[i], "clip_norm") == 0 ? kind == SVIT_OPTIMIZER_SGD
                                                                        : 1;
            ck_assert_msg(same(&changed, &anew), "%s of %s, set to %g, is not that of creation",
                          keys[i], KIND_NAMES[kind], to);
            if (must_differ)
                ck_assert_msg(!same(&unchanged, &changed), "%s of %s, set to %g, changes nothing",
                              keys[i], KIND_NAMES[kind], to);
            rig_free(&anew);
            rig_free(&changed);
            rig_free(&unchanged);
        }
}
END_TEST

/* Parameters that were given a decay of their own keep it, unless a later group has none; those
 * that decay_exclude excludes have none. */
START_TEST(test_a_decay_of_a_parameter_stays)
{
    static const struct {
        const char *pattern; /* that svit_optimizer_set_parameter_f64 gives the decay 0.25 */
        const char *name;
        int stays;
    } cases[] = {{NULL, "head.weight", 1},
                 {NULL, "layers.0.blocks.0.norm2.weight", 1},
                 {NULL, "patch_embed.proj.weight", 0},
                 {"patch_embed.*", "patch_embed.proj.weight", 1}};
    char keys[KEYS_MAX][32] = {"weight_decay", "learning_rate"}, json[1024];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        describe(json, SVIT_OPTIMIZER_SGD, 0, keys, 2, 0, 0.125);
        rig plain = rig_make(json), changed = rig_make(json);
        if (cases[i].pattern) {
            WORKS(svit_optimizer_set_parameter_f64(plain.optimizer, cases[i].pattern,
                                                   "weight_decay", 0.25, err));
            WORKS(svit_optimizer_set_parameter_f64(changed.optimizer, cases[i].pattern,
                                                   "weight_decay", 0.25, err));
        }
        WORKS(svit_optimizer_set_f64(changed.optimizer, "weight_decay", 0.5, err));
        update(&plain);
        update(&changed);
        const size_t elements = fit_elements(plain.model, cases[i].name),
                     bytes = elements * sizeof(float);
        float *a = malloc(bytes), *b = malloc(bytes);
        WORKS(svit_model_get_parameter(plain.model, cases[i].name, a, elements, err));
        WORKS(svit_model_get_parameter(changed.model, cases[i].name, b, elements, err));
        ck_assert_msg((memcmp(a, b, bytes) == 0) == cases[i].stays, "case %zu", i);
        free(a);
        free(b);
        rig_free(&changed);
        rig_free(&plain);
    }
}
END_TEST

/* Adds 1 to every weight. */
static void change_weights(svit_model *model)
{
    const char *name;
    for (size_t i = 0; (name = svit_model_parameter_name(model, i)) != NULL; i++) {
        const size_t elements = fit_elements(model, name);
        float *weights = malloc(elements * sizeof *weights);
        WORKS(svit_model_get_parameter(model, name, weights, elements, err));
        for (size_t k = 0; k < elements; k++)
            weights[k] += 1;
        WORKS(svit_model_set_parameter(model, name, weights, elements, err));
        free(weights);
    }
}

/* Averages and slow weights begin with the weights before the first step, of frozen parameters
 * too. */
START_TEST(test_averages_start_before_the_first_step)
{
    static const char *const AVERAGES[] = {"plain", "keras", "swa"};
    char json[1024];
    snprintf(json, sizeof json,
             "{\"ema\": \"%s\", \"ema_momentum\": 0.5, \"total_steps\": 4, \"lookahead\": %d, "
             "\"optimizer\": \"%s\", \"groups\": [{\"pattern\": \"*bias\", \"trainable\": false}]}",
             AVERAGES[_i % 3], _i / 3 % 3, KIND_NAMES[_i / 9]);
    rig before = rig_make(json), after = rig_make(json);
    svit_optimizer_config config;
    change_weights(before.model);
    svit_optimizer_free(before.optimizer);
    WORKS(svit_optimizer_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_optimizer_create(&before.optimizer, before.model, &config, err));
    change_weights(after.model);
    update(&before);
    update(&after);
    ck_assert(same(&before, &after));
    rig_free(&after);
    rig_free(&before);
}
END_TEST

/* Parameters that are left out at first, or in between, take the steps of a run without these
 * updates, as in PyTorch; the others go on. */
START_TEST(test_updates_without_a_parameter_do_not_count)
{
    static const char *const PATTERNS[] = {"head.*", "layers.1.*", "*bias"};
    char json[128];
    snprintf(json, sizeof json, "{\"optimizer\": \"%s\", \"ema\": \"plain\"}", KIND_NAMES[_i % 4]);
    rig paused = rig_make(json), whole = rig_make(json);
    const char *pattern = PATTERNS[_i / 4 % 3], *name;
    if (_i / 12) {
        update(&paused);
        update(&whole);
    }
    for (int trainable = 0; trainable < 2; trainable++) {
        WORKS(svit_optimizer_set_parameter_f64(paused.optimizer, pattern, "trainable", trainable,
                                               err));
        update(&paused);
    }
    update(&whole);
    size_t equal = 0, others = 0;
    for (size_t i = 0; (name = svit_model_parameter_name(whole.model, i)) != NULL; i++) {
        const size_t elements = fit_elements(whole.model, name);
        float *a = calloc(elements, sizeof *a), *b = calloc(elements, sizeof *b);
        WORKS(svit_model_get_parameter(paused.model, name, a, elements, err));
        WORKS(svit_model_get_parameter(whole.model, name, b, elements, err));
        const int is_same = memcmp(a, b, elements * sizeof *a) == 0;
        const int is_paused = sv_pattern_matches(pattern, name);
        ck_assert_msg(is_same == is_paused, "%s", name);
        equal += (size_t)is_paused;
        others += (size_t)!is_paused;
        free(b);
        free(a);
    }
    ck_assert(equal > 0 && others > 0);
    rig_free(&whole);
    rig_free(&paused);
}
END_TEST

/* A session that begins behind the body leaves the body out, whose first steps are then those of a
 * new optimiser. */
START_TEST(test_a_session_of_a_part_counts_for_its_parameters)
{
    char json[64];
    const char *name;
    snprintf(json, sizeof json, "{\"optimizer\": \"%s\"}", KIND_NAMES[_i]);
    rig parted = rig_make(json), whole = rig_make(json);
    svit_session *all = parted.session;
    svit_session_config config;
    WORKS(svit_session_config_init(&config, sizeof config));
    config.mode = SVIT_MODE_TRAIN;
    config.max_batch = 1;
    snprintf(config.input_layer, sizeof config.input_layer, "features");
    WORKS(svit_session_create(&parted.session, parted.model, &config, err));
    for (size_t step = 0; step < UPDATES; step++) {
        float gradient[CLASSES];
        for (size_t k = 0; k < CLASSES; k++)
            gradient[k] = (float)k - 1.5f;
        WORKS(svit_session_set_gradient(parted.session, "head.bias", gradient, CLASSES, err));
        WORKS(svit_step(parted.optimizer, parted.session, err));
    }
    svit_session_free(parted.session);
    parted.session = all;
    update(&parted);
    update(&whole);
    for (size_t i = 0; (name = svit_model_parameter_name(whole.model, i)) != NULL; i++) {
        const size_t elements = fit_elements(whole.model, name);
        float *a = calloc(elements, sizeof *a), *b = calloc(elements, sizeof *b);
        WORKS(svit_model_get_parameter(parted.model, name, a, elements, err));
        WORKS(svit_model_get_parameter(whole.model, name, b, elements, err));
        ck_assert_msg((memcmp(a, b, elements * sizeof *a) == 0) == (strncmp(name, "head.", 5) != 0),
                      "%s", name);
        free(b);
        free(a);
    }
    rig_free(&parted);
    rig_free(&whole);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("optim_changes");
    TCase *c = tcase_create("optim_changes");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, test_each_setting_counts_from_the_change_on, 0, KINDS * RULES);
    tcase_add_test(c, test_a_decay_of_a_parameter_stays);
    tcase_add_loop_test(c, test_updates_without_a_parameter_do_not_count, 0, 2 * 3 * KINDS);
    tcase_add_loop_test(c, test_a_session_of_a_part_counts_for_its_parameters, 0, KINDS);
    tcase_add_loop_test(c, test_averages_start_before_the_first_step, 0, 9 * KINDS);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
