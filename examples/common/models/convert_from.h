/* Models from the files of other libraries, and files for them. */
#ifndef EXAMPLE_CONVERT_FROM_H
#define EXAMPLE_CONVERT_FROM_H

#include "settings/config_option.h"

enum { CONVERT_MAX_IGNORED = 32 };

/* Which names the tensors of a file have. */
typedef struct name_source {
    const char *family;   /* "timm", "huggingface" or "openclip"; NULL: `map_path` tells */
    const char *map_path; /* a JSON file of rules; NULL: `family` tells */
    int skip_head;        /* 1: the classifier keeps its initial weights */
    const char *ignored[CONVERT_MAX_IGNORED]; /* patterns of tensors that no parameter takes */
    size_t ignored_count;
} name_source;

/* Adapts a preset to what the code of a family of names computes, except for fields that are given:
 * transformers has another epsilon in ViT and DeiT, a position of the class token beside registers,
 * and in SigLIP, which has attention pooling, GELU's tanh form. */
void convert_adapt(svit_model_config *config, const config_option *option, const char *family);

/* Loads a safetensors file of another library into a model of the configuration that `config`
 * gives. */
svit_status convert_from(svit_model **out, struct program *self, const config_option *config,
                         const name_source *from, const char *path);

/* Writes the model under the names and shapes of PyTorch code: of timm for a ViT, of the model's
 * own code for others. */
svit_status convert_to_pytorch(struct program *self, const svit_model *model, const char *path);

#endif
