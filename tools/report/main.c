/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report: turns the traces of all ranks into an answer. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/report/report.h"

struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
};

static const struct verb verbs[] = {
#define VERB(verb, doc) {#verb, mhcs_report_##verb},
    MHCS_VERBS(VERB)
#undef VERB
};

static const char doc[] =
    "Says whether the precision of a server's mHC mixing GEMM matters, from traces of "
    "libmhcshadow.so.\v"
    "Verbs (each has its own --help):\n"
#define VERB_DOC(verb, doc) "  " #verb "\n      " doc "\n"
    MHCS_VERBS(VERB_DOC)
#undef VERB_DOC
        "\n" MHCS_HELP_TRACES "\n\n" MHCS_HELP_EXIT "\n\n"
        "Example, after a run with MHCSHADOW_DIR=/var/tmp/mhc:\n"
        "  mhcshadow-report /var/tmp/mhc\n"
        "  mhcshadow-report layers --sort R --top 10 /var/tmp/mhc\n";

static const struct argp argp = {.args_doc = "TRACE...\nVERB [OPTION...] TRACE...", .doc = doc};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
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
static int finish(int code)
{
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    perror("mhcshadow-report: writing the report");
    return MHCS_EXIT_DAMAGED;
}

int main(int argc, char **argv)
{
    static char name[64];
    const struct verb *verb = argc > 1 ? find_verb(argv[1]) : NULL;

    argp_err_exit_status = MHCS_EXIT_USAGE;
    argp_program_version = "mhcshadow-report " MHCS_VERSION;
    if (argc > 1 && is_general_help(argv[1]))
        return argp_parse(&argp, argc, argv, 0, NULL, NULL) ? MHCS_EXIT_USAGE : MHCS_EXIT_FINE;
    if (argc > 1 && !verb && is_unknown_verb(argv[1])) {
        fprintf(stderr, "mhcshadow-report: %s: neither a trace nor a verb; the verbs are", argv[1]);
        for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
            fprintf(stderr, "%s %s", i ? "," : "", verbs[i].name);
        fputc('\n', stderr);
        return MHCS_EXIT_USAGE;
    }
    if (!verb)
        return finish(verbs[0].run(argc, argv));
    snprintf(name, sizeof(name), "mhcshadow-report %s", verb->name);
    argv[1] = name;
    return finish(verb->run(argc - 1, argv + 1));
}
