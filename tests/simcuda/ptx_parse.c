/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: directives, variables, functions and the statements of a body. */
#include "ptx_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"

const struct ptx_symbol *ptx_find_symbol(const struct ptx_parser *p, const char *name,
                                         uint32_t *ret_slot)
{
    for (uint32_t i = p->symbols.count; i-- > 0;) {
        const struct ptx_symbol *s = &p->symbols.at[i];
        const size_t length = strlen(s->name);
        *ret_slot = s->slot;
        if (strncmp(name, s->name, length) != 0)
            continue;
        if (name[length] == '\0' && !s->range)
            return s;
        char *end;
        const unsigned long number = s->range ? strtoul(name + length, &end, 10) : 0;
        if (s->range && end != name + length && *end == '\0' && number < s->count) {
            *ret_slot = s->slot + (uint32_t)number * (s->bytes == 0 ? 4 : PTX_LANES * s->bytes);
            return s;
        }
    }
    for (uint32_t i = 0; i < p->globals.count; i++) {
        if (strcmp(p->globals.at[i].name, name) == 0)
            return &p->globals.at[i];
    }
    return NULL;
}

struct ptx_kernel *ptx_find_function(const struct ptx_module *module, const char *name)
{
    for (struct ptx_kernel *k = module->functions; k != NULL; k = k->next) {
        if (strcmp(k->name, name) == 0)
            return k;
    }
    return NULL;
}

uint32_t ptx_new_registers(struct ptx_parser *p, uint8_t bytes, uint32_t count)
{
    struct ptx_kernel *f = p->function;
    const uint32_t each = bytes == 0 ? 4 : PTX_LANES * bytes;
    const uint32_t slot = (uint32_t)ptx_align(f->register_bytes, bytes == 0 ? 4 : 64);
    if (count > (1u << 26) / each)
        ptx_fail(&p->lex, "%u registers are too many", count);
    f->register_bytes = slot + each * count;
    return slot;
}

/* ---- Bodies ---- */

static void parse_registers(struct ptx_parser *p)
{
    char word[PTX_WORD_MAX];
    struct ptx_type type;
    ptx_word(&p->lex, word);
    if (word[0] != '.' || !ptx_type_named(word + 1, &type) || type.bytes == 1)
        ptx_fail(&p->lex, "unknown register type \"%s\"", word);
    do {
        ptx_word(&p->lex, word);
        struct ptx_symbol s = {.name = ptx_keep(p->module, word), .count = 1, .bytes = type.bytes};
        if (ptx_accept(&p->lex, '<')) {
            s.range = true;
            s.count = ptx_read_u32(&p->lex);
            ptx_expect(&p->lex, '>');
        }
        s.slot = ptx_new_registers(p, s.bytes, s.count);
        *PTX_LIST_PUSH(p, p->symbols) = s;
    } while (ptx_accept(&p->lex, ','));
    ptx_expect(&p->lex, ';');
}

static void parse_label(struct ptx_parser *p, const char *name)
{
    if (ptx_accept_word(&p->lex, ".branchtargets")) {
        PTX_LIST(const char *) labels = {0};
        char word[PTX_WORD_MAX];
        do {
            ptx_word(&p->lex, word);
            *PTX_LIST_PUSH(p, labels) = ptx_keep(p->module, word);
        } while (ptx_accept(&p->lex, ','));
        ptx_expect(&p->lex, ';');
        *PTX_LIST_PUSH(p, p->label_lists) = (struct ptx_label_list){
            .name = ptx_keep(p->module, name), .labels = labels.at, .count = labels.count};
        return;
    }
    for (uint32_t i = 0; i < p->labels.count; i++) {
        if (strcmp(p->labels.at[i].name, name) == 0)
            ptx_fail(&p->lex, "label \"%s\" is defined twice", name);
    }
    *PTX_LIST_PUSH(p, p->labels) =
        (struct ptx_label){.name = ptx_keep(p->module, name), .pc = p->code.count};
}

static void parse_body_directive(struct ptx_parser *p, const char *word)
{
    char text[PTX_WORD_MAX];
    if (strcmp(word, ".reg") == 0) {
        parse_registers(p);
    } else if (strcmp(word, ".loc") == 0) {
        ptx_parse_location(p);
    } else if (strcmp(word, ".shared") == 0) {
        ptx_parse_variable(p, PTX_SHARED, false);
    } else if (strcmp(word, ".local") == 0) {
        ptx_parse_variable(p, PTX_LOCAL, false);
    } else if (strcmp(word, ".global") == 0 || strcmp(word, ".const") == 0) {
        ptx_parse_variable(p, PTX_GLOBAL, false);
    } else if (strcmp(word, ".param") == 0) {
        ptx_parse_variable(p, PTX_PARAM, false);
    } else if (strcmp(word, ".pragma") == 0) {
        ptx_string(&p->lex, text);
        ptx_expect(&p->lex, ';');
    } else {
        ptx_fail(&p->lex, "unknown directive \"%s\"", word);
    }
}

