/* Sizes that follow from the configuration of an MLP-Mixer, for the files of this folder. */
#ifndef SV_MIXER_H
#define SV_MIXER_H

#include <shiftvit/model.h>

/* Tokens of an image, which are its patches. */
size_t sv_mixer_tokens(const svit_model_config *config);

#endif
