/* SPDX-License-Identifier: Apache-2.0 */
/* Text, sections and tables of the HTML report; html.h says what each promises. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "tools/report/html.h"

void mhcs_html_text(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        case '\n':
            fputc('\n', out);
            break;
        default: /* a control character is no text, whatever a file is called */
            fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, out);
        }
}

void mhcs_html_element(FILE *out, const char *tag, const char *attributes, const char *text)
{
    fprintf(out, "<%s%s>", tag, attributes);
    mhcs_html_text(out, text);
    fprintf(out, "</%s>\n", tag);
}

void mhcs_html_elementf(FILE *out, const char *tag, const char *attributes, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    mhcs_html_element(out, tag, attributes, text);
}

void mhcs_html_section(FILE *out, const char *id, const char *heading)
{
    fprintf(out, "<section id=\"%s\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">%s</h2>\n", id, id,
            id, heading);
}

void mhcs_html_section_end(FILE *out)
{
    fputs("</section>\n", out);
}

void mhcs_html_table(FILE *out, const char *caption, const char *const *columns, bool folded)
{
    if (folded) {
        fputs("<details>", out);
        mhcs_html_elementf(out, "summary", "", "Table: %s", caption);
    }
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", out);
    mhcs_html_text(out, caption);
    fputs("\">\n<table>\n", out);
    fputs("<caption>", out);
    mhcs_html_element(out, "span", "", caption);
    fputs("</caption>", out);
    fputs("<thead><tr>", out);
    for (; *columns; columns++)
        mhcs_html_element(out, "th", " scope=\"col\"", *columns);
    fputs("</tr></thead>\n<tbody>\n", out);
}

void mhcs_html_table_end(FILE *out, bool folded)
{
    fprintf(out, "</tbody></table></div>%s\n", folded ? "</details>" : "");
}

void mhcs_html_row(FILE *out, const char *const *cells, size_t count)
{
    fputs("<tr>", out);
    for (size_t i = 0; i < count; i++)
        mhcs_html_element(out, i ? "td" : "th", i ? "" : " scope=\"row\"", cells[i]);
    fputs("</tr>\n", out);
}

const char *mhcs_html_status(enum mhcs_status status)
{
    static const char *const classes[] = {[MHCS_INSUFFICIENT] = "insufficient",
                                          [MHCS_PASS] = "pass",
                                          [MHCS_WARN] = "warn",
                                          [MHCS_FAIL] = "fail"};

    return classes[status];
}

const char *mhcs_html_reference(enum mhcs_path reference)
{
    return reference == MHCS_OPERANDS ? "operands" : "checkpoint";
}

void mhcs_html_process(const struct mhcs_process *process, char *text, size_t size)
{
    if (*process->origin.host)
        snprintf(text, size, "%s %" PRId64, process->origin.host, process->origin.pid);
    else
        snprintf(text, size, "?");
}
