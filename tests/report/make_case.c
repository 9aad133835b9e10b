/* SPDX-License-Identifier: Apache-2.0 */
/* make_case DIR CASE: writes the traces of one case of test_report.py, as files named rank0, rank1,
 * ... in the order of writing. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/trace/make_trace.h"

/* What a process of a server says of itself; host, pid, counters and model differ. */
#define FACTS_OF(host, pid, label, model, sites, counters)                                         \
    "{\"format\":\"mhcshadow\",\"version\":1,\"library\":\"0.1.0\",\"host\":\"" host               \
    "\",\"pid\":" #pid ","                                                                         \
    "\"command\":[\"python3\",\"-m\",\"sglang.launch_server\",\"--tp\",\"2\"],"                    \
    "\"label\":\"" label "\",\"gpu\":{\"name\":\"NVIDIA H200\",\"cc\":\"9.0\",\"sm_count\":132,"   \
    "\"simulated\":false},\"driver\":{\"version\":13000,\"simulated\":false},"                     \
    "\"cublas\":{\"path\":\"/usr/lib/libcublas.so.13\",\"version\":130100},"                       \
    "\"environment\":{\"NVIDIA_TF32_OVERRIDE\":\"0\"}," model                                      \
    "\"settings\":{\"sample\":0.015625,\"rows\":16,\"reference\":\"kernel\"},"                     \
    "\"sites\":[{\"coefficients\":24,\"k\":16384,\"dtype\":\"bf16\"" sites "}],"                   \
    "\"events\":[{\"event\":\"armed\",\"mode\":\"kernel\",\"slots\":24}]," counters "}"
#define FACTS(host, pid, model, counters) FACTS_OF(host, pid, "night build", model, "", counters)
#define OWN_MODEL                                                                                  \
    "\"model\":{\"source\":\"/models/flash\",\"model_type\":\"deepseek_v4\",\"layers\":43,"        \
    "\"hidden\":4096,\"sites\":87,\"missing\":\"\",\"hc_eps\":1e-6,\"norm_eps\":1e-6,"             \
    "\"iterations\":20},"
#define NO_MODEL                                                                                   \
    "\"model\":{\"source\":\"none\",\"hc_eps\":1e-6,\"norm_eps\":1e-6,"                            \
    "\"iterations\":20},"
#define COUNTERS(seen, matched, sampled, dropped, captured)                                        \
    "\"counters\":{\"seen\":" #seen ",\"matched\":" #matched ",\"sampled\":" #sampled              \
    ",\"dropped\":" #dropped ",\"captured\":" #captured ",\"failed\":0,"                           \
    "\"reasons\":{\"no_slot\":" #dropped ",\"captured\":" #captured "}}"

static int next_rank;

static int write_rank(const struct make_trace_plan *plan, const char *dir)
{
    char from[PATH_MAX], to[PATH_MAX];

    if (make_trace(plan, dir, from) < 0)
        return 1;
    snprintf(to, sizeof(to), "%s/rank%d.arrows.zst", dir, next_rank++);
    return rename(from, to) != 0;
}

/* A prefill rank and a decode rank. */
static int write_ranks(struct make_trace_plan plan, const char *dir)
{
    plan.facts = FACTS("node-a", 4711, OWN_MODEL, COUNTERS(90000, 3600, 28, 0, 0));
    if (write_rank(&plan, dir))
        return 1;
    plan.facts = FACTS("node-b", 815, OWN_MODEL, COUNTERS(70000, 1800, 28, 3, 1));
    plan.seed++;
    plan.tokens = 32;
    return write_rank(&plan, dir);
}

static int clean(struct make_trace_plan *plan, const char *dir)
{
    return write_ranks(*plan, dir);
}

static int tf32(struct make_trace_plan *plan, const char *dir)
{
    plan->path = "f32*f32->f32/f32";
    plan->operands_rel = 2.1e-4;
    plan->checkpoint = false;
    plan->facts = FACTS("node-a", 4711, NO_MODEL, COUNTERS(90000, 3600, 28, 0, 0));
    return write_rank(plan, dir);
}

static void excess_at_one_site(struct mhcs_record *record, struct mhcs_row_result *result, void *no)
{
    if (record->site != 3)
        return;
    for (int i = 0; i < 24; i++) {
        float *production = &result->raw[MHCS_PRODUCTION][i];

        *production += 5 * (*production - result->raw[MHCS_OPERANDS][i]);
    }
    make_row_metrics(result, 24, MHCS_OPERANDS);
    make_row_metrics(result, 24, MHCS_CHECKPOINT);
}

static int one_site(struct make_trace_plan *plan, const char *dir)
{
    plan->edit = excess_at_one_site;
    return write_ranks(*plan, dir);
}

static void nan_in_one_row(struct mhcs_record *record, struct mhcs_row_result *result, void *no)
{
    if (record->call != 4 || record->row > 31)
        return;
    result->raw[MHCS_PRODUCTION][5] = NAN;
    make_row_metrics(result, 24, MHCS_OPERANDS);
    make_row_metrics(result, 24, MHCS_CHECKPOINT);
}

