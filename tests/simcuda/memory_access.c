/* SPDX-License-Identifier: Apache-2.0 */
/* The check of every access to simulated memory.
 *
 * A shadow word packs, for 4 bytes of memory, which bytes are initialised (4 bits) and the number
 * of the word's history (28 bits). So races between operations are told apart per word, not per
 * byte. Races inside a launch are kept in pages of cells that exist only while their operation
 * runs, in the finest unit (4, 2 or 1 bytes) that the operation uses there.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory_internal.h"
#include "must.h"

#define PAGE_SHIFT  12u
#define PAGE_BYTES  (1u << PAGE_SHIFT)
#define WIDEST_LANE 32u /* bytes of the widest PTX access; a wider one is a serial operation's */
#define ALL_BYTES   15u

#define CUDA_ERROR_ILLEGAL_ADDRESS 700

/* One access on its way through the checks. */
struct request {
    const struct sim_op *op;
    const struct sim_where *where;
    uint64_t address, size;
    uint32_t lanes;
    enum sim_access access;
    bool initialised; /* pinned memory, which the host writes unseen */
    struct sim_fault *fault;
};

static const char *space_name(enum sim_memory_space space)
{
    return space == SIM_DEVICE ? "device" : "pinned";
}

/* Writes the fault of lane `lane`, unless an earlier one stands. */
__attribute__((format(printf, 3, 4))) static void report(const struct request *r, uint64_t lane,
                                                         const char *format, ...)
{
    static const char *const verbs[] = {
        [SIM_READ] = "reads", [SIM_WRITE] = "writes", [SIM_ATOMIC] = "atomically updates"};
    struct sim_fault *f = r->fault;
    if (f->set)
        return;
    f->set = true;
    f->code = CUDA_ERROR_ILLEGAL_ADDRESS;
    char place[200] = "";
    if (r->where->file != NULL)
        snprintf(place, sizeof(place), " at %s:%u, block %u, thread %u,", r->where->file,
                 r->where->line, r->where->block, r->where->thread + (unsigned)lane);
    char what[300];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(f->text, sizeof(f->text), "%s%s %s %llu bytes at 0x%llx: %s", r->op->what, place,
             verbs[r->access], (unsigned long long)r->size,
             (unsigned long long)(r->address + lane * r->size), what);
}

static void report_outside(const struct sim_memory *m, const struct request *r)
{
    const size_t i = sim_memory_above(m, r->address);
    const struct allocation *a = i > 0 ? m->at[i - 1] : NULL;
    const bool in_span = r->address - m->client < m->span;
    const uint64_t offset = a == NULL ? 0 : r->address - a->base;
    if (a != NULL && offset < a->bytes && !a->live) {
        report(r, 0, "use after free: byte %llu of a %llu-byte %s allocation that was freed",
               (unsigned long long)offset, (unsigned long long)a->bytes, space_name(a->space));
    } else if (a != NULL && (offset < a->bytes || (in_span && a->space == SIM_DEVICE))) {
        const uint64_t lane = offset < a->bytes ? (a->bytes - offset) / r->size : 0;
        const uint64_t first = offset + lane * r->size;
        report(r, lane,
               "out of bounds: bytes %llu to %llu of the %llu-byte %s allocation at 0x%llx%s",
               (unsigned long long)first, (unsigned long long)(first + r->size - 1),
               (unsigned long long)a->bytes, space_name(a->space), (unsigned long long)a->base,
               a->live ? "" : " (freed)");
    } else if (in_span) {
        report(r, 0, "out of bounds: no allocation there");
    } else {
        report(r, 0, "not a device address%s",
               r->address < PAGE_BYTES ? " (null pointer)" : " (ordinary host memory, or wild)");
    }
}

