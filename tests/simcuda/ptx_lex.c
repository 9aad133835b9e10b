/* SPDX-License-Identifier: Apache-2.0 */
/* Lexer of PTX text. */
#include "ptx_lex.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void leave(struct ptx_lexer *lex, unsigned line, const char *text)
{
    snprintf(lex->err, lex->err_size, "line %u: %s", line, text);
    longjmp(*lex->failed, 1);
}

void ptx_fail(struct ptx_lexer *lex, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    leave(lex, lex->line, text);
}

void ptx_fail_at(struct ptx_lexer *lex, unsigned line, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    leave(lex, line, text);
}

static void skip_comment(struct ptx_lexer *lex)
{
    if (lex->at[1] == '/') {
        lex->at += strcspn(lex->at, "\n");
        return;
    }
    const char *end = strstr(lex->at + 2, "*/");
    if (end == NULL)
        ptx_fail(lex, "comment without end");
    for (; lex->at < end + 2; lex->at++)
        lex->line += *lex->at == '\n';
}

char ptx_peek(struct ptx_lexer *lex)
{
    for (;;) {
        if (*lex->at == '/' && (lex->at[1] == '/' || lex->at[1] == '*')) {
            skip_comment(lex);
        } else if (isspace((unsigned char)*lex->at)) {
            lex->line += *lex->at == '\n';
            lex->at++;
        } else {
            return *lex->at;
        }
    }
}

bool ptx_accept(struct ptx_lexer *lex, char c)
{
    if (ptx_peek(lex) != c)
        return false;
    lex->at++;
    return true;
}

static _Noreturn void unexpected(struct ptx_lexer *lex, const char *wanted)
{
    if (ptx_peek(lex) == '\0')
        ptx_fail(lex, "the text ends where %s is expected", wanted);
    ptx_fail(lex, "expected %s, found \"%.*s\"", wanted, (int)strcspn(lex->at, " \t\r\n;,"),
             lex->at);
}

void ptx_expect(struct ptx_lexer *lex, char c)
{
    if (!ptx_accept(lex, c))
        unexpected(lex, (char[]){'\'', c, '\'', '\0'});
}

static size_t word_length(const char *at)
{
    size_t n = 0;
    for (;;) {
        if (isalnum((unsigned char)at[n]) || (at[n] != '\0' && strchr("_$%.", at[n]) != NULL))
            n++;
        else if (at[n] == ':' && at[n + 1] == ':')
            n += 2;
        else
            return n;
    }
}

void ptx_word(struct ptx_lexer *lex, char word[PTX_WORD_MAX])
{
    ptx_peek(lex);
    const size_t length = word_length(lex->at);
    if (length == 0)
        unexpected(lex, "a name");
    if (length >= PTX_WORD_MAX)
        ptx_fail(lex, "a name longer than %d characters", PTX_WORD_MAX - 1);
    memcpy(word, lex->at, length);
    word[length] = '\0';
    lex->at += length;
}

bool ptx_accept_word(struct ptx_lexer *lex, const char *word)
{
    ptx_peek(lex);
    const size_t length = word_length(lex->at);
    if (length != strlen(word) || memcmp(lex->at, word, length) != 0)
        return false;
    lex->at += length;
    return true;
}

bool ptx_at_number(struct ptx_lexer *lex)
{
    const char c = ptx_peek(lex);
    return isdigit((unsigned char)c) || (c == '-' && isdigit((unsigned char)lex->at[1]));
}

static uint64_t read_hex(struct ptx_lexer *lex, const char *digits, int count)
{
    for (int i = 0; i < count; i++) {
        if (!isxdigit((unsigned char)digits[i]))
            ptx_fail(lex, "a float needs %d hexadecimal digits", count);
    }
    char text[17] = "";
    memcpy(text, digits, (size_t)count);
    lex->at = digits + count;
    return strtoull(text, NULL, 16);
}

struct ptx_number ptx_read_number(struct ptx_lexer *lex)
{
    if (!ptx_at_number(lex))
        unexpected(lex, "a number");
    const bool negative = ptx_accept(lex, '-');
    const char *at = lex->at;
    if (at[0] == '0' && (at[1] == 'f' || at[1] == 'F')) {
        const uint64_t bits = read_hex(lex, at + 2, 8);
        return (struct ptx_number){PTX_NUMBER_F32, negative ? bits ^ 0x80000000u : bits};
    }
    if (at[0] == '0' && (at[1] == 'd' || at[1] == 'D')) {
        const uint64_t bits = read_hex(lex, at + 2, 16);
        return (struct ptx_number){PTX_NUMBER_F64, negative ? bits ^ 1ull << 63 : bits};
    }
    char *end;
    errno = 0;
    const uint64_t value = at[0] == '0' && (at[1] == 'b' || at[1] == 'B')
                               ? strtoull(at + 2, &end, 2)
                               : strtoull(at, &end, 0);
    if (errno != 0)
        ptx_fail(lex, "a number beyond 64 bits");
    if (*end == 'U')
        end++;
    if (word_length(end) != 0)
        ptx_fail(lex, "unknown number \"%.*s\"", (int)(word_length(end) + (size_t)(end - at)), at);
    lex->at = end;
    return (struct ptx_number){PTX_NUMBER_INTEGER, negative ? 0 - value : value};
}

uint32_t ptx_read_u32(struct ptx_lexer *lex)
{
    const struct ptx_number n = ptx_read_number(lex);
    if (n.kind != PTX_NUMBER_INTEGER || n.bits > UINT32_MAX)
        ptx_fail(lex, "expected an unsigned 32-bit number");
    return (uint32_t)n.bits;
}

void ptx_string(struct ptx_lexer *lex, char text[PTX_WORD_MAX])
{
    ptx_expect(lex, '"');
    const size_t length = strcspn(lex->at, "\"\n");
    if (lex->at[length] != '"')
        ptx_fail(lex, "a string without end");
    snprintf(text, PTX_WORD_MAX, "%.*s", (int)length, lex->at);
    lex->at += length + 1;
}

void ptx_skip_braces(struct ptx_lexer *lex)
{
    ptx_expect(lex, '{');
    for (int depth = 1; depth > 0; lex->at++) {
        const char c = ptx_peek(lex);
        if (c == '\0')
            ptx_fail(lex, "a '{' without '}'");
        depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    }
}