static int nan_row(struct make_trace_plan *plan, const char *dir)
{
    plan->edit = nan_in_one_row;
    plan->facts = FACTS("node-a", 4711, OWN_MODEL, COUNTERS(90000, 3600, 28, 0, 0));
    return write_rank(plan, dir);
}

static void wrong_in_one_row(struct mhcs_record *record, struct mhcs_row_result *result, void *no)
{
    if (record->call != 4 || record->row > 31)
        return;
    for (int i = 0; i < 24; i++)
        result->raw[MHCS_PRODUCTION][i] *= 1.3F;
    make_row_metrics(result, 24, MHCS_OPERANDS);
    make_row_metrics(result, 24, MHCS_CHECKPOINT);
}

static int wrong_row(struct make_trace_plan *plan, const char *dir)
{
    plan->calls = 40;
    plan->edit = wrong_in_one_row;
    return write_rank(plan, dir);
}

/* Of decode passes in graphs. What is wrong in padding harms no one. */
static void wrong_in_padding(struct mhcs_record *record, struct mhcs_row_result *result, void *no)
{
    record->graph = true;
    record->padded = record->row % 3 == 0;
    if (!record->padded)
        return;
    for (int i = 0; i < 24; i++)
        result->raw[MHCS_PRODUCTION][i] *= 1.3F;
    make_row_metrics(result, 24, MHCS_OPERANDS);
    make_row_metrics(result, 24, MHCS_CHECKPOINT);
}

static int padded(struct make_trace_plan *plan, const char *dir)
{
    plan->tokens = 32;
    plan->edit = wrong_in_padding;
    plan->facts = FACTS("node-a", 4711, OWN_MODEL,
                        "\"counters\":{\"seen\":90000,\"matched\":3600,\"sampled\":0,"
                        "\"dropped\":0,\"captured\":0,\"in_graphs\":172,\"failed\":0,"
                        "\"replays\":20,\"replayed\":1720,\"replay_sampled\":28,"
                        "\"replay_dropped\":2,\"replay_failed\":1,\"unfollowed\":0}");
    return write_rank(plan, dir);
}

/* A clean run whose weights are not all the checkpoint's. */
static int wrong_weights(struct make_trace_plan *plan, const char *dir)
{
    plan->facts = FACTS_OF("node-a", 4711, "night build", OWN_MODEL,
                           ",\"name\":\"layers.1.hc_attn_fn*\",\"difference\":\"row 5 (post[1]) is "
                           "negated\"",
                           COUNTERS(90000, 3600, 28, 0, 0));
    return write_rank(plan, dir);
}

static int few(struct make_trace_plan *plan, const char *dir)
{
    plan->layers = 1;
    plan->calls = 1;
    return write_rank(plan, dir);
}

static int unknown_path(struct make_trace_plan *plan, const char *dir)
{
    plan->path = "f8*f8->bf16/f32";
    return write_rank(plan, dir);
}

static int captured(struct make_trace_plan *plan, const char *dir)
{
    plan->facts = FACTS("node-a", 4711, OWN_MODEL, COUNTERS(90000, 3600, 28, 2, 5000));
    return write_rank(plan, dir);
}

static int killed(struct make_trace_plan *plan, const char *dir)
{
    plan->facts = FACTS("node-a", 4711, OWN_MODEL, COUNTERS(90000, 3600, 28, 0, 0));
    plan->end = (enum mhcs_trace_end)0;
    return write_rank(plan, dir);
}

static int size_cap(struct make_trace_plan *plan, const char *dir)
{
    plan->end = MHCS_END_SIZE_CAP;
    return write_rank(plan, dir);
}

static int no_rows(struct make_trace_plan *plan, const char *dir)
{
    plan->calls = 0;
    plan->facts = FACTS("node-a", 4711, NO_MODEL, COUNTERS(90000, 0, 0, 0, 0));
    return write_rank(plan, dir);
}

static int all_captured(struct make_trace_plan *plan, const char *dir)
{
    plan->calls = 0;
    plan->facts = FACTS("node-a", 4711, NO_MODEL, COUNTERS(90000, 3600, 0, 0, 60));
    return write_rank(plan, dir);
}

/* The weights of another model. */
static int other_width(struct make_trace_plan *plan, const char *dir)
{
    plan->facts = "{\"format\":\"mhcshadow\",\"version\":1," OWN_MODEL
                  "\"sites\":[{\"coefficients\":24,\"k\":28672,\"dtype\":\"bf16\"}]}";
    return write_rank(plan, dir);
}

/* The clean run's server with another output type. */
static int f32_output(struct make_trace_plan *plan, const char *dir)
{
    plan->path = "bf16*bf16->f32/f32";
    plan->operands_rel = 1e-6;
    return write_ranks(*plan, dir);
}