static void parse_scope(struct ptx_parser *p)
{
    const uint32_t outer = p->symbols.count;
    ptx_expect(&p->lex, '{');
    while (!ptx_accept(&p->lex, '}')) {
        const char c = ptx_peek(&p->lex);
        char word[PTX_WORD_MAX];
        if (c == '{') {
            parse_scope(p);
        } else if (c == '@') {
            ptx_decode(p);
        } else if (c == ';') {
            ptx_accept(&p->lex, ';');
        } else {
            const struct ptx_lexer start = p->lex;
            ptx_word(&p->lex, word);
            if (word[0] == '.') {
                parse_body_directive(p, word);
            } else if (ptx_accept(&p->lex, ':')) {
                parse_label(p, word);
            } else {
                p->lex = start;
                ptx_decode(p);
            }
        }
    }
    p->symbols.count = outer;
}

static void resolve_labels(struct ptx_parser *p)
{
    for (uint32_t i = 0; i < p->fixups.count; i++) {
        const struct ptx_fixup *f = &p->fixups.at[i];
        uint32_t k = 0;
        while (k < p->labels.count && strcmp(p->labels.at[k].name, f->label) != 0)
            k++;
        if (k == p->labels.count)
            ptx_fail_at(&p->lex, f->line, "unknown label \"%s\"", f->label);
        if (f->target != NULL)
            *f->target = p->labels.at[k].pc;
        else
            p->code.at[f->pc].target = p->labels.at[k].pc;
    }
}

static void parse_body(struct ptx_parser *p)
{
    struct ptx_kernel *f = p->function;
    f->defined = true;
    p->carry = PTX_NO_REGISTER;
    p->file = NULL;
    p->code.at = NULL;
    p->fills.at = NULL;
    p->code.count = p->code.room = p->fills.count = p->fills.room = 0;
    p->labels.count = p->fixups.count = p->label_lists.count = 0;
    parse_scope(p);
    /* The end of a body returns. */
    *PTX_LIST_PUSH(p, p->code) = (struct ptx_insn){.class = PTX_RETURN,
                                                   .name = "ret",
                                                   .ptx_line = p->lex.line,
                                                   .file = "PTX",
                                                   .line = p->lex.line};
    resolve_labels(p);
    f->code = p->code.at;
    f->count = p->code.count;
    f->fills = p->fills.at;
    f->fill_count = p->fills.count;
}

/* Launch bounds and other directives between the parameters and the body. */
static void parse_attributes(struct ptx_parser *p)
{
    struct ptx_kernel *f = p->function;
    for (;;) {
        char text[PTX_WORD_MAX];
        if (ptx_accept_word(&p->lex, ".maxntid")) {
            f->threads_max = 1;
            do
                f->threads_max *= ptx_read_u32(&p->lex);
            while (ptx_accept(&p->lex, ','));
        } else if (ptx_accept_word(&p->lex, ".reqntid")) {
            f->threads_required[1] = f->threads_required[2] = 1;
            for (int i = 0; i < 3 && (i == 0 || ptx_accept(&p->lex, ',')); i++)
                f->threads_required[i] = ptx_read_u32(&p->lex);
        } else if (ptx_accept_word(&p->lex, ".minnctapersm") ||
                   ptx_accept_word(&p->lex, ".maxnctapersm") ||
                   ptx_accept_word(&p->lex, ".maxnreg")) {
            ptx_read_u32(&p->lex);
        } else if (ptx_accept_word(&p->lex, ".pragma")) {
            ptx_string(&p->lex, text);
            ptx_expect(&p->lex, ';');
        } else if (!ptx_accept_word(&p->lex, ".noreturn")) {
            return;
        }
    }
}

static void parse_function(struct ptx_parser *p, bool entry)
{
    struct ptx_kernel *f = ptx_module_alloc(p->module, sizeof(*f));
    f->module = p->module;
    f->entry = entry;
    p->function = f;
    p->symbols.count = 0;
    const struct ptx_variable **returns = NULL;
    ptx_accept_word(&p->lex, ".noreturn");
    if (ptx_peek(&p->lex) == '(')
        returns = ptx_parse_parameters(p, &f->return_count);
    char word[PTX_WORD_MAX];
    ptx_word(&p->lex, word);
    f->name = ptx_keep(p->module, word);
    const struct ptx_variable **params = NULL;
    if (ptx_peek(&p->lex) == '(')
        params = ptx_parse_parameters(p, &f->param_count);
    f->param_bytes = f->area_bytes;
    f->params =
        ptx_module_alloc(p->module, (f->param_count + f->return_count + 1) * sizeof(*params));
    for (uint32_t i = 0; i < f->param_count + f->return_count; i++)
        f->params[i] = i < f->param_count ? params[i] : returns[i - f->param_count];
    parse_attributes(p);
    struct ptx_kernel *declared = ptx_find_function(p->module, f->name);
    if (declared != NULL && declared->defined && ptx_peek(&p->lex) == '{')
        ptx_fail(&p->lex, "function \"%s\" is defined twice", f->name);
    if (declared == NULL) {
        f->next = p->module->functions;
        p->module->functions = f;
        declared = f;
    }
    if (!ptx_accept(&p->lex, ';')) {
        f->next = declared->next;
        *declared = *f; /* calls that came before hold `declared` */
        p->function = declared;
        parse_body(p);
    }
    p->function = NULL;
}

