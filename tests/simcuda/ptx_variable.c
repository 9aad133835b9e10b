/* SPDX-License-Identifier: Apache-2.0 */
/* Variables and parameters: their types, their places, their initial values. */
#include <string.h>

#include "ptx_parse.h"

#define KERNEL_PARAM_BYTES_MAX 32764u /* PTX ISA 8.1 */
#define SHARED_BYTES_MAX       (1u << 20)
#define LOCAL_BYTES_MAX        (512u << 10)

bool ptx_type_named(const char *name, struct ptx_type *ret_type)
{
    static const struct {
        const char *name;
        struct ptx_type type;
    } types[] = {
        {"pred", {PTX_PREDICATE, 0}}, {"b8", {PTX_BITS, 1}},      {"b16", {PTX_BITS, 2}},
        {"b32", {PTX_BITS, 4}},       {"b64", {PTX_BITS, 8}},     {"u8", {PTX_UNSIGNED, 1}},
        {"u16", {PTX_UNSIGNED, 2}},   {"u32", {PTX_UNSIGNED, 4}}, {"u64", {PTX_UNSIGNED, 8}},
        {"s8", {PTX_SIGNED, 1}},      {"s16", {PTX_SIGNED, 2}},   {"s32", {PTX_SIGNED, 4}},
        {"s64", {PTX_SIGNED, 8}},     {"f16", {PTX_FLOAT, 2}},    {"f32", {PTX_FLOAT, 4}},
        {"f64", {PTX_FLOAT, 8}},      {"bf16", {PTX_BFLOAT, 2}}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(name, types[i].name) == 0) {
            *ret_type = types[i].type;
            return true;
        }
    }
    return false;
}

/* [.align N] .type; the type may come with .v2 or .v4. Returns bytes per element. */
static uint32_t element_type(struct ptx_parser *p, uint32_t *ret_align, struct ptx_type *ret_type)
{
    char word[PTX_WORD_MAX];
    uint32_t vector = 1;
    *ret_align = 0;
    for (;;) {
        ptx_word(&p->lex, word);
        if (strcmp(word, ".align") == 0) {
            *ret_align = ptx_read_u32(&p->lex);
            if (*ret_align == 0 || (*ret_align & (*ret_align - 1)) != 0)
                ptx_fail(&p->lex, ".align %u is not a power of two", *ret_align);
        } else if (strcmp(word, ".v2") == 0 || strcmp(word, ".v4") == 0) {
            vector = (uint32_t)(word[2] - '0');
        } else if (word[0] == '.' && ptx_type_named(word + 1, ret_type) &&
                   ret_type->kind != PTX_PREDICATE) {
            break;
        } else {
            ptx_fail(&p->lex, "unknown type or attribute \"%s\" of a variable", word);
        }
    }
    if (*ret_align < ret_type->bytes * vector)
        *ret_align = *ret_align == 0 ? ret_type->bytes * vector : *ret_align;
    return ret_type->bytes * vector;
}

static struct ptx_variable *new_variable(struct ptx_parser *p, enum ptx_space space, uint32_t align)
{
    char word[PTX_WORD_MAX];
    ptx_word(&p->lex, word);
    struct ptx_variable *v = ptx_module_alloc(p->module, sizeof(*v));
    v->name = ptx_keep(p->module, word);
    v->space = space;
    v->align = align;
    return v;
}

static void read_dimensions(struct ptx_parser *p, struct ptx_variable *v, uint32_t element)
{
    v->bytes = element;
    while (ptx_accept(&p->lex, '[')) {
        if (ptx_accept(&p->lex, ']')) {
            v->bytes = 0;
            continue;
        }
        v->bytes *= ptx_read_u32(&p->lex);
        ptx_expect(&p->lex, ']');
    }
}

static void read_initialiser(struct ptx_parser *p, const struct ptx_variable *v,
                             struct ptx_type type, uint8_t *to)
{
    const bool list = ptx_accept(&p->lex, '{');
    for (uint64_t at = 0; list ? !ptx_accept(&p->lex, '}') : at == 0; at += type.bytes) {
        if (at + type.bytes > v->bytes)
            ptx_fail(&p->lex, "more initial values than \"%s\" has elements", v->name);
        if (!ptx_at_number(&p->lex))
            ptx_fail(&p->lex, "initial value of \"%s\": only numbers are supported", v->name);
        const struct ptx_number n = ptx_read_number(&p->lex);
        memcpy(to + at, &n.bits, type.bytes);
        if (list)
            ptx_accept(&p->lex, ',');
    }
}