/* Checks one shadow word and returns its new value; `mask` names the bytes accessed. */
static uint32_t step_word(struct sim_memory *m, const struct request *r, uint64_t byte,
                          uint32_t word, uint32_t mask)
{
    const uint32_t missing = r->access == SIM_WRITE || r->initialised ? 0 : mask & ~word;
    if (missing != 0)
        byte = (byte & ~3ull) + (unsigned)__builtin_ctz(missing);
    const uint64_t lane = byte > r->address ? (byte - r->address) / r->size : 0;
    if (missing != 0)
        report(r, lane, "uninitialised: nothing has written 0x%llx yet", (unsigned long long)byte);
    if (r->access == SIM_WRITE)
        word |= mask;
    const struct history_entry *past;
    const uint32_t history =
        histories_step(m->histories, r->op, word / (ALL_BYTES + 1), r->access, &past);
    if (past != NULL) {
        static const char *const verbs[] = {
            [SIM_READ] = "read", [SIM_WRITE] = "written", [SIM_ATOMIC] = "atomically updated"};
        report(
            r, lane,
            "race: %s by \"%s\" (operation %u; this is %u), and nothing orders the two; an event "
            "wait or a synchronisation is missing",
            verbs[past->access], past->what, past->id, r->op->id);
    }
    return history * (ALL_BYTES + 1) + (word & ALL_BYTES);
}

/* How many words from the first on have its value. */
static uint64_t equal_words(const uint32_t *words, uint64_t count)
{
    uint64_t n = 1;
    for (uint32_t off = 0; off == 0 && n + 16 <= count; n += off == 0 ? 16 : 0) {
        for (uint32_t i = 0; i < 16; i++)
            off |= words[n + i] ^ words[0];
    }
    while (n < count && words[n] == words[0])
        n++;
    return n;
}

/* Whole words from `words` on; neighbours mostly have equal values, and so equal successors. */
static bool step_words(struct sim_memory *m, const struct request *r, uint64_t byte,
                       uint32_t *words, uint64_t count)
{
    for (uint64_t i = 0, end; i < count; i = end) {
        const uint32_t before = words[i];
        const uint32_t after = step_word(m, r, byte + 4 * i, before, ALL_BYTES);
        if (r->fault->set)
            return false;
        end = i + equal_words(words + i, count - i);
        for (uint64_t k = i; after != before && k < end; k++)
            words[k] = after;
    }
    return true;
}

static bool step_range(struct sim_memory *m, const struct request *r, struct allocation *a,
                       uint64_t begin, uint64_t end)
{
    uint64_t word = begin / 4;
    if (begin % 4 != 0 || end - begin < 4) {
        const uint64_t stop = end < (word + 1) * 4 ? end : (word + 1) * 4;
        const uint32_t mask = (ALL_BYTES << begin % 4) & (ALL_BYTES >> ((word + 1) * 4 - stop));
        a->words[word] = step_word(m, r, a->base + begin, a->words[word], mask);
        if (r->fault->set)
            return false;
        if (stop == end)
            return true;
        word++;
    }
    if (!step_words(m, r, a->base + word * 4, &a->words[word], end / 4 - word))
        return false;
    if (end % 4 != 0) {
        const uint64_t last = end / 4;
        if (last >= word)
            a->words[last] =
                step_word(m, r, a->base + last * 4, a->words[last], ALL_BYTES >> (4 - end % 4));
    }
    return !r->fault->set;
}

static struct race_area *take_page(struct sim_memory *m)
{
    if (m->pages_used == m->page_count) {
        m->pages = must(realloc(m->pages, (m->page_count + 1) * sizeof(struct race_area *)));
        m->pages[m->page_count++] = must(calloc(1, sizeof(struct race_area)));
    }
    return m->pages[m->pages_used++];
}

/* The page of cells at `offset` of an allocation, in units of 2^shift bytes or finer. */
static struct race_area *race_page_at(struct sim_memory *m, struct allocation *a, uint64_t offset,
                                      unsigned shift)
{
    if (a->races == NULL)
        a->races = must(calloc((a->bytes >> PAGE_SHIFT) + 1, sizeof(struct race_slot)));
    struct race_slot *slot = &a->races[offset >> PAGE_SHIFT];
    if (slot->op != m->op) {
        *slot = (struct race_slot){.op = m->op, .page = take_page(m)};
        race_area_reset(slot->page, PAGE_BYTES, shift);
    } else {
        race_area_refine(slot->page, shift);
    }
    return slot->page;
}

