/* What the name of one of timm's models tells beyond its tensors: epsilon, activation, width and
 * channels of a head, and rotary positions. Rows are read from the first to the last; a later one
 * has the last word on a field. */
#include "models/open/open_internal.h"

#include "base/text/pattern.h"

#include <stdio.h>
#include <string.h>

enum { MAX_STATED = 8 };

typedef struct stated {
    const char *field;
    double value;
} stated;

typedef struct name_row {
    const char *pattern;
    stated list[MAX_STATED];
} name_row;

#define POOL(which)                                                                                \
    {                                                                                              \
        "pool", SVIT_POOL_##which                                                                  \
    }
#define EPS(value)                                                                                 \
    {                                                                                              \
        "norm_eps", value                                                                          \
    }
#define WIDTH(channels)                                                                            \
    {                                                                                              \
        "dim", channels                                                                            \
    }
#define HEAD(channels)                                                                             \
    {                                                                                              \
        "head_dim", channels                                                                       \
    }
#define AXIAL(base)                                                                                \
    {"rope", SVIT_ROPE_AXIAL},                                                                     \
    {                                                                                              \
        "rope_theta", base                                                                         \
    }
#define COLUMNS                                                                                    \
    {                                                                                              \
        "rope_axes", SVIT_ROPE_AXES_COLUMNS_FIRST                                                  \
    }
#define GRID(side)                                                                                 \
    {"rope_height", side},                                                                         \
    {                                                                                              \
        "rope_width", side                                                                         \
    }
#define CENTRED                                                                                    \
    {"rope", SVIT_ROPE_CENTRED}, {"rope_theta", 100},                                              \
    {                                                                                              \
        "rope_pairs", SVIT_ROPE_PAIRS_HALVES                                                       \
    }
#define POSITIONS(which)                                                                           \
    {                                                                                              \
        "position_tokens", SVIT_POSITION_##which                                                   \
    }
#define TANH                                                                                       \
    {                                                                                              \
        "activation", SVIT_ACTIVATION_GELU_TANH                                                    \
    }

static const name_row ROWS[] = {
    {"*", {EPS(1e-6), {"activation", SVIT_ACTIVATION_GELU}}},
    {"*_gap_*", {POOL(MEAN_PATCHES)}},
    {"*_siglip_*", {POOL(ATTENTION)}},
    {"*_siglip_gap_*", {POOL(MEAN_PATCHES)}},
    {"*_map_*", {POOL(ATTENTION)}},
    {"eva*", {POOL(MEAN_PATCHES)}},
    {"*_dinov3*", {POOL(MEAN_PATCHES)}},
    {"beit3_*", {POOL(MEAN_PATCHES)}},
    {"test_vit2", {POOL(MEAN_PATCHES)}},
    {"test_vit4", {POOL(MEAN_PATCHES)}},
    {"test_vit3", {POOL(ATTENTION), {"pool_include_prefix", 1}}},
    {"vit_pe_*", {POOL(MEAN_PATCHES)}},
    {"vit_pe_core_*", {POOL(ATTENTION)}},
    {"*_clip_*", {POOL(CLASS_TOKEN), EPS(1e-5)}},
    {"*_quickgelu_*", {{"activation", SVIT_ACTIVATION_QUICK_GELU}}},
    {"eva*_clip_*", {EPS(1e-6)}},
    {"beit3_*", {EPS(1e-5)}},
    {"deit3_*", {POSITIONS(PATCHES)}},
    {"flexivit_*", {POSITIONS(PATCHES)}},
    {"*_xp_*", {POSITIONS(PATCHES)}},
    {"*_reg1_*", {POSITIONS(PATCHES)}},
    {"*_reg4_*", {POSITIONS(PATCHES)}},
    {"*_rope_*", {AXIAL(100), COLUMNS, POSITIONS(NONE)}},
    {"*_ape_*", {POSITIONS(PATCHES)}},
    {"*_rope_mixed_*", {{"rope", SVIT_ROPE_MIXED}, {"rope_theta", 10}}},
    {"*_reg1_*", {{"register_tokens", 1}}},
    {"*_reg4_*", {{"register_tokens", 4}}},
    {"*_rope_reg*_gap_*", {AXIAL(10000), {"rope_axes", 0}, GRID(16)}},
    {"eva02_*", {AXIAL(10000), GRID(16)}},
    {"*_dinov3*", {EPS(1e-5), CENTRED, POSITIONS(NONE)}},
    {"*_lingbot", {EPS(1e-5), CENTRED, POSITIONS(NONE)}},
    {"vit_pe_*", {EPS(1e-5), AXIAL(10000), COLUMNS, {"rope_offset", 1}, GRID(32)}},
    {"vit_pe_core_*", {GRID(24), {"pool_heads", 8}}},
    {"vit_pe_core_base_*", {GRID(14)}},
    {"vit_pe_*_gigantic_*", {GRID(32), {"rope_offset", 0}}},
    {"vit_pe_lang_*", {{"final_norm", 0}}},
    {"vit_pe_spatial_*", {{"final_norm", 0}}},
    {"*_patch32_siglip_*", {TANH}},
    {"vit_giantopt_*", {TANH}},
    {"vit_large_patch16_siglip*_512", {TANH}},
    {"vit_so400m_patch16_siglip*", {TANH}},
    {"*_tiny*", {WIDTH(192)}},
    {"*_xsmall*", {WIDTH(256)}},
    {"*_small*", {WIDTH(384)}},
    {"vit_*wee_*", {WIDTH(256)}},
    {"vit_*little_*", {WIDTH(320)}},
    {"*_medium*", {WIDTH(512)}},
    {"*_betwixt_*", {WIDTH(640)}},
    {"*_base*", {WIDTH(768)}},
    {"vit_base_*_plus_*", {WIDTH(896)}},
    {"*_large*", {WIDTH(1024)}},
    {"vit_so150m_*", {WIDTH(896)}},
    {"vit_so150m2_*", {WIDTH(832)}},
    {"vit_so400m_*", {WIDTH(1152), HEAD(72)}},
    {"vit_giantopt_*", {WIDTH(1536), HEAD(96)}},
    {"*_gigantic_*", {WIDTH(1664), HEAD(104)}},
    {"*_giant_patch*", {WIDTH(1408), HEAD(88)}},
    {"vit_giant_patch14_*dinov2", {WIDTH(1536), HEAD(64)}},
    {"vit_giant_patch14_reg1_tipsv2", {WIDTH(1536), HEAD(64)}},
    {"vit_giant_patch16_lingbot", {WIDTH(1536), HEAD(64)}},
    {"*_huge_*", {WIDTH(1280), HEAD(80)}},
    {"vit_huge_plus_patch16_dinov3*", {HEAD(64)}},
    {"vit_base_patch16_gap_224", {HEAD(48)}},
    {"vit_7b_*", {WIDTH(4096), HEAD(128)}},
    {"test_vit*", {WIDTH(64), HEAD(32)}},
    {"test_vit3", {WIDTH(96)}},
    {"test_vit4", {WIDTH(96)}},
};

