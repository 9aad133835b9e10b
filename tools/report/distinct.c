/* SPDX-License-Identifier: Apache-2.0 */
/* See distinct.h. */
#include "tools/report/distinct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/text.h"

/* Room for one more, or -ENOMEM. */
static int grow(struct mhcs_distinct *distinct)
{
    const size_t room = distinct->room ? 2 * distinct->room : 4;
    void *value;

    if (distinct->count < distinct->room)
        return 0;
    value = reallocarray(distinct->value, room, sizeof(*distinct->value));
    if (!value)
        return -ENOMEM;
    distinct->value = value;
    distinct->room = room;
    return 0;
}

/* Which values are kept must not depend on their order: the least of all are at every time among
 * the least. */
static void drop_greatest(struct mhcs_distinct *distinct)
{
    size_t greatest = 0;

    for (size_t i = 1; i < distinct->count; i++)
        if (strcmp(distinct->value[i].text, distinct->value[greatest].text) > 0)
            greatest = i;
    distinct->further += distinct->value[greatest].files;
    free(distinct->value[greatest].text);
    distinct->value[greatest] = distinct->value[--distinct->count];
}

int mhcs_distinct_keep(struct mhcs_distinct *distinct, char *text, uint64_t files)
{
    for (size_t i = 0; i < distinct->count; i++)
        if (!strcmp(distinct->value[i].text, text)) {
            distinct->value[i].files += files;
            free(text);
            return 0;
        }
    if (grow(distinct)) {
        free(text);
        return -ENOMEM;
    }
    distinct->value[distinct->count].text = text;
    distinct->value[distinct->count++].files = files;
    if (distinct->count > MHCS_DISTINCT_MAX)
        drop_greatest(distinct);
    return 0;
}

int mhcs_draft_open(struct mhcs_draft *draft)
{
    draft->stream = open_memstream(&draft->text, &draft->size);
    return draft->stream ? 0 : -ENOMEM;
}

int mhcs_draft_keep(struct mhcs_draft *draft, struct mhcs_distinct *distinct)
{
    if (fclose(draft->stream)) {
        free(draft->text);
        return -ENOMEM;
    }
    mhcs_text_clean(draft->text);
    if (*draft->text)
        return mhcs_distinct_keep(distinct, draft->text, 1);
    free(draft->text);
    return 0;
}

int mhcs_distinct_merge(struct mhcs_distinct *distinct, const struct mhcs_distinct *from)
{
    int ret = 0;

    for (size_t i = 0; i < from->count && !ret; i++) {
        char *text = strdup(from->value[i].text);

        ret = text ? mhcs_distinct_keep(distinct, text, from->value[i].files) : -ENOMEM;
    }
    distinct->further += from->further;
    return ret;
}

/* .text is the first member. */
static int compare_values(const void *left, const void *right)
{
    return strverscmp(*(char *const *)left, *(char *const *)right);
}

void mhcs_distinct_sort(struct mhcs_distinct *distinct)
{
    if (distinct->count > 0)
        qsort(distinct->value, distinct->count, sizeof(distinct->value[0]), compare_values);
}

bool mhcs_distinct_equal(const struct mhcs_distinct *a, const struct mhcs_distinct *b)
{
    bool equal = a->count == b->count && !a->further == !b->further;

    for (size_t i = 0; equal && i < a->count; i++)
        equal = !strcmp(a->value[i].text, b->value[i].text);
    return equal;
}

void mhcs_distinct_free(struct mhcs_distinct *distinct)
{
    for (size_t i = 0; i < distinct->count; i++)
        free(distinct->value[i].text);
    free(distinct->value);
}
