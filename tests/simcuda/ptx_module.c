/* SPDX-License-Identifier: Apache-2.0 */
/* What a module owns, and what callers may ask of it. */
#include <stdlib.h>
#include <string.h>

#include "must.h"
#include "ptx_frame.h"
#include "ptx_parse.h"

struct ptx_chunk {
    struct ptx_chunk *next;
    size_t used, room;
    _Alignas(16) unsigned char bytes[];
};

#define CHUNK_BYTES (64u << 10)

void *ptx_module_alloc(struct ptx_module *module, size_t bytes)
{
    struct ptx_chunk *c = module->chunks;
    bytes = (bytes + 15) & ~(size_t)15;
    if (c == NULL || c->room - c->used < bytes) {
        const size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        c = must(calloc(1, sizeof(*c) + room));
        c->room = room;
        c->next = module->chunks;
        module->chunks = c;
    }
    void *p = c->bytes + c->used;
    c->used += bytes;
    return p;
}

const char *ptx_keep(struct ptx_module *module, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    return memcpy(ptx_module_alloc(module, bytes), text, bytes);
}

void *ptx_list_grow(struct ptx_module *module, const void *at, size_t size, uint32_t count,
                    uint32_t *room)
{
    *room = *room == 0 ? 16 : *room * 2;
    void *grown = ptx_module_alloc(module, size * *room);
    if (count > 0)
        memcpy(grown, at, size * count);
    return grown;
}

void ptx_module_free(struct ptx_module *module)
{
    if (module == NULL)
        return;
    for (const struct ptx_variable *v = module->globals; module->memory != NULL && v != NULL;
         v = v->next)
        sim_memory_release(module->memory, v->offset);
    ptx_frames_free(module);
    while (module->chunks != NULL) {
        struct ptx_chunk *next = module->chunks->next;
        free(module->chunks);
        module->chunks = next;
    }
    free(module);
}

bool ptx_module_has_variables(const struct ptx_module *module)
{
    return module->globals != NULL;
}

const struct ptx_kernel *ptx_module_kernel(const struct ptx_module *module, const char *name)
{
    const struct ptx_kernel *k = ptx_find_function(module, name);
    return k != NULL && k->entry && k->defined ? k : NULL;
}

const char *ptx_kernel_name(const struct ptx_kernel *kernel)
{
    return kernel->name;
}

uint32_t ptx_kernel_param_count(const struct ptx_kernel *kernel)
{
    return kernel->param_count;
}

void ptx_kernel_param(const struct ptx_kernel *kernel, uint32_t i, uint32_t *ret_offset,
                      uint32_t *ret_size)
{
    *ret_offset = (uint32_t)kernel->params[i]->offset;
    *ret_size = (uint32_t)kernel->params[i]->bytes;
}

uint32_t ptx_kernel_param_bytes(const struct ptx_kernel *kernel)
{
    return kernel->param_bytes;
}

uint32_t ptx_kernel_shared_bytes(const struct ptx_kernel *kernel)
{
    return kernel->shared_bytes;
}
