/* Weight gradients, split by elements of the output. */
#include "layers/linear/weight_gradient.h"

#include "layers/linear/partition.h"

/* A task computes 384 rows of dweight, whose operands stay in L2, and whole micropanels of columns:
 * several if there are tasks enough for many workers, because they share the packed rows. */
enum {
    TASK_ROWS = 384,
    PANEL_COLUMNS = 48,
    PANEL_COLUMNS_WIDE = 64,
    TASK_PANELS_MAX = 4,
    TASKS_WANTED = 4
};

static size_t task_columns(const sv_weight_gradient_job *job)
{
    if (job->in % PANEL_COLUMNS && job->in % PANEL_COLUMNS_WIDE == 0)
        return PANEL_COLUMNS_WIDE;
    size_t panels = sv_block_count(job->in, PANEL_COLUMNS) * sv_block_count(job->out, TASK_ROWS);
    size_t each = sv_size_min(sv_size_max(panels / TASKS_WANTED, 1), TASK_PANELS_MAX);
    return each * PANEL_COLUMNS;
}

size_t sv_weight_gradient_tasks(const sv_weight_gradient_job *job)
{
    if (!job->dweight)
        return 0;
    return sv_block_count(job->out, TASK_ROWS) * sv_block_count(job->in, task_columns(job));
}

void sv_weight_gradient_task(const sv_run *run, const sv_weight_gradient_job *job, size_t task,
                             void *scratch)
{
    size_t width = task_columns(job), across = sv_block_count(job->in, width);
    size_t row = task / across * TASK_ROWS, column = task % across * width;
    size_t rows = sv_block_length(job->out, row, TASK_ROWS);
    size_t columns = sv_block_length(job->in, column, width);
    sv_gemm_weight_gradient(run->exec.gemm, run->exec.context->kernels,
                            job->dweight + row * job->in + column, job->in, job->dy + row, job->out,
                            job->x + column, job->in, rows, columns, job->tokens, scratch);
}

void sv_weight_gradient_whole(const sv_run *run, const sv_weight_gradient_job *job, void *scratch)
{
    if (job->dweight)
        sv_gemm_weight_gradient(run->exec.gemm, run->exec.context->kernels, job->dweight, job->in,
                                job->dy, job->out, job->x, job->in, job->out, job->in, job->tokens,
                                scratch);
}

typedef struct jobs_call {
    const sv_run *run;
    const sv_weight_gradient_job *jobs;
} jobs_call;

static void jobs_task(void *argument, size_t task, uint32_t worker)
{
    const jobs_call *call = argument;
    const sv_weight_gradient_job *job = call->jobs;
    for (size_t tasks; task >= (tasks = sv_weight_gradient_tasks(job)); job++)
        task -= tasks;
    sv_weight_gradient_task(call->run, job, task, sv_worker_scratch(&call->run->exec, worker));
}

void sv_weight_gradients(const sv_run *run, const sv_weight_gradient_job *jobs, size_t count)
{
    jobs_call call = {run, jobs};
    size_t tasks = 0;
    for (size_t i = 0; i < count; i++)
        tasks += sv_weight_gradient_tasks(&jobs[i]);
    sv_run_tasks(&run->exec, jobs_task, &call, tasks);
}
