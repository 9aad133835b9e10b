/* SPDX-License-Identifier: Apache-2.0 */
/* Who goes past the hooks, read from what the linker keeps of each object: its relocations tell
 * where its calls of cuBLAS are bound to (RTLD_DEEPBIND binds them past us), its symbols whether
 * cuBLAS is a part of it: linked in statically and called without a relocation.
 */
#include "interpose/bypass.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "interpose/hooks.h"
#include "interpose/objects.h"

/* An object without this is no cuBLAS, but a wrapper of some of its functions. */
#define EVERY_CUBLAS_HAS "cublasCreate_v2"
#define COMMON_PREFIX    "cublas"

struct object {
    const struct dl_phdr_info *info;
    const char *strings;
    const ElfW(Sym) * symbols;
    const uint32_t *hash; /* DT_GNU_HASH, or NULL */
    const ElfW(Rela) * relocations[2];
    size_t relocation_count[2];
    bool needs_cublas;
};

static bool is_cublas(const char *path)
{
    const char *const slash = strrchr(path, '/');

    return strncmp(slash ? slash + 1 : path, "libcublas", strlen("libcublas")) == 0;
}

static bool contains(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const header = &info->dlpi_phdr[i];

        if (header->p_type == PT_LOAD &&
            address - info->dlpi_addr - header->p_vaddr < header->p_memsz) {
            return true;
        }
    }
    return false;
}

/* The linker relocates these entries in place, but for the vDSO's. */
static const void *at(const struct dl_phdr_info *info, ElfW(Addr) entry)
{
    return (const void *)(entry < info->dlpi_addr ? entry + info->dlpi_addr : entry);
}

static bool read_object(const struct dl_phdr_info *info, struct object *object)
{
    const ElfW(Dyn) *dynamic = NULL;

    *object = (struct object){.info = info};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    for (const ElfW(Dyn) *entry = dynamic; entry && entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_STRTAB:
            object->strings = at(info, entry->d_un.d_ptr);
            break;
        case DT_SYMTAB:
            object->symbols = at(info, entry->d_un.d_ptr);
            break;
        case DT_GNU_HASH:
            object->hash = at(info, entry->d_un.d_ptr);
            break;
        case DT_JMPREL:
            object->relocations[0] = at(info, entry->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            object->relocation_count[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELA:
            object->relocations[1] = at(info, entry->d_un.d_ptr);
            break;
        case DT_RELASZ:
            object->relocation_count[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        }
    }
    for (const ElfW(Dyn) *entry = dynamic; object->strings && entry->d_tag != DT_NULL; entry++) {
        object->needs_cublas |=
            entry->d_tag == DT_NEEDED && is_cublas(object->strings + entry->d_un.d_val);
    }
    return object->strings && object->symbols;
}

/* ---- cuBLAS as a part of the object ---- */

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++) {
        hash = hash * 33 + (unsigned char)*name;
    }
    return hash;
}

/* The layout of DT_GNU_HASH: four counts, the Bloom filter, the buckets, the chains; bit 0 of a
 * chain's hash marks its last. */
static bool defines(const struct object *object, const char *name)
{
    const uint32_t hash = gnu_hash(name);
    const uint32_t *buckets, *chain;
    uint32_t index;

    if (!object->hash || object->hash[0] == 0) {
        return false;
    }
    buckets = object->hash + 4 + object->hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    chain = buckets + object->hash[0];
    index = buckets[hash % object->hash[0]];
    if (index < object->hash[1]) {
        return false;
    }
    for (;; index++) {
        const uint32_t here = chain[index - object->hash[1]];

        if ((here | 1) == (hash | 1) &&
            strcmp(object->strings + object->symbols[index].st_name, name) == 0) {
            return object->symbols[index].st_shndx != SHN_UNDEF;
        }
        if (here & 1) {
            return false;
        }
    }
}

static bool has_cublas_linked_in(const struct object *object)
{
    if (!defines(object, EVERY_CUBLAS_HAS)) {
        return false;
    }
#define HOOK(name, family, index)                                                                  \
    if (defines(object, #name)) {                                                                  \
        return true;                                                                               \
    }
    MHCS_HOOKS(HOOK)
#undef HOOK
    return false;
}

/* ---- calls bound past the hooks ---- */

static bool is_hooked(const char *name)
{
    if (strncmp(name, COMMON_PREFIX, strlen(COMMON_PREFIX)) != 0) {
        return false;
    }
#define HOOK(hook, family, index)                                                                  \
    if (strcmp(name, #hook) == 0) {                                                                \
        return true;                                                                               \
    }
    MHCS_HOOKS(HOOK)
#undef HOOK
    return false;
}

struct where {
    uintptr_t address;
    bool in_cublas;
};

static int find_address(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct where *const where = arg;

    if (!contains(info, where->address)) {
        return 0;
    }
    where->in_cublas = is_cublas(info->dlpi_name);
    return 1;
}

enum calls { NO_CALLS, CALLS, CALLS_PAST };

/* A slot that is not bound yet leads into the object itself, one bound to us or to a wrapper into
 * no libcublas: those are CALLS, of which nothing is known to go past. */
static enum calls calls_of(const struct object *object)
{
    enum calls calls = NO_CALLS;

    for (int table = 0; table < 2; table++) {
        for (size_t i = 0; i < object->relocation_count[table]; i++) {
            const ElfW(Rela) *const relocation = &object->relocations[table][i];
            const ElfW(Sym) *const symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];
            struct where where = {0};

            if (!is_hooked(object->strings + symbol->st_name)) {
                continue;
            }
            calls = CALLS;
            where.address = *(const uintptr_t *)(object->info->dlpi_addr + relocation->r_offset);
            dl_iterate_phdr(find_address, &where);
            if (where.in_cublas) {
                return CALLS_PAST;
            }
        }
    }
    return calls;
}

/* ---- the walk ---- */

static void add(struct mhcs_bypasses *bypasses, const char *path, bool is_static)
{
    struct mhcs_bypass bypass = {.is_static = is_static};

    snprintf(bypass.object, sizeof(bypass.object), "%s", path[0] ? path : "the program itself");
    for (uint32_t i = 0; i < bypasses->count; i++) {
        if (strcmp(bypasses->list[i].object, bypass.object) == 0) {
            return;
        }
    }
    if (bypasses->count < MHCS_BYPASSES_MAX) {
        bypasses->list[bypasses->count++] = bypass;
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct mhcs_bypasses *const bypasses = arg;
    struct object object;

    if (bypasses->loads == info->dlpi_adds) {
        return 1;
    }
    if (is_cublas(info->dlpi_name) || contains(info, (uintptr_t)visit) ||
        !read_object(info, &object)) {
        return 0;
    }
    if (object.needs_cublas && calls_of(&object) == CALLS_PAST) {
        add(bypasses, info->dlpi_name, false);
    } else if (has_cublas_linked_in(&object) && calls_of(&object) == NO_CALLS) {
        add(bypasses, info->dlpi_name, true);
    }
    return 0;
}

static int count_loads(struct dl_phdr_info *info, size_t size, void *arg)
{
    *(uint64_t *)arg = info->dlpi_adds;
    return 1;
}

void mhcs_bypass_look_around(struct mhcs_bypasses *bypasses)
{
    uint64_t loads = 0;

    mhcs_objects_walk(count_loads, &loads);
    mhcs_objects_walk(visit, bypasses);
    bypasses->loads = loads;
}
