/* The logits of int8 sessions with each instruction set that the CPU has. */
#ifndef CROSS_LOGITS_H
#define CROSS_LOGITS_H

#include <shiftvit/model.h>

#include <stddef.h>

/* A number in -1/8..1/8 with 24 bits, which depends on the name and the index alone. */
float number(const char *name, size_t index);

/* Sets all parameters: factor * number(name, index), and in the weights of norms, which are
 * vectors, that more than `scale`. */
void fill_parameters(svit_model *model, float factor, float scale);

/* Writes the logits of a ShiftViT and of a ViT, whose weights are fixed numbers, into a file of
 * text: on each line the model, the instruction set, `fused` or `apart`, and the bits of the
 * logits. Fused are instruction sets with fused multiply-adds. */
void logits_write(const char *path);

/* Compares each line of a file with each line of `mine` of the same model, and prints the largest
 * difference. Ends the program if logits of two fused ones have different bits, or others are too
 * far apart. */
void logits_compare(const char *path, const char *mine);

#endif
