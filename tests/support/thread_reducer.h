/* A reducer between threads of one process, for tests: the plan of svit_reduction_plan, one
 * addition after another, with delays. */
#ifndef TEST_THREAD_REDUCER_H
#define TEST_THREAD_REDUCER_H

#include <shiftvit/reducer.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEAM_RANKS = 16, TEAM_BUCKETS = 64, TEAM_PARTIALS = 40 };

/* A bucket as one rank has begun it. */
typedef struct team_bucket {
    uint64_t elements, count;
    svit_partial_sum partials[TEAM_PARTIALS];
    float *sum;
} team_bucket;

typedef struct team_rank {
    struct team *team;
    uint32_t rank;
    uint64_t begun;
    team_bucket buckets[TEAM_BUCKETS];
    const void *gathered;
} team_rank;

typedef struct team {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t leaves, ranks, arrived, round;
    bool failed;       /* a rank has left: nobody waits for it */
    unsigned delay_us; /* the longest of a call; 0: none */
    uint64_t buckets;  /* of all steps, of one rank */
    svit_reduction *plan;
    size_t plan_count;
    team_rank members[TEAM_RANKS];
} team;

static inline void team_start(team *all, uint32_t leaves, uint32_t ranks, unsigned delay_us)
{
    memset(all, 0, sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->changed, NULL);
    all->leaves = leaves;
    all->ranks = ranks;
    all->delay_us = delay_us;
    all->plan = calloc(leaves, sizeof *all->plan);
    if (svit_reduction_plan(leaves, ranks, all->plan, leaves, &all->plan_count, NULL) != SVIT_OK)
        abort();
    for (uint32_t i = 0; i < ranks; i++)
        all->members[i] = (team_rank){.team = all, .rank = i};
}

static inline void team_end(team *all)
{
    free(all->plan);
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->lock);
}

/* A rank ends early: what waits for it fails. */
static inline void team_fail(team *all)
{
    pthread_mutex_lock(&all->lock);
    all->failed = true;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
}

static inline void team_delay(const team_rank *of, uint64_t salt)
{
    if (of->team->delay_us == 0)
        return;
    uint64_t bits = (salt + 1) * 0x9E3779B97F4A7C15u + of->rank * 0xD1B54A32D192ED03u;
    struct timespec time = {0, (long)(bits >> 40) % of->team->delay_us * 1000};
    nanosleep(&time, NULL);
}

/* Waits until every rank has called it. False: one has failed. The lock is held. */
static inline bool team_meet(team *all)
{
    const uint32_t round = all->round;
    if (++all->arrived == all->ranks) {
        all->arrived = 0;
        all->round++;
        pthread_cond_broadcast(&all->changed);
    }
    while (round == all->round && !all->failed)
        pthread_cond_wait(&all->changed, &all->lock);
    return round != all->round;
}

static inline svit_status team_failure(svit_error *err)
{
    if (err)
        snprintf(err->message, sizeof err->message, "another rank has failed");
    return SVIT_E_STATE;
}

static inline svit_status team_begin(void *user, const svit_bucket *bucket, svit_error *err)
{
    team_rank *of = user;
    (void)err;
    team_delay(of, bucket->number);
    if (bucket->number != of->begun || of->begun == TEAM_BUCKETS || bucket->count > TEAM_PARTIALS)
        abort();
    team_bucket *copy = &of->buckets[of->begun++];
    copy->elements = bucket->elements;
    copy->count = bucket->count;
    copy->sum = bucket->sum;
    memcpy(copy->partials, bucket->partials, bucket->count * sizeof *bucket->partials);
    return SVIT_OK;
}

static inline float *team_values(const team_bucket *bucket, uint64_t leaf)
{
    for (uint64_t i = 0; i < bucket->count; i++)
        if (bucket->partials[i].leaf == leaf)
            return bucket->partials[i].values;
    abort();
}

static inline void team_add(team *all, uint64_t number)
{
    const uint64_t elements = all->members[0].buckets[number].elements;
    for (size_t i = 0; i < all->plan_count; i++) {
        const svit_reduction *step = &all->plan[i];
        float *to = team_values(&all->members[step->to_rank].buckets[number], step->to);
        const float *from = team_values(&all->members[step->from_rank].buckets[number], step->from);
        for (uint64_t j = 0; j < elements; j++)
            to[j] += from[j];
    }
    const float *root = team_values(&all->members[0].buckets[number], 0);
    for (uint32_t rank = 0; rank < all->ranks; rank++) {
        const team_bucket *bucket = &all->members[rank].buckets[number];
        if (bucket->elements != elements)
            abort();
        if (bucket->sum != root)
            memcpy(bucket->sum, root, elements * sizeof *root);
    }
}

static inline svit_status team_finish(void *user, svit_error *err)
{
    team_rank *of = user;
    team *all = of->team;
    team_delay(of, of->begun + 1000);
    pthread_mutex_lock(&all->lock);
    bool met = team_meet(all);
    if (met && of->rank == 0) {
        for (uint64_t i = 0; i < of->begun; i++)
            team_add(all, i);
        all->buckets += of->begun;
    }
    met = met && team_meet(all);
    of->begun = 0;
    pthread_mutex_unlock(&all->lock);
    return met ? SVIT_OK : team_failure(err);
}

static inline svit_status team_gather(void *user, const void *mine, void *out, size_t bytes,
                                      svit_error *err)
{
    team_rank *of = user;
    team *all = of->team;
    team_delay(of, bytes);
    pthread_mutex_lock(&all->lock);
    of->gathered = mine;
    bool met = team_meet(all);
    for (uint32_t i = 0; met && i < all->ranks; i++)
        memcpy((char *)out + i * bytes, all->members[i].gathered, bytes);
    met = met && team_meet(all);
    pthread_mutex_unlock(&all->lock);
    return met ? SVIT_OK : team_failure(err);
}

/* The reducer of one rank. */
static inline svit_reducer team_reducer(team *all, uint32_t rank)
{
    return (svit_reducer){.struct_size = sizeof(svit_reducer),
                          .leaves = all->leaves,
                          .rank = rank,
                          .ranks = all->ranks,
                          .user = &all->members[rank],
                          .begin = team_begin,
                          .finish = team_finish,
                          .gather = team_gather};
}

#endif
