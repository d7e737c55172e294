/* Scans JSON texts. A text is untrusted: tests/proof proves the contracts, which are the comments
 * that begin with an at sign. */
#include "config/json_scan.h"

#include "base/text/utf8.h"
#include "config/decimal.h"

#include <string.h>

bool sv_json_scan_fail(sv_json_scan *in, const char *problem)
{
    in->problem = problem;
    return false;
}

void sv_json_scan_space(sv_json_scan *in)
{
    const char *text = in->text;
    size_t at = in->at;
    /*@ loop invariant \at(in->at, Pre) <= at <= in->bytes;
        loop assigns at; */
    while (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')
        at++;
    in->at = at;
}

bool sv_json_scan_skip(sv_json_scan *in, char c)
{
    sv_json_scan_space(in);
    if (in->text[in->at] != c)
        return false;
    in->at++;
    return true;
}

/*@ assigns \nothing;
    ensures -1 <= \result <= 15;
    ensures \result >= 0 ==> c != 0; */
static int hexadecimal(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads the four hexadecimal digits at text[at]. Returns -1 if there are not four. */
/*@ requires \valid_read(text + (0 .. bytes)) && at <= bytes && text[bytes] == 0;
    assigns \nothing;
    ensures -1 <= \result <= 0xFFFF;
    ensures \result >= 0 ==> at + 4 <= bytes; */
static int32_t read_unit(const char *text, size_t bytes, size_t at)
{
    int32_t unit = 0;
    (void)bytes;
    /*@ loop invariant 0 <= i <= 4 && at + i <= bytes;
        loop invariant 0 <= unit <= (i == 0 ? 0 : i == 1 ? 0xF : i == 2 ? 0xFF : i == 3 ? 0xFFF :
                                     0xFFFF);
        loop assigns i, unit; */
    for (int i = 0; i < 4; i++) {
        int digit = hexadecimal(text[at + (size_t)i]);
        if (digit < 0)
            return -1;
        unit = 16 * unit + digit;
    }
    return unit;
}

/* Stores a character at text[out] in UTF-8, which is never longer than its escape. Returns the
 * end. */
/*@ requires c <= 0x10FFFF && \valid(text + (out .. out + 3)) && out + 4 <= SIZE_MAX;
    assigns text[out .. out + 3];
    ensures out < \result <= out + 4; */
static size_t store_character(char *text, size_t out, uint32_t c)
{
    if (c < 0x80) {
        text[out] = (char)c;
        return out + 1;
    }
    if (c < 0x800) {
        text[out] = (char)(0xC0 | c >> 6);
        text[out + 1] = (char)(0x80 | (c & 0x3F));
        return out + 2;
    }
    if (c < 0x10000) {
        text[out] = (char)(0xE0 | c >> 12);
        text[out + 1] = (char)(0x80 | (c >> 6 & 0x3F));
        text[out + 2] = (char)(0x80 | (c & 0x3F));
        return out + 3;
    }
    text[out] = (char)(0xF0 | c >> 18);
    text[out + 1] = (char)(0x80 | (c >> 12 & 0x3F));
    text[out + 2] = (char)(0x80 | (c >> 6 & 0x3F));
    text[out + 3] = (char)(0x80 | (c & 0x3F));
    return out + 4;
}

/* Reads \uXXXX or a surrogate pair \uXXXX\uXXXX, whose first 'u' is before the position, and stores
 * the character at text[out]. Returns its end, 0 after a failure. */
/*@ requires scanning(in) && out + 2 <= in->at;
    assigns in->at, in->problem, in->text[0 .. in->bytes - 1];
    ensures scanning(in);
    ensures \result <= in->at; */
static size_t read_unicode(sv_json_scan *in, size_t out)
{
    size_t at = in->at;
    char *const text = in->text;
    int32_t unit = read_unit(text, in->bytes, at);
    if (unit < 0)
        return sv_json_scan_fail(in, "\\u without four hexadecimal digits");
    uint32_t c = (uint32_t)unit;
    if (c == 0 && !in->tolerant)
        return sv_json_scan_fail(in, "a NUL character in a string");
    if (c >= 0xDC00 && c <= 0xDFFF)
        return sv_json_scan_fail(in, "half of a surrogate pair");
    at += 4;
    in->at = at;
    if (c >= 0xD800 && c <= 0xDBFF) {
        int32_t low =
            text[at] == '\\' && text[at + 1] == 'u' ? read_unit(text, in->bytes, at + 2) : -1;
        if (low < 0xDC00 || low > 0xDFFF)
            return sv_json_scan_fail(in, "half of a surrogate pair");
        c = 0x10000 + (c - 0xD800) * 0x400 + ((uint32_t)low - 0xDC00);
        at += 6;
        in->at = at;
    }
    if (c == 0)
        c = SV_JSON_NUL;
    /*@ assert out + 4 <= at && at <= in->bytes && c <= 0x10FFFF; */
    return store_character(text, out, c);
}

/* The character for which a backslash and `c` stand; 0 if JSON has no such escape. */
/*@ assigns \nothing;
    ensures c == 0 ==> \result == 0; */
static char unescaped(char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return c;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return 0;
    }
}

/* Reads the escape whose backslash is at the position, and stores the character at text[out].
 * Returns its end, 0 after a failure. */
/*@ requires scanning(in) && out <= in->at < in->bytes;
    assigns in->at, in->problem, in->text[0 .. in->bytes - 1];
    ensures scanning(in);
    ensures \result <= in->at; */
static size_t read_escape(sv_json_scan *in, size_t out)
{
    const size_t at = in->at + 1;
    const char c = in->text[at];
    in->at = at;
    if (c == 'u') {
        in->at = at + 1;
        return read_unicode(in, out);
    }
    const char character = unescaped(c);
    if (!character)
        return sv_json_scan_fail(in, "an escape that JSON does not have");
    in->at = at + 1;
    in->text[out] = character;
    return out + 1;
}

/* Copies the character at the position, or what its escape stands for, to text[out]. Returns its
 * end, 0 after a failure. */
/*@ requires scanning(in) && out <= in->at;
    assigns in->at, in->problem, in->text[0 .. in->bytes - 1];
    ensures scanning(in);
    ensures \result <= in->at; */
static size_t read_character(sv_json_scan *in, size_t out)
{
    char *const text = in->text;
    const size_t at = in->at, bytes = in->bytes;
    const unsigned char first = (unsigned char)text[at];
    if (at == bytes)
        return sv_json_scan_fail(in, "a string without its end");
    if (first < 0x20)
        return sv_json_scan_fail(in, "a control character in a string");
    if (first == '\\')
        return read_escape(in, out);
    size_t length = 1;
    if (first < 0x80) {
        text[out] = text[at];
    } else {
        length = sv_utf8_length(text + at, bytes - at);
        if (length == 0)
            return sv_json_scan_fail(in, "a byte that is not UTF-8");
        /*@ assert at + length <= bytes && out + length <= bytes; */
        memmove(text + out, text + at, length);
    }
    /*@ assert scanning(in); */
    in->at = at + length;
    return out + length;
}

bool sv_json_scan_string(sv_json_scan *in, const char **string)
{
    size_t out = ++in->at;
    *string = in->text + out;
    /*@ loop invariant scanning(in) && out <= in->at;
        loop assigns in->at, in->problem, in->text[0 .. in->bytes - 1], out; */
    while (in->text[in->at] != '"') {
        out = read_character(in, out);
        if (out == 0)
            return false;
    }
    const size_t end = in->at;
    /*@ assert end < in->bytes; */
    in->text[out] = '\0';
    /*@ assert scanning(in); */
    in->at = end + 1;
    return true;
}

/*@ assigns \nothing;
    ensures \result ==> c != 0; */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The first place from text[at] on that has no digit. */
/*@ requires \valid_read(text + (0 .. bytes)) && at <= bytes && text[bytes] == 0;
    assigns \nothing;
    ensures at <= \result <= bytes; */
static size_t skip_digits(const char *text, size_t bytes, size_t at)
{
    (void)bytes;
    /*@ loop invariant \at(at, Pre) <= at <= bytes;
        loop assigns at; */
    while (is_digit(text[at]))
        at++;
    return at;
}

/* Returns the end of the number at the position by JSON's grammar, the position if there is none.
 * *whole tells whether it has neither a fraction nor an exponent. */
/*@ requires scanning(in) && \valid(whole) && \separated(whole, in, in->text + (0 .. in->bytes));
    assigns *whole;
    ensures in->at <= \result <= in->bytes; */
static size_t number_end(const sv_json_scan *in, bool *whole)
{
    const char *text = in->text;
    const size_t bytes = in->bytes;
    size_t at = in->at;
    *whole = true;
    at += text[at] == '-';
    if (!is_digit(text[at]))
        return in->at;
    at = text[at] == '0' ? at + 1 : skip_digits(text, bytes, at);
    if (text[at] == '.') {
        *whole = false;
        if (!is_digit(text[++at]))
            return in->at;
        at = skip_digits(text, bytes, at);
    }
    if (text[at] == 'e' || text[at] == 'E') {
        *whole = false;
        at++;
        at += text[at] == '+' || text[at] == '-';
        if (!is_digit(text[at]))
            return in->at;
        at = skip_digits(text, bytes, at);
    }
    return at;
}

/* Reads an integer of 64 bits. */
/*@ requires scanning(in) && \valid(out) && \separated(out, in, in->text + (0 .. in->bytes));
    requires in->at < end <= in->bytes;
    assigns in->problem, *out; */
static bool read_integer(sv_json_scan *in, sv_json_numeral *out, size_t end)
{
    size_t at = in->at;
    out->kind = SV_JSON_INTEGER;
    out->negative = in->text[at] == '-';
    uint64_t max = out->negative ? (uint64_t)1 << 63 : UINT64_MAX, magnitude = 0;
    at += out->negative;
    /*@ loop invariant at <= end;
        loop assigns at, magnitude, in->problem; */
    for (; at < end; at++) {
        uint64_t digit = (uint64_t)(in->text[at] - '0');
        if (magnitude > (max - digit) / 10)
            return sv_json_scan_fail(in, "an integer outside of 64 bits");
        magnitude = 10 * magnitude + digit;
    }
    out->magnitude = magnitude;
    return true;
}

/*@ requires scanning(in) && \valid(out) && \separated(out, in, in->text + (0 .. in->bytes));
    requires in->at < end <= in->bytes;
    assigns in->problem, *out; */
static bool read_real(sv_json_scan *in, sv_json_numeral *out, size_t end)
{
    out->kind = SV_JSON_REAL;
    return sv_decimal_read(&out->real, in->text + in->at, end - in->at)
               ? true
               : sv_json_scan_fail(in, "a number that no double holds");
}

/* Reads the number, whose text is that of an integer if `whole`. */
/*@ requires scanning(in) && \valid(out) && \separated(out, in, in->text + (0 .. in->bytes));
    requires in->at < end <= in->bytes;
    assigns in->problem, *out; */
static bool read_numeral(sv_json_scan *in, sv_json_numeral *out, bool whole, size_t end)
{
    if (whole && read_integer(in, out, end))
        return true;
    if (whole && !in->tolerant)
        return false;
    return read_real(in, out, end);
}

bool sv_json_scan_number(sv_json_scan *in, sv_json_numeral *out)
{
    bool whole;
    const size_t end = number_end(in, &whole);
    if (end == in->at)
        return sv_json_scan_fail(in, "a number that is not JSON's");
    if (!read_numeral(in, out, whole, end))
        return false;
    /*@ assert scanning(in); */
    in->at = end;
    return true;
}

/*@ requires scanning(in) && \valid_read(word + (0 .. length - 1));
    assigns in->at;
    ensures scanning(in); */
static bool skip_word(sv_json_scan *in, const char *word, size_t length)
{
    if (in->bytes - in->at < length || memcmp(in->text + in->at, word, length) != 0)
        return false;
    in->at += length;
    return true;
}

bool sv_json_scan_word(sv_json_scan *in, sv_json_kind *kind)
{
    if (skip_word(in, "true", 4))
        *kind = SV_JSON_TRUE;
    else if (skip_word(in, "false", 5))
        *kind = SV_JSON_FALSE;
    else if (skip_word(in, "null", 4))
        *kind = SV_JSON_NULL;
    else if (in->nan && (skip_word(in, "NaN", 3) || skip_word(in, "Infinity", 8) ||
                         skip_word(in, "-Infinity", 9)))
        *kind = SV_JSON_NULL;
    else
        return sv_json_scan_fail(in, in->at == in->bytes ? "the end of the text instead of a value"
                                                         : "a character that begins no value");
    return true;
}
