/* Reads CPU quotas of control groups. What cannot be read or understood is no quota. */
#include "base/threads/cgroup.h"

#include "base/files/descriptor.h"
#include "base/numbers/digits.h"

#include <stdio.h>
#include <string.h>

enum { TEXT = 2048 }; /* bytes of the longest path and line that are read */

/* Takes a number, behind spaces or none, from the start of a text and moves *text behind it.
 * Returns false if there is none, or one that does not fit. */
static bool take_number(int64_t *out, const char **text)
{
    const char *at = *text + strspn(*text, " ");
    const bool is_negative = *at == '-';
    at += is_negative;
    uint64_t value = 0;
    const char *end = sv_digits_read(&value, at, 10);
    if (!end || end == at || value > INT64_MAX)
        return false;
    *out = is_negative ? -(int64_t)value : (int64_t)value;
    *text = end;
    return true;
}

/* Reads a number of microseconds from the file `name` of a group's folder; 0 if there is none. */
static int64_t read_number(const char *folder, const char *name)
{
    char path[TEXT], text[32];
    const char *at = text;
    int64_t number = 0;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || length >= TEXT || !sv_file_read_short(path, text, sizeof text) ||
        !take_number(&number, &at))
        return 0;
    return number;
}

static uint32_t cpus_of(int64_t quota, int64_t period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    int64_t whole = quota / period + (quota % period != 0);
    return whole < UINT32_MAX ? (uint32_t)whole : UINT32_MAX;
}

/* Version 2: the file cpu.max has "QUOTA PERIOD" or "max PERIOD". */
static uint32_t read_version_2(const char *folder)
{
    char path[TEXT], text[64];
    const char *at = text;
    int64_t quota = 0, period = 0;
    int length = snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (length < 0 || length >= TEXT || !sv_file_read_short(path, text, sizeof text) ||
        !take_number(&quota, &at) || !take_number(&period, &at))
        return 0;
    return cpus_of(quota, period);
}

/* Version 1: a file for each number; a quota of -1 is none. */
static uint32_t read_version_1(const char *folder)
{
    return cpus_of(read_number(folder, "cpu.cfs_quota_us"),
                   read_number(folder, "cpu.cfs_period_us"));
}

static uint32_t smaller_quota(uint32_t a, uint32_t b)
{
    return b == 0 || (a != 0 && a < b) ? a : b;
}

/* The smallest quota of the group and its parents, in CPUs, up to the folder where the groups are
 * mounted; 0: there is none. In a container the group's path may be that of the host, and only its
 * last parents exist. */
static uint32_t read_group(const char *root, const char *mount, const char *group,
                           uint32_t (*read)(const char *folder))
{
    char folder[TEXT];
    int top = snprintf(folder, sizeof folder, "%s%s", root, mount);
    int length = snprintf(folder, sizeof folder, "%s%s%s", root, mount, group);
    if (top < 0 || length < 0 || length >= TEXT)
        return 0;
    uint32_t least = 0;
    for (;;) {
        least = smaller_quota(least, read(folder));
        char *last = strrchr(folder, '/');
        if (!last || last < folder + top)
            return least;
        *last = '\0';
    }
}

/* Whether the comma-separated list, which ends before `end`, has the controller "cpu". */
static bool has_cpu(const char *list, const char *end)
{
    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        const char *stop = comma ? comma : end;
        if (stop - list == 3 && memcmp(list, "cpu", 3) == 0)
            return true;
        list = stop + 1;
    }
    return false;
}

/* A line of /proc/self/cgroup: "NUMBER:CONTROLLERS:PATH", for version 2 "0::PATH". */
static uint32_t read_line(const char *root, const char *line)
{
    const char *controllers = strchr(line, ':');
    const char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return 0;
    controllers++;
    if (controllers == group)
        return read_group(root, "/sys/fs/cgroup", group + 1, read_version_2);
    if (!has_cpu(controllers, group))
        return 0;
    return smaller_quota(read_group(root, "/sys/fs/cgroup/cpu", group + 1, read_version_1),
                         read_group(root, "/sys/fs/cgroup/cpu,cpuacct", group + 1, read_version_1));
}

typedef struct search {
    const char *root;
    uint32_t least; /* the smallest quota of the lines so far */
} search;

static void search_line(void *argument, const char *line)
{
    search *self = argument;
    self->least = smaller_quota(self->least, read_line(self->root, line));
}

uint32_t sv_cgroup_cores(const char *root)
{
    char path[TEXT], line[TEXT];
    search self = {.root = root};
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    sv_file_read_lines(path, line, sizeof line, search_line, &self);
    return self.least;
}
