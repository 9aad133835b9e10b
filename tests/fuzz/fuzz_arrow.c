/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow messages from nowhere. Input: u32 size of a Schema message, the message, a RecordBatch
 * message. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "shadow/trace/arrow.h"
#include "shadow/trace/frame.h"
#include "tests/trace/trace_test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mhcs_arrow_schema *schema;
    struct mhcs_batch batch;
    char what[MHCS_TRACE_WHAT];
    uint32_t schema_size;

    if (size < 4)
        return 0;
    memcpy(&schema_size, data, 4);
    if (schema_size > size - 4)
        return 0;
    if (mhcs_arrow_read_schema(&schema, data + 4, schema_size, what) < 0)
        return 0;
    /* The reader takes it aligned, and writes to it. */
    const size_t batch_size = size - 4 - schema_size;
    uint8_t *message = malloc(batch_size != 0 ? batch_size : 1);
    struct mhcs_column *columns =
        calloc(mhcs_arrow_column_count(schema) + 1, sizeof(struct mhcs_column));
    if (message == NULL || columns == NULL)
        abort();
    memcpy(message, data + 4 + schema_size, batch_size);
    if (mhcs_arrow_read_batch(schema, message, batch_size, columns, &batch, what) == 0) {
        const volatile uint64_t digest = digest_batch(&batch);
        (void)digest;
    }
    free(columns);
    free(message);
    mhcs_arrow_schema_free(schema);
    return 0;
}

/* The messages in H and the first D of a small trace. */
void fuzz_seeds(void (*use)(const uint8_t *data, size_t size))
{
    size_t edges[SMALL_EDGES];
    const struct bytes trace = small_trace(edges);
    const size_t capacity = 1 << 20, data_at = edges[0] + MHCS_MARK_SIZE;
    uint8_t *input = malloc(capacity);

    if (input == NULL)
        abort();
    const uint32_t schema_size = (uint32_t)ZSTD_decompress(
        input + 4, capacity - 4, trace.data, ZSTD_findFrameCompressedSize(trace.data, trace.size));
    memcpy(input, &schema_size, 4);
    const size_t batch_size = ZSTD_decompress(input + 4 + schema_size, capacity - 4 - schema_size,
                                              trace.data + data_at, edges[1] - data_at);
    if (ZSTD_isError(schema_size) || ZSTD_isError(batch_size))
        abort();
    use(input, 4 + schema_size + batch_size);
    free(input);
    free(trace.data);
}
