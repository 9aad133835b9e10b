/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C: the processor's own instruction where there is one (both x86-64 and ARMv8 have exactly
 * this polynomial), else four bits at a time. */
#include "shadow/trace/crc32c.h"

#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

uint32_t mhcs_crc32c_portable(uint32_t crc, const void *data, size_t size)
{
    static const uint32_t nibble[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    const uint8_t *bytes = data;

    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        crc = nibble[crc & 15] ^ (crc >> 4);
        crc = nibble[crc & 15] ^ (crc >> 4);
    }
    return ~crc;
}

#if defined(__x86_64__)
static uint64_t step8(uint64_t crc, uint64_t word)
{
    __asm__("crc32q %1, %0" : "+r"(crc) : "rm"(word));
    return crc;
}

static uint32_t step1(uint32_t crc, uint8_t byte)
{
    __asm__("crc32b %1, %0" : "+r"(crc) : "rm"(byte));
    return crc;
}

static int have_instruction(void)
{
    return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__)
static uint64_t step8(uint64_t crc, uint64_t word)
{
    uint32_t low = (uint32_t)crc;
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(low) : "r"(word));
    return low;
}

static uint32_t step1(uint32_t crc, uint8_t byte)
{
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)byte));
    return crc;
}

static int have_instruction(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
static uint64_t load8(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

/* An instruction can start each cycle, but waits three for the one before it: hence three runs of
 * so many bytes side by side. */
#define RUN ((size_t)4096)
/* Powers of x modulo the polynomial, bits reversed. */
#define OVER_ONE_RUN  UINT32_C(0x82f89c77) /* x^(8 RUN - 33) */
#define OVER_TWO_RUNS UINT32_C(0x54a86326) /* x^(16 RUN - 33) */

static uint64_t multiply_without_carry(uint32_t a, uint32_t b)
{
    uint64_t product = 0;

    for (uint32_t i = 0; i < 32; i++)
        product ^= ((uint64_t)a << i) & -(uint64_t)(b >> i & 1);
    return product;
}

/* The state after three runs. step8(0, p) is p x^33, of a reversed 64-bit product: so it is what
 * brings a state over the runs behind it. */
static uint64_t step_three_runs(uint64_t state, const uint8_t *bytes)
{
    uint64_t second = 0, third = 0;

    for (const uint8_t *end = bytes + RUN; bytes < end; bytes += 8) {
        state = step8(state, load8(bytes));
        second = step8(second, load8(bytes + RUN));
        third = step8(third, load8(bytes + 2 * RUN));
    }
    return third ^ step8(0, multiply_without_carry((uint32_t)state, OVER_TWO_RUNS) ^
                                multiply_without_carry((uint32_t)second, OVER_ONE_RUN));
}
#endif

uint32_t mhcs_crc32c(uint32_t crc, const void *data, size_t size)
{
#if defined(__x86_64__) || defined(__aarch64__)
    if (have_instruction()) {
        const uint8_t *bytes = data;
        uint64_t state = (uint32_t)~crc;

        for (; size >= 3 * RUN; size -= 3 * RUN, bytes += 3 * RUN)
            state = step_three_runs(state, bytes);
        for (; size >= 8; size -= 8, bytes += 8)
            state = step8(state, load8(bytes));
        crc = (uint32_t)state;
        for (; size != 0; size--, bytes++)
            crc = step1(crc, *bytes);
        return ~crc;
    }
#endif
    return mhcs_crc32c_portable(crc, data, size);
}
