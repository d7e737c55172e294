/* A plugin of qemu that counts the instructions of a program, of one thread, for instructions.py.
 * Its interface is declared here, since Debian has no package of qemu-plugin.h. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
typedef void tb_function(plugin_id id, struct qemu_plugin_tb *tb);
typedef void exit_function(plugin_id id, void *argument);

/* Version 1 of the interface: qemu 4.2 to 8.2. */
enum { ADD_U64 = 0 };
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, tb_function *call);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int operation,
                                              void *number, uint64_t operand);
void qemu_plugin_register_atexit_cb(plugin_id id, exit_function *call, void *argument);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

static uint64_t count;

static void count_block(plugin_id id, struct qemu_plugin_tb *tb)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, ADD_U64, &count, qemu_plugin_tb_n_insns(tb));
}

static void print_count(plugin_id id, void *argument)
{
    (void)id;
    (void)argument;
    fprintf(stderr, "%" PRIu64 " instructions\n", count);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
    qemu_plugin_register_atexit_cb(id, print_count, NULL);
    return 0;
}
