/* Contexts, datasets and loaders for C++. */
#ifndef SHIFTVIT_DATA_HPP
#define SHIFTVIT_DATA_HPP

#include <shiftvit/config.hpp>

namespace shiftvit
{
inline namespace SHIFTVIT_KIND
{

/* Threads, allocator, log and GEMM backend: context.h. */
class context : public handle<svit_context, svit_context_free>
{
  public:
    using handle::handle;
#ifndef SHIFTVIT_NO_EXCEPTIONS
    explicit context(const svit_context_config &config)
    {
        create(config);
    }
#endif
    result create(const svit_context_config &config = context_config())
    {
        return take(svit_context_create, &config);
    }
    /* Returns another object for the same context. */
    context share() const noexcept
    {
        return context(svit_context_retain(get()));
    }
    result check() const
    {
        return detail::call(svit_context_check, get());
    }
    std::uint32_t threads() const noexcept
    {
        return svit_context_threads(get());
    }
    result describe(std::string &json) const
    {
        return detail::read_text(
            json, [&](auto... rest) { return svit_context_describe(get(), rest...); });
    }
    void log(std::int32_t level, const char *message) const noexcept
    {
        svit_context_log(get(), level, message);
    }
    void *allocate(std::size_t bytes) noexcept
    {
        return svit_context_allocate(get(), bytes);
    }
    void release_memory(void *memory, std::size_t bytes) noexcept
    {
        svit_context_release(get(), memory, bytes);
    }
    result benchmark(const svit_matmul &matmul, double seconds, double &gflops) const
    {
        return detail::call(svit_benchmark_matmul, get(), &matmul, seconds, &gflops);
    }
};

/* A folder that only this process writes to: context.h. */
class folder_lock : public handle<svit_folder_lock, svit_folder_lock_free>
{
  public:
    using handle::handle;
    result create(const context &c, const char *folder)
    {
        return take(svit_folder_lock_create, c.get(), folder);
    }
    bool has(const char *name) const noexcept
    {
        return svit_folder_lock_has(get(), name) != 0;
    }
    result remove(const char *name) const
    {
        return detail::call(svit_folder_lock_remove, get(), name);
    }
};

/* Labelled images: dataset.h. What a dataset was created from in memory has to outlive it and
 * everything created from it. */
class dataset : public handle<svit_dataset, svit_dataset_free>
{
  public:
    using handle::handle;
    result cifar10(const context &c, const char *folder, std::int32_t split)
    {
        return take(svit_dataset_cifar10, c.get(), folder, split);
    }
    result cifar100(const context &c, const char *folder, std::int32_t split, std::int32_t labels)
    {
        return take(svit_dataset_cifar100, c.get(), folder, split, labels);
    }
    result folder(const context &c, const char *path, const svit_pipeline_config &pipeline)
    {
        return take(svit_dataset_folder_pipeline, c.get(), path, &pipeline);
    }
    result folder(const context &c, const char *path, std::size_t height, std::size_t width,
                  std::size_t channels, std::int32_t filter)
    {
        return take(svit_dataset_folder, c.get(), path, height, width, channels, filter);
    }
    result list(const context &c, const char *file, const svit_pipeline_config &pipeline)
    {
        return take(svit_dataset_list, c.get(), file, &pipeline);
    }
    result shards(const context &c, const char *pattern, const svit_pipeline_config &pipeline)
    {
        return take(svit_dataset_shards, c.get(), pattern, &pipeline);
    }
    result memory(const context &c, const std::uint8_t *pixels, const std::int32_t *labels,
                  std::size_t count, std::size_t height, std::size_t width, std::size_t channels,
                  std::size_t classes)
    {
        return take(svit_dataset_memory, c.get(), pixels, labels, count, height, width, channels,
                    classes);
    }
    result memory_targets(const context &c, const std::uint8_t *pixels, const float *targets,
                          std::size_t count, std::size_t height, std::size_t width,
                          std::size_t channels, std::size_t columns)
    {
        return take(svit_dataset_memory_targets, c.get(), pixels, targets, count, height, width,
                    channels, columns);
    }
    result memory_f32(const context &c, const float *images, const std::int32_t *labels,
                      const float *targets, std::size_t count, std::size_t height,
                      std::size_t width, std::size_t channels, std::size_t classes)
    {
        return take(svit_dataset_memory_f32, c.get(), images, labels, targets, count, height, width,
                    channels, classes);
    }
    result callback(const context &c, svit_sample_callback function, std::size_t count,
                    std::size_t height, std::size_t width, std::size_t channels,
                    std::size_t classes, void *user)
    {
        return take(svit_dataset_callback, c.get(), function, count, height, width, channels,
                    classes, user);
    }
    result custom(const context &c, const svit_custom_dataset &functions)
    {
        return take(svit_dataset_custom, c.get(), &functions);
    }
    result synthetic(const context &c, std::uint64_t seed, std::int32_t split, std::size_t count)
    {
        return take(svit_dataset_synthetic, c.get(), seed, split, count);
    }
    result slice(const dataset &parent, std::size_t first, std::size_t count)
    {
        return take(svit_dataset_slice, parent.get(), first, count);
    }
    result select(const dataset &parent, const std::size_t *indices, std::size_t count)
    {
        return take(svit_dataset_select, parent.get(), indices, count);
    }
    result match_classes(const dataset &parent, const char *const *names, std::size_t count)
    {
        return take(svit_dataset_match_classes, parent.get(), names, count);
    }
    /* `validation` and `test` are fractions; the sets that get no samples have no handle. */
    result split(double validation, double test, std::uint64_t seed, dataset &training_set,
                 dataset &validation_set, dataset &test_set) const
    {
        svit_error record = error_record();
        svit_dataset *splits[3] = {};
        svit_status code = svit_dataset_split(splits, get(), validation, test, seed, &record);
        if (code == SVIT_OK) {
            training_set.reset(splits[SVIT_SPLIT_TRAIN]);
            validation_set.reset(splits[SVIT_SPLIT_VALIDATION]);
            test_set.reset(splits[SVIT_SPLIT_TEST]);
        }
        return shiftvit::check(code, record);
    }
    /* The samples of `first`, then those of `second`. */
    result concatenate(const dataset &first, const dataset &second)
    {
        svit_dataset *const parents[] = {first.get(), second.get()};
        return concatenate(parents, 2);
    }
    result concatenate(svit_dataset *const *parents, std::size_t n)
    {
        return take(svit_dataset_concatenate, parents, n);
    }
    std::size_t count() const noexcept
    {
        return svit_dataset_count(get());
    }
    std::size_t height() const noexcept
    {
        return svit_dataset_height(get());
    }
    std::size_t width() const noexcept
    {
        return svit_dataset_width(get());
    }
    std::size_t channels() const noexcept
    {
        return svit_dataset_channels(get());
    }
    std::size_t classes() const noexcept
    {
        return svit_dataset_classes(get());
    }
    bool is_f32() const noexcept
    {
        return svit_dataset_is_f32(get()) != 0;
    }
    bool has_targets() const noexcept
    {
        return svit_dataset_has_targets(get()) != 0;
    }
    const char *class_name(std::size_t label) const noexcept
    {
        return svit_dataset_class_name(get(), label);
    }
    result path(std::size_t index, std::string &text) const
    {
        return detail::read_text(
            text, [&](auto... rest) { return svit_dataset_path(get(), index, rest...); });
    }
    result sample(std::size_t index, std::uint8_t *pixels, std::int32_t &label) const
    {
        return detail::call(svit_dataset_sample, get(), index, pixels, &label);
    }
    result sample_f32(std::size_t index, float *image, std::int32_t &label) const
    {
        return detail::call(svit_dataset_sample_f32, get(), index, image, &label);
    }
    result label(std::size_t index, std::int32_t &label) const
    {
        return detail::call(svit_dataset_label, get(), index, &label);
    }
    result targets(std::size_t index, float *targets) const
    {
        return detail::call(svit_dataset_targets, get(), index, targets);
    }
    result verify(svit_bad_sample_callback bad, void *user, std::size_t &bad_count) const
    {
        return detail::call(svit_dataset_verify, get(), bad, user, &bad_count);
    }
    result fingerprint(std::uint64_t &fingerprint) const
    {
        return detail::call(svit_dataset_fingerprint, get(), &fingerprint);
    }
    result statistics(double scale, double *mean, double *variance) const
    {
        return detail::call(svit_dataset_statistics, get(), scale, mean, variance);
    }
};

/* Shuffled, augmented batches: loader.h. */
class loader : public handle<svit_loader, svit_loader_free>
{
  public:
    using handle::handle;
    result create(const dataset &data, const svit_pipeline_config &pipeline,
                  const svit_loader_config &config = loader_config())
    {
        return take(svit_loader_create, data.get(), &pipeline, &config);
    }
    std::size_t height() const noexcept
    {
        return svit_loader_height(get());
    }
    std::size_t width() const noexcept
    {
        return svit_loader_width(get());
    }
    std::uint64_t batches() const noexcept
    {
        return svit_loader_batches(get());
    }
    bool has_targets() const noexcept
    {
        return svit_loader_has_targets(get()) != 0;
    }
    result next(float *images, std::int32_t *labels, std::size_t &n)
    {
        return detail::call(svit_loader_next, get(), images, labels, &n);
    }
    result next_targets(float *images, float *targets, std::size_t &n)
    {
        return detail::call(svit_loader_next_targets, get(), images, targets, &n);
    }
    result seek(std::uint64_t epoch, std::uint64_t batch)
    {
        return detail::call(svit_loader_seek, get(), epoch, batch);
    }
};

} // namespace SHIFTVIT_KIND
} // namespace shiftvit

#endif
