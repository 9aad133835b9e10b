/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of instructions: their text, and the registers they become. */
#include <stdlib.h>
#include <string.h>

#include "ptx_parse.h"

static void read_address(struct ptx_parser *p, struct ptx_operand *o)
{
    char word[PTX_WORD_MAX];
    o->kind = PTX_OPERAND_ADDRESS;
    ptx_expect(&p->lex, '[');
    if (!ptx_at_number(&p->lex)) {
        ptx_word(&p->lex, word);
        o->name = ptx_keep(p->module, word);
        if (!ptx_accept(&p->lex, '+') && !ptx_at_number(&p->lex)) {
            ptx_expect(&p->lex, ']');
            return;
        }
    }
    const struct ptx_number n = ptx_read_number(&p->lex);
    if (n.kind != PTX_NUMBER_INTEGER)
        ptx_fail(&p->lex, "the offset of an address is not an integer");
    o->offset = (int64_t)n.bits;
    ptx_expect(&p->lex, ']');
}

static struct ptx_operand read_operand(struct ptx_parser *p)
{
    struct ptx_operand o = {.kind = PTX_OPERAND_NAME};
    char word[PTX_WORD_MAX];
    const char c = ptx_peek(&p->lex);
    if (c == '[') {
        read_address(p, &o);
    } else if (c == '{') {
        PTX_LIST(struct ptx_operand) items = {0};
        ptx_expect(&p->lex, '{');
        do
            *PTX_LIST_PUSH(p, items) = read_operand(p);
        while (ptx_accept(&p->lex, ','));
        ptx_expect(&p->lex, '}');
        o.kind = PTX_OPERAND_VECTOR;
        o.items = items.at;
        o.count = items.count;
    } else if (ptx_at_number(&p->lex)) {
        o.kind = PTX_OPERAND_NUMBER;
        o.number = ptx_read_number(&p->lex);
    } else {
        o.negated = ptx_accept(&p->lex, '!');
        ptx_word(&p->lex, word);
        if (strcmp(word, "_") == 0)
            o.kind = PTX_OPERAND_SINK;
        o.name = ptx_keep(p->module, word);
        if (ptx_accept(&p->lex, '|')) {
            ptx_word(&p->lex, word);
            o.second = ptx_keep(p->module, word);
        }
    }
    return o;
}

/* Opcode and operands up to the semicolon, without a guard. */
static void read_operands(struct ptx_parser *p, struct ptx_text *t)
{
    while (ptx_peek(&p->lex) != ';') {
        if (t->count == PTX_OPERANDS_MAX)
            ptx_fail(&p->lex, "too many operands of \"%s\"", t->opcode);
        t->operands[t->count++] = read_operand(p);
        if (!ptx_accept(&p->lex, ','))
            break;
    }
    ptx_expect(&p->lex, ';');
}

static void split_opcode(struct ptx_parser *p, struct ptx_text *t, const char *word)
{
    t->opcode = ptx_keep(p->module, word);
    char *rest = memcpy(ptx_module_alloc(p->module, strlen(word) + 1), word, strlen(word) + 1);
    t->base = rest;
    while ((rest = strchr(rest, '.')) != NULL) {
        *rest++ = '\0';
        if (t->modifier_count == PTX_MODIFIERS_MAX)
            ptx_fail(&p->lex, "too many modifiers of \"%s\"", t->opcode);
        t->modifiers[t->modifier_count++] = rest;
    }
}

static void read_guard(struct ptx_parser *p, struct ptx_text *t)
{
    char word[PTX_WORD_MAX];
    uint32_t slot;
    t->insn.guarded = true;
    t->insn.negated = ptx_accept(&p->lex, '!');
    ptx_word(&p->lex, word);
    const struct ptx_symbol *s = ptx_find_symbol(p, word, &slot);
    if (s == NULL || s->variable != NULL || s->bytes != 0)
        ptx_fail(&p->lex, "the guard \"%s\" is not a predicate", word);
    t->insn.guard = slot;
}

void ptx_decode(struct ptx_parser *p)
{
    struct ptx_text t = {.insn = {.dst2 = PTX_NO_REGISTER}};
    char word[PTX_WORD_MAX];
    if (ptx_accept(&p->lex, '@'))
        read_guard(p, &t);
    ptx_word(&p->lex, word);
    split_opcode(p, &t, word);
    t.insn.name = t.opcode;
    t.insn.ptx_line = p->lex.line;
    t.insn.file = p->file != NULL ? p->file : "PTX";
    t.insn.line = p->file != NULL ? p->line : p->lex.line;
    if (strcmp(t.base, "call") == 0) {
        ptx_decode_call(p, &t);
        return;
    }
    read_operands(p, &t);
    const unsigned next_line = p->lex.line; /* messages name the line of the opcode */
    p->lex.line = t.insn.ptx_line;
    if (!ptx_decode_flow(p, &t) && !ptx_decode_access(p, &t) && !ptx_decode_move(p, &t) &&
        !ptx_decode_predicate(p, &t) && !ptx_decode_alu(p, &t) && !ptx_decode_convert(p, &t) &&
        !ptx_decode_atomic(p, &t) && !ptx_decode_warp(p, &t) && !ptx_decode_barrier(p, &t) &&
        !ptx_decode_carry(p, &t))
        ptx_fail(&p->lex, "unknown instruction \"%s\"", t.opcode);
    p->lex.line = next_line;
}

