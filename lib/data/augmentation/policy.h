/* Augmentation policies: which operations they have, and the values that magnitudes stand for, as
 * in torchvision. */
#ifndef SV_AUGMENT_POLICY_H
#define SV_AUGMENT_POLICY_H

#include "data/augmentation/operations.h"

#include <stdbool.h>

/* RandAugment (Cubuk et al. 2020) and TrivialAugment (Mueller, Hutter 2021) have 31 magnitudes,
 * AutoAugment (Cubuk et al. 2019) has 10. */
typedef enum sv_policy { SV_RANDAUGMENT, SV_TRIVIALAUGMENT, SV_AUTOAUGMENT } sv_policy;

enum { SV_MAGNITUDES = 31, SV_AUTOAUGMENT_MAGNITUDES = 10, SV_POLICY_OPERATIONS = 14 };

/* The operations among which RandAugment and TrivialAugment choose, in torchvision's order. */
extern const sv_operation sv_policy_operations[SV_POLICY_OPERATIONS];

/* Whether a policy draws the sign of the operation's magnitude. */
bool sv_operation_is_signed(sv_operation operation);

/* The value of an operation (operations.h) on an image of height x width pixels. `magnitude` counts
 * the policy's magnitudes from 0. What it stands for is negated if `negative`; a factor is 1 plus
 * that. Translations are whole pixels. */
double sv_policy_value(sv_policy policy, sv_operation operation, uint32_t magnitude, bool negative,
                       size_t height, size_t width);

/* One of the pairs of operations of AutoAugment. */
typedef struct sv_sub_policy {
    struct {
        sv_operation operation;
        double probability;
        uint32_t magnitude;
    } steps[2];
} sv_sub_policy;

enum { SV_SUB_POLICIES = 25 };
extern const sv_sub_policy sv_autoaugment_cifar10[SV_SUB_POLICIES];
extern const sv_sub_policy sv_autoaugment_imagenet[SV_SUB_POLICIES];

#endif
