/* SPDX-License-Identifier: Apache-2.0 */
/* Parser state shared by the module parser (ptx_parse.c) and the decoder of instructions. */
#ifndef PTX_PARSE_H
#define PTX_PARSE_H

#include <setjmp.h>

#include "ptx_internal.h"
#include "ptx_lex.h"

/* A variable, a register, or a range of registers (prefix and number). */
struct ptx_symbol {
    const char *name;
    const struct ptx_variable *variable; /* NULL: registers */
    bool range;
    uint32_t slot, count;
    uint8_t bytes; /* of a register's element; 0: predicate */
};

struct ptx_label {
    const char *name;
    uint32_t pc;
};

/* A branch whose label may come later: in a target list, or in the instruction at `pc`. */
struct ptx_fixup {
    const char *label;
    uint32_t *target;
    uint32_t pc;
    unsigned line;
};

struct ptx_label_list {
    const char *name;
    const char **labels;
    uint32_t count;
};

#define PTX_LIST(T)                                                                                \
    struct {                                                                                       \
        T *at;                                                                                     \
        uint32_t count, room;                                                                      \
    }

struct ptx_parser {
    struct ptx_lexer lex;
    struct ptx_module *module;
    const char **files;
    uint32_t file_count;
    PTX_LIST(struct ptx_symbol) symbols; /* of the function, innermost last */
    PTX_LIST(struct ptx_symbol) globals;
    PTX_LIST(struct ptx_label) labels;
    PTX_LIST(struct ptx_fixup) fixups;
    PTX_LIST(struct ptx_insn) code;
    PTX_LIST(struct ptx_fill) fills;
    PTX_LIST(struct ptx_label_list) label_lists; /* .branchtargets */
    struct ptx_kernel *function;
    uint32_t carry;   /* its predicate for add.cc and the like, or PTX_NO_REGISTER */
    const char *file; /* current source position */
    uint32_t line;
    const struct ptx_alu **alus; /* by name */
    size_t alu_count;
    const struct ptx_test **tests;
    size_t test_count;
};

/* A new last element of a PTX_LIST, in the module's memory. */
#define PTX_LIST_PUSH(parser, list)                                                                \
    ((list).count == (list).room                                                                   \
         ? (void)((list).at = ptx_list_grow((parser)->module, (list).at, sizeof(*(list).at),       \
                                            (list).count, &(list).room))                           \
         : (void)0,                                                                                \
     &(list).at[(list).count++])

void *ptx_list_grow(struct ptx_module *module, const void *at, size_t size, uint32_t count,
                    uint32_t *room);
const char *ptx_keep(struct ptx_module *module, const char *text);
struct ptx_kernel *ptx_find_function(const struct ptx_module *module, const char *name);

static inline uint64_t ptx_align(uint64_t offset, uint32_t align)
{
    return (offset + align - 1) / align * align;
}

/* Reads all .file directives ahead; later ones are skipped. .loc: behind that word. */
void ptx_read_files(struct ptx_parser *p);
void ptx_skip_file(struct ptx_parser *p);
void ptx_parse_location(struct ptx_parser *p);

/* The rest of ".global .align 4 .b8 name[16] = {...};" behind the space. */
void ptx_parse_variable(struct ptx_parser *p, enum ptx_space space, bool is_extern);
/* "(.param .b32 a, ...)": a list in the module's memory. */
const struct ptx_variable **ptx_parse_parameters(struct ptx_parser *p, uint32_t *ret_count);

/* ".b32" without the dot: its type; false: not a type. */
bool ptx_type_named(const char *name, struct ptx_type *ret_type);

/* The register `name` or the variable; NULL: unknown. *ret_slot: of that register. */
const struct ptx_symbol *ptx_find_symbol(const struct ptx_parser *p, const char *name,
                                         uint32_t *ret_slot);
/* Register-file bytes for `count` registers. */
uint32_t ptx_new_registers(struct ptx_parser *p, uint8_t bytes, uint32_t count);

