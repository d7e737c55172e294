/* The pipeline of a checkpoint that is opened, and the usual colours. */
#ifndef TEST_OPEN_PIPELINE_H
#define TEST_OPEN_PIPELINE_H

#include "open_case.h"

#define HALVES                                                                                     \
    {0.5, 0.5, 0.5},                                                                               \
    {                                                                                              \
        0.5, 0.5, 0.5                                                                              \
    }
#define IMAGENET                                                                                   \
    {0.485, 0.456, 0.406},                                                                         \
    {                                                                                              \
        0.229, 0.224, 0.225                                                                        \
    }
#define OPENAI                                                                                     \
    {0.48145466, 0.4578275, 0.40821073},                                                           \
    {                                                                                              \
        0.26862954, 0.26130258, 0.27577711                                                         \
    }

/* Opens the folder, whose pipeline becomes *out. */
static inline void pipeline_of(svit_pipeline_config *out, open_case *self, const char *fields)
{
    svit_model *model = NULL;
    WORKS(case_open(self, &model, fields));
    WORKS(svit_model_get_pipeline(model, out, sizeof *out, err));
    svit_model_free(model);
}

static inline void check_colours(const svit_pipeline_config *pipeline, const double mean[3],
                                 const double deviation[3])
{
    for (size_t c = 0; c < 3; c++) {
        ck_assert_double_eq(pipeline->mean[c], mean[c]);
        ck_assert_double_eq(pipeline->variance[c], deviation[c] * deviation[c]);
    }
}

#endif
