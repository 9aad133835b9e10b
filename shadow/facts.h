/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/* The JSON facts of a trace (J frames): what ran, where, with which settings, and what was not seen.
 * Readers merge the frames in order.
 *
 * First frame, one object:
 *   format "mhcshadow", version 1, library, revision, host, pid, boot_id, command [..], label,
 *   start (ISO 8601, UTC, ns), clock "realtime",
 *   gpu {device, name, uuid, sm_count, cc "9.0", simulated}     of the first device seen
 *   driver {version 13000, simulated}, cublas {path, version 130100},
 *   environment {NAME: value} of the variables that change arithmetic, where set,
 *   model {source "none" or the checkpoint's path, hc_eps, norm_eps, iterations; with a checkpoint also
 *          model_type, layers, hidden, sites, missing (names that config.json lacks)},
 *   settings {sample, rows, shapes ["24x16384"], reference, mem_mb, headroom_mb, max_mb, budget,
 *             graphs, callsites, cupti, sync, dir, model}
 * Later frames, each an object with one key:
 *   sites [{id, name, layer, role, coefficients, k, dtype, fingerprint "16 hex digits", absmax, rms,
 *           nonfinite, weight_order, path,
 *           scale [3], base [24] (of the maps, where there is a checkpoint),
 *           form (of MHCS_FORMS: what became of the checkpoint's weights), difference (from them, in
 *           words)}]                                    those that are new
 *   counters {those of counters.h, reasons {key: n}, hook_ns,
 *             checked (samples whose reference was computed in fp64 as well), checked_cublas (of
 *             these, those whose reference was by cuBLAS)}
 *                                                       cumulative, the last one wins
 *   events [{time, event, ...}], where event is one of
 *     armed:    context, device, gpu {..}, mode "kernel" | "cublas" | "host" | "copy", slots (how many samples
 *               of the largest call fit at a time), slot_bytes (of such a one), arena_bytes
 *     fallback: device, mode, reason                    one for each step down
 *     disarmed: device, reason
 *     notice:   reason, text                            the first time a reason of reason.h counts;
 *                                                       or "bypassed", an object that nobody hooks
 *     model:    text                  MHCSHADOW_MODEL: what it lacks, or why it can't be used
 *     weights:  text                  a layer's weights at the place of another, or that changed
 */
/* clang-format on */
#ifndef MHCS_FACTS_H
#define MHCS_FACTS_H

#include "shadow/driver.h"
#include "shadow/json.h"

struct mhcs_model;

/* The first frame. `driver` and `model` may be NULL, `device` negative. */
void mhcs_facts_process(struct mhcs_json *json, const struct mhcs_driver *driver, int device,
                        const struct mhcs_model *model);

/* Copies what the environment says about arithmetic. On the application's thread that starts the
 * drain thread, not later: another thread's setenv() would pull it away under a reader. */
void mhcs_facts_note_environment(void);

/* "gpu": {..} */
void mhcs_facts_gpu(struct mhcs_json *json, const struct mhcs_driver *driver, int device);

/* "2026-03-01T12:00:00.123456789Z" */
#define MHCS_TIME_BYTES 64
const char *mhcs_facts_time(int64_t unix_ns, char text[MHCS_TIME_BYTES]);

#endif
