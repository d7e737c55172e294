/* The words of which the names of timm's ViTs are made. A name tells what no tensor does, so that
 * one with another word, a misspelt one or that of a model which is not known here, is refused: the
 * rows of timm_names.c would be silent about it, and the model another one. */
#include "models/open/open_internal.h"

#include <string.h>

/* The first words. */
static const char *const FAMILIES[] = {"vit",   "deit",  "deit3",    "eva",
                                       "eva02", "beit3", "flexivit", "test"};

/* The others, without "patch16", "224" and other numbers. Those of the last two lines are tags of
 * weights, which stood behind an underscore before they stood behind a dot. */
static const char *const WORDS[] = {
    "tiny",     "xsmall",   "small",    "wee",     "dwee",      "pwee",   "dpwee",  "little",
    "dlittle",  "medium",   "mediumd",  "betwixt", "base",      "large",  "huge",   "giant",
    "giantopt", "gigantic", "so150m",   "so150m2", "so400m",    "7b",     "plus",   "36x1",
    "clip",     "siglip",   "gap",      "map",     "quickgelu", "reg1",   "reg4",   "rope",
    "mixed",    "ape",      "xp",       "dinov2",  "dinov3",    "qkvb",   "tipsv2", "lingbot",
    "pe",       "core",     "lang",     "spatial", "distilled", "vit",    "vit2",   "vit3",
    "vit4",     "deit",     "miil",     "sam",     "dino",      "mae",    "in1k",   "in12k",
    "in21k",    "in22k",    "in21ft1k", "ft",      "augreg",    "openai", "laion2b"};

static bool is_among(const char *const *words, size_t count, const char *word, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == bytes && memcmp(words[i], word, bytes) == 0)
            return true;
    return false;
}

/* Whether the word is "patch16" or "224". */
static bool is_size(const char *word, size_t bytes)
{
    static const char patch[] = "patch";
    const size_t before = strncmp(word, patch, sizeof patch - 1) == 0 ? sizeof patch - 1 : 0;
    return bytes > before && before + strspn(word + before, "0123456789") == bytes;
}

svit_status sv_open_check_timm_words(const sv_open *open, const char *whole, svit_error *err)
{
    char name[SV_TIMM_NAME];
    const char *word = name;
    sv_open_bare_timm_name(name, whole);
    bool known = is_among(FAMILIES, sizeof FAMILIES / sizeof *FAMILIES, name, strcspn(name, "_"));
    size_t bytes = strcspn(word, "_");
    while (known && word[bytes]) {
        word += bytes + 1;
        bytes = strcspn(word, "_");
        known = is_among(WORDS, sizeof WORDS / sizeof *WORDS, word, bytes) || is_size(word, bytes);
    }
    if (known)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_UNSUPPORTED,
                   "%s: '%.60s' is no name of a ViT of timm that is known here, such as "
                   "vit_base_patch16_224: '%.*s' is none of its words",
                   open->weights, name, (int)(bytes < 40 ? bytes : 40), word);
}
