/* Checks that multiply-adds are counted as the layers compute. */
#include "fit.h"

static uint64_t forward_of(const char *json)
{
    svit_model_config config;
    uint64_t forward;
    WORKS(svit_model_config_from_json(&config, sizeof config, json, err));
    WORKS(svit_model_multiply_adds(&config, &forward, NULL, err));
    return forward;
}

/* An attention pooling of c channels, four tokens and h heads, with m hidden channels: for each
 * image 2 c c of values and projection, 2 c 4 h of the attention, 2 c m of the MLP. */
START_TEST(test_attention_pooling_of_few_tokens_is_counted)
{
    enum { CHANNELS = 96, TOKENS = 4, HIDDEN = 24 };
    const uint64_t heads = (uint64_t)_i;
    char json[256];
    const char *vit = "{\"architecture\":\"vit\",\"input_height\":8,\"input_width\":8,"
                      "\"patch_size\":4,\"dim\":96,\"head_units\":[],\"pool\":";
    snprintf(json, sizeof json, "%s\"mean\"}", vit);
    const uint64_t of_mean = forward_of(json);
    snprintf(json, sizeof json, "%s\"attention\",\"pool_heads\":%d,\"pool_mlp_dim\":%d}", vit, _i,
             HIDDEN);
    ck_assert_uint_eq(forward_of(json), of_mean + 2 * CHANNELS * CHANNELS +
                                            2 * CHANNELS * TOKENS * heads + 2 * CHANNELS * HIDDEN);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("multiply_adds");
    TCase *c = tcase_create("multiply_adds");
    tcase_add_loop_test(c, test_attention_pooling_of_few_tokens_is_counted, 1, 4);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
