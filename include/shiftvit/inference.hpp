/* Predictors and feature sets for C++. */
#ifndef SHIFTVIT_INFERENCE_HPP
#define SHIFTVIT_INFERENCE_HPP

#include <shiftvit/network.hpp>

namespace shiftvit
{
inline namespace SHIFTVIT_KIND
{

/* Classification with one model file: predictor.h. */
class predictor : public handle<svit_predictor, svit_predictor_free>
{
  public:
    using handle::handle;
#ifndef SHIFTVIT_NO_EXCEPTIONS
    predictor(const context &c, const char *path,
              const svit_predictor_config &config = predictor_config())
    {
        create(c, path, config);
    }
    explicit predictor(const model &m, const svit_predictor_config &config = predictor_config())
    {
        create(m, config);
    }
#endif
    result create(const context &c, const char *path,
                  const svit_predictor_config &config = predictor_config())
    {
        return take(svit_predictor_create, c.get(), path, &config);
    }
    result create(const context &c, const void *data, std::size_t bytes,
                  const svit_predictor_config &config = predictor_config())
    {
        return take(svit_predictor_create_from_memory, c.get(), data, bytes, &config);
    }
    result create(const model &m, const svit_predictor_config &config = predictor_config())
    {
        return take(svit_predictor_create_from_model, m.get(), &config);
    }
    std::size_t classes() const noexcept
    {
        return svit_predictor_classes(get());
    }
    std::size_t channels() const noexcept
    {
        return svit_predictor_channels(get());
    }
    const char *class_name(std::size_t label) const noexcept
    {
        return svit_predictor_class_name(get(), label);
    }
    std::int32_t output() const noexcept
    {
        return svit_predictor_output(get());
    }
    result labels(const float *probabilities, std::size_t n, std::int32_t *labels) const
    {
        return detail::call(svit_predictor_labels, get(), probabilities, n, labels);
    }
    /* Images have channels() channels, such as RGB; rows follow each other without padding. */
    result predict(const std::uint8_t *pixels, std::size_t n, std::size_t height, std::size_t width,
                   float *probabilities)
    {
        return detail::call(svit_predict_u8, get(), pixels, n, height, width, probabilities);
    }
    result predict(const float *images, std::size_t n, std::size_t height, std::size_t width,
                   float *probabilities)
    {
        return detail::call(svit_predict_f32, get(), images, n, height, width, probabilities);
    }
    result predict_file(const char *path, float *probabilities)
    {
        return detail::call(svit_predict_file, get(), path, probabilities);
    }
    result predict_encoded(const void *data, std::size_t bytes, float *probabilities)
    {
        return detail::call(svit_predict_encoded, get(), data, bytes, probabilities);
    }
    /* Many images at once. With errors[n] of error_record(), damaged ones do not fail the call. */
    result predict_files(const char *const *paths, std::size_t n, float *probabilities,
                         svit_error *errors = nullptr)
    {
        return detail::call(svit_predict_files, get(), paths, n, probabilities, errors);
    }
    result predict_encoded(const void *const *data, const std::size_t *bytes, std::size_t n,
                           float *probabilities, svit_error *errors = nullptr)
    {
        return detail::call(svit_predict_encoded_images, get(), data, bytes, n, probabilities,
                            errors);
    }
};

/* What a layer computes for images as they come: features.h. */
class extractor : public handle<svit_extractor, svit_extractor_free>
{
  public:
    using handle::handle;
    result create(const model &m, const svit_features_config &config = features_config(),
                  const svit_pipeline_config *pipeline = nullptr)
    {
        return take(svit_extractor_create, m.get(), pipeline, &config);
    }
    std::size_t channels() const noexcept
    {
        return svit_extractor_channels(get());
    }
    result grid(std::int32_t &tokens, std::size_t &height, std::size_t &width) const
    {
        return detail::call(svit_extractor_grid, get(), &tokens, &height, &width);
    }
    /* Writes features[n, grid height, grid width, channels()]. */
    result extract(const std::uint8_t *pixels, std::size_t n, std::size_t height, std::size_t width,
                   float *features)
    {
        return detail::call(svit_extract_u8, get(), pixels, n, height, width, features);
    }
    result extract(const float *images, std::size_t n, std::size_t height, std::size_t width,
                   float *features)
    {
        return detail::call(svit_extract_f32, get(), images, n, height, width, features);
    }
};

/* What a layer computes for a dataset, and heads trained on it: features.h. */
class features : public handle<svit_features, svit_features_free>
{
  public:
    using handle::handle;
    result compute(const model &m, const dataset &data,
                   const svit_features_config &config = features_config(),
                   const svit_pipeline_config *pipeline = nullptr)
    {
        return take(svit_features_compute, m.get(), data.get(), pipeline, &config);
    }
    result create(const context &c, const float *values, const std::int32_t *labels,
                  std::size_t count, std::size_t channels, std::size_t classes,
                  const char *const *class_names = nullptr)
    {
        return take(svit_features_create, c.get(), values, labels, count, channels, classes,
                    class_names);
    }
    result load(const context &c, const char *path)
    {
        return take(svit_features_load, c.get(), path);
    }
    result save(const char *path) const
    {
        return detail::call(svit_features_save, get(), path);
    }
    std::size_t count() const noexcept
    {
        return svit_features_count(get());
    }
    std::size_t channels() const noexcept
    {
        return svit_features_channels(get());
    }
    std::size_t classes() const noexcept
    {
        return svit_features_classes(get());
    }
    const float *values() const noexcept
    {
        return svit_features_values(get());
    }
    const std::int32_t *labels() const noexcept
    {
        return svit_features_labels(get());
    }
    const char *class_name(std::size_t label) const noexcept
    {
        return svit_features_class_name(get(), label);
    }
    const char *layer() const noexcept
    {
        return svit_features_layer(get());
    }
    const char *model_description() const noexcept
    {
        return svit_features_model(get());
    }
    result append(const features &other)
    {
        return detail::call(svit_features_append, get(), other.get());
    }
    result knn(const float *queries, std::size_t n, std::size_t k, double temperature,
               float *probabilities) const
    {
        return detail::call(svit_features_knn, get(), queries, n, k, temperature, probabilities);
    }
    result grid(std::int32_t &tokens, std::size_t &height, std::size_t &width) const
    {
        return detail::call(svit_features_grid, get(), &tokens, &height, &width);
    }
    result nearest(const float *queries, std::size_t n, std::size_t k, std::int32_t metric,
                   std::size_t *indices, float *distances) const
    {
        return detail::call(svit_features_nearest, get(), queries, n, k, metric, indices,
                            distances);
    }
    /* Becomes `count` samples of another set that cover it. */
    result coreset(const features &of, std::size_t count)
    {
        return take(svit_features_coreset, of.get(), count);
    }
    /* Trains the classifier of a model on this set. */
    result fit_head(model &m, const svit_head_config &config = head_config()) const
    {
        return detail::call(svit_model_fit_head, m.get(), get(), &config);
    }
    /* Adds a class, which this set has samples of; `old`, those of the other classes, may be
     * false. */
    result fit_class(model &m, const char *name, const features &old,
                     const svit_class_config &config = class_config()) const
    {
        return detail::call(svit_model_fit_class, m.get(), name, get(), old.get(), &config);
    }
};

} // namespace SHIFTVIT_KIND
} // namespace shiftvit

#endif
