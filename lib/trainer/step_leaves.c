/* The part of a step that ranks share: the gradients of the leaves of a batch, whose sums do not
 * depend on who computes them. */
#include "session/session.h"
#include "trainer/trainer.h"

/* The leaves of this rank, and the images of a batch among which they are. */
typedef struct share {
    uint64_t first, end; /* leaves */
    size_t images;       /* of the whole batch */
    size_t begin;        /* the first image of this rank, counted in the batch */
} share;

/* The share of this rank in the current batch, whose images of this rank are in trainer->data. */
static share find_share(const svit_trainer *trainer)
{
    const svit_reducer *place = &trainer->ranks.reducer;
    share own = {.first = svit_partition_begin(place->leaves, place->ranks, place->rank),
                 .end = svit_partition_begin(place->leaves, place->ranks, place->rank + 1),
                 .images = sv_trainer_batch_images(trainer)};
    own.begin = sv_size_partition(own.images, place->leaves, own.first);
    return own;
}

/* The images of a leaf; none if the batch has fewer images than leaves. */
static sv_batch leaf_part(const svit_trainer *trainer, const share *own, uint64_t leaf)
{
    const uint64_t leaves = trainer->config.leaves;
    const size_t first = sv_size_partition(own->images, leaves, leaf);
    const size_t n = sv_size_partition(own->images, leaves, leaf + 1) - first;
    return sv_batch_part(&trainer->data, &trainer->objective, sv_trainer_input_floats(trainer),
                         first - own->begin, n);
}

/* The divisor of the whole batch's loss. Where it depends on the labels, those of the leaves are
 * added in their order. */
static svit_status find_divisor(svit_trainer *trainer, const share *own, double *divisor,
                                svit_error *err)
{
    const size_t leaves = trainer->config.leaves;
    *divisor = (double)own->images;
    if (!sv_objective_weighs_labels(&trainer->objective, &trainer->data))
        return SVIT_OK;
    for (uint64_t leaf = own->first; leaf < own->end; leaf++) {
        const sv_batch part = leaf_part(trainer, own, leaf);
        trainer->own_leaves[leaf - own->first].divisor =
            sv_objective_divisor(&trainer->objective, &part);
    }
    SVIT_TRY(sv_ranks_collect(&trainer->ranks, trainer->own_leaves, trainer->all_leaves, leaves,
                              sizeof *trainer->own_leaves, err));
    *divisor = 0;
    for (size_t leaf = 0; leaf < leaves; leaf++)
        *divisor += trainer->all_leaves[leaf].divisor;
    return SVIT_OK;
}

/* The forward of one leaf. */
static svit_status run_leaf(svit_trainer *trainer, const sv_batch *part, double divisor,
                            sv_metrics *metrics, svit_error *err)
{
    *metrics = (sv_metrics){0};
    if (part->n == 0)
        return SVIT_OK;
    SVIT_TRY(sv_trainer_run_forward(trainer, part, divisor, metrics, err));
    return sv_session_check_finite(trainer->dlogits, part->n * trainer->classes, "dlogits", err);
}

/* Waits until all ranks are before the backward of their last leaf, and adds the leaves'
 * metrics. */
static svit_status join_metrics(svit_trainer *trainer, sv_metrics *sums, svit_error *err)
{
    const size_t leaves = trainer->config.leaves;
    SVIT_TRY(sv_ranks_collect(&trainer->ranks, trainer->own_leaves, trainer->all_leaves, leaves,
                              sizeof *trainer->own_leaves, err));
    for (size_t leaf = 0; leaf < leaves; leaf++)
        sv_metrics_join(sums, &trainer->all_leaves[leaf].metrics);
    return SVIT_OK;
}

/* After the last backward: of a rank that it fails on, the others would sum gradients that are not
 * those of its leaves, or save a step that it has not taken. All have begun the same buckets, so
 * they finish them before they meet. */
static svit_status agree_on_gradients(svit_trainer *trainer, svit_error *err)
{
    if (!trainer->config.check_finite && trainer->config.checkpoint_seconds <= 0)
        return SVIT_OK;
    SVIT_TRY(sv_session_finish_gradients(trainer->session, err));
    return sv_ranks_agree(&trainer->ranks, SVIT_OK, err);
}

svit_status sv_trainer_run_leaves(svit_trainer *trainer, sv_metrics *sums, svit_error *err)
{
    const uint64_t counter = svit_session_counter(trainer->session);
    const share own = find_share(trainer);
    double divisor;
    SVIT_TRY(find_divisor(trainer, &own, &divisor, err));
    for (uint64_t leaf = own.first; leaf < own.end; leaf++) {
        const sv_batch part = leaf_part(trainer, &own, leaf);
        /* Dropout masks are drawn by the number of the leaf in the run. */
        SVIT_TRY(svit_session_set_counter(trainer->session, counter + leaf, err));
        SVIT_TRY(
            run_leaf(trainer, &part, divisor, &trainer->own_leaves[leaf - own.first].metrics, err));
        if (leaf + 1 == own.end)
            SVIT_TRY(join_metrics(trainer, sums, err));
        SVIT_TRY(svit_backward(trainer->session, trainer->dlogits, part.n, err));
    }
    SVIT_TRY(agree_on_gradients(trainer, err));
    return svit_session_set_counter(trainer->session, counter + trainer->config.leaves, err);
}
