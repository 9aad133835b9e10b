/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report: turns the traces of all ranks into an answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/report/report.h"

static const struct {
    const char *name;
    const struct mhcs_verb *verb;
} verbs[] = {
#define VERB(verb) {#verb, &mhcs_verb_##verb},
    MHCS_VERBS(VERB)
#undef VERB
};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

/* NULL: no memory, and --help is shorter for it. */
static char *make_doc(void)
{
    char *doc = NULL;
    size_t size;
    FILE *out = open_memstream(&doc, &size);

    if (!out)
        return NULL;
    fputs("Says whether the precision of a server's mHC mixing GEMM matters, from traces of "
          "libmhcshadow.so.\v"
          "Verbs (each has its own --help and man page):\n",
          out);
    for (size_t i = 0; i < VERBS; i++)
        fprintf(out, "  %-8s  %s%s\n", verbs[i].name, verbs[i].verb->about,
                i == 0 ? " (the default)" : "");
    fputs("\n" MHCS_HELP_TRACES "\n\n" MHCS_HELP_EXIT "\n\n"
          "Example, after a run with MHCSHADOW_DIR=/var/tmp/mhc:\n"
          "  mhcshadow-report /var/tmp/mhc\n"
          "  mhcshadow-report layers --sort R --top 10 /var/tmp/mhc\n",
          out);
    if (!fclose(out))
        return doc;
    free(doc);
    return NULL;
}

static enum mhcs_exit print_help(int argc, char **argv)
{
    char *doc = make_doc();
    const struct argp argp = {.args_doc = "TRACE...\nVERB [OPTION...] TRACE...", .doc = doc};
    const error_t error = argp_parse(&argp, argc, argv, 0, NULL, NULL);

    free(doc);
    return error ? MHCS_EXIT_USAGE : MHCS_EXIT_FINE;
}

static const struct mhcs_verb *find_verb(const char *name)
{
    for (size_t i = 0; i < VERBS; i++)
        if (!strcmp(verbs[i].name, name))
            return verbs[i].verb;
    return NULL;
}

static bool is_general_help(const char *word)
{
    static const char *const words[] = {"--help", "-?", "--usage", "--version", "-V"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strcmp(words[i], word))
            return true;
    return false;
}

/* A first word that is neither a verb nor a path is most likely a mistyped verb. */
static bool is_unknown_verb(const char *word)
{
    return *word != '-' && !strchr(word, '/') && !strchr(word, '.') && access(word, F_OK) != 0;
}

/* A report that did not reach its reader is no answer. */
static enum mhcs_exit finish(enum mhcs_exit code)
{
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    perror("mhcshadow-report: writing the report");
    return MHCS_EXIT_DAMAGED;
}

int main(int argc, char **argv)
{
    static char name[64];
    const struct mhcs_verb *verb = argc > 1 ? find_verb(argv[1]) : NULL;

    argp_err_exit_status = MHCS_EXIT_USAGE;
    argp_program_version = "mhcshadow-report " MHCS_VERSION;
    if (argc > 1 && is_general_help(argv[1]))
        return (int)print_help(argc, argv);
    if (argc > 1 && !verb && is_unknown_verb(argv[1])) {
        fprintf(stderr, "mhcshadow-report: %s: neither a trace nor a verb; the verbs are", argv[1]);
        for (size_t i = 0; i < VERBS; i++)
            fprintf(stderr, "%s %s", i ? "," : "", verbs[i].name);
        fputc('\n', stderr);
        return MHCS_EXIT_USAGE;
    }
    if (!verb)
        return (int)finish(verbs[0].verb->run(argc, argv));
    snprintf(name, sizeof(name), "mhcshadow-report %s", argv[1]);
    argv[1] = name;
    return (int)finish(verb->run(argc - 1, argv + 1));
}
