/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated memory: which allocations exist, and which did. */
#include <string.h>
#include <unistd.h>

#include "memory_internal.h"
#include "must.h"

#define ALIGNMENT   256u
#define SPAN_FACTOR 32u    /* addresses per byte of device memory: freed ones are long remembered */
#define FREED_KEPT  16384u /* freed allocations remembered, per space */

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

size_t sim_memory_above(const struct sim_memory *m, uint64_t address)
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

struct allocation *sim_memory_holding(const struct sim_memory *m, uint64_t address)
{
    const size_t i = sim_memory_above(m, address);
    if (i == 0 || address - m->at[i - 1]->base >= m->at[i - 1]->bytes)
        return NULL;
    return m->at[i - 1];
}

/* Lowest free stretch from `from` on, with a gap behind it so that no overrun hits a neighbour. */
static uint64_t find_stretch(const struct sim_memory *m, uint64_t from, uint64_t bytes)
{
    uint64_t start = from;
    size_t i = sim_memory_above(m, from);
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
    const size_t i = sim_memory_above(m, base);
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
    const size_t i = sim_memory_above(m, address + bytes - 1);
    if (i > 0 && m->at[i - 1]->base + m->at[i - 1]->bytes > address)
        return false;
    track(m, address, bytes, SIM_PINNED)->adopted = true;
    return true;
}

/* No quarantine: the application may use its memory, and register it again. */
static void disown(struct sim_memory *m, struct allocation *a)
{
    const size_t i = sim_memory_above(m, a->base) - 1;
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
    struct allocation *a = sim_memory_holding(m, address);
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
    const struct allocation *a = sim_memory_holding(m, address);
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
