/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report verify: walks every frame of every file and checks all there is to check. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"
#include "tools/report/rows.h"
#include "tools/report/text.h"

/* Columns present with their types; the facts must be JSON objects, which shadow/facts.h says. */
struct checking {
    struct mhcs_row_reader rows;
    const char *missing;
    uint64_t frames;
};

static int check_batch(void *context, const struct mhcs_batch *batch)
{
    struct checking *checking = context;

    checking->frames++;
    if (!checking->missing)
        checking->missing = mhcs_rows_bind(&checking->rows, batch);
    return 0;
}

static int count_facts(void *context, const char *json)
{
    struct checking *checking = context;

    checking->frames++;
    return 0;
}

static void print_state(FILE *out, const struct mhcs_scan *scan, const struct checking *checking)
{
    fprintf(out, "%" PRIu64 " frames, %" PRIu64 " batches, %" PRIu64 " rows, ", checking->frames,
            scan->batches, scan->rows);
    if (checking->missing)
        fprintf(out, "NO COLUMN %s, ", checking->missing);
    if (!scan->damaged) {
        fputs(mhcs_scan_end(scan), out);
        return;
    }
    fprintf(out, "%s at offset %" PRIu64 ": %s; %" PRIu64 " bytes not read",
            scan->damage.kind == MHCS_DAMAGE_TORN ? "TORN" : "DAMAGED", scan->damage.offset,
            scan->damage.what, scan->bytes_lost);
    if (scan->gaps > 0)
        fprintf(out, "; read on behind %" PRIu64 " gap%s, %" PRIu64 " batches lost", scan->gaps,
                scan->gaps == 1 ? "" : "s", scan->batches_lost);
}

/* True if the file is whole. */
static bool verify_file(FILE *out, const char *name, bool salvage, struct checking *checking,
                        int *ret_error)
{
    const struct mhcs_scan_calls calls = {check_batch, count_facts, checking};
    struct mhcs_scan scan;
    char *text = NULL;
    size_t size;
    FILE *line;

    memset(checking, 0, sizeof(*checking));
    *ret_error = mhcs_scan_file(&scan, name, salvage, &calls);
    line = open_memstream(&text, &size);
    if (*ret_error || !line) {
        *ret_error = -ENOMEM;
        return false;
    }
    fprintf(line, "%s: ", name);
    if (scan.unreadable)
        fputs(scan.why, line);
    else
        print_state(line, &scan, checking);
    if (fclose(line)) {
        *ret_error = -ENOMEM;
        free(text);
        return false;
    }
    mhcs_text_clean(text);
    fprintf(out, "%s\n", text);
    free(text);
    return !scan.unreadable && !scan.damaged && !checking->missing;
}

static enum mhcs_exit verify_files(const struct mhcs_files *files, bool salvage)
{
    struct checking *checking = malloc(sizeof(*checking));
    enum mhcs_exit code = MHCS_EXIT_FINE;
    int error = checking ? 0 : -ENOMEM;

    for (size_t i = 0; i < files->count && !error; i++)
        if (!verify_file(stdout, files->name[i], salvage, checking, &error))
            code = MHCS_EXIT_DAMAGED;
    free(checking);
    if (error)
        fprintf(stderr, "mhcshadow-report: %s\n", strerror(-error));
    if (files->count == 0)
        puts("no trace (*.arrows.zst) there");
    return error || files->count == 0 ? MHCS_EXIT_DAMAGED : code;
}

static enum mhcs_exit run(int argc, char **argv)
{
    struct mhcs_options options;
    struct mhcs_files files;
    enum mhcs_exit code;

    mhcs_options_parse(&mhcs_verb_verify, argc, argv, &options, NULL);
    code = mhcs_files_expand(&files, options.paths, options.path_count);
    if (code == MHCS_EXIT_FINE) {
        code = verify_files(&files, options.salvage);
        mhcs_files_free(&files);
    }
    return code;
}

const struct mhcs_verb mhcs_verb_verify = {
    .about = "check every byte of the traces",
    .notes =
        "One line per file. Checked are marks, sequence, CRC32C, zstd's checksum, and every offset "
        "and length within.\n\n"
        "A file without an end mark (its process runs, or was killed) is whole if it ends between "
        "two frames. One that ends inside a frame is reported and counts as damaged here, although "
        "the other verbs use the rows before that point.",
    .exits = "Exit status: 0 all whole, 2 usage or unreadable path, 3 damage, or no trace.",
    .example = "/var/tmp/mhc",
    .run = run,
};