void ptx_emit(struct ptx_parser *p, struct ptx_text *t)
{
    *PTX_LIST_PUSH(p, p->code) = t->insn;
}

bool ptx_take(struct ptx_text *t, const char *modifier)
{
    for (uint32_t i = 0; i < t->modifier_count; i++) {
        if (t->modifiers[i] != NULL && strcmp(t->modifiers[i], modifier) == 0) {
            t->modifiers[i] = NULL;
            return true;
        }
    }
    return false;
}

int ptx_take_one(struct ptx_text *t, const char *const *modifiers)
{
    for (int i = 0; modifiers[i] != NULL; i++) {
        if (ptx_take(t, modifiers[i]))
            return i;
    }
    return -1;
}

struct ptx_type ptx_take_type(struct ptx_parser *p, struct ptx_text *t)
{
    struct ptx_type type;
    for (uint32_t i = 0; i < t->modifier_count; i++) {
        if (t->modifiers[i] != NULL && ptx_type_named(t->modifiers[i], &type)) {
            t->modifiers[i] = NULL;
            return type;
        }
    }
    ptx_fail(&p->lex, "\"%s\" has no known type", t->opcode);
}

void ptx_all_taken(struct ptx_parser *p, struct ptx_text *t, uint32_t operands)
{
    for (uint32_t i = 0; i < t->modifier_count; i++) {
        if (t->modifiers[i] != NULL)
            ptx_fail(&p->lex, "unknown modifier \".%s\" of \"%s\"", t->modifiers[i], t->opcode);
    }
    if (t->count != operands)
        ptx_fail(&p->lex, "\"%s\" has %u operands, not %u", t->opcode, t->count, operands);
}

/* ---- Registers ---- */

static uint32_t filled(struct ptx_parser *p, struct ptx_fill fill)
{
    for (uint32_t i = 0; i < p->fills.count; i++) {
        const struct ptx_fill *f = &p->fills.at[i];
        if (f->what == fill.what && f->bytes == fill.bytes && f->value == fill.value &&
            f->variable == fill.variable)
            return f->slot;
    }
    fill.slot = ptx_new_registers(p, fill.bytes, 1);
    *PTX_LIST_PUSH(p, p->fills) = fill;
    return fill.slot;
}

uint32_t ptx_constant(struct ptx_parser *p, uint8_t bytes, uint64_t value)
{
    if (bytes == 0)
        value = value != 0 ? PTX_ALL_LANES : 0;
    else if (bytes < 8)
        value &= (1ull << 8 * bytes) - 1;
    return filled(p, (struct ptx_fill){.what = PTX_FILL_CONSTANT, .bytes = bytes, .value = value});
}

static bool special_register(const char *name, enum ptx_filling *ret_what)
{
    static const struct {
        const char *name;
        enum ptx_filling what;
    } names[] = {{"%tid", PTX_FILL_TID},
                 {"%ntid", PTX_FILL_NTID},
                 {"%ctaid", PTX_FILL_CTAID},
                 {"%nctaid", PTX_FILL_NCTAID},
                 {"%laneid", PTX_FILL_LANEID},
                 {"%warpid", PTX_FILL_WARPID},
                 {"%nwarpid", PTX_FILL_NWARPID},
                 {"%smid", PTX_FILL_SMID},
                 {"%nsmid", PTX_FILL_NSMID},
                 {"%gridid", PTX_FILL_GRIDID},
                 {"%lanemask_eq", PTX_FILL_LANEMASK_EQ},
                 {"%lanemask_le", PTX_FILL_LANEMASK_LE},
                 {"%lanemask_lt", PTX_FILL_LANEMASK_LT},
                 {"%lanemask_ge", PTX_FILL_LANEMASK_GE},
                 {"%lanemask_gt", PTX_FILL_LANEMASK_GT},
                 {"%dynamic_smem_size", PTX_FILL_DYNAMIC_SMEM_SIZE},
                 {"%total_smem_size", PTX_FILL_TOTAL_SMEM_SIZE}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t length = strlen(names[i].name);
        if (strncmp(name, names[i].name, length) != 0)
            continue;
        *ret_what = names[i].what;
        const bool has_axes = names[i].what < PTX_FILL_LANEID;
        if (has_axes && name[length] == '.' && name[length + 1] >= 'x' && name[length + 1] <= 'z' &&
            name[length + 2] == '\0') {
            *ret_what += (enum ptx_filling)(name[length + 1] - 'x');
            return true;
        }
        if (!has_axes && name[length] == '\0')
            return true;
    }
    return false;
}