/* Models that are no ViTs of this library, by what they have in their names. */
static const struct refusal {
    const char *pattern, *family;
} REFUSALS[] = {
    {"*relpos*", "ViTs with relative positions"},
    {"*_rpn_*", "ViTs with norms after each branch (ResPostBlock)"},
    {"vit_*_r26_*", "hybrids of a convolutional network and a ViT"},
    {"vit_*_r50_*", "hybrids of a convolutional network and a ViT"},
    {"vit_*_r_s16_*", "hybrids of a convolutional network and a ViT"},
    {"vit_*_resnet*", "hybrids of a convolutional network and a ViT"},
    {"vit_*_mci_*", "hybrids of a convolutional network and a ViT"},
    {"*18x2*", "ViTs with parallel branches (ParallelThingsBlock)"},
    {"aimv2_*", "AIMv2, which has a norm of its patches"},
    {"*_sapiens2", "Sapiens2, whose queries share keys"},
    {"*_intern300m_*", "InternViT"},
    {"*_radio_*", "RADIO"},
    {"eva02_enormous_*", "EVA-02 with norms after each branch"},
    {"naflexvit_*", "NaFlexViT"},
    {"swin*", "Swin (windows of attention)"},
    {"convnext*", "ConvNeXt (convolutions)"},
    {"resnet*", "ResNet (convolutions)"},
    {"beit_*", "BEiT, which has relative positions"},
    {"beitv2_*", "BEiT, which has relative positions"},
    {"samvit_*", "SAM, which has relative positions"},
    {"vitdet*", "ViTDet, which has relative positions"},
    {"mobilevit*", "MobileViT (convolutions)"},
    {"efficientnet*", "EfficientNet (convolutions)"},
    {"densenet*", "DenseNet (convolutions)"},
    {"xcit_*", "XCiT (attention across channels)"},
};

void sv_open_bare_timm_name(char out[SV_TIMM_NAME], const char *name)
{
    const char *slash = strrchr(name, '/');
    if (slash)
        name = slash + 1;
    snprintf(out, SV_TIMM_NAME, "%.*s", (int)strcspn(name, "."), name);
    for (char *at = out; *at; at++)
        *at = *at == '-' ? '_' : *at;
}

