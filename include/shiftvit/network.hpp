/* Models, sessions, optimisers and checkpoints for C++. */
#ifndef SHIFTVIT_NETWORK_HPP
#define SHIFTVIT_NETWORK_HPP

#include <shiftvit/data.hpp>

namespace shiftvit
{
inline namespace SHIFTVIT_KIND
{

/* Returns an empty report with its size, for model::open and model::load_into. */
inline svit_load_report load_report() noexcept
{
    return {sizeof(svit_load_report), 0, 0, 0, 0, 0, nullptr, 0, 0};
}

/* Configuration, parameters and files: model.h, load.h. */
class model : public handle<svit_model, svit_model_free>
{
  public:
    using handle::handle;
#ifndef SHIFTVIT_NO_EXCEPTIONS
    model(const context &c, const svit_model_config &config, std::uint64_t seed)
    {
        create(c, config, seed);
    }
    model(const context &c, const char *path)
    {
        load(c, path);
    }
#endif
    result create(const context &c, const svit_model_config &config, std::uint64_t seed)
    {
        return take(svit_model_create, c.get(), &config, seed);
    }
    result load(const context &c, const char *path)
    {
        return take(svit_model_load, c.get(), path);
    }
    result map(const context &c, const char *path)
    {
        return take(svit_model_map, c.get(), path);
    }
    result load_memory(const context &c, const void *data, std::size_t bytes)
    {
        return take(svit_model_load_memory, c.get(), data, bytes);
    }
    result load_mapped(const context &c, const svit_model_config &config, const char *path,
                       const char *map)
    {
        return take(svit_model_load_mapped, c.get(), &config, path, map);
    }
    result load_with_config(const context &c, const svit_model_config &config, const char *path)
    {
        return take(svit_model_load_with_config, c.get(), &config, path);
    }
    result open(const context &c, const char *path, const svit_open_options *options = nullptr,
                svit_load_report *report = nullptr)
    {
        return take(svit_model_open, c.get(), path, options, report);
    }
    result load_into(const char *path, const char *map, std::uint32_t flags,
                     svit_load_report *report = nullptr)
    {
        return detail::call(svit_model_load_into, get(), path, map, flags, report);
    }
    result save(const char *path) const
    {
        return detail::call(svit_model_save, get(), path);
    }
    result save_memory(std::vector<std::uint8_t> &file) const
    {
        return detail::read_bytes(
            file, [&](auto... rest) { return svit_model_save_memory(get(), rest...); });
    }
    result save_mapped(const char *path, const char *map) const
    {
        return detail::call(svit_model_save_mapped, get(), path, map);
    }
    result export_onnx(const char *path, const svit_onnx_options &options = onnx_options()) const
    {
        return detail::call(svit_model_export_onnx, get(), path, &options);
    }
    result save_as(const char *path, std::int32_t dtype) const
    {
        return detail::call(svit_model_save_as, get(), path, dtype);
    }
    result get_config(svit_model_config &config) const
    {
        return detail::call(svit_model_get_config, get(), &config, sizeof config);
    }
    std::size_t parameter_count() const noexcept
    {
        return svit_model_parameter_count(get());
    }
    std::uint64_t parameter_elements() const noexcept
    {
        return svit_model_parameter_elements(get());
    }
    const char *parameter_name(std::size_t index) const noexcept
    {
        return svit_model_parameter_name(get(), index);
    }
    result parameter_shape(const char *name, std::int64_t (&shape)[8], std::size_t &rank) const
    {
        return detail::call(svit_model_parameter_shape, get(), name, shape, &rank);
    }
    result get_parameter(const char *name, float *out, std::size_t elements) const
    {
        return detail::call(svit_model_get_parameter, get(), name, out, elements);
    }
    result set_parameter(const char *name, const float *in, std::size_t elements)
    {
        return detail::call(svit_model_set_parameter, get(), name, in, elements);
    }
    result set_trainable(const char *pattern, bool trainable)
    {
        return detail::call(svit_model_set_trainable, get(), pattern, trainable ? 1 : 0);
    }
    result get_trainable(const char *name, bool &trainable) const
    {
        std::int32_t is = 0;
        svit_error record = error_record();
        svit_status code = svit_model_get_trainable(get(), name, &is, &record);
        if (code == SVIT_OK)
            trainable = is != 0;
        return shiftvit::check(code, record);
    }
    result whiten(const float *nhwc, std::size_t n)
    {
        return detail::call(svit_model_whiten, get(), nhwc, n);
    }
    result set_classes(const char *const *names, std::size_t count)
    {
        return detail::call(svit_model_set_classes, get(), names, count);
    }
    const char *class_name(std::size_t label) const noexcept
    {
        return svit_model_class_name(get(), label);
    }
    result set_text_head(const float *embeddings, const char *const *names, std::size_t classes,
                         std::size_t channels, double logit_scale, double logit_bias = 0)
    {
        return detail::call(svit_model_set_text_head, get(), embeddings, names, classes, channels,
                            logit_scale, logit_bias);
    }
    const char *text_class_name(std::size_t label) const noexcept
    {
        return svit_model_text_class_name(get(), label);
    }
    result set_threshold(double threshold)
    {
        return detail::call(svit_model_set_threshold, get(), threshold);
    }
    double threshold() const noexcept
    {
        return svit_model_threshold(get());
    }
    result set_output(std::int32_t output)
    {
        return detail::call(svit_model_set_output, get(), output);
    }
    std::int32_t output() const noexcept
    {
        return svit_model_output(get());
    }
    result set_pipeline(const svit_pipeline_config &config)
    {
        return detail::call(svit_model_set_pipeline, get(), &config);
    }
    result remove_pipeline()
    {
        return detail::call(svit_model_set_pipeline, get(), nullptr);
    }
    result get_pipeline(svit_pipeline_config &config) const
    {
        return detail::call(svit_model_get_pipeline, get(), &config, sizeof config);
    }
    result replace_head(std::uint32_t classes, std::uint64_t seed)
    {
        return detail::call(svit_model_replace_head, get(), classes, seed);
    }
    result add_classes(std::uint32_t count, std::uint64_t seed)
    {
        return detail::call(svit_model_add_classes, get(), count, seed);
    }
    /* Settings for the fine-tuning of this model on so many images. */
    result fine_tuning_settings(std::uint64_t images, svit_trainer_config &trainer,
                                svit_optimizer_config &optimizer,
                                svit_pipeline_config &pipeline) const
    {
        return detail::call(svit_fine_tuning_settings, get(), images, &trainer, sizeof trainer,
                            &optimizer, sizeof optimizer, &pipeline, sizeof pipeline);
    }
    result truncate(const char *layer)
    {
        return detail::call(svit_model_truncate, get(), layer);
    }
    result add_lora(std::uint32_t rank, double alpha, std::uint64_t seed)
    {
        return detail::call(svit_model_add_lora, get(), rank, alpha, seed);
    }
    result merge_lora()
    {
        return detail::call(svit_model_merge_lora, get());
    }
};

/* Forward and backward passes: session.h. */
class session : public handle<svit_session, svit_session_free>
{
  public:
    using handle::handle;
#ifndef SHIFTVIT_NO_EXCEPTIONS
    explicit session(const model &m, const svit_session_config &config = session_config())
    {
        create(m, config);
    }
#endif
    result create(const model &m, const svit_session_config &config = session_config())
    {
        return take(svit_session_create, m.get(), &config);
    }
    /* The memory that a session would have. */
    static result memory_needed(const model &m, const svit_session_config &config,
                                std::uint64_t &bytes)
    {
        return detail::call(svit_session_memory_needed, &bytes, m.get(), &config);
    }
    std::uint64_t memory() const noexcept
    {
        return svit_session_memory(get());
    }
    std::size_t input_size() const noexcept
    {
        return svit_session_input_size(get());
    }
    std::uint64_t counter() const noexcept
    {
        return svit_session_counter(get());
    }
    const char *layer_name(std::size_t index) const noexcept
    {
        return svit_session_layer_name(get(), index);
    }
    result layer_shape(const char *layer, std::size_t &tokens, std::size_t &channels) const
    {
        return detail::call(svit_session_layer_shape, get(), layer, &tokens, &channels);
    }
    result attention_size(std::size_t &heads, std::size_t &tokens) const
    {
        return detail::call(svit_session_attention_size, get(), &heads, &tokens);
    }
    result set_mode(std::int32_t mode)
    {
        return detail::call(svit_session_set_mode, get(), mode);
    }
    result set_counter(std::uint64_t counter)
    {
        return detail::call(svit_session_set_counter, get(), counter);
    }
    result forward(const float *nhwc, std::size_t n, float *logits)
    {
        return detail::call(svit_forward, get(), nhwc, n, logits);
    }
    result forward_features(const float *nhwc, std::size_t n, const char *layer, float *out,
                            std::size_t elements)
    {
        return detail::call(svit_forward_features, get(), nhwc, n, layer, out, elements);
    }
    result forward_attention(const float *nhwc, std::size_t n, float *logits, float *attention,
                             std::size_t elements)
    {
        return detail::call(svit_forward_attention, get(), nhwc, n, logits, attention, elements);
    }
    result backward(const float *dlogits, std::size_t n)
    {
        return detail::call(svit_backward, get(), dlogits, n);
    }
    result backward_input(const float *dlogits, std::size_t n, float *dnhwc)
    {
        return detail::call(svit_backward_input, get(), dlogits, n, dnhwc);
    }
    result get_gradient(const char *name, float *out, std::size_t elements) const
    {
        return detail::call(svit_session_get_gradient, get(), name, out, elements);
    }
    result set_gradient(const char *name, const float *in, std::size_t elements)
    {
        return detail::call(svit_session_set_gradient, get(), name, in, elements);
    }
    result zero_gradients()
    {
        return detail::call(svit_session_zero_gradients, get());
    }
    /* `reducer` nullptr: each backward adds to the gradients. */
    result set_reducer(const svit_reducer *reducer)
    {
        return detail::call(svit_session_set_reducer, get(), reducer);
    }
};

/* What an optimiser does, whoever owns it: optimizer.h. */
template <class Holder> class optimizer_functions : public Holder
{
  public:
    using Holder::Holder;
    result step(session &s)
    {
        return detail::call(svit_step, this->get(), s.get());
    }
    std::uint64_t steps() const noexcept
    {
        return svit_optimizer_steps(this->get());
    }
    result set(const char *key, double value)
    {
        return detail::call(svit_optimizer_set_f64, this->get(), key, value);
    }
    result get_value(const char *key, double &value) const
    {
        return detail::call(svit_optimizer_get_f64, this->get(), key, &value);
    }
    result bounds(const char *key, double &min, double &max) const
    {
        return detail::call(svit_optimizer_bounds, this->get(), key, &min, &max);
    }
    result set_parameter(const char *pattern, const char *key, double value)
    {
        return detail::call(svit_optimizer_set_parameter_f64, this->get(), pattern, key, value);
    }
    result swap_ema()
    {
        return detail::call(svit_optimizer_swap_ema, this->get());
    }
};

/* Parameter updates. */
class optimizer : public optimizer_functions<handle<svit_optimizer, svit_optimizer_free>>
{
  public:
    using optimizer_functions::optimizer_functions;
#ifndef SHIFTVIT_NO_EXCEPTIONS
    explicit optimizer(const model &m, const svit_optimizer_config &config = optimizer_config())
    {
        create(m, config);
    }
#endif
    result create(const model &m, const svit_optimizer_config &config = optimizer_config())
    {
        return take(svit_optimizer_create, m.get(), &config);
    }
};

/* The optimiser of a trainer, which frees it. */
using borrowed_optimizer = optimizer_functions<view<svit_optimizer>>;

/* The state of a training in a file: checkpoint.h. An optimizer or session may be false. */
class checkpoint : public handle<svit_checkpoint, svit_checkpoint_free>
{
  public:
    using handle::handle;
    static result save(const char *path, const model &m, const optimizer &o, const session &s,
                       const char *const *keys = nullptr, const char *const *values = nullptr,
                       std::size_t count = 0)
    {
        return detail::call(svit_checkpoint_save, path, m.get(), o.get(), s.get(), keys, values,
                            count);
    }
    template <class Handle> /* also of a borrowed optimiser */
    static result save(const char *path, const model &m, const optimizer_functions<Handle> &o,
                       const session &s, const char *const *keys = nullptr,
                       const char *const *values = nullptr, std::size_t count = 0)
    {
        return detail::call(svit_checkpoint_save, path, m.get(), o.get(), s.get(), keys, values,
                            count);
    }
    result open(const context &c, const char *path)
    {
        return take(svit_checkpoint_open, c.get(), path);
    }
    const char *value(const char *key) const noexcept
    {
        return svit_checkpoint_value(get(), key);
    }
    result get_u64(const char *key, std::uint64_t &value) const
    {
        return detail::call(svit_checkpoint_get_u64, get(), key, &value);
    }
    result restore(model &m, optimizer &o, session &s) const
    {
        return detail::call(svit_checkpoint_restore, get(), m.get(), o.get(), s.get());
    }
    template <class Handle>
    result restore(model &m, const optimizer_functions<Handle> &o, session &s) const
    {
        return detail::call(svit_checkpoint_restore, get(), m.get(), o.get(), s.get());
    }
};

} // namespace SHIFTVIT_KIND
} // namespace shiftvit

#endif