static uint32_t number_source(struct ptx_parser *p, const struct ptx_number *n, uint8_t bytes)
{
    if ((n->kind == PTX_NUMBER_F32 && bytes != 4) || (n->kind == PTX_NUMBER_F64 && bytes != 8))
        ptx_fail(&p->lex, "an immediate of another size than the %u-bit operand", bytes * 8);
    return ptx_constant(p, bytes, n->bits);
}

uint32_t ptx_source_wide(struct ptx_parser *p, const struct ptx_operand *o, uint8_t bytes,
                         uint8_t *ret_bytes)
{
    uint32_t slot;
    enum ptx_filling what;
    *ret_bytes = bytes;
    if (o->kind == PTX_OPERAND_NUMBER)
        return number_source(p, &o->number, bytes);
    if (o->kind != PTX_OPERAND_NAME || o->second != NULL)
        ptx_fail(&p->lex, "an operand is not a register or a number");
    if (strcmp(o->name, "WARP_SZ") == 0)
        return ptx_constant(p, bytes, PTX_LANES);
    const struct ptx_symbol *s = ptx_find_symbol(p, o->name, &slot);
    if (s != NULL && s->variable == NULL) {
        if ((s->bytes == 0) != (bytes == 0) || s->bytes < bytes)
            ptx_fail(&p->lex, "register \"%s\" has %u bits where %u are needed", o->name,
                     s->bytes == 0 ? 1 : s->bytes * 8, bytes == 0 ? 1 : bytes * 8);
        *ret_bytes = s->bytes;
        return slot;
    }
    if (s != NULL && bytes >= 4)
        return filled(p, (struct ptx_fill){
                             .what = PTX_FILL_ADDRESS, .bytes = bytes, .variable = s->variable});
    if (s == NULL && bytes != 0 && special_register(o->name, &what))
        return filled(p, (struct ptx_fill){.what = what, .bytes = bytes});
    ptx_fail(&p->lex, "unknown operand \"%s\"", o->name);
}

uint32_t ptx_source(struct ptx_parser *p, const struct ptx_operand *o, uint8_t bytes)
{
    uint8_t actual;
    const uint32_t slot = ptx_source_wide(p, o, bytes, &actual);
    if (actual != bytes)
        ptx_fail(&p->lex, "register \"%s\" has %u bits where %u are needed", o->name, actual * 8,
                 bytes * 8);
    if (o->negated)
        ptx_fail(&p->lex, "\"!%s\" can't be negated here", o->name);
    return slot;
}

uint32_t ptx_destination_wide(struct ptx_parser *p, const struct ptx_operand *o, uint8_t bytes,
                              uint8_t *ret_bytes)
{
    uint32_t slot;
    *ret_bytes = bytes;
    if (o->kind == PTX_OPERAND_SINK)
        return ptx_new_registers(p, bytes, 1);
    const struct ptx_symbol *s =
        o->kind == PTX_OPERAND_NAME ? ptx_find_symbol(p, o->name, &slot) : NULL;
    if (s == NULL || s->variable != NULL)
        ptx_fail(&p->lex, "the result \"%s\" is not a register", o->name == NULL ? "" : o->name);
    if ((s->bytes == 0) != (bytes == 0) || s->bytes < bytes)
        ptx_fail(&p->lex, "register \"%s\" has %u bits where %u are needed", o->name,
                 s->bytes == 0 ? 1 : s->bytes * 8, bytes == 0 ? 1 : bytes * 8);
    *ret_bytes = s->bytes;
    return slot;
}

uint32_t ptx_destination(struct ptx_parser *p, const struct ptx_operand *o, uint8_t bytes)
{
    uint8_t actual;
    const uint32_t slot = ptx_destination_wide(p, o, bytes, &actual);
    if (actual != bytes)
        ptx_fail(&p->lex, "register \"%s\" has %u bits where %u are needed", o->name, actual * 8,
                 bytes * 8);
    return slot;
}

uint32_t ptx_second_predicate(struct ptx_parser *p, const struct ptx_operand *o)
{
    if (o->second == NULL || strcmp(o->second, "_") == 0)
        return PTX_NO_REGISTER;
    const struct ptx_operand second = {.kind = PTX_OPERAND_NAME, .name = o->second};
    return ptx_destination(p, &second, 0);
}