static void declare(struct ptx_parser *p, const struct ptx_variable *v, bool module_scope)
{
    struct ptx_symbol *s =
        module_scope ? PTX_LIST_PUSH(p, p->globals) : PTX_LIST_PUSH(p, p->symbols);
    *s = (struct ptx_symbol){.name = v->name, .variable = v};
}

/* Gives a variable its place; a device function's shared memory is part of the module's. */
static void place(struct ptx_parser *p, struct ptx_variable *v)
{
    struct ptx_kernel *f = p->function;
    if (v->space == PTX_SHARED && !v->dynamic) {
        const bool own = f != NULL && f->entry;
        uint32_t *end = own ? &f->shared_bytes : &p->module->shared_bytes;
        v->offset = ptx_align(*end, v->align);
        if (v->offset + v->bytes > SHARED_BYTES_MAX)
            ptx_fail(&p->lex, "\"%s\" is too large for shared memory", v->name);
        *end = (uint32_t)(v->offset + v->bytes);
        if (own) {
            v->next = f->shared;
            f->shared = v;
        }
    } else if (v->space == PTX_LOCAL) {
        v->offset = ptx_align(f->local_bytes, v->align);
        if (v->offset + v->bytes > LOCAL_BYTES_MAX)
            ptx_fail(&p->lex, "\"%s\" is too large for local memory", v->name);
        f->local_bytes = (uint32_t)(v->offset + v->bytes);
    } else if (v->space == PTX_PARAM) {
        v->offset = ptx_align(f->area_bytes, v->align);
        if (v->offset + v->bytes > KERNEL_PARAM_BYTES_MAX)
            ptx_fail(&p->lex, "\"%s\" is too large for a parameter", v->name);
        f->area_bytes = (uint32_t)(v->offset + v->bytes);
    } else if (v->space == PTX_GLOBAL) {
        v->next = p->module->globals;
        p->module->globals = v;
    }
}

/* The rest of ".global .align 4 .b8 name[16] = {...};" behind the space. */
void ptx_parse_variable(struct ptx_parser *p, enum ptx_space space, bool is_extern)
{
    uint32_t align;
    struct ptx_type type;
    const uint32_t element = element_type(p, &align, &type);
    struct ptx_variable *v = new_variable(p, space, align);
    read_dimensions(p, v, element);
    v->dynamic = space == PTX_SHARED && is_extern;
    if (v->bytes == 0 && !v->dynamic)
        ptx_fail(&p->lex, "\"%s\" has no size", v->name);
    if (is_extern && space != PTX_SHARED)
        ptx_fail(&p->lex, "\"%s\" is defined in another module: not supported", v->name);
    if (ptx_accept(&p->lex, '=')) {
        if (space != PTX_GLOBAL)
            ptx_fail(&p->lex, "initial value of \"%s\": only for .global and .const", v->name);
        uint8_t *init = ptx_module_alloc(p->module, v->bytes);
        read_initialiser(p, v, type, init);
        v->init = init;
    }
    ptx_expect(&p->lex, ';');
    place(p, v);
    declare(p, v, p->function == NULL);
}

/* One parameter behind ".param"; the attributes of pointers say nothing that matters here. */
static const struct ptx_variable *parse_parameter(struct ptx_parser *p)
{
    uint32_t align;
    struct ptx_type type;
    const uint32_t element = element_type(p, &align, &type);
    if (ptx_accept_word(&p->lex, ".ptr")) {
        static const char *const spaces[] = {".global", ".const", ".shared", ".local"};
        for (size_t i = 0; i < 4; i++)
            ptx_accept_word(&p->lex, spaces[i]);
        if (ptx_accept_word(&p->lex, ".align"))
            ptx_read_u32(&p->lex);
    }
    struct ptx_variable *v = new_variable(p, PTX_PARAM, align);
    read_dimensions(p, v, element);
    place(p, v);
    declare(p, v, false);
    return v;
}

const struct ptx_variable **ptx_parse_parameters(struct ptx_parser *p, uint32_t *ret_count)
{
    PTX_LIST(const struct ptx_variable *) list = {0};
    ptx_expect(&p->lex, '(');
    while (!ptx_accept(&p->lex, ')')) {
        if (!ptx_accept_word(&p->lex, ".param"))
            ptx_fail(&p->lex, "expected .param");
        *PTX_LIST_PUSH(p, list) = parse_parameter(p);
        ptx_accept(&p->lex, ',');
    }
    *ret_count = list.count;
    return list.at;
}
