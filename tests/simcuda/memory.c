/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated memory: allocations, their shadow words, and the check of every access.
 *
 * A shadow word packs, for 4 bytes of memory, which bytes are initialised (4 bits) and the number
 * of the word's history (28 bits). So races between operations are told apart per word, not per
 * byte. Races inside a launch are kept in pages of cells that exist only while their operation
 * runs, in the finest unit (4, 2 or 1 bytes) that the operation uses there.
 */
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "history.h"
#include "race.h"

#define ALIGNMENT   256u
#define SPAN_FACTOR 32u    /* addresses per byte of device memory: freed ones are long remembered */
#define FREED_KEPT  16384u /* freed allocations remembered, per space */
#define PAGE_SHIFT  12u
#define PAGE_BYTES  (1u << PAGE_SHIFT)
#define WIDEST_LANE 32u /* bytes of the widest PTX access; a wider one is a serial operation's */
#define ALL_BYTES   15u

#define CUDA_ERROR_ILLEGAL_ADDRESS 700

/* The page is valid while `op` is the running operation. */
struct race_slot {
    uint32_t op;
    struct race_area *page;
};

struct allocation {
    uint64_t base, bytes;
    enum sim_memory_space space;
    bool live;    /* else quarantined: only there to name a stale pointer */
    bool adopted; /* the memory belongs to the application */
    uint32_t *words;
    struct race_slot *races; /* per page; NULL until a kernel comes */
};

struct sim_memory {
    uint64_t total, used;
    uint64_t client, span, cursor; /* addresses as the client sees them, PROT_NONE */
    char *host;                    /* the same memory, for the simulator */
    struct allocation **at;        /* by address, live and quarantined */
    size_t count, room;
    size_t freed[2]; /* of `at`, per space */
    struct allocation *recent;
    uint32_t op; /* the running operation */
    struct histories *histories;
    struct race_area **pages; /* all, the first pages_used of them by the running operation */
    size_t page_count, pages_used;
};

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

static void *must(void *p)
{
    if (p == NULL || p == MAP_FAILED)
        abort(); /* a test instrument: nothing sensible follows */
    return p;
}

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

struct sim_memory *sim_memory_new(uint64_t device_bytes)
{
    struct sim_memory *m = must(calloc(1, sizeof(*m)));
    m->total = rounded(device_bytes);
    m->span = m->total * SPAN_FACTOR;
    const int fd = memfd_create("simcuda", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)m->span) != 0)
        abort();
    m->client = (uint64_t)(uintptr_t)must(
        mmap(NULL, m->span, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0));
    m->host = must(mmap(NULL, m->span, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0));
    close(fd);
    m->cursor = m->client;
    m->histories = histories_new();
    return m;
}

static void drop_shadow(struct allocation *a)
{
    if (a->words != NULL)
        munmap(a->words, (a->bytes + 3) / 4 * sizeof(uint32_t));
    free(a->races);
    a->words = NULL;
    a->races = NULL;
}

static void forget(struct allocation *a)
{
    if (a->space == SIM_PINNED && !a->adopted)
        munmap((void *)(uintptr_t)a->base, a->bytes);
    drop_shadow(a);
    free(a);
}

/* From here on a stale pointer into `space` is only known to be wild. */
static void end_quarantine(struct sim_memory *m, enum sim_memory_space space)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (!m->at[i]->live && m->at[i]->space == space)
            forget(m->at[i]);
        else
            m->at[kept++] = m->at[i];
    }
    m->count = kept;
    m->freed[space] = 0;
    m->recent = NULL;
}

void sim_memory_free_all(struct sim_memory *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->count; i++)
        forget(m->at[i]);
    for (size_t i = 0; i < m->page_count; i++) {
        race_area_free(m->pages[i]);
        free(m->pages[i]);
    }
    munmap((void *)(uintptr_t)m->client, m->span);
    munmap(m->host, m->span);
    histories_free(m->histories);
    free(m->pages);
    free(m->at);
    free(m);
}