/* ---- Module ---- */

static void parse_target(struct ptx_parser *p)
{
    char word[PTX_WORD_MAX];
    do
        ptx_word(&p->lex, word);
    while (ptx_accept(&p->lex, ','));
}

static void parse_module_directive(struct ptx_parser *p)
{
    char word[PTX_WORD_MAX];
    bool is_extern = false;
    ptx_word(&p->lex, word);
    while (strcmp(word, ".visible") == 0 || strcmp(word, ".weak") == 0 ||
           strcmp(word, ".extern") == 0) {
        is_extern |= strcmp(word, ".extern") == 0;
        ptx_word(&p->lex, word);
    }
    if (strcmp(word, ".version") == 0 || strcmp(word, ".target") == 0) {
        parse_target(p);
    } else if (strcmp(word, ".address_size") == 0) {
        if (ptx_read_u32(&p->lex) != 64)
            ptx_fail(&p->lex, "only .address_size 64 is supported");
    } else if (strcmp(word, ".file") == 0) {
        ptx_skip_file(p);
    } else if (strcmp(word, ".section") == 0) {
        ptx_word(&p->lex, word);
        ptx_skip_braces(&p->lex);
    } else if (strcmp(word, ".global") == 0 || strcmp(word, ".const") == 0) {
        ptx_parse_variable(p, PTX_GLOBAL, is_extern);
    } else if (strcmp(word, ".shared") == 0) {
        ptx_parse_variable(p, PTX_SHARED, is_extern);
    } else if (strcmp(word, ".entry") == 0 || strcmp(word, ".func") == 0) {
        parse_function(p, strcmp(word, ".entry") == 0);
    } else {
        ptx_fail(&p->lex, "unknown directive \"%s\"", word);
    }
}

static int by_alu_name(const void *a, const void *b)
{
    return strcmp((*(const struct ptx_alu *const *)a)->name,
                  (*(const struct ptx_alu *const *)b)->name);
}

static int by_test_name(const void *a, const void *b)
{
    return strcmp((*(const struct ptx_test *const *)a)->name,
                  (*(const struct ptx_test *const *)b)->name);
}

static void sort_tables(struct ptx_parser *p)
{
    const struct ptx_alu *alus = ptx_alu_table(&p->alu_count);
    p->alus = ptx_module_alloc(p->module, p->alu_count * sizeof(*p->alus));
    for (size_t i = 0; i < p->alu_count; i++)
        p->alus[i] = &alus[i];
    qsort(p->alus, p->alu_count, sizeof(*p->alus), by_alu_name);
    const struct ptx_test *tests = ptx_test_table(&p->test_count);
    p->tests = ptx_module_alloc(p->module, p->test_count * sizeof(*p->tests));
    for (size_t i = 0; i < p->test_count; i++)
        p->tests[i] = &tests[i];
    qsort(p->tests, p->test_count, sizeof(*p->tests), by_test_name);
}

/* Kernels' own shared memory lies behind the module's. */
static void lay_out_shared(struct ptx_module *module)
{
    const uint32_t base = (uint32_t)ptx_align(module->shared_bytes, 128);
    for (struct ptx_kernel *k = module->functions; k != NULL; k = k->next) {
        if (!k->entry)
            continue;
        for (struct ptx_variable *v = k->shared; v != NULL; v = v->next)
            v->offset += base;
        k->shared_bytes += k->shared_bytes > 0 ? base : module->shared_bytes;
    }
}

int ptx_module_load(struct ptx_module **ret_module, const char *text, char *err, size_t err_size)
{
    jmp_buf failed;
    struct ptx_module *module = must(calloc(1, sizeof(*module)));
    struct ptx_parser *p = must(calloc(1, sizeof(*p)));
    p->module = module;
    p->lex = (struct ptx_lexer){
        .at = text, .line = 1, .failed = &failed, .err = err, .err_size = err_size};
    if (setjmp(failed) != 0) {
        free(p);
        ptx_module_free(module);
        return -1;
    }
    sort_tables(p);
    ptx_read_files(p);
    while (ptx_peek(&p->lex) != '\0')
        parse_module_directive(p);
    lay_out_shared(module);
    free(p);
    *ret_module = module;
    return 0;
}
