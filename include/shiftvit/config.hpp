/* Configurations for C++: their defaults, presets and JSON. */
#ifndef SHIFTVIT_CONFIG_HPP
#define SHIFTVIT_CONFIG_HPP

#include <shiftvit/handle.hpp>

namespace shiftvit
{
inline namespace SHIFTVIT_KIND
{

/* The defaults of each configuration. */
inline svit_context_config context_config() noexcept
{
    return detail::defaults(svit_context_config_init);
}
inline svit_model_config model_config() noexcept
{
    return detail::defaults(svit_model_config_init);
}
inline svit_session_config session_config() noexcept
{
    return detail::defaults(svit_session_config_init);
}
inline svit_optimizer_config optimizer_config() noexcept
{
    return detail::defaults(svit_optimizer_config_init);
}
inline svit_custom_dataset custom_dataset() noexcept
{
    return detail::defaults(svit_custom_dataset_init);
}
inline svit_loader_config loader_config() noexcept
{
    return detail::defaults(svit_loader_config_init);
}
inline svit_pipeline_config pipeline_config() noexcept
{
    return detail::defaults(svit_pipeline_config_init);
}
inline svit_trainer_config trainer_config() noexcept
{
    return detail::defaults(svit_trainer_config_init);
}
inline svit_predictor_config predictor_config() noexcept
{
    return detail::defaults(svit_predictor_config_init);
}
inline svit_features_config features_config() noexcept
{
    return detail::defaults(svit_features_config_init);
}
inline svit_head_config head_config() noexcept
{
    return detail::defaults(svit_head_config_init);
}
inline svit_class_config class_config() noexcept
{
    return detail::defaults(svit_class_config_init);
}
inline svit_onnx_options onnx_options() noexcept
{
    return detail::defaults(svit_onnx_options_init);
}
inline svit_open_options open_options() noexcept
{
    return detail::defaults(svit_open_options_init);
}
inline svit_reducer reducer() noexcept
{
    return detail::defaults(svit_reducer_init);
}
inline svit_matmul matmul() noexcept
{
    return detail::defaults(svit_matmul_init);
}

/* Fills a configuration from a named preset. */
inline result preset(svit_model_config &config, const char *name)
{
    return detail::call(svit_model_config_preset, &config, sizeof config, name);
}
/* Fills the three configurations of a training from a named preset. */
inline result preset(svit_trainer_config &trainer, svit_optimizer_config &optimizer,
                     svit_pipeline_config &pipeline, const char *name)
{
    return detail::call(svit_training_preset, name, &trainer, sizeof trainer, &optimizer,
                        sizeof optimizer, &pipeline, sizeof pipeline);
}

/* Fill a configuration from a JSON object, and write it as one. */
inline result from_json(svit_model_config &config, const char *json)
{
    return detail::call(svit_model_config_from_json, &config, sizeof config, json);
}
inline result to_json(const svit_model_config &config, std::string &json)
{
    return detail::read_text(
        json, [&](auto... rest) { return svit_model_config_to_json(&config, rest...); });
}
inline result from_json(svit_session_config &config, const char *json)
{
    return detail::call(svit_session_config_from_json, &config, sizeof config, json);
}
inline result to_json(const svit_session_config &config, std::string &json)
{
    return detail::read_text(
        json, [&](auto... rest) { return svit_session_config_to_json(&config, rest...); });
}
inline result from_json(svit_optimizer_config &config, const char *json)
{
    return detail::call(svit_optimizer_config_from_json, &config, sizeof config, json);
}
inline result to_json(const svit_optimizer_config &config, std::string &json)
{
    return detail::read_text(
        json, [&](auto... rest) { return svit_optimizer_config_to_json(&config, rest...); });
}
inline result from_json(svit_loader_config &config, const char *json)
{
    return detail::call(svit_loader_config_from_json, &config, sizeof config, json);
}
inline result to_json(const svit_loader_config &config, std::string &json)
{
    return detail::read_text(
        json, [&](auto... rest) { return svit_loader_config_to_json(&config, rest...); });
}
inline result from_json(svit_pipeline_config &config, const char *json)
{
    return detail::call(svit_pipeline_config_from_json, &config, sizeof config, json);
}
inline result to_json(const svit_pipeline_config &config, std::string &json)
{
    return detail::read_text(
        json, [&](auto... rest) { return svit_pipeline_config_to_json(&config, rest...); });
}
inline result from_json(svit_trainer_config &config, const char *json)
{
    return detail::call(svit_trainer_config_from_json, &config, sizeof config, json);
}
inline result to_json(const svit_trainer_config &config, std::string &json)
{
    return detail::read_text(
        json, [&](auto... rest) { return svit_trainer_config_to_json(&config, rest...); });
}
inline result from_json(svit_head_config &config, const char *json)
{
    return detail::call(svit_head_config_from_json, &config, sizeof config, json);
}
inline result to_json(const svit_head_config &config, std::string &json)
{
    return detail::read_text(
        json, [&](auto... rest) { return svit_head_config_to_json(&config, rest...); });
}
inline result from_json(svit_class_config &config, const char *json)
{
    return detail::call(svit_class_config_from_json, &config, sizeof config, json);
}
inline result to_json(const svit_class_config &config, std::string &json)
{
    return detail::read_text(
        json, [&](auto... rest) { return svit_class_config_to_json(&config, rest...); });
}
/* The three configurations of a training, as one object. */
inline result from_json(svit_trainer_config &trainer, svit_optimizer_config &optimizer,
                        svit_pipeline_config &pipeline, const char *json)
{
    return detail::call(svit_training_from_json, &trainer, &optimizer, &pipeline, json);
}
inline result to_json(const svit_trainer_config &trainer, const svit_optimizer_config &optimizer,
                      const svit_pipeline_config &pipeline, std::string &json)
{
    return detail::read_text(json, [&](auto... rest) {
        return svit_training_to_json(&trainer, &optimizer, &pipeline, rest...);
    });
}

/* Describes the fields of "training" or of an architecture as a JSON array. */
inline result config_fields(const char *of, std::string &json)
{
    return detail::read_text(json, [&](auto... rest) { return svit_config_fields(of, rest...); });
}

} // namespace SHIFTVIT_KIND
} // namespace shiftvit

#endif