svit_status sv_open_refuse_timm_name(const sv_open *open, const char *name, svit_error *err)
{
    char bare[SV_TIMM_NAME];
    if (!name)
        return SVIT_OK;
    sv_open_bare_timm_name(bare, name);
    for (size_t i = 0; i < sizeof REFUSALS / sizeof *REFUSALS; i++)
        if (sv_pattern_matches(REFUSALS[i].pattern, bare))
            return sv_fail(err, SVIT_E_UNSUPPORTED,
                           "%s: '%.60s' is one of the %s, which this library does not compute",
                           open->weights, name, REFUSALS[i].family);
    return SVIT_OK;
}

/* The row that has the last word on a field; NULL: none states it. */
static const stated *last_of(const char *name, const char *field)
{
    const stated *found = NULL;
    for (size_t r = 0; r < sizeof ROWS / sizeof *ROWS; r++)
        if (sv_pattern_matches(ROWS[r].pattern, name))
            for (const stated *at = ROWS[r].list; at < ROWS[r].list + MAX_STATED && at->field; at++)
                if (strcmp(at->field, field) == 0)
                    found = at;
    return found;
}

static double value_of(const char *name, const char *field, double otherwise)
{
    const stated *found = last_of(name, field);
    return found ? found->value : otherwise;
}

static svit_status state_field(sv_open *open, const char *name, const char *field, svit_error *err)
{
    const stated *found = last_of(name, field);
    return found
               ? sv_facts_state(&open->facts, field, found->value, err, "timm's name '%.60s'", name)
               : SVIT_OK;
}

/* The heads, which are those of the name's own width also where the model has another one: timm's
 * functions state their number. A width of zero is not known. */
static void assume_heads(sv_open *open, const char *name)
{
    const double width = value_of(name, "dim", 0);
    if (width > 0)
        sv_facts_assume(&open->facts, "heads", width / value_of(name, "head_dim", 64),
                        "timm's name");
}

void sv_open_note_timm_prefix(sv_open *open, const char *whole)
{
    char name[SV_TIMM_NAME];
    sv_open_bare_timm_name(name, whole);
    if (open->pools_prefix == 0)
        open->pools_prefix = value_of(name, "pool_include_prefix", 0) != 0;
}

/* The pooling that the name has unless its configuration states another. */
static void assume_pool(sv_open *open, const char *name)
{
    const double pool = value_of(name, "pool", SVIT_POOL_CLASS_TOKEN);
    const bool takes_all = pool == SVIT_POOL_MEAN_PATCHES && open->pools_prefix > 0;
    sv_facts_assume(&open->facts, "pool", takes_all ? SVIT_POOL_MEAN : pool, "timm's name");
}

/* Whether what the rows say of a field is but assumed, below. */
static bool is_assumed(const char *field)
{
    static const char *const fields[] = {"dim",
                                         "head_dim",
                                         "pool",
                                         "pool_include_prefix",
                                         "final_norm",
                                         "position_tokens",
                                         "register_tokens",
                                         "rope_theta"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(field, fields[i]) == 0)
            return true;
    return false;
}

/* States the other fields of all rows about a name. */
static svit_status state_fields(sv_open *open, const char *name, svit_error *err)
{
    for (size_t r = 0; r < sizeof ROWS / sizeof *ROWS; r++)
        if (sv_pattern_matches(ROWS[r].pattern, name))
            for (const stated *at = ROWS[r].list; at < ROWS[r].list + MAX_STATED && at->field; at++)
                if (!is_assumed(at->field))
                    SVIT_TRY(state_field(open, name, at->field, err));
    return SVIT_OK;
}

svit_status sv_open_from_timm_name(sv_open *open, const char *whole, svit_error *err)
{
    char name[SV_TIMM_NAME];
    sv_open_bare_timm_name(name, whole);
    SVIT_TRY(sv_open_check_timm_words(open, whole, err));
    sv_open_note_timm_prefix(open, name);
    SVIT_TRY(state_fields(open, name, err));
    if (!sv_facts_find(&open->facts, "register_tokens"))
        SVIT_TRY(state_field(open, name, "register_tokens", err));
    assume_heads(open, name);
    assume_pool(open, name);
    if (last_of(name, "rope_theta"))
        sv_facts_assume(&open->facts, "rope_theta", value_of(name, "rope_theta", 0), "timm's name");
    if (last_of(name, "final_norm"))
        sv_facts_assume(&open->facts, "final_norm", value_of(name, "final_norm", 1), "timm's name");
    const double positions = value_of(name, "position_tokens", SVIT_POSITION_ALL);
    open->has_positions = positions != SVIT_POSITION_NONE;
    if (positions == SVIT_POSITION_PATCHES)
        sv_facts_assume(&open->facts, "position_tokens", positions, "timm's name");
    return SVIT_OK;
}
