/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that are lane functions, comparisons, predicate logic, moves, branches and calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_parse.h"
#include "ptx_run.h"

/* ---- Arithmetic by name ---- */

static int compare_alu(const void *key, const void *item)
{
    return strcmp(key, (*(const struct ptx_alu *const *)item)->name);
}

static int compare_test(const void *key, const void *item)
{
    return strcmp(key, (*(const struct ptx_test *const *)item)->name);
}

static const struct ptx_alu *find_alu(const struct ptx_parser *p, const char *name)
{
    const struct ptx_alu *const *found =
        bsearch(name, p->alus, p->alu_count, sizeof(*p->alus), compare_alu);
    return found == NULL ? NULL : *found;
}

static const struct ptx_test *find_test(const struct ptx_parser *p, const char *name)
{
    const struct ptx_test *const *found =
        bsearch(name, p->tests, p->test_count, sizeof(*p->tests), compare_test);
    return found == NULL ? NULL : *found;
}

static bool one_of(const char *word, const char *list)
{
    const char *at = strstr(list, word);
    const size_t n = strlen(word);
    return at != NULL && (at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0');
}

/* Types that a bit-wise instruction does not care about: ".f32" reads ".b32". */
static const char *bits_of(const char *modifier, char text[8])
{
    struct ptx_type type;
    if (!ptx_type_named(modifier, &type) || type.bytes == 0)
        return modifier;
    snprintf(text, 8, "b%u", type.bytes * 8u);
    return text;
}

/* The name in the table; *ret_rounding indexes ptx_rounding_modes and is not part of it. */
static void table_name(const struct ptx_text *t, char name[PTX_WORD_MAX], uint8_t *ret_rounding)
{
    static const char *const modes[] = {"rn", "rz", "rm", "rp"};
    const bool plain = one_of(t->base, "add sub mul"); /* .rn is their default */
    const bool bits = one_of(t->base, "selp slct");
    struct ptx_type type;
    const bool is_float = t->modifier_count > 0 &&
                          ptx_type_named(t->modifiers[t->modifier_count - 1], &type) &&
                          type.kind == PTX_FLOAT;
    const bool fused = is_float && strcmp(t->base, "mad") == 0; /* an older name */
    *ret_rounding = 0;
    size_t used = (size_t)snprintf(name, PTX_WORD_MAX, "%s", fused ? "fma" : t->base);
    for (uint32_t i = 0; i < t->modifier_count; i++) {
        const char *modifier = t->modifiers[i];
        char text[8];
        for (uint8_t k = 0; is_float && modifier == t->modifiers[i] && k < 4; k++) {
            if (strcmp(modifier, modes[k]) != 0)
                continue;
            *ret_rounding = k;
            modifier = plain ? "" : "rn";
        }
        if (bits && i == 0)
            modifier = bits_of(modifier, text);
        if (*modifier != '\0' && used < PTX_WORD_MAX)
            used += (size_t)snprintf(name + used, PTX_WORD_MAX - used, "_%s", modifier);
    }
}

static void use_alu(struct ptx_parser *p, struct ptx_text *t, const struct ptx_alu *alu)
{
    for (uint32_t i = 0; i < alu->sources; i++)
        t->insn.src[i] = ptx_source(p, &t->operands[1 + i], alu->s[i]);
    t->insn.dst = ptx_destination(p, &t->operands[0], alu->d);
    t->insn.class = PTX_ALU;
    t->insn.alu = alu->fn;
}

bool ptx_decode_alu(struct ptx_parser *p, struct ptx_text *t)
{
    char name[PTX_WORD_MAX];
    uint8_t rounding;
    table_name(t, name, &rounding);
    const struct ptx_alu *alu = find_alu(p, name);
    if (alu == NULL || strcmp(t->base, "cvt") == 0)
        return false;
    t->modifier_count = 0;
    ptx_all_taken(p, t, alu->sources + 1u);
    use_alu(p, t, alu);
    t->insn.class = rounding != 0 ? PTX_ALU_ROUNDED : PTX_ALU;
    t->insn.mode = rounding;
    ptx_emit(p, t);
    return true;
}

/* ---- Predicates ---- */

enum predicate_op { OP_AND, OP_OR, OP_XOR, OP_NOT, OP_MOV };

static bool exec_predicate(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    const uint32_t a = *ptx_predicate(w, in->src[0]), b = *ptx_predicate(w, in->src[1]);
    const uint32_t results[] = {
        [OP_AND] = a & b, [OP_OR] = a | b, [OP_XOR] = a ^ b, [OP_NOT] = ~a, [OP_MOV] = a};
    ptx_set_predicate(w, in->dst, mask, results[in->mode]);
    return true;
}

static bool decode_predicate_logic(struct ptx_parser *p, struct ptx_text *t)
{
    static const char *const names[] = {"and", "or", "xor", "not", "mov", NULL};
    for (int op = 0; names[op] != NULL; op++) {
        if (strcmp(t->base, names[op]) != 0 || !ptx_take(t, "pred"))
            continue;
        const uint32_t sources = op < OP_NOT ? 2 : 1;
        ptx_all_taken(p, t, 1 + sources);
        t->insn.src[0] = ptx_source(p, &t->operands[1], 0);
        t->insn.src[1] = ptx_source(p, &t->operands[sources], 0);
        t->insn.dst = ptx_destination(p, &t->operands[0], 0);
        t->insn.class = PTX_EXEC;
        t->insn.exec = exec_predicate;
        t->insn.mode = (uint8_t)op;
        ptx_emit(p, t);
        return true;
    }
    return false;
}

static uint32_t predicate_source(struct ptx_parser *p, struct ptx_text *t, uint32_t i)
{
    struct ptx_operand o = t->operands[i];
    t->insn.negate_c = o.negated;
    o.negated = false;
    return ptx_source(p, &o, 0);
}

bool ptx_decode_predicate(struct ptx_parser *p, struct ptx_text *t)
{
    if (decode_predicate_logic(p, t))
        return true;
    const bool setp = strcmp(t->base, "setp") == 0;
    if ((!setp && strcmp(t->base, "testp") != 0) || t->modifier_count < 2)
        return false;
    static const char *const combine[] = {"and", "or", "xor", NULL};
    const int op = ptx_take_one(t, combine);
    char name[PTX_WORD_MAX];
    const bool ftz = ptx_take(t, "ftz");
    snprintf(name, sizeof(name), "%s_%s%s", t->modifiers[0], ftz ? "ftz_" : "",
             t->modifiers[t->modifier_count - 1] != NULL ? t->modifiers[t->modifier_count - 1]
                                                         : "");
    const struct ptx_test *test = find_test(p, name);
    if (test == NULL || (test->sources == 2) != setp)
        return false;
    t->modifiers[0] = t->modifiers[t->modifier_count - 1] = NULL;
    ptx_all_taken(p, t, op >= 0 ? 4 : 1u + test->sources);
    t->insn.src[0] = ptx_source(p, &t->operands[1], test->width);
    t->insn.src[1] = setp ? ptx_source(p, &t->operands[2], test->width) : t->insn.src[0];
    if (op >= 0)
        t->insn.src[2] = predicate_source(p, t, 3);
    t->insn.dst2 = ptx_second_predicate(p, &t->operands[0]);
    t->insn.dst = ptx_destination(p, &t->operands[0], 0);
    t->insn.class = PTX_TEST;
    t->insn.test = test->fn;
    t->insn.mode = (uint8_t)(op + 1); /* 0: none */
    ptx_emit(p, t);
    return true;
}

/* ---- Moves ---- */

/* The clocks count warp instructions; time is not simulated. */
static bool exec_clock(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    PTX_FOR_LANES(lane, mask)
    ptx_set(w, in->dst, in->type.bytes, lane, w->block->steps);
    return true;
}

static bool decode_clock(struct ptx_parser *p, struct ptx_text *t, struct ptx_type type)
{
    static const char *const names = "%clock %clock64 %globaltimer %globaltimer_lo";
    if (t->operands[1].kind != PTX_OPERAND_NAME || !one_of(t->operands[1].name, names))
        return false;
    t->insn.dst = ptx_destination(p, &t->operands[0], type.bytes);
    t->insn.type = type;
    t->insn.class = PTX_EXEC;
    t->insn.exec = exec_clock;
    ptx_emit(p, t);
    return true;
}

/* mov.b32 d, {a, b}: the parts from the low end. */
static void decode_pack(struct ptx_parser *p, struct ptx_text *t, struct ptx_type type)
{
    const struct ptx_operand *v = &t->operands[1];
    const char *name = type.bytes == 4 && v->count == 2   ? "pack_b32"
                       : type.bytes == 8 && v->count == 2 ? "pack_b64"
                       : type.bytes == 8 && v->count == 4 ? "pack4_b64"
                                                          : NULL;
    if (name == NULL)
        ptx_fail(&p->lex, "\"%s\" can't pack %u parts", t->opcode, v->count);
    struct ptx_text packed = *t;
    for (uint32_t i = 0; i < v->count; i++)
        packed.operands[1 + i] = v->items[i];
    use_alu(p, &packed, find_alu(p, name));
    ptx_emit(p, &packed);
}

/* mov.b32 {a, b}, d */
static void decode_unpack(struct ptx_parser *p, struct ptx_text *t, struct ptx_type type)
{
    const struct ptx_operand *v = &t->operands[0];
    const char *name = type.bytes == 4 && v->count == 2   ? "part_b16_b32"
                       : type.bytes == 8 && v->count == 2 ? "part_b32_b64"
                       : type.bytes == 8 && v->count == 4 ? "part_b16_b64"
                                                          : NULL;
    if (name == NULL)
        ptx_fail(&p->lex, "\"%s\" can't unpack %u parts", t->opcode, v->count);
    for (uint32_t i = 0; i < v->count; i++) {
        if (v->items[i].kind == PTX_OPERAND_SINK)
            continue;
        struct ptx_text part = *t;
        part.operands[0] = v->items[i];
        part.operands[2] = (struct ptx_operand){.kind = PTX_OPERAND_NUMBER, .number.bits = i};
        use_alu(p, &part, find_alu(p, name));
        ptx_emit(p, &part);
    }
}

bool ptx_decode_move(struct ptx_parser *p, struct ptx_text *t)
{
    char name[16];
    const bool logic = one_of(t->base, "and or xor not cnot shl");
    if (strcmp(t->base, "mov") != 0 && !logic)
        return false;
    if (t->modifier_count == 1 && strcmp(t->modifiers[0], "pred") == 0)
        return false;
    const struct ptx_type type = ptx_take_type(p, t);
    snprintf(name, sizeof(name), "%s_b%u", t->base, type.bytes * 8u);
    const struct ptx_alu *alu = find_alu(p, name);
    if (alu == NULL)
        return false;
    ptx_all_taken(p, t, 1u + alu->sources);
    if (!logic && decode_clock(p, t, type))
        return true;
    if (!logic && t->operands[1].kind == PTX_OPERAND_VECTOR) {
        decode_pack(p, t, type);
    } else if (!logic && t->operands[0].kind == PTX_OPERAND_VECTOR) {
        decode_unpack(p, t, type);
    } else {
        use_alu(p, t, alu);
        ptx_emit(p, t);
    }
    return true;
}

/* ---- Branches and calls ---- */

static bool exec_trap(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    return ptx_fault(w, in, mask, PTX_FAULT_LAUNCH, "%s", in->name);
}

static bool exec_nothing(struct ptx_warp *w, const struct ptx_insn *in, uint32_t mask)
{
    return true;
}

static void add_fixup(struct ptx_parser *p, const char *label, uint32_t *target)
{
    *PTX_LIST_PUSH(p, p->fixups) = (struct ptx_fixup){
        .label = label, .target = target, .pc = p->code.count, .line = p->lex.line};
}

static void decode_indexed_branch(struct ptx_parser *p, struct ptx_text *t)
{
    ptx_take(t, "idx");
    ptx_take(t, "uni");
    ptx_all_taken(p, t, 2);
    t->insn.src[0] = ptx_source(p, &t->operands[0], 4);
    for (uint32_t i = 0; i < p->label_lists.count; i++) {
        const struct ptx_label_list *list = &p->label_lists.at[i];
        if (t->operands[1].name == NULL || strcmp(list->name, t->operands[1].name) != 0)
            continue;
        uint32_t *targets = ptx_module_alloc(p->module, list->count * sizeof(*targets));
        for (uint32_t k = 0; k < list->count; k++)
            add_fixup(p, list->labels[k], &targets[k]);
        t->insn.class = PTX_BRANCH_INDEXED;
        t->insn.targets = targets;
        t->insn.target = list->count;
        ptx_emit(p, t);
        return;
    }
    ptx_fail(&p->lex, "unknown list of branch targets");
}

bool ptx_decode_flow(struct ptx_parser *p, struct ptx_text *t)
{
    if (strcmp(t->base, "brx") == 0) {
        decode_indexed_branch(p, t);
        return true;
    }
    if (!one_of(t->base, "bra ret exit trap brkpt nanosleep"))
        return false;
    ptx_take(t, "uni");
    if (strcmp(t->base, "nanosleep") == 0) {
        ptx_take(t, "u32");
        ptx_all_taken(p, t, 1);
        t->insn.class = PTX_EXEC;
        t->insn.exec = exec_nothing;
    } else if (strcmp(t->base, "bra") == 0) {
        ptx_all_taken(p, t, 1);
        if (t->operands[0].kind != PTX_OPERAND_NAME)
            ptx_fail(&p->lex, "the target of a branch is not a label");
        t->insn.class = PTX_BRANCH;
        add_fixup(p, t->operands[0].name, NULL);
    } else {
        ptx_all_taken(p, t, 0);
        t->insn.class = strcmp(t->base, "ret") == 0    ? PTX_RETURN
                        : strcmp(t->base, "exit") == 0 ? PTX_EXIT
                                                       : PTX_EXEC;
        t->insn.exec = exec_trap;
    }
    ptx_emit(p, t);
    return true;
}

static const struct ptx_variable *call_argument(struct ptx_parser *p)
{
    char word[PTX_WORD_MAX];
    uint32_t slot;
    ptx_word(&p->lex, word);
    const struct ptx_symbol *s = ptx_find_symbol(p, word, &slot);
    if (s == NULL || s->variable == NULL || s->variable->space != PTX_PARAM)
        ptx_fail(&p->lex, "the argument \"%s\" of a call is not a .param variable", word);
    return s->variable;
}

/* (a, b, c): appends the variables to `list`, which has room. */
static uint32_t call_arguments(struct ptx_parser *p, const struct ptx_variable **list, uint32_t at,
                               uint32_t room)
{
    ptx_expect(&p->lex, '(');
    while (!ptx_accept(&p->lex, ')')) {
        if (at == room)
            ptx_fail(&p->lex, "too many arguments of a call");
        list[at++] = call_argument(p);
        ptx_accept(&p->lex, ',');
    }
    return at;
}

/* call{.uni} [(returns),] function [, (arguments)]; */
void ptx_decode_call(struct ptx_parser *p, struct ptx_text *t)
{
    enum { ROOM = 64 };
    const struct ptx_variable *returns[ROOM] = {NULL}, *arguments[ROOM] = {NULL};
    uint32_t return_count = 0, argument_count = 0;
    char word[PTX_WORD_MAX];
    ptx_take(t, "uni");
    ptx_all_taken(p, t, 0);
    if (ptx_peek(&p->lex) == '(') {
        return_count = call_arguments(p, returns, 0, ROOM);
        ptx_expect(&p->lex, ',');
    }
    ptx_word(&p->lex, word);
    const struct ptx_kernel *callee = ptx_find_function(p->module, word);
    if (callee == NULL)
        ptx_fail(&p->lex, "call of the unknown function \"%s\"", word);
    if (ptx_accept(&p->lex, ','))
        argument_count = call_arguments(p, arguments, 0, ROOM);
    ptx_expect(&p->lex, ';');
    if (argument_count != callee->param_count || return_count != callee->return_count)
        ptx_fail(&p->lex, "call of \"%s\" with another number of arguments or results", word);
    struct ptx_call *call = ptx_module_alloc(p->module, sizeof(*call));
    call->own =
        ptx_module_alloc(p->module, (argument_count + return_count + 1) * sizeof(*call->own));
    for (uint32_t i = 0; i < argument_count + return_count; i++) {
        call->own[i] = i < argument_count ? arguments[i] : returns[i - argument_count];
        if (call->own[i]->bytes != callee->params[i]->bytes)
            ptx_fail(&p->lex, "an argument of \"%s\" has another size", word);
    }
    call->callee = callee;
    t->insn.class = PTX_CALL;
    t->insn.call = call;
    ptx_emit(p, t);
}
