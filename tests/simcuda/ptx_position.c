/* SPDX-License-Identifier: Apache-2.0 */
/* Source positions: .file and .loc. */
#include <string.h>

#include "ptx_parse.h"

/* Keeps the last two parts of the path. */
static const char *short_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    while (slash != NULL && slash > path && slash[-1] != '/')
        slash--;
    return slash == NULL ? path : slash;
}

static void parse_file(struct ptx_parser *p)
{
    const uint32_t number = ptx_read_u32(&p->lex);
    char path[PTX_WORD_MAX];
    ptx_string(&p->lex, path);
    while (ptx_accept(&p->lex, ','))
        ptx_read_number(&p->lex);
    if (number >= 65536)
        ptx_fail(&p->lex, "file number %u is too large", number);
    if (number >= p->file_count) {
        const char **files = ptx_module_alloc(p->module, (number + 1) * sizeof(*files));
        for (uint32_t i = 0; i < p->file_count; i++)
            files[i] = p->files[i];
        p->files = files;
        p->file_count = number + 1;
    }
    const bool toolkit = strstr(path, "/include/") != NULL;
    p->files[number] = ptx_keep(p->module, toolkit ? path : short_path(path));
}

/* nvcc writes the list of files behind the functions that refer to it. */
void ptx_read_files(struct ptx_parser *p)
{
    const struct ptx_lexer start = p->lex;
    for (const char *line = start.at; line != NULL; line = strchr(line, '\n')) {
        line += strspn(line, " \t\r\n");
        p->lex.at = line;
        if (strncmp(line, ".file", 5) == 0 && ptx_accept_word(&p->lex, ".file"))
            parse_file(p);
    }
    p->lex = start;
}

void ptx_skip_file(struct ptx_parser *p)
{
    char path[PTX_WORD_MAX];
    ptx_read_u32(&p->lex);
    ptx_string(&p->lex, path);
    while (ptx_accept(&p->lex, ','))
        ptx_read_number(&p->lex);
}

/* ".loc file line column [, function_name label [+ offset], inlined_at file line column]". The
 * toolkit's own headers are skipped: the line that called them says more. */
void ptx_parse_location(struct ptx_parser *p)
{
    const uint32_t file = ptx_read_u32(&p->lex), line = ptx_read_u32(&p->lex);
    ptx_read_u32(&p->lex);
    if (ptx_accept(&p->lex, ',')) {
        char word[PTX_WORD_MAX];
        if (!ptx_accept_word(&p->lex, "function_name"))
            ptx_fail(&p->lex, "expected function_name");
        ptx_word(&p->lex, word);
        if (ptx_accept(&p->lex, '+'))
            ptx_read_u32(&p->lex);
        ptx_expect(&p->lex, ',');
        if (!ptx_accept_word(&p->lex, "inlined_at"))
            ptx_fail(&p->lex, "expected inlined_at");
        for (int i = 0; i < 3; i++)
            ptx_read_u32(&p->lex);
    }
    const char *name = file < p->file_count ? p->files[file] : NULL;
    if (name != NULL && strstr(name, "/include/") == NULL) {
        p->file = name;
        p->line = line;
    }
}