/* Index of the first allocation above `address`. */
static size_t above(const struct sim_memory *m, uint64_t address)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (m->at[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The allocation that holds `address`, live or quarantined, or NULL. */
static struct allocation *holding(const struct sim_memory *m, uint64_t address)
{
    const size_t i = above(m, address);
    if (i == 0 || address - m->at[i - 1]->base >= m->at[i - 1]->bytes)
        return NULL;
    return m->at[i - 1];
}

/* Lowest free stretch from `from` on, with a gap behind it so that no overrun hits a neighbour. */
static uint64_t find_stretch(const struct sim_memory *m, uint64_t from, uint64_t bytes)
{
    uint64_t start = from;
    size_t i = above(m, from);
    if (i > 0 && m->at[i - 1]->base + rounded(m->at[i - 1]->bytes) + ALIGNMENT > start)
        start = m->at[i - 1]->base + rounded(m->at[i - 1]->bytes) + ALIGNMENT;
    for (; i < m->count && m->at[i]->base < m->client + m->span; i++) {
        if (m->at[i]->base - start >= bytes + ALIGNMENT)
            return start;
        start = m->at[i]->base + rounded(m->at[i]->bytes) + ALIGNMENT;
    }
    const uint64_t end = m->client + m->span;
    return start <= end && end - start >= bytes + ALIGNMENT ? start : 0;
}

static uint64_t find_device(struct sim_memory *m, uint64_t bytes)
{
    if (bytes > m->total - m->used)
        return 0;
    uint64_t base = find_stretch(m, m->cursor < m->client ? m->client : m->cursor, bytes);
    if (base == 0) { /* the addresses are used up */
        end_quarantine(m, SIM_DEVICE);
        base = find_stretch(m, m->client, bytes);
    }
    if (base != 0) {
        m->used += bytes;
        m->cursor = base + bytes;
    }
    return base;
}

static struct allocation *track(struct sim_memory *m, uint64_t base, uint64_t bytes,
                                enum sim_memory_space space)
{
    struct allocation *a = must(malloc(sizeof(*a)));
    *a = (struct allocation){.base = base, .bytes = bytes, .space = space, .live = true};
    a->words = must(mmap(NULL, (bytes + 3) / 4 * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (m->count == m->room) {
        m->room = m->room == 0 ? 64 : m->room * 2;
        m->at = must(realloc(m->at, m->room * sizeof(struct allocation *)));
    }
    const size_t i = above(m, base);
    memmove(&m->at[i + 1], &m->at[i], (m->count++ - i) * sizeof(struct allocation *));
    m->at[i] = a;
    return a;
}

uint64_t sim_memory_alloc(struct sim_memory *m, uint64_t bytes, enum sim_memory_space space)
{
    if (bytes == 0 || bytes > m->span)
        return 0;
    uint64_t base;
    if (space == SIM_DEVICE) {
        base = find_device(m, rounded(bytes));
    } else {
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        base = p == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)p;
    }
    if (base == 0)
        return 0;
    track(m, base, bytes, space);
    return base;
}

bool sim_memory_adopt(struct sim_memory *m, uint64_t address, uint64_t bytes)
{
    if (bytes == 0 || address > UINT64_MAX - bytes)
        return false;
    const size_t i = above(m, address + bytes - 1);
    if (i > 0 && m->at[i - 1]->base + m->at[i - 1]->bytes > address)
        return false;
    track(m, address, bytes, SIM_PINNED)->adopted = true;
    return true;
}

/* No quarantine: the application may use its memory, and register it again. */
static void disown(struct sim_memory *m, struct allocation *a)
{
    const size_t i = above(m, a->base) - 1;
    memmove(&m->at[i], &m->at[i + 1], (--m->count - i) * sizeof(struct allocation *));
    m->recent = NULL;
    forget(a);
}

/* Gives a device range's whole pages back to the system. */
static void drop_pages(struct sim_memory *m, const struct allocation *a)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t begin = (a->base - m->client + page - 1) / page * page;
    const uint64_t end = (a->base - m->client + a->bytes) / page * page;
    if (end > begin)
        madvise(m->host + begin, end - begin, MADV_REMOVE);
}

bool sim_memory_release(struct sim_memory *m, uint64_t address)
{
    struct allocation *a = holding(m, address);
    if (a == NULL || !a->live || a->base != address)
        return false;
    if (a->adopted) {
        disown(m, a);
        return true;
    }
    a->live = false;
    drop_shadow(a);
    if (a->space == SIM_DEVICE) {
        m->used -= rounded(a->bytes);
        drop_pages(m, a);
    } else {
        /* Keeps the addresses, so that neither side can use the old pointer unnoticed. */
        must(mmap((void *)(uintptr_t)a->base, a->bytes, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
    }
    if (++m->freed[a->space] > FREED_KEPT)
        end_quarantine(m, a->space);
    return true;
}

bool sim_memory_find(const struct sim_memory *m, uint64_t address, uint64_t *ret_base,
                     uint64_t *ret_bytes, enum sim_memory_space *ret_space)
{
    const struct allocation *a = holding(m, address);
    if (a == NULL || !a->live)
        return false;
    *ret_base = a->base;
    *ret_bytes = a->bytes;
    *ret_space = a->space;
    return true;
}

void sim_memory_info(const struct sim_memory *m, uint64_t *ret_free, uint64_t *ret_total)
{
    *ret_free = m->total - m->used;
    *ret_total = m->total;
}

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
    const size_t i = above(m, r->address);
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

/* Whole words from `words` on; neighbours mostly have equal values, and so equal successors. */
static bool step_words(struct sim_memory *m, const struct request *r, uint64_t byte,
                       uint32_t *words, uint64_t count)
{
    uint32_t before = 0, after = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (words[i] != before || i == 0) {
            before = words[i];
            after = step_word(m, r, byte + 4 * i, before, ALL_BYTES);
            if (r->fault->set)
                return false;
        }
        words[i] = after;
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
        const struct race_area *page = race_page_at(m, a, begin, shift);
        struct race_cell *cells = &page->cells[begin % PAGE_BYTES >> page->shift];
        const uint32_t per_lane = (uint32_t)(r->size >> page->shift);
        struct sim_where where = *r->where;
        where.thread = (uint16_t)(where.thread + lane);
        const int64_t hit = race_access(cells, &where, lanes, per_lane, r->access);
        if (hit >= 0) {
            const uint32_t hit_lane = (uint32_t)hit / per_lane;
            char whom[100];
            race_describe(&cells[hit], &where, hit_lane, r->access, whom, sizeof(whom));
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
        a = m->recent = holding(m, address);
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
    struct allocation *a = holding(m, address);
    if (a == NULL || !a->live)
        return;
    const uint64_t begin = address - a->base;
    const uint64_t end = bytes < a->bytes - begin ? begin + bytes : a->bytes;
    for (uint64_t word = begin / 4; word < (end + 3) / 4; word++)
        a->words[word] = ALL_BYTES;
}
