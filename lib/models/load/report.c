/* The report of a loaded file. */
#include "base/text/message.h"
#include "config/config.h"
#include "models/load/load_internal.h"

#include <string.h>

svit_status sv_report_begin(svit_load_report *report, svit_error *err)
{
    if (!report)
        return SVIT_OK;
    if (report->struct_size < sizeof *report || report->struct_size > UINT16_MAX)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "struct_size of svit_load_report is %u; it is %zu here", report->struct_size,
                       sizeof *report);
    SVIT_TRY(
        sv_config_check_end(report, report->struct_size, sizeof *report, "svit_load_report", err));
    report->loaded = report->missing = report->mismatched = report->extra = report->buffers = 0;
    report->needed = 1;
    if (report->text && report->capacity > 0)
        report->text[0] = '\0';
    return SVIT_OK;
}

/* Bytes of `name` in its printable form, written to `out` unless that is NULL. */
static size_t write_name(char *out, const char *name)
{
    size_t bytes = 0;
    while (*name) {
        char printable[SV_PRINTABLE];
        name += sv_message_character(printable, name);
        const size_t length = strlen(printable);
        if (out)
            memcpy(out + bytes, printable, length);
        bytes += length;
    }
    return bytes;
}

void sv_report_add(svit_load_report *report, const char *word, const char *name)
{
    if (!report)
        return;
    const size_t before = strlen(word) + 1, bytes = before + write_name(NULL, name) + 1;
    const uint64_t at = report->needed - 1;
    report->needed += bytes;
    if (!report->text || report->needed > report->capacity)
        return;
    char *line = report->text + at;
    memcpy(line, word, before - 1);
    line[before - 1] = ' ';
    write_name(line + before, name);
    memcpy(line + bytes - 1, "\n", 2);
}
