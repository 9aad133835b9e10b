/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated device memory: what a pointer may do, and who touched each word last.
 *
 * Device memory has two mappings of one memfd: the address the client sees is PROT_NONE (a host
 * access is SIGSEGV, as on a GPU); the simulator uses its own. Pinned host memory is ordinary
 * memory that is known here, so device accesses to it are checked as well. Shadow cells per 4-byte
 * word hold initialised bytes and the last accesses, for happens-before race detection between
 * operations (vector clocks), and, inside one kernel launch, between blocks and between threads not
 * separated by a barrier.
 *
 * Not thread-safe: callers hold the engine's lock.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_CLOCKS_MAX 256 /* streams and host threads that can carry a clock at one time */

/* An operation on a stream (kernel, copy, memset, GEMM): what an access is checked against. */
struct sim_op {
    uint32_t id;           /* unique, from 1 */
    uint32_t actor;        /* index of its stream's clock */
    uint32_t tick;         /* its own component of its clock */
    const uint32_t *clock; /* [SIM_CLOCKS_MAX], joined at waits; the op happens after (a, t) iff
                              clock[a] >= t */
    const char *what;      /* "kernel mhcs_reference", "cuMemcpyDtoHAsync", "cublasGemmEx" */
};

/* Where inside the op an access comes from. Copies use all zeros and block = thread = 0. */
struct sim_where {
    uint32_t block;   /* linear block index */
    uint32_t epoch;   /* of lane 0's warp: drawn from one counter of the block at every block
                         barrier (for all warps) and bar.warp.sync (for its warp) */
    uint32_t barrier; /* epoch of the latest block barrier: all before it is ordered */
    uint16_t thread;  /* linear thread of lane 0; lane i is thread + i, in the same warp */
    const char *file; /* source position, or NULL */
    uint32_t line;
};

enum sim_access { SIM_READ, SIM_WRITE, SIM_ATOMIC };

enum sim_memory_space { SIM_DEVICE, SIM_PINNED };

/* What went wrong, as text that names op, source line, block, thread and address. */
struct sim_fault {
    bool set;
    int code; /* the CUresult the context falls into: 700 illegal address, 716 misaligned, ... */
    char text[600];
};

struct sim_memory;

struct sim_memory *sim_memory_new(uint64_t device_bytes);
void sim_memory_free_all(struct sim_memory *m);

/* 0 if out of memory. Alignment 256. Fresh memory is uninitialised. */
uint64_t sim_memory_alloc(struct sim_memory *m, uint64_t bytes, enum sim_memory_space space);
/* Host memory that exists already, from now on known as pinned (cuMemHostRegister); releasing it
 * leaves the memory itself alone. False: it overlaps an allocation. */
bool sim_memory_adopt(struct sim_memory *m, uint64_t address, uint64_t bytes);
/* Host address of pinned memory equals its device address. False: not the start of a live
 * allocation. */
bool sim_memory_release(struct sim_memory *m, uint64_t address);
bool sim_memory_find(const struct sim_memory *m, uint64_t address, uint64_t *ret_base,
                     uint64_t *ret_bytes, enum sim_memory_space *ret_space);
void sim_memory_info(const struct sim_memory *m, uint64_t *ret_free, uint64_t *ret_total);

/* Checks `lanes` accesses of `size` > 0 bytes each, lane i at address + i*size by thread
 * where->thread + i, and returns the simulator's own pointer to the first byte; NULL with *fault
 * set if those bytes can't be had. A race or an uninitialised read returns the pointer and sets
 * *fault (an earlier fault stays). SIM_WRITE marks the bytes initialised; pinned memory always
 * counts as initialised, because the host writes it unseen. For copies: lanes = 1, size = length.
 * Kernel accesses are aligned to their size; where->file tells them from copies. */
void *sim_memory_access(struct sim_memory *m, const struct sim_op *op,
                        const struct sim_where *where, uint64_t address, uint64_t size,
                        uint32_t lanes, enum sim_access access, struct sim_fault *fault);

/* Forgets the access history of a range and counts it as initialised: for when the host has
 * synchronised with everything and takes the range over. */
void sim_memory_host_owns(struct sim_memory *m, uint64_t address, uint64_t bytes);

#endif
