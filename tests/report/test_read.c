/* SPDX-License-Identifier: Apache-2.0 */
/* However rows are spread over files, in which order the files are named, and how many threads read
 * them: every byte of what comes out is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "shadow/trace/frame.h"
#include "tests/report/random.h"
#include "tests/trace/make_trace.h"
#include "tests/trace/trace_test.h"
#include "tools/report/read.h"
#include "tools/report/report.h"

enum { ROWS = 900, FILES_MAX = 7, THREADS_MAX = 5 };

struct sample {
    struct mhcs_record record;
    struct mhcs_row_result result;
    char name[32], path[48];
};

static struct sample samples[ROWS];

/* A further row of the call before, or one that differs from it in little. */
static void continue_call(uint64_t *state, struct sample *sample)
{
    struct mhcs_record *record = &sample->record;
    const bool head = isnan(sample[-1].result.raw[MHCS_OPERANDS][4]);

    *record = sample[-1].record;
    memcpy(sample->name, sample[-1].name, sizeof(sample->name));
    memcpy(sample->path, sample[-1].path, sizeof(sample->path));
    record->site_name = sample->name;
    record->path = sample->path;
    record->result = &sample->result;
    record->row = (int32_t)pick(state, 300);
    record->padded = pick(state, 40) == 0;
    switch (pick(state, 60)) {
    case 0:
        sample->name[7]++; /* the digit of layers.0.hc_attn_fn */
        break;
    case 1:
        record->layer++;
        break;
    case 2:
        record->tokens += 200;
        break;
    case 3:
        record->time += INT64_C(1000000000);
        break;
    case 4:
        record->checkpoint = false;
        break;
    }
    make_row(&sample->result, state, head ? 4 : 24, 1.66e-3, 1.66e-3, record->checkpoint);
}

/* `sites` and `paths`: how many different ones there are. */
static void make_samples(uint64_t *state, size_t sites, size_t paths)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct sample *sample = &samples[i];
        const size_t site = pick(state, sites), path = pick(state, paths);
        const bool checkpoint = pick(state, 3) > 0, head = pick(state, 9) == 0;

        if (i > 0 && pick(state, 8) > 0) {
            continue_call(state, sample);
            continue;
        }
        make_row(&sample->result, state, head ? 4 : 24, 1.66e-3, 1.66e-3, checkpoint);
        if (pick(state, 20) == 0) {
            sample->result.raw[MHCS_PRODUCTION][pick(state, 4)] = pick(state, 2) ? NAN : 1e30F;
            make_row_metrics(&sample->result, head ? 4 : 24, MHCS_OPERANDS);
        }
        snprintf(sample->name, sizeof(sample->name), "layers.%u.hc_attn_fn", (unsigned)site);
        snprintf(sample->path, sizeof(sample->path), path ? "made up %zu" : "bf16*bf16->bf16/f32",
                 path);
        sample->record = (struct mhcs_record){
            .time = INT64_C(1700000000000000000) + (int64_t)(next_bits(state) >> 30),
            .call = (int64_t)i,
            .site_name = sample->name,
            .layer = (int16_t)(pick(state, 4) ? (int16_t)site : -1),
            .tokens = (int32_t)(1 + pick(state, 300)),
            .graph = pick(state, 5) == 0,
            .path = sample->path,
            .checkpoint = checkpoint,
            .check = pick(state, 4) ? NAN : (float)(1e-7 * uniform(state)),
            .result = &sample->result,
        };
    }
}

/* Calls and single rows to one of `count` files, in batches of any size. */
static void write_files(uint64_t *state, const char *dir, size_t count, char path[][PATH_MAX])
{
    struct mhcs_trace_writer *writer[FILES_MAX];

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(mhcs_trace_create(&writer[i],
                                           &(struct mhcs_trace_options){
                                               .dir = dir, .facts = "{\"format\":\"mhcshadow\"}"}),
                         0);
        snprintf(path[i], PATH_MAX, "%s", mhcs_trace_path(writer[i]));
    }
    for (size_t i = 0, file = 0; i < ROWS; i++) {
        file = pick(state, 8) ? file : pick(state, count);
        assert_int_equal(mhcs_trace_append(writer[file], &samples[i].record), 0);
        if (pick(state, 10) == 0)
            assert_int_equal(mhcs_trace_flush(writer[file], 0), 0);
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(mhcs_trace_close(writer[i], MHCS_END_EXIT, 0), 0);
}