/* Threads of one launch against each other, page by page. */
static bool check_races(struct sim_memory *m, const struct request *r, struct allocation *a,
                        uint64_t offset)
{
    const unsigned shift = race_shift(r->size);
    for (uint32_t lane = 0; lane < r->lanes;) {
        const uint64_t begin = offset + lane * r->size;
        const uint64_t fits = (PAGE_BYTES - begin % PAGE_BYTES) / r->size;
        const uint32_t lanes = fits < r->lanes - lane ? (uint32_t)fits : r->lanes - lane;
        struct race_area *page = race_page_at(m, a, begin, shift);
        const size_t first = begin % PAGE_BYTES >> page->shift;
        const uint32_t per_lane = (uint32_t)(r->size >> page->shift);
        struct sim_where where = *r->where;
        where.thread = (uint16_t)(where.thread + lane);
        const int64_t hit = race_access(page, first, &where, lanes, per_lane, r->access);
        if (hit >= 0) {
            const uint32_t hit_lane = (uint32_t)hit / per_lane;
            char whom[100];
            race_describe(&page->cells[first + (size_t)hit], &where, hit_lane, r->access, whom,
                          sizeof(whom));
            report(r, lane + hit_lane,
                   "race inside the launch: with %s, and no barrier orders the two", whom);
            return false;
        }
        lane += lanes;
    }
    return true;
}

static void mark_histories(struct sim_memory *m)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct allocation *a = m->at[i];
        uint32_t last = 0;
        for (uint64_t w = 0; a->live && w < (a->bytes + 3) / 4; w++) {
            if (a->words[w] == last)
                continue;
            last = a->words[w];
            histories_mark(m->histories, last / (ALL_BYTES + 1));
        }
    }
}

static void begin_op(struct sim_memory *m, const struct sim_op *op)
{
    m->op = op->id;
    m->pages_used = 0;
    if (histories_crowded(m->histories)) {
        mark_histories(m);
        histories_sweep(m->histories);
    }
    histories_begin(m->histories, op);
}

void *sim_memory_access(struct sim_memory *m, const struct sim_op *op,
                        const struct sim_where *where, uint64_t address, uint64_t size,
                        uint32_t lanes, enum sim_access access, struct sim_fault *fault)
{
    struct request r = {.op = op,
                        .where = where,
                        .address = address,
                        .size = size,
                        .lanes = lanes,
                        .access = access,
                        .fault = fault};
    struct allocation *a = m->recent;
    if (a == NULL || address - a->base >= a->bytes)
        a = m->recent = sim_memory_holding(m, address);
    if (a == NULL || !a->live || size * lanes > a->bytes - (address - a->base)) {
        report_outside(m, &r);
        return NULL;
    }
    if (m->op != op->id)
        begin_op(m, op);
    r.initialised = a->space == SIM_PINNED;
    const uint64_t offset = address - a->base;
    const bool serial = size > WIDEST_LANE || (size & (size - 1)) != 0 || address % size != 0;
    if (step_range(m, &r, a, offset, offset + size * lanes) && !serial)
        check_races(m, &r, a, offset);
    return a->space == SIM_PINNED ? (char *)(uintptr_t)address : m->host + (address - m->client);
}

void sim_memory_host_owns(struct sim_memory *m, uint64_t address, uint64_t bytes)
{
    struct allocation *a = sim_memory_holding(m, address);
    if (a == NULL || !a->live)
        return;
    const uint64_t begin = address - a->base;
    const uint64_t end = bytes < a->bytes - begin ? begin + bytes : a->bytes;
    for (uint64_t word = begin / 4; word < (end + 3) / 4; word++)
        a->words[word] = ALL_BYTES;
}
