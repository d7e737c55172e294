/* The products of an adapter of LoRA (Hu et al. 2021), which are added to the tensors of the
 * model that it changes before these become parameters: PEFT gives a pair to each module. */
#include "autograd/parameter_file.h"
#include "base/size.h"
#include "models/load/load_internal.h"

#include <math.h>

void sv_adapter_take(const sv_adapter *adapter, const sv_safetensors_entry *entry)
{
    adapter->taken[entry - sv_safetensors_at(adapter->file, 0)] = true;
}

/* The factors of a product: A[rank, in] and B[out, rank]. */
typedef struct pair {
    const sv_safetensors_entry *a, *b;
    size_t out, in, rank;
} pair;

/* Whether the factors are those of a tensor [out, in..]: A[rank, in..] and B[out, rank, 1..]. A
 * convolution has the sides of its filters among `in`. */
static bool fits(pair *of, const sv_tensor_desc *whole)
{
    const sv_tensor_desc *a = &of->a->desc, *b = &of->b->desc;
    if (whole->rank < 2 || a->rank != whole->rank || b->rank != whole->rank || a->elements == 0 ||
        b->elements == 0 || b->shape[0] != whole->shape[0] || b->shape[1] != a->shape[0])
        return false;
    for (size_t i = 1; i < whole->rank; i++)
        if (a->shape[i] != whole->shape[i] || (i > 1 && b->shape[i] != 1))
            return false;
    of->out = (size_t)b->shape[0];
    of->rank = (size_t)a->shape[0];
    of->in = a->elements / of->rank;
    return true;
}

/* weight[out, in] += scale * B A, with sums in double. */
static void add_product(float *weight, const float *a, const float *b, const pair *of, double scale)
{
    for (size_t o = 0; o < of->out; o++)
        for (size_t i = 0; i < of->in; i++) {
            double sum = 0;
            for (size_t r = 0; r < of->rank; r++)
                sum += (double)b[o * of->rank + r] * (double)a[r * of->in + i];
            float *w = &weight[o * of->in + i];
            *w = (float)((double)*w + scale * sum);
        }
}

/* Reads the factors and adds their product. */
static svit_status add_pair(const sv_load *load, float *weight, const pair *of, svit_error *err)
{
    const sv_adapter *adapter = load->adapter;
    const double rank = (double)of->rank,
                 scale = adapter->alpha / (adapter->stabilised ? sqrt(rank) : rank);
    size_t elements;
    float *a;
    if (!sv_size_add(&elements, of->a->desc.elements, of->b->desc.elements))
        return sv_fail(err, SVIT_E_FORMAT, "%s: '%.96s' does not fit memory", adapter->path,
                       of->a->name);
    SVIT_TRY(
        sv_allocate_array(load->allocator, (void **)&a, elements, sizeof *a, "an adapter", err));
    float *b = a + of->a->desc.elements;
    svit_status status = sv_parameter_read_tensor(a, of->a, adapter->file, adapter->path, err);
    if (status == SVIT_OK)
        status = sv_parameter_read_tensor(b, of->b, adapter->file, adapter->path, err);
    if (status == SVIT_OK) {
        add_product(weight, a, b, of, scale);
        sv_adapter_take(adapter, of->a);
        sv_adapter_take(adapter, of->b);
    }
    sv_release(load->allocator, a, elements * sizeof *a);
    return status;
}

/* Adds the product that stands beside tensor `i` of a match to `values`, which have the shape
 * `whole`, and sets *added. A factor that lacks its other half, or whose product has another shape,
 * becomes *misfit: one name, such as up_proj, may be that of the whole or of a half. *misfit is
 * NULL again once its product has been added. */
static svit_status add_beside(const sv_load *load, float *values, const sv_parameter *parameter,
                              const sv_name_match *match, size_t i, const sv_tensor_desc *whole,
                              bool *added, const sv_safetensors_entry **misfit, svit_error *err)
{
    const sv_adapter *adapter = load->adapter;
    pair of = {.a = sv_name_map_beside(&adapter->map, adapter->file, parameter->name, match, i,
                                       ".lora_A.weight")};
    if (!of.a)
        return SVIT_OK;
    of.b = sv_name_map_beside(&adapter->map, adapter->file, parameter->name, match, i,
                              ".lora_B.weight");
    if (!of.b || !fits(&of, whole)) {
        *misfit = of.a;
        return SVIT_OK;
    }
    if (*misfit == of.a)
        *misfit = NULL;
    if (adapter->rank > 0 && adapter->rank != (double)of.rank)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: '%.96s' has the rank %zu; by adapter_config.json r is %g",
                       adapter->path, of.a->name, of.rank, adapter->rank);
    *added = true;
    return add_pair(load, values, &of, err);
}

/* The gate and the values of a DINOv2 of transformers are two modules, which its files join: each
 * may have a product of its own. */
svit_status sv_adapter_add(const sv_load *load, float *values, const sv_parameter *parameter,
                           const sv_name_match *match, size_t i, svit_error *err)
{
    const sv_safetensors_entry *misfit = NULL;
    bool added = false;
    if (!load->adapter)
        return SVIT_OK;
    const sv_tensor_desc *whole = &sv_name_match_at(match, i)->desc;
    SVIT_TRY(add_beside(load, values, parameter, match, i, whole, &added, &misfit, err));
    if (!added && match->count == 1 && whole->rank == 2 && whole->shape[0] % 2 == 0) {
        sv_name_match halves = *match;
        sv_tensor_desc half = *whole;
        halves.count = 2;
        half.shape[0] /= 2;
        half.elements /= 2;
        for (size_t k = 0; k < 2; k++)
            SVIT_TRY(add_beside(load, values + k * half.elements, parameter, &halves, k, &half,
                                &added, &misfit, err));
    }
    if (misfit)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: '%.96s' and its other half do not fit the weight '%s'",
                       load->adapter->path, misfit->name, parameter->name);
    return SVIT_OK;
}