static struct mhcs_collect *read_files(uint64_t *state, size_t count, char path[][PATH_MAX])
{
    struct mhcs_collect *collect = mhcs_collect_new();
    struct mhcs_reading *reading =
        mhcs_reading_new(1 + (unsigned)pick(state, THREADS_MAX), false, true, false);
    size_t order[FILES_MAX];

    assert_non_null(collect);
    assert_non_null(reading);
    shuffle(state, order, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(mhcs_reading_add(reading, path[order[i]]), 0);
    assert_int_equal(mhcs_reading_run(reading), 0);
    assert_int_equal(mhcs_reading_collect(reading, collect), 0);
    for (size_t i = 0; i < count; i++)
        assert_false(mhcs_scan_bad(mhcs_reading_scan(reading, i)));
    mhcs_reading_free(reading);
    return collect;
}

static struct mhcs_collect *collect_samples(void)
{
    struct mhcs_collect *collect = mhcs_collect_new();

    assert_non_null(collect);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(mhcs_collect_row(collect, &samples[i].record), 0);
    return collect;
}

/* All that is drawn from a collection, which is then freed. */
static char *print(struct mhcs_collect *collect)
{
    struct mhcs_report report = {.collect = collect};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    mhcs_collect_sort(collect);
    assert_int_equal(mhcs_conclude(collect, false, &report.conclusion), 0);
    mhcs_report_run(out, &report);
    mhcs_report_coverage(out, &report);
    mhcs_report_errors(out, &report);
    mhcs_report_noise(out, &report);
    for (size_t i = 0; i < collect->sites; i++)
        for (int p = 0; p < MHCS_PHASES; p++)
            if (collect->site[i]->line[p])
                fprintf(out, "%s %d %d %zu %a %a\n", collect->site[i]->name,
                        collect->site[i]->layer, p, (size_t)collect->site[i]->line[p]->rows,
                        mhcs_stat_rms(&collect->site[i]->line[p]->rel[MHCS_OPERANDS]),
                        mhcs_moments_mean(&collect->site[i]->line[p]->y_rel[MHCS_OPERANDS]));
    for (int64_t i = collect->timeline.first; i <= collect->timeline.last; i++) {
        const struct mhcs_timeline_bin *bin = mhcs_timeline_bin(&collect->timeline, i);

        for (int p = 0; p < MHCS_PHASES && bin; p++)
            fprintf(out, "%lld %d %zu %a\n", (long long)i, p,
                    (size_t)bin->moment[p][MHCS_OPERANDS].rows,
                    mhcs_moment_rms(&bin->moment[p][MHCS_OPERANDS]));
    }
    mhcs_report_verdict(out, &report);
    fclose(out);
    mhcs_report_free(&report);
    return text;
}

/* The totals byte by byte, then all words. Frees both. */
static void assert_same(struct mhcs_collect *expected, struct mhcs_collect *got)
{
    struct mhcs_path_line *const other[] = {&expected->other_path, &got->other_path};

    for (int i = 0; i < 2; i++) { /* of the last row, as collect.h says */
        memset(other[i]->text, 0, sizeof(other[i]->text));
        other[i]->parsed = false;
        memset(&other[i]->precision, 0, sizeof(other[i]->precision));
    }
    assert_memory_equal(expected, got, offsetof(struct mhcs_collect, timeline));

    char *expected_text = print(expected), *got_text = print(got);

    assert_string_equal(expected_text, got_text);
    free(expected_text);
    free(got_text);
}

static void check(const char *name, size_t sites, size_t paths, int times)
{
    uint64_t state = test_seed(name);
    char path[FILES_MAX][PATH_MAX];

    for (int i = 0; i < times; i++) {
        char dir[PATH_MAX];
        const size_t count = 1 + pick(&state, FILES_MAX);

        make_samples(&state, sites, paths);
        scratch_make(dir);
        write_files(&state, dir, count, path);
        assert_same(collect_samples(), read_files(&state, count, path));
        scratch_remove(dir);
    }
}

static void rows_spread_over_files_in_any_way_give_the_same_bytes(void **unused)
{
    check("spread", 5, 2, 15);
}

static void so_do_rows_of_more_paths_than_are_kept(void **unused)
{
    check("many paths", 3, 3 * MHCS_COLLECT_PATHS_MAX, 5);
}

/* Names of more sites than are kept, each once, in some order and over one to three collections. */
static struct mhcs_collect *collect_many_sites(uint64_t *state)
{
    enum { SITES = MHCS_COLLECT_SITES_MAX + 200, PARTS = 3 };
    const size_t parts = 1 + pick(state, PARTS);
    struct mhcs_collect *part[PARTS], *merged = mhcs_collect_new();
    static size_t order[SITES];