/* Errors are 1.3 times as large from the 30th call of each site on. */
static void larger_from_the_30th(struct mhcs_record *record, struct mhcs_row_result *result,
                                 void *no)
{
    if (record->call < 30 * 7)
        return;
    for (int i = 0; i < (record->site == 6 ? 4 : 24); i++) {
        float *production = &result->raw[MHCS_PRODUCTION][i];

        *production += 0.3F * (*production - result->raw[MHCS_OPERANDS][i]);
    }
    make_row_metrics(result, record->site == 6 ? 4 : 24, MHCS_OPERANDS);
    make_row_metrics(result, record->site == 6 ? 4 : 24, MHCS_CHECKPOINT);
}

static int step(struct make_trace_plan *plan, const char *dir)
{
    plan->calls = 40;
    plan->path = "bf16*bf16->bf16/f32+reduced"; /* what is not rounding of the output is no fault */
    plan->edit = larger_from_the_30th;
    return write_rank(plan, dir);
}

/* The clean run's with scale and base of each site. */
static int with_maps(struct make_trace_plan *plan, const char *dir)
{
    char facts[8192];
    size_t length = (size_t)snprintf(
        facts, sizeof(facts), "{\"format\":\"mhcshadow\",\"version\":1," OWN_MODEL "\"sites\":[");

    for (int site = 0; site < 6; site++) {
        length +=
            (size_t)snprintf(facts + length, sizeof(facts) - length,
                             "%s{\"name\":\"layers.%d.hc_%s_fn\",\"scale\":[0.5,1,0.25],\"base\":[",
                             site ? "," : "", site / 2, site % 2 ? "ffn" : "attn");
        for (int i = 0; i < 24; i++)
            length += (size_t)snprintf(facts + length, sizeof(facts) - length, "%s%d", i ? "," : "",
                                       i >= 8 && (i - 8) % 5 == 0 ? 2 : 0);
        length += (size_t)snprintf(facts + length, sizeof(facts) - length, "]}");
    }
    snprintf(facts + length, sizeof(facts) - length, "]}");
    plan->facts = facts;
    return write_rank(plan, dir);
}

/* Rows beyond one batch, so that there is something behind damage. */
static int long_run(struct make_trace_plan *plan, const char *dir)
{
    plan->calls = 90;
    return write_rank(plan, dir);
}

/* Three times that. */
static int longer_run(struct make_trace_plan *plan, const char *dir)
{
    plan->calls = 270;
    return write_rank(plan, dir);
}

static int odd_label(struct make_trace_plan *plan, const char *dir)
{
    plan->facts = "{\"format\":\"mhcshadow\",\"version\":1,\"host\":\"node-a\",\"pid\":1,"
                  "\"label\":\"a \\\"quoted\\\", label\\\\ f\303\274r\\nalle\"}";
    return write_rank(plan, dir);
}

static void far_layer(struct mhcs_record *record, struct mhcs_row_result *result, void *no)
{
    if (record->layer != 2)
        return;
    record->site_name = record->site % 2 ? "layers.5.hc_ffn_fn" : "layers.5.hc_attn_fn";
    record->layer = 5;
}

/* Of layers 2 to 4 nothing was seen. */
static int gap(struct make_trace_plan *plan, const char *dir)
{
    plan->edit = far_layer;
    return write_rank(plan, dir);
}

/* 64 ranks of a model with 43 layers, one with larger errors. Names of hosts and labels are
 * anybody's text. */
static int fleet(struct make_trace_plan *plan, const char *dir)
{
    static const int32_t tokens[] = {4, 24, 64, 200, 900, 3000, 8192};
    static char facts[4096];

    plan->layers = 43;
    plan->calls = 1;
    plan->rows = 4;
    plan->facts = facts;
    for (int rank = 0; rank < 64; rank++) {
        snprintf(facts, sizeof(facts),
                 FACTS_OF("node-%d<b>&", 4711, "<script>alert(1)</script> \\\"canary\\\"",
                          OWN_MODEL, "", COUNTERS(90000, 3600, 28, 3, 1)),
                 rank);
        plan->seed = (uint64_t)rank + 1;
        plan->tokens = tokens[rank % 7];
        plan->step = 1000000 * (rank + 1);
        plan->operands_rel = rank == 13 ? 8e-3 : 1.66e-3;
        if (write_rank(plan, dir))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*write)(struct make_trace_plan *plan, const char *dir);
    } cases[] = {
        {"clean", clean},
        {"tf32", tf32},
        {"one_site", one_site},
        {"nan_row", nan_row},
        {"wrong_row", wrong_row},
        {"wrong_weights", wrong_weights},
        {"few", few},
        {"unknown_path", unknown_path},
        {"captured", captured},
        {"padded", padded},
        {"killed", killed},
        {"size_cap", size_cap},
        {"no_rows", no_rows},
        {"all_captured", all_captured},
        {"other_width", other_width},
        {"f32_output", f32_output},
        {"step", step},
        {"with_maps", with_maps},
        {"long_run", long_run},
        {"longer_run", longer_run},
        {"odd_label", odd_label},
        {"gap", gap},
        {"fleet", fleet},
    };
    struct make_trace_plan plan = make_trace_default();

    for (size_t i = 0; argc == 3 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (!strcmp(argv[2], cases[i].name))
            return cases[i].write(&plan, argv[1]);
    fprintf(stderr, "usage: make_case DIR CASE\n");
    return 2;
}
