/* The CPU quota of Linux control groups. */
#ifndef SV_CGROUP_H
#define SV_CGROUP_H

#include <stdint.h>

/* The number of CPUs whose time the quotas of the process's control group and its parents allow,
 * rounded up; 0: there is no quota. Both versions of control groups are read, where distributions
 * mount them: version 2 at /sys/fs/cgroup, version 1 at /sys/fs/cgroup/cpu or cpu,cpuacct. `root`
 * stands before every path: "", or a folder of tests. */
uint32_t sv_cgroup_cores(const char *root);

#endif
