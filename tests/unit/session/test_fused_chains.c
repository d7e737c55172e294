/* Checks which layers form fused chains in inference. That fusing changes no bit is checked in
 * api/test_determinism.c, where a batch gives the results that its images give one by one. */
#include "fit.h"

#include "session/fused_chain.h"

#include <shiftvit/shiftvit.h>

enum { MOST = 8 };

typedef struct shape {
    const char *json;
    size_t n;
    sv_fused_chain chains[MOST]; /* up to a chain without layers */
} shape;

/* The layers of a ShiftViT are patches, blocks, norm with patches, ...; a patch layer belongs to
 * the stage that it begins. The layers of a ViT are patches, position, then attention and MLP in
 * turn, and a norm. Those of an MLP-Mixer are patches, token MLP and channel MLP in turn, and a
 * norm.
 */
static const shape SHAPES[] = {
    {"{\"input_height\":48,\"input_width\":48,\"dim\":96,\"blocks\":[2,4,8,2]}",
     256,
     {{0, 8, 4, 3, 1}, {8, 17, 16, 8, 0}}},
    {"{\"input_height\":48,\"input_width\":48,\"dim\":96,\"blocks\":[2,4,8,2]}",
     127,
     {{0, 8, 4, 3, 1}}},
    {"{\"input_height\":48,\"input_width\":48,\"dim\":96,\"blocks\":[2,4,8,2]}",
     31,
     {{0, 3, 1, 0, 0}}},
    {"{\"input_height\":48,\"input_width\":48,\"dim\":96,\"blocks\":[2,4,8,2]}", 7, {{.end = 0}}},
    {"{\"input_height\":224,\"input_width\":224,\"dim\":96,\"blocks\":[1,1]}", 64, {{.end = 0}}},
    {"{\"architecture\":\"vit\",\"input_height\":72,\"input_width\":72,\"patch_size\":6,"
     "\"dim\":64,\"depth\":3,\"heads\":4,\"head_dim\":64,\"mlp_dim\":128,\"head_units\":[64]}",
     64,
     {{0, 9, 1, 0, 0}}},
    {"{\"architecture\":\"mixer\",\"depth\":3}", 64, {{0, 8, 2, 0, 0}}},
};

START_TEST(test_fused_chains_take_images_that_fit_the_cache)
{
    const shape *of = &SHAPES[_i];
    svit_context *context = fit_context(1);
    svit_model_config config;
    svit_model *model;
    svit_session *session;
    svit_session_config session_config;
    WORKS(svit_model_config_from_json(&config, sizeof config, of->json, err));
    WORKS(svit_model_create(&model, context, &config, 1, err));
    WORKS(svit_session_config_init(&session_config, sizeof session_config));
    session_config.max_batch = (uint32_t)of->n;
    WORKS(svit_session_create(&session, model, &session_config, err));
    size_t wanted = 0;
    for (size_t i = 0; i < session->layers.inference_count;) {
        sv_fused_chain got =
            sv_fused_chain_from(session, i, session->layers.inference_count, of->n);
        const sv_fused_chain *want = &of->chains[wanted];
        if (want->end > 0 && want->first == i) {
            ck_assert_uint_eq(got.end, want->end);
            ck_assert_uint_eq(got.images, want->images);
            ck_assert_uint_eq(got.inner_end, want->inner_end);
            ck_assert_uint_eq(got.inner_images, want->inner_images);
            wanted++;
        } else {
            ck_assert_msg(got.images == 0 && got.end == i + 1,
                          "layer %zu begins a fused chain to %zu", i, got.end);
        }
        i = got.end;
    }
    ck_assert_uint_eq(of->chains[wanted].end, 0);
    svit_session_free(session);
    svit_model_free(model);
    svit_context_free(context);
}
END_TEST

static Suite *chains_suite(void)
{
    Suite *suite = suite_create("fused chains");
    TCase *all = tcase_create("shapes");
    tcase_add_loop_test(all, test_fused_chains_take_images_that_fit_the_cache, 0,
                        sizeof SHAPES / sizeof *SHAPES);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(chains_suite)