/* ---- Instructions ---- */

enum ptx_operand_kind {
    PTX_OPERAND_NAME,
    PTX_OPERAND_NUMBER,
    PTX_OPERAND_VECTOR,  /* {a, b} */
    PTX_OPERAND_ADDRESS, /* [name + offset] or [number] */
    PTX_OPERAND_SINK     /* _ */
};

struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negated;       /* !p */
    const char *name;   /* NULL in an address that is a number alone */
    const char *second; /* of p|q, or NULL */
    struct ptx_number number;
    int64_t offset;
    struct ptx_operand *items;
    uint32_t count;
};

#define PTX_OPERANDS_MAX  8
#define PTX_MODIFIERS_MAX 16

/* An instruction's text, and the instruction it becomes. */
struct ptx_text {
    const char *opcode; /* all of it */
    const char *base;
    const char *modifiers[PTX_MODIFIERS_MAX]; /* NULL: taken */
    uint32_t modifier_count;
    struct ptx_operand operands[PTX_OPERANDS_MAX];
    uint32_t count;
    struct ptx_insn insn; /* guard, name and position are set */
};

/* Reads one instruction up to its semicolon and appends what it decodes to. */
void ptx_decode(struct ptx_parser *p);
/* Appends t->insn. */
void ptx_emit(struct ptx_parser *p, struct ptx_text *t);

/* Takes the modifier if it is there. */
bool ptx_take(struct ptx_text *t, const char *modifier);
/* Takes one of a NULL-terminated list and returns its index, or -1. */
int ptx_take_one(struct ptx_text *t, const char *const *modifiers);
struct ptx_type ptx_take_type(struct ptx_parser *p, struct ptx_text *t);
/* Fails if a modifier was not taken or the number of operands is another. */
void ptx_all_taken(struct ptx_parser *p, struct ptx_text *t, uint32_t operands);

/* The register that holds an operand of `bytes` per element (0: predicate), made if need be. */
uint32_t ptx_source(struct ptx_parser *p, const struct ptx_operand *o, uint8_t bytes);
/* As ptx_source, but a register may be wider: *ret_bytes. Immediates get `bytes`. */
uint32_t ptx_source_wide(struct ptx_parser *p, const struct ptx_operand *o, uint8_t bytes,
                         uint8_t *ret_bytes);
uint32_t ptx_destination(struct ptx_parser *p, const struct ptx_operand *o, uint8_t bytes);
uint32_t ptx_destination_wide(struct ptx_parser *p, const struct ptx_operand *o, uint8_t bytes,
                              uint8_t *ret_bytes);
/* Predicate `second` of p|q, or PTX_NO_REGISTER. */
uint32_t ptx_second_predicate(struct ptx_parser *p, const struct ptx_operand *o);
uint32_t ptx_constant(struct ptx_parser *p, uint8_t bytes, uint64_t value);

/* Families of instructions: true if the opcode is one of theirs, and then it has been emitted. */
bool ptx_decode_alu(struct ptx_parser *p, struct ptx_text *t);
bool ptx_decode_predicate(struct ptx_parser *p, struct ptx_text *t);
bool ptx_decode_move(struct ptx_parser *p, struct ptx_text *t);
bool ptx_decode_convert(struct ptx_parser *p, struct ptx_text *t);
bool ptx_decode_carry(struct ptx_parser *p, struct ptx_text *t);
bool ptx_decode_access(struct ptx_parser *p, struct ptx_text *t);
bool ptx_decode_atomic(struct ptx_parser *p, struct ptx_text *t);
bool ptx_decode_warp(struct ptx_parser *p, struct ptx_text *t);
bool ptx_decode_barrier(struct ptx_parser *p, struct ptx_text *t);
bool ptx_decode_flow(struct ptx_parser *p, struct ptx_text *t);
/* call has operands of its own shape; the opcode is read, the rest is not. */
void ptx_decode_call(struct ptx_parser *p, struct ptx_text *t);

#endif
