/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow/turns.h"

#include "kernels/kernels.h"

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* A launch that a turn comes late to must not be followed by a flood. */
#define BACKLOG_GROUPS 2

static void shuffle(struct mhcs_turns *turns)
{
    const uint64_t seed = mhcs_mix64(turns->seed + ++turns->round * GOLDEN);

    for (uint32_t left = turns->sites; left > 1; left--) {
        const uint32_t i = (uint32_t)(mhcs_mix64(seed + left) % left);
        const uint32_t last = turns->order[left - 1];

        turns->order[left - 1] = turns->order[i];
        turns->order[i] = last;
    }
    turns->cursor = 0;
}

/* The launch of a turn: one of its stretch. */
static uint64_t launch_of(const struct mhcs_turns *turns, uint64_t turn)
{
    const uint64_t draw = mhcs_mix64(turns->seed ^ (turn + 1) * GOLDEN);
    const double within = (double)(draw >> 11) * 0x1p-53;

    return (uint64_t)(((double)turn + within) * turns->stretch);
}

uint64_t mhcs_turns_init(struct mhcs_turns *turns, uint32_t sites, uint32_t group, double p,
                         uint64_t seed, uint32_t *order)
{
    *turns = (struct mhcs_turns){
        .sites = sites,
        .group = sites < group ? sites : group,
        .seed = seed,
        .order = order,
    };
    for (uint32_t i = 0; i < sites; i++) {
        order[i] = i;
    }
    if (!(p > 0) || sites == 0) {
        return MHCS_TURNS_NEVER;
    }
    turns->stretch = turns->group / (p * sites);
    shuffle(turns);
    return launch_of(turns, 0);
}

uint32_t mhcs_turns_due(struct mhcs_turns *turns, uint64_t launch, uint32_t *ret_dropped)
{
    const uint32_t most = BACKLOG_GROUPS * turns->group;
    uint32_t due;

    *ret_dropped = 0;
    for (; launch_of(turns, turns->turn) <= launch; turns->turn++) {
        turns->backlog += turns->group;
    }
    if (turns->backlog > most) {
        *ret_dropped = turns->backlog - most;
        turns->backlog = most;
    }
    due = turns->backlog < turns->group ? turns->backlog : turns->group;
    return due < turns->sites - turns->cursor ? due : turns->sites - turns->cursor;
}

uint64_t mhcs_turns_taken(struct mhcs_turns *turns, uint64_t launch, uint32_t due, uint32_t taken)
{
    turns->backlog -= due;
    turns->cursor += taken;
    if (turns->cursor == turns->sites) {
        shuffle(turns);
    }
    return turns->backlog > 0 ? launch + 1 : launch_of(turns, turns->turn);
}
