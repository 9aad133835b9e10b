/* SPDX-License-Identifier: Apache-2.0 */
/* Words, numbers and punctuation of PTX text. A failure leaves through the lexer's jump. */
#ifndef PTX_LEX_H
#define PTX_LEX_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_WORD_MAX 512 /* mangled C++ names get long */

struct ptx_lexer {
    const char *at;
    unsigned line;
    jmp_buf *failed;
    char *err;
    size_t err_size;
};

enum ptx_number_kind { PTX_NUMBER_INTEGER, PTX_NUMBER_F32, PTX_NUMBER_F64 };

struct ptx_number {
    enum ptx_number_kind kind;
    uint64_t bits; /* two's complement, or the bits of the float or double */
};

/* "line 12: ..." into err, then longjmp. */
_Noreturn void ptx_fail(struct ptx_lexer *lex, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void ptx_fail_at(struct ptx_lexer *lex, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The next character that is neither space nor comment; '\0' at the end. */
char ptx_peek(struct ptx_lexer *lex);
bool ptx_accept(struct ptx_lexer *lex, char c);
void ptx_expect(struct ptx_lexer *lex, char c);

/* A name, directive or opcode: letters, digits, and _ $ % . and ::. Fails if there is none. */
void ptx_word(struct ptx_lexer *lex, char word[PTX_WORD_MAX]);
/* Accepts exactly this word. */
bool ptx_accept_word(struct ptx_lexer *lex, const char *word);

bool ptx_at_number(struct ptx_lexer *lex);
struct ptx_number ptx_read_number(struct ptx_lexer *lex);
uint32_t ptx_read_u32(struct ptx_lexer *lex);

/* The string between double quotes. */
void ptx_string(struct ptx_lexer *lex, char text[PTX_WORD_MAX]);
/* Skips {...} with nested braces. */
void ptx_skip_braces(struct ptx_lexer *lex);

#endif
