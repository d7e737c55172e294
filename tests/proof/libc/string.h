/* The contracts of string.h for WP, which does not know whether memory is initialised. */
#ifndef SV_PROOF_STRING_H
#define SV_PROOF_STRING_H
#define __FC_STRING_H_ /* Frama-C's own string.h is left out */

#include "__fc_define_null.h"
#include "__fc_define_size_t.h"
#include "__fc_string_axiomatic.h"

/* Frama-C's wchar.h names these. */
/*@ predicate valid_or_empty{L}(void *s, size_t n) = \valid((char *)s + (0 .. n - 1));
    predicate valid_read_or_empty{L}(void *s, size_t n) = \valid_read((char *)s + (0 .. n - 1));
    predicate non_escaping{L}(void *s, integer n) = \true; */

/*@ requires \valid_read((char *)a + (0 .. n - 1)) && \valid_read((char *)b + (0 .. n - 1));
    assigns \result \from ((char *)a)[0 .. n - 1], ((char *)b)[0 .. n - 1]; */
int memcmp(const void *a, const void *b, size_t n);

/*@ requires \valid((char *)to + (0 .. n - 1)) && \valid_read((char *)from + (0 .. n - 1));
    requires \separated((char *)to + (0 .. n - 1), (char *)from + (0 .. n - 1));
    assigns ((char *)to)[0 .. n - 1] \from ((char *)from)[0 .. n - 1];
    assigns \result \from to;
    ensures \result == to; */
void *memcpy(void *to, const void *from, size_t n);

/*@ requires \valid((char *)to + (0 .. n - 1)) && \valid_read((char *)from + (0 .. n - 1));
    assigns ((char *)to)[0 .. n - 1] \from ((char *)from)[0 .. n - 1];
    assigns \result \from to;
    ensures \result == to; */
void *memmove(void *to, const void *from, size_t n);

/*@ requires \valid((char *)to + (0 .. n - 1));
    assigns ((char *)to)[0 .. n - 1] \from value;
    assigns \result \from to;
    ensures \result == to; */
void *memset(void *to, int value, size_t n);

/*@ requires \valid_read((char *)in + (0 .. n - 1));
    assigns \result \from in, ((char *)in)[0 .. n - 1];
    ensures \result == \null || \exists integer i; 0 <= i < n && \result == (char *)in + i; */
void *memchr(const void *in, int c, size_t n);

/*@ requires \valid_read((char *)in + (0 .. n - 1)) && \valid_read((char *)of + (0 .. m - 1));
    assigns \result \from in, ((char *)in)[0 .. n - 1], ((char *)of)[0 .. m - 1];
    ensures \result == \null ||
        \exists integer i; 0 <= i && i + m <= n && \result == (char *)in + i; */
void *memmem(const void *in, size_t n, const void *of, size_t m);

/*@ requires valid_read_string(s);
    assigns \result \from s[0 ..];
    ensures \result == strlen(s) && s[\result] == 0; */
size_t strlen(const char *s);

/*@ requires \valid_read(s + (0 .. max - 1)) || valid_read_string(s);
    assigns \result \from s[0 ..];
    ensures \result <= max;
    ensures valid_read_string(s) ==> \result <= strlen(s); */
size_t strnlen(const char *s, size_t max);

/*@ requires valid_read_string(s);
    assigns \result \from s, s[0 ..];
    ensures \result == \null ||
        \exists integer i; 0 <= i <= strlen(s) && \result == s + i && *\result == (char)c; */
char *strchr(const char *s, int c);

/*@ requires valid_read_string(s);
    assigns \result \from s, s[0 ..];
    ensures \result == \null ||
        \exists integer i; 0 <= i <= strlen(s) && \result == s + i && *\result == (char)c; */
char *strrchr(const char *s, int c);

/*@ requires valid_read_string(a) && valid_read_string(b);
    assigns \result \from a[0 ..], b[0 ..]; */
int strcmp(const char *a, const char *b);

/*@ requires \valid_read(a + (0 .. n - 1)) || valid_read_string(a);
    requires \valid_read(b + (0 .. n - 1)) || valid_read_string(b);
    assigns \result \from a[0 ..], b[0 ..]; */
int strncmp(const char *a, const char *b, size_t n);

/*@ requires valid_read_string(s) && valid_read_string(set);
    assigns \result \from s[0 ..], set[0 ..];
    ensures \result <= strlen(s); */
size_t strspn(const char *s, const char *set);

/*@ requires valid_read_string(s) && valid_read_string(set);
    assigns \result \from s[0 ..], set[0 ..];
    ensures \result <= strlen(s); */
size_t strcspn(const char *s, const char *set);

/*@ requires valid_read_string(s) && valid_read_string(set);
    assigns \result \from s, s[0 ..], set[0 ..];
    ensures \result == \null || \exists integer i; 0 <= i < strlen(s) && \result == s + i; */
char *strpbrk(const char *s, const char *set);

/* Named in functions that are not proved. */
char *strcpy(char *to, const char *from);
char *strcat(char *to, const char *from);
char *strstr(const char *s, const char *of);
char *strerror_r(int code, char *text, size_t bytes);

#endif
