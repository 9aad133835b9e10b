/* SPDX-License-Identifier: Apache-2.0 */
/* mhcshadow-report verify: walks every frame of every file and checks all there is to check. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/read.h"
#include "tools/report/report.h"
#include "tools/report/text.h"

static void print_state(FILE *out, const struct mhcs_scan *scan)
{
    fprintf(out, "%" PRIu64 " frames, %" PRIu64 " batches, %" PRIu64 " rows, ",
            scan->batches + scan->facts, scan->batches, scan->rows);
    if (scan->missing)
        fprintf(out, "NO COLUMN %s, ", scan->missing);
    if (!scan->damaged) {
        fputs(mhcs_scan_end(scan), out);
        return;
    }
    fprintf(out, "%s at offset %" PRIu64 ": %s; %" PRIu64 " bytes not read",
            mhcs_scan_torn(scan) ? "TORN" : "DAMAGED", scan->damage.offset, scan->damage.what,
            scan->bytes_lost);
    if (scan->gaps > 0)
        fprintf(out, "; read on behind %" PRIu64 " gap%s, %" PRIu64 " batches lost", scan->gaps,
                scan->gaps == 1 ? "" : "s", scan->batches_lost);
}

static int print_file(FILE *out, const struct mhcs_scan *scan)
{
    char *text = NULL;
    size_t size;
    FILE *line = open_memstream(&text, &size);

    if (!line)
        return -ENOMEM;
    fprintf(line, "%s: ", scan->name);
    if (scan->unreadable)
        fputs(scan->why, line);
    else
        print_state(line, scan);
    if (fclose(line)) {
        free(text);
        return -ENOMEM;
    }
    mhcs_text_clean(text);
    fprintf(out, "%s\n", text);
    free(text);
    return 0;
}

static enum mhcs_exit verify_files(const struct mhcs_files *files,
                                   const struct mhcs_options *options)
{
    struct mhcs_reading *reading =
        mhcs_reading_new(options->threads, options->salvage, false, false);
    enum mhcs_exit code = MHCS_EXIT_FINE;
    int error = reading ? 0 : -ENOMEM;

    for (size_t i = 0; i < files->count && !error; i++)
        error = mhcs_reading_add(reading, files->name[i]);
    if (!error)
        error = mhcs_reading_run(reading);
    for (size_t i = 0; i < files->count && !error; i++) {
        const struct mhcs_scan *scan = mhcs_reading_scan(reading, i);

        if (scan->unreadable || scan->damaged || scan->missing)
            code = MHCS_EXIT_DAMAGED;
        error = print_file(stdout, scan);
    }
    mhcs_reading_free(reading);
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
        code = verify_files(&files, &options);
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
