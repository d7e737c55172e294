/* The scanner of JSON texts (RFC 8259): the bytes of strings, numbers and words. It allocates
 * nothing and knows no values; json.c builds them from what it reads. tests/proof shows that no
 * text makes it read or write outside of the text. */
#ifndef SV_JSON_SCAN_H
#define SV_JSON_SCAN_H

#include "config/json.h"

/* A position in text[bytes], a copy that may be written. text[bytes] is a NUL byte, at which every
 * token ends, so that tokens are read without a look at `bytes`. */
typedef struct sv_json_scan {
    char *text;
    size_t bytes, at;
    const char *problem; /* the first failure, found at `at` */
    bool tolerant;       /* as sv_json_parse_tolerant reads */
    bool nan;            /* as sv_json_parse_python reads */
} sv_json_scan;

/* A number: an integer if `kind` is SV_JSON_INTEGER, otherwise SV_JSON_REAL. */
typedef struct sv_json_numeral {
    sv_json_kind kind;
    bool negative;      /* of an integer */
    uint64_t magnitude; /* of an integer */
    double real;        /* of a real */
} sv_json_numeral;

/*@ predicate scanning(sv_json_scan *in) =
        \valid(in) && \valid(in->text + (0 .. in->bytes)) && in->at <= in->bytes &&
        in->text[in->bytes] == 0 && \separated(in, in->text + (0 .. in->bytes)); */

/* Notes a problem. Returns false. */
/*@ requires \valid(in);
    assigns in->problem;
    ensures !\result; */
bool sv_json_scan_fail(sv_json_scan *in, const char *problem);

/* Moves past white space. */
/*@ requires scanning(in);
    assigns in->at;
    ensures scanning(in) && in->at >= \old(in->at); */
void sv_json_scan_space(sv_json_scan *in);

/* Moves past white space, and past the character `c` if it follows. Returns whether it does. */
/*@ requires scanning(in) && c != 0;
    assigns in->at;
    ensures scanning(in) && in->at >= \old(in->at); */
bool sv_json_scan_skip(sv_json_scan *in, char c);

/* Reads the string whose opening quote is at the position. It is unescaped in place and ends with a
 * NUL byte. */
/*@ requires scanning(in) && \valid(string) && in->at < in->bytes;
    requires \separated(string, in, in->text + (0 .. in->bytes));
    assigns in->at, in->problem, in->text[0 .. in->bytes - 1], *string;
    ensures scanning(in); */
bool sv_json_scan_string(sv_json_scan *in, const char **string);

/* Reads a number. */
/*@ requires scanning(in) && \valid(out) && \separated(out, in, in->text + (0 .. in->bytes));
    assigns in->at, in->problem, *out;
    ensures scanning(in); */
bool sv_json_scan_number(sv_json_scan *in, sv_json_numeral *out);

/* Reads `true`, `false` or `null`; with `nan` also `NaN`, `Infinity` and `-Infinity`, which are
 * SV_JSON_NULL. */
/*@ requires scanning(in) && \valid(kind) && \separated(kind, in, in->text + (0 .. in->bytes));
    assigns in->at, in->problem, *kind;
    ensures scanning(in); */
bool sv_json_scan_word(sv_json_scan *in, sv_json_kind *kind);

#endif