    for (size_t i = 0; i < PARTS; i++)
        part[i] = mhcs_collect_new();
    shuffle(state, order, SITES);
    for (size_t i = 0; i < SITES; i++) {
        struct sample sample = samples[order[i] % ROWS];

        snprintf(sample.name, sizeof(sample.name), "layers.%zu.hc_attn_fn", order[i]);
        sample.record.site_name = sample.name;
        sample.record.site = (int32_t)order[i];
        sample.record.padded = false;
        sample.record.result = &sample.result;
        assert_int_equal(mhcs_collect_row(part[pick(state, parts)], &sample.record), 0);
    }
    for (size_t i = 0; i < PARTS; i++) {
        assert_int_equal(mhcs_collect_merge(merged, part[i]), 0);
        mhcs_collect_free(part[i]);
    }
    return merged;
}

static void which_sites_are_kept_does_not_depend_on_their_order(void **unused)
{
    uint64_t state = test_seed("many sites");

    make_samples(&state, 1, 2);
    for (int i = 0; i < 6; i++) {
        struct mhcs_collect *one = collect_many_sites(&state), *other = collect_many_sites(&state);

        assert_int_equal(one->sites, MHCS_COLLECT_SITES_MAX);
        assert_int_equal(one->rows_of_other_sites, 200);
        assert_same(one, other);
    }
}

/* A batch that is damaged although its CRC is right, which only unpacking finds. */
static void damage_ends_a_file_where_it_would_with_one_thread(void **unused)
{
    struct make_trace_plan plan = make_trace_default();
    char dir[PATH_MAX], path[PATH_MAX];
    struct bytes trace;
    struct mhcs_mark mark;
    const uint8_t *at;

    plan.calls = 600; /* some batches */
    scratch_make(dir);
    assert_int_equal(make_trace(&plan, dir, path), 0);
    trace = slurp(path);
    at = mhcs_mark_find(trace.data, trace.size);
    for (int i = 0; i < 3; i++)
        at = mhcs_mark_find(at + 1, trace.size - (size_t)(at + 1 - trace.data));
    assert_true(mhcs_mark_decode(&mark, at));
    mark.rows--;
    mhcs_mark_encode(trace.data + (at - trace.data), &mark);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(trace.data, 1, trace.size, file), trace.size);
    assert_int_equal(fclose(file), 0);
    for (int salvage = 0; salvage <= 1; salvage++)
        for (unsigned threads = 1; threads <= THREADS_MAX; threads++) {
            struct mhcs_reading *reading = mhcs_reading_new(threads, salvage, true, false);
            struct mhcs_collect *collect = mhcs_collect_new();
            const struct mhcs_scan *scan;

            assert_int_equal(mhcs_reading_add(reading, path), 0);
            assert_int_equal(mhcs_reading_run(reading), 0);
            assert_int_equal(mhcs_reading_collect(reading, collect), 0);
            scan = mhcs_reading_scan(reading, 0);
            assert_true(scan->damaged);
            assert_int_equal(scan->damage.offset, at - trace.data);
            assert_int_equal(scan->bytes_lost, salvage ? MHCS_MARK_SIZE + mark.length
                                                       : trace.size - scan->damage.offset);
            assert_int_equal(scan->rows, salvage ? 7 * 600 * 16 - MHCS_TRACE_BATCH_ROWS
                                                 : 3 * MHCS_TRACE_BATCH_ROWS);
            assert_int_equal(collect->rows, scan->rows);
            assert_int_equal(scan->closed, salvage);
            mhcs_collect_free(collect);
            mhcs_reading_free(reading);
        }
    free(trace.data);
    scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_spread_over_files_in_any_way_give_the_same_bytes),
        cmocka_unit_test(so_do_rows_of_more_paths_than_are_kept),
        cmocka_unit_test(which_sites_are_kept_does_not_depend_on_their_order),
        cmocka_unit_test(damage_ends_a_file_where_it_would_with_one_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
