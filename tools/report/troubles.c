/* SPDX-License-Identifier: Apache-2.0 */
/* What to say when traces are damaged, cut off, or hold nothing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report.h"
#include "tools/report/term.h"
#include "tools/report/text.h"

static void say_file(FILE *out, const char *format, const struct mhcs_scan *scan,
                     const char *detail)
{
    char *text = NULL;

    if (asprintf(&text, "%s: %s", scan->name, detail) < 0)
        return;
    mhcs_text_clean(text);
    mhcs_text_wrap(out, format, text);
    free(text);
}

static void say_damage(FILE *out, const struct mhcs_scan *scan)
{
    const struct mhcs_trace_damage *damage = &scan->damage;
    char detail[512];

    if (damage->kind == MHCS_DAMAGE_TORN)
        snprintf(detail, sizeof(detail),
                 "%s (offset %" PRIu64 "). The %" PRIu64
                 " rows before it are good and used; %" PRIu64 " bytes are not.",
                 damage->what, damage->offset, scan->rows, scan->bytes_lost);
    else
        snprintf(detail, sizeof(detail),
                 "DAMAGED at offset %" PRIu64 ": %s. %" PRIu64 " good rows kept, %" PRIu64
                 " bytes not read%s",
                 damage->offset, damage->what, scan->rows, scan->bytes_lost,
                 scan->gaps ? " (salvaged around it)." : "; --salvage may find more.");
    say_file(out, "  ", scan, detail);
}

void mhcs_report_troubles(FILE *out, const struct mhcs_report *report)
{
    bool any = report->damaged + report->torn > 0;

    for (size_t i = 0; i < report->files.count; i++)
        any |= report->scan[i].closed && report->scan[i].reason != MHCS_END_EXIT;
    if (!any)
        return;
    fprintf(out, "%sTraces with trouble%s\n", mhcs_colour(MHCS_YELLOW), mhcs_colour(MHCS_PLAIN));
    for (size_t i = 0; i < report->files.count; i++) {
        const struct mhcs_scan *scan = &report->scan[i];

        if (scan->unreadable)
            say_file(out, "  ", scan, scan->why);
        else if (scan->damaged)
            say_damage(out, scan);
        else if (scan->closed && scan->reason != MHCS_END_EXIT)
            say_file(out, "  ", scan, mhcs_scan_end(scan));
    }
    fputc('\n', out);
}

void mhcs_report_no_rows(FILE *out, const struct mhcs_report *report)
{
    size_t unreadable = 0;

    for (size_t i = 0; i < report->files.count; i++)
        unreadable += report->scan[i].unreadable;
    fprintf(out, "%sNOTHING WAS CHECKED%s: ", mhcs_colour(MHCS_RED), mhcs_colour(MHCS_PLAIN));
    if (report->files.count == 0)
        fputs("the directory holds no trace (*.arrows.zst).\n", out);
    else if (unreadable == report->files.count)
        fputs("no trace could be read.\n", out);
    else
        fprintf(out, "%zu trace%s and not one compared row.\n", report->files.count,
                report->files.count == 1 ? "" : "s");
}

/* No call of the right shape was ever seen, or no process wrote at all. */
static void say_what_to_check(FILE *out)
{
    fputs("A trace appears with the first sampled call of an mHC mixing GEMM. What to check:\n",
          out);
    mhcs_text_wrap(out, "  * ",
                   "Is the library loaded in the worker processes? LD_PRELOAD needs an absolute "
                   "path that exists in their container; `grep mhcshadow /proc/PID/maps` on a "
                   "worker shows it.");
    mhcs_text_wrap(out, "  * ",
                   "Did they write elsewhere? MHCSHADOW_DIR (default: the working directory) must "
                   "be writable for them; MHCSHADOW=0 or MHCSHADOW_SAMPLE=0 switch it off.");
    mhcs_text_wrap(out, "  * ",
                   "sglang on SM90 and SM100 does not reach cuBLAS for mHC by default. Start it "
                   "with the following (SM120 needs none):");
    fputs("      SGLANG_OPT_USE_TILELANG_MHC_PRE=false\n"
          "      SGLANG_OPT_DEEPGEMM_HC_PRENORM=false\n"
          "      SGLANG_OPT_FUSE_MHC_POST_PRE=false\n",
          out);
    mhcs_text_wrap(out, "  * ",
                   "Decode inside CUDA graphs is seen if they are captured through a shared "
                   "libcudart, after a first mixing GEMM; --disable-cuda-graph makes every call "
                   "visible.");
    mhcs_text_wrap(out, "  * ",
                   "Has the server worked since it started? Other hidden sizes than 4096, 5120 and "
                   "7168 need MHCSHADOW_SHAPES.");
}

void mhcs_report_remedy(FILE *out, const struct mhcs_report *report)
{
    if (report->facts.counter[MHCS_MATCHED] > 0)
        mhcs_text_wrap(out, "",
                       "The library was loaded and met mixing GEMMs; the counts say why none of "
                       "them was compared. Where they say nothing, none was due yet: let the "
                       "server work, or raise MHCSHADOW_SAMPLE.");
    else if (report->damaged == 0)
        say_what_to_check(out);
}

enum mhcs_exit mhcs_report_nothing(FILE *out, const struct mhcs_report *report)
{
    mhcs_report_troubles(out, report);
    mhcs_report_no_rows(out, report);
    fputc('\n', out);
    if (report->facts.processes > 0)
        mhcs_report_run(out, report);
    if (report->facts.counted)
        mhcs_report_coverage(out, report);
    mhcs_report_remedy(out, report);
    return MHCS_EXIT_DAMAGED;
}
